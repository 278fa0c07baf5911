/**
 * Consensys Web3Signer in its mode `eth1`, as far as the programs use it, with keys in memory; it can lie and fail.
 * Source: Consensys/web3signer: core/src/main/java/tech/pegasys/web3signer/core, routes/eth1 and
 * service/jsonrpc/handlers. What it signs, and the form of its transactions, were compared byte by byte with what
 * the tests of EthSignTransactionResultProvider there expect. Start reading at {@link DevnetWeb3Signer}.
 */
import { secp256k1 } from "@noble/curves/secp256k1.js";
import {
  serializeTransaction,
  type TransactionSerializableEIP1559,
  type TransactionSerializableLegacy,
} from "viem";
import type { Hash256, Hex } from "../../src/core/encoding/bytes.ts";
import { fromHex, keccak256, toHash256, toHex } from "../../src/core/encoding/bytes.ts";
import { toEvmAddress } from "../../src/core/ismp/signed_messages.ts";
import { serveLocally, type TestServer } from "../../tests/support/test_server.ts";
import { signEvmDigest } from "../hub/signatures.ts";

/** A transaction before it is signed. */
export type UnsignedTransaction = TransactionSerializableLegacy | TransactionSerializableEIP1559;

/** How requests for signatures go wrong. */
export type Misbehaviour =
  /** Signs another transaction than the one that it was asked to sign. */
  | { readonly kind: "alters"; readonly change: (asked: UnsignedTransaction) => UnsignedTransaction }
  /** Signs with a key of its own. */
  | { readonly kind: "other_key" }
  /** The other signature of the same key, with the larger s. */
  | { readonly kind: "high_s" }
  /** Answers this, whatever it was asked to sign. */
  | { readonly kind: "answers"; readonly result: unknown }
  /** A status without JSON. */
  | { readonly kind: "status"; readonly status: number }
  | { readonly kind: "refuses"; readonly code: number; readonly message: string }
  /** Takes the request and answers when the caller has given up. */
  | { readonly kind: "hangs" };

/** What it is started with. */
export interface Web3SignerOptions {
  /** Private keys. */
  readonly keys: readonly Hex[];
  /** `--chain-id`. */
  readonly chainId: number;
  /** `--http-host-allowlist`. */
  readonly hosts?: readonly string[];
}

/** A signature as a signer of the real one gives it. */
interface RawSignature {
  readonly r: Hex;
  readonly s: Hex;
  readonly yParity: number;
}

/** Errors of its JSON-RPC. */
class SignerRefusal extends Error {
  override readonly name = "SignerRefusal";
  constructor(readonly status: number, readonly code: number, message: string) {
    super(message);
  }
}

const INVALID_PARAMS = (): SignerRefusal => new SignerRefusal(400, -32602, "Invalid params");
const SIGN_PATH = /^\/api\/v1\/eth1\/sign\/(0x[0-9a-f]+)$/;
const OTHER_KEY = new Uint8Array(32).fill(0x77);

/** A Web3Signer without a network: give its requests to {@link handle}, or {@link serve} it. */
export class DevnetWeb3Signer {
  /** Names of the requests that arrived: methods of JSON-RPC, else paths without keys. */
  readonly requests: string[] = [];
  /** Absent: it does what it is asked. */
  misbehaviour: Misbehaviour | undefined;
  readonly #keys: readonly Uint8Array[];
  readonly #chainId: number;
  readonly #hosts: readonly string[];

  constructor({ keys, chainId, hosts = ["localhost", "127.0.0.1"] }: Web3SignerOptions) {
    this.#keys = keys.map(fromHex);
    this.#chainId = chainId;
    this.#hosts = hosts;
  }

  /** Serves it on 127.0.0.1. @param port 0: one that is free. */
  serve(port = 0): TestServer {
    return serveLocally({ port }, (request) => this.handle(request));
  }

  /** Answers one request. */
  async handle(request: Request): Promise<Response> {
    const { hostname, pathname } = new URL(request.url);
    if (!this.#hosts.includes(hostname)) {
      return Response.json({ message: "Host not authorized." }, { status: 403 });
    }
    if (pathname === "/" && request.method === "POST") return await this.#answerRpc(request);
    const [, publicKey] = SIGN_PATH.exec(pathname) ?? [];
    this.requests.push(publicKey === undefined ? pathname : "/api/v1/eth1/sign");
    if (publicKey !== undefined) return await this.#answerSign(request, publicKey);
    if (pathname === "/upcheck") return new Response("OK");
    if (pathname === "/api/v1/eth1/publicKeys") return Response.json(this.#keys.map(toPublicKey));
    return new Response("Resource not found", { status: 404 });
  }

  async #answerRpc(request: Request): Promise<Response> {
    const { id, method, params } = await request.json();
    this.requests.push(method);
    const failure = method === "eth_accounts" ? undefined : await this.#fail(request);
    if (failure !== undefined) return failure;
    try {
      return Response.json({ jsonrpc: "2.0", id, result: this.#call(method, params) });
    } catch (error) {
      if (!(error instanceof SignerRefusal)) throw error;
      const { status, code, message } = error;
      return Response.json({ jsonrpc: "2.0", id, error: { code, message } }, { status });
    }
  }

  async #answerSign(request: Request, publicKey: string): Promise<Response> {
    const failure = await this.#fail(request);
    if (failure !== undefined) return failure;
    const { data } = await request.json();
    if (typeof data !== "string" || data === "") return new Response(null, { status: 400 });
    const key = this.#keys.find((each) => toPublicKey(each) === publicKey);
    if (key === undefined) return new Response(null, { status: 404 });
    if (this.misbehaviour?.kind === "answers") return new Response(String(this.misbehaviour.result));
    const { r, s, yParity } = this.#sign(toHash256(keccak256(toBytes(data))), key);
    return new Response(`${r}${s.slice(2)}${(27 + yParity).toString(16)}`);
  }

  /** What goes wrong before anything is signed. */
  async #fail({ signal }: Request): Promise<Response | undefined> {
    if (this.misbehaviour?.kind === "status") return new Response(null, { status: this.misbehaviour.status });
    if (this.misbehaviour?.kind !== "hangs") return undefined;
    await new Promise<void>((resolve) => {
      if (signal.aborted) resolve();
      signal.addEventListener("abort", () => resolve(), { once: true });
    });
    return new Response(null, { status: 500 });
  }

