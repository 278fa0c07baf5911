/**
 * Consensys Web3Signer in its mode `eth1`, as far as the programs use it, with keys in memory; it can lie and fail.
 * Source: Consensys/web3signer: core/src/main/java/tech/pegasys/web3signer/core, routes/eth1. Start reading at
 * {@link DevnetWeb3Signer}.
 */
import { secp256k1 } from "@noble/curves/secp256k1.js";
import type { Hash256, Hex } from "../../src/core/encoding/bytes.ts";
import { fromHex, keccak256, toHash256, toHex } from "../../src/core/encoding/bytes.ts";
import { serveLocally, type TestServer } from "../../tests/support/test_server.ts";
import { signEvmDigest } from "../hub/signatures.ts";
import { untilAborted } from "../waiting.ts";

/** How requests for signatures go wrong. */
export type Misbehaviour =
  /** Signs with a key of its own. */
  | { readonly kind: "other_key" }
  /** The other signature of the same key, with the larger s. */
  | { readonly kind: "high_s" }
  /** Answers this, whatever it was asked to sign. */
  | { readonly kind: "answers"; readonly result: unknown }
  /** A status without JSON. */
  | { readonly kind: "status"; readonly status: number }
  /** Takes the request and answers when the caller has given up. */
  | { readonly kind: "hangs" };

/** `--http-host-allowlist`. */
const HOSTS: readonly string[] = ["localhost", "127.0.0.1"];
const SIGN_PATH = /^\/api\/v1\/eth1\/sign\/(0x[0-9a-f]+)$/;
const OTHER_KEY = new Uint8Array(32).fill(0x77);

/** A Web3Signer without a network: give its requests to {@link handle}, or {@link serve} it. */
export class DevnetWeb3Signer {
  /** Paths of the requests that arrived, without keys. */
  readonly requests: string[] = [];
  /** Absent: it does what it is asked. */
  misbehaviour: Misbehaviour | undefined;
  readonly #keys: readonly Uint8Array[];

  /** @param keys private ones. */
  constructor({ keys }: { readonly keys: readonly Hex[] }) {
    this.#keys = keys.map(fromHex);
  }

  /** Serves it on 127.0.0.1. @param port 0: one that is free. */
  serve(port = 0): TestServer {
    return serveLocally({ port }, (request) => this.handle(request));
  }

  /** Answers one request. */
  async handle(request: Request): Promise<Response> {
    const { hostname, pathname } = new URL(request.url);
    if (!HOSTS.includes(hostname)) {
      return Response.json({ message: "Host not authorized." }, { status: 403 });
    }
    const [, publicKey] = SIGN_PATH.exec(pathname) ?? [];
    this.requests.push(publicKey === undefined ? pathname : "/api/v1/eth1/sign");
    if (publicKey !== undefined) return await this.#answerSign(request, publicKey);
    if (pathname === "/upcheck") return new Response("OK");
    if (pathname === "/api/v1/eth1/publicKeys") return Response.json(this.#keys.map(toPublicKey));
    return new Response("Resource not found", { status: 404 });
  }

  async #answerSign(request: Request, publicKey: string): Promise<Response> {
    const failure = await this.#fail(request);
    if (failure !== undefined) return failure;
    const { data } = await request.json();
    if (typeof data !== "string" || data === "") return new Response(null, { status: 400 });
    const key = this.#keys.find((each) => toPublicKey(each) === publicKey);
    if (key === undefined) return new Response(null, { status: 404 });
    if (this.misbehaviour?.kind === "answers") return new Response(String(this.misbehaviour.result));
    return new Response(this.#sign(toHash256(keccak256(fromHex(data))), key));
  }

  /** What goes wrong before anything is signed. */
  async #fail({ signal }: Request): Promise<Response | undefined> {
    if (this.misbehaviour?.kind === "status") return new Response(null, { status: this.misbehaviour.status });
    if (this.misbehaviour?.kind !== "hangs") return undefined;
    await untilAborted(signal);
    return new Response(null, { status: 500 });
  }

  /** 65 bytes in hex: r, s, and 27 or 28. */
  #sign(digest: Hash256, key: Uint8Array): Hex {
    const signed = signEvmDigest(digest, this.misbehaviour?.kind === "other_key" ? OTHER_KEY : key);
    if (this.misbehaviour?.kind !== "high_s") return toHex(signed);
    const high = secp256k1.Point.CURVE().n - BigInt(toHex(signed.subarray(32, 64)));
    const v = (signed[64] ?? 27) === 27 ? "1c" : "1b";
    return `${toHex(signed.subarray(0, 32))}${high.toString(16).padStart(64, "0")}${v}`;
  }
}

/** 64 bytes, as it names keys. */
function toPublicKey(key: Uint8Array): Hex {
  return toHex(secp256k1.getPublicKey(key, false).subarray(1));
}