  #call(method: string, params: unknown): unknown {
    switch (method) {
      case "eth_accounts":
        if (Array.isArray(params) && params.length > 0) throw INVALID_PARAMS();
        return this.#keys.map((key) => toHex(toEvmAddress(key))).toSorted();
      case "eth_signTransaction":
        if (this.misbehaviour?.kind === "answers") return this.misbehaviour.result;
        if (this.misbehaviour?.kind === "refuses") {
          throw new SignerRefusal(200, this.misbehaviour.code, this.misbehaviour.message);
        }
        return this.#signTransaction(Array.isArray(params) && params.length === 1 ? params[0] : params);
      default:
        // It passes everything else on to a node, of which there is none here.
        throw new SignerRefusal(500, -32000, "Failed to connect to downstream node");
    }
  }

  #signTransaction(fields: unknown): Hex {
    if (typeof fields !== "object" || fields === null) throw INVALID_PARAMS();
    const given = new Map<string, unknown>(Object.entries(fields));
    const from = given.get("from");
    const [nonce, gas = 90_000n, value = 0n] = ["nonce", "gas", "value"].map((name) =>
      quantity(given.get(name))
    );
    if (typeof from !== "string" || nonce === undefined) throw INVALID_PARAMS();
    const key = this.#keys.find((each) => toHex(toEvmAddress(each)) === from.toLowerCase());
    if (key === undefined) {
      throw new SignerRefusal(200, -32000, "No unlocked account matches the Sender");
    }
    const [maxFeePerGas, maxPriorityFeePerGas, gasPrice = 0n] = [
      "maxFeePerGas",
      "maxPriorityFeePerGas",
      "gasPrice",
    ].map((name) => quantity(given.get(name)));
    const plain = {
      chainId: this.#chainId,
      nonce: Number(nonce),
      gas,
      value,
      to: toHex(toBytes(String(given.get("to") ?? "0x"))),
      data: toHex(toBytes(String(given.get("data") ?? given.get("input") ?? "0x"))),
    };
    const asked: UnsignedTransaction = maxFeePerGas !== undefined && maxPriorityFeePerGas !== undefined
      ? { ...plain, type: "eip1559", maxFeePerGas, maxPriorityFeePerGas }
      : { ...plain, type: "legacy", gasPrice };
    const signed = this.misbehaviour?.kind === "alters" ? this.misbehaviour.change(asked) : asked;
    const digest = toHash256(keccak256(fromHex(serializeTransaction(signed))));
    const signature = this.#sign(digest, key);
    return serializeTransaction(signed, { ...signature, v: 27n + BigInt(signature.yParity) });
  }

  #sign(digest: Hash256, key: Uint8Array): RawSignature {
    const signed = signEvmDigest(digest, this.misbehaviour?.kind === "other_key" ? OTHER_KEY : key);
    const [r, s] = [toHex(signed.subarray(0, 32)), toHex(signed.subarray(32, 64))];
    const yParity = (signed[64] ?? 27) - 27;
    if (this.misbehaviour?.kind !== "high_s") return { r, s, yParity };
    const high = secp256k1.Point.CURVE().n - BigInt(s);
    return { r, s: `0x${high.toString(16).padStart(64, "0")}`, yParity: 1 - yParity };
  }
}

/** 64 bytes, as it names keys. */
function toPublicKey(key: Uint8Array): Hex {
  return toHex(secp256k1.getPublicKey(key, false).subarray(1));
}

/** A number as web3j reads it: hex with `0x`, or decimal. */
function quantity(given: unknown): bigint | undefined {
  if (given === undefined || given === null) return undefined;
  if (typeof given !== "string" || !/^(?:0x[0-9a-f]+|-?[0-9]+)$/i.test(given)) throw INVALID_PARAMS();
  return BigInt(given);
}

/** Bytes as web3j reads them: an odd number of digits has a zero before it. */
function toBytes(hex: string): Uint8Array {
  const digits = hex.replace(/^0x/i, "");
  return fromHex(digits.length % 2 === 0 ? digits : `0${digits}`);
}
