/**
 * The account of a remote signer, a Web3Signer in its mode `eth1`: it is asked for signatures of bytes, transactions or
 * messages, by its REST API, and a signature is used only if it is the account's. Its JSON-RPC is not used: it would sign
 * transactions for one chain only, and data with a prefix (`eth_sign`). Start reading at {@link RemoteAccount}. Source:
 * Consensys/web3signer: core/src/main/java/tech/pegasys/web3signer/core/routes/eth1, openapi-specs/eth1/web3signer.yaml.
 */
import { secp256k1 } from "@noble/curves/secp256k1.js";
import * as z from "zod";
import type { RemoteSigner } from "../../config/redact.ts";
import { fromHex, type Hash256, isHexBytes, keccak256, toHex } from "../../encoding/bytes.ts";
import { readOrUndefined } from "../../encoding/coded_error.ts";
import type { Address } from "../../evm/address.ts";
import { recoverEvmAddress, SignatureError, type SignedMessage } from "../../ismp/signed_messages.ts";
import type { StateMachine } from "../../ismp/state_machine.ts";
import { type FaultPlace, onFault, RpcFault, type RpcFaultCode } from "../../rpc/call.ts";
import { HttpAddress, type HttpRequest } from "../../rpc/http_exchange.ts";
import { parseJson } from "../../rpc/json.ts";
import { observeRequest } from "../../rpc/observed_endpoint.ts";
import { type Backoff, retry } from "../../runtime/retry.ts";
import type { Log } from "../../telemetry/log.ts";
import type { SigningAccount } from "./account.ts";
import type { EvmEndpointSetDeps } from "./evm_endpoint_set.ts";

/** Faults after which a request is sent again: asking for the same signature twice does no harm. */
const PASSING: ReadonlySet<RpcFaultCode> = new Set<RpcFaultCode>([
  "unreachable",
  "timeout",
  "throttled",
  "server_error",
  "malformed",
]);

/** Pauses between attempts. Other transactions of the account wait meanwhile. */
const pauses: Backoff = { firstMs: 250, maxMs: 1_000 };
const MAX_ATTEMPTS = 3;
/** No attempt starts after this time: what was read of the chain for the transaction becomes old. */
const ATTEMPTS_WITHIN_MS = 4_000;
/** Time of a request, milliseconds: a key in a vault or a hardware module takes a second. */
const TIMEOUT_MS = 5_000;

const SIGN_ROUTE = "eth1/sign";
const KEYS_ROUTE = "eth1/publicKeys";

/** Advice about a signature that is none of the account's. */
const DISTRUST =
  "find out why before you trust this signer again: it, or something in front of it, changes what it signs";

/** Bytes of a signature, or what is wrong with it. */
type JudgedSignature = Uint8Array | { readonly explanation: string };

/**
 * An account whose key is held by a Web3Signer.
 *
 * It throws a {@link SignerFault}: `signer_unavailable`, or `wrong_signature` for an answer that is not the signature of
 * what was to be signed.
 */
export class RemoteAccount implements SigningAccount {
  readonly address: Address;
  readonly remoteHost: string;
  readonly #http: HttpAddress;
  /** Public key of the address, as the signer spells it; it names the key that signs. */
  #publicKey: string | undefined;
  /** True after a request that gave no usable signature. */
  #isFailing = false;

  constructor(
    readonly deps: EvmEndpointSetDeps & { readonly log: Log },
    readonly options: { readonly chain: StateMachine; readonly signer: RemoteSigner },
  ) {
    const { chain, signer } = options;
    this.#http = new HttpAddress(deps, { url: signer.reveal(), chain, timeoutMs: TIMEOUT_MS });
    this.remoteHost = this.#http.host;
    this.address = signer.address;
  }

  /** Has the bytes of the message signed, which the signer hashes. @throws {SignerFault} */
  async sign(message: SignedMessage, signal: AbortSignal): Promise<Uint8Array> {
    const judged = await this.#askPatiently(message, signal);
    if (!(judged instanceof Uint8Array)) throw this.#noteMismatch(judged.explanation);
    if (this.#isFailing) this.deps.log.info("signer_recovered", { endpoint: this.remoteHost });
    this.#isFailing = false;
    return judged;
  }

  async #askPatiently(message: SignedMessage, signal: AbortSignal): Promise<JudgedSignature> {
    const { clock, randomness } = this.deps;
    const conditions = {
      backoff: pauses,
      maxAttempts: MAX_ATTEMPTS,
      withinMs: ATTEMPTS_WITHIN_MS,
      pauseAfter: (error: unknown): number | undefined =>
        error instanceof RpcFault && PASSING.has(error.code) ? error.retryAfterMs ?? 0 : undefined,
    };
    return await retry({ clock, randomness, signal }, conditions, () => this.#askObserved(message, signal))
      .catch(onFault((fault): never => {
        throw this.#noteSilence(fault);
      }));
  }

  #askObserved(message: SignedMessage, signal: AbortSignal): Promise<JudgedSignature> {
    const place = { chain: this.options.chain, endpointHost: this.remoteHost, role: "signer" } as const;
    return observeRequest(
      this.deps,
      { place, calls: [{ method: SIGN_ROUTE }] },
      async () => judgeSignature(await this.#ask(message, signal), message.digest, this.address),
      (judged) => ({ outcomes: [judged instanceof Uint8Array ? "ok" : "wrong_signature"] }),
    );
  }

  async #ask({ preimage }: SignedMessage, signal: AbortSignal): Promise<string> {
    const publicKey = this.#publicKey ??= await this.#findPublicKey(signal);
    const path = `${SIGN_ROUTE}/${encodeURIComponent(publicKey)}`;
    const body = JSON.stringify({ data: toHex(preimage) });
    return (await this.#request({ what: SIGN_ROUTE, path, body }, signal)).trim();
  }

  /** Text of a route's answer. */
  async #request({ path, ...request }: HttpRequest, signal: AbortSignal): Promise<string> {
    const answer = await this.#http.exchange({ ...request, path: `/api/v1/${path}` }, { signal });
    if (answer.status !== 200) throw this.#http.statusFault(answer, request.what);
    return answer.text;
  }

  /** Finds the public key of our address among those of the signer. @throws {RpcFault} `not_found`. */
  async #findPublicKey(signal: AbortSignal): Promise<string> {
    const answer = await this.#request({ what: KEYS_ROUTE, path: KEYS_ROUTE }, signal);
    const keys = readOrUndefined(() => z.array(z.string()).parse(parseJson(answer)));
    if (keys === undefined) {
      throw this.#http.fault("malformed", KEYS_ROUTE, { detail: "an answer of another form" });
    }
    const own = keys.find((key) => isKeyOf(key, this.address));
    if (own !== undefined) return own;
    const detail = `none of its ${keys.length} keys is that of ${this.address}`;
    throw this.#http.fault("not_found", KEYS_ROUTE, { detail });
  }

  #noteSilence(cause: RpcFault): SignerFault {
    const detail = cause.detail === undefined ? cause.code : `${cause.code}: ${cause.detail}`;
    const advice = adviseOnSilence(cause, this.address);
    const { method } = cause.where;
    this.#isFailing = true;
    const fields = { endpoint: this.remoteHost, method, detail, explanation: advice };
    this.deps.log.warn("signer_unavailable", fields);
    return new SignerFault("signer_unavailable", cause.where, { found: detail, advice, cause });
  }

  #noteMismatch(found: string): SignerFault {
    this.#isFailing = true;
    const fields = { endpoint: this.remoteHost, method: SIGN_ROUTE, detail: found, explanation: DISTRUST };
    this.deps.log.error("signer_answer_wrong", fields);
    const place = { chain: this.options.chain, endpointHost: this.remoteHost, method: SIGN_ROUTE };
    return new SignerFault("wrong_signature", place, { found, advice: DISTRUST });
  }
}

/** True for the public key of an address: 64 bytes in hex. */
function isKeyOf(publicKey: string, address: Address): boolean {
  return /^0x[0-9a-f]{128}$/i.test(publicKey) &&
    toHex(keccak256(fromHex(publicKey)).slice(12)) === address;
}

/** Compares a signature with what was to be signed: r, s and v with v 27 or 28, as the hub and transactions have it. */
function judgeSignature(answer: string, digest: Hash256, sender: Address): JudgedSignature {
  const given = isHexBytes(answer) ? fromHex(answer) : undefined;
  if (given?.length !== 65) return { explanation: "the answer is not 65 bytes in hex" };
  const parity = given[64] ?? 0;
  const signature = given.with(64, parity < 27 ? parity + 27 : parity);
  try {
    const found = toHex(recoverEvmAddress(digest, signature));
    if (found !== sender) return { explanation: `the signature is of ${found} instead of ${sender}` };
    const isHigh = secp256k1.Signature.fromBytes(given.subarray(0, 64), "compact").hasHighS();
    // Nodes refuse it since Homestead (EIP-2).
    return isHigh ? { explanation: "the signature has the larger s" } : signature;
  } catch (error) {
    if (!(error instanceof SignatureError)) throw error;
    return { explanation: "the signature is none of this curve" };
  }
}

/** A remote signer that did not sign what it was asked to. Another attempt later may succeed. */
export class SignerFault extends RpcFault {
  /** What happened: a sentence without a full stop. */
  readonly found: string;
  /** What helps: the same. */
  readonly advice: string;

  constructor(
    code: "signer_unavailable" | "wrong_signature",
    where: FaultPlace,
    { found, advice, cause }: {
      readonly found: string;
      readonly advice: string;
      readonly cause?: RpcFault | undefined;
    },
  ) {
    super(code, where, {
      detail: `${found}; ${advice}`,
      retryAfterMs: cause?.retryAfterMs,
      cause,
    });
    this.found = found;
    this.advice = advice;
  }
}

/** Status of Web3Signer for requests by a host name that it was not told (its HostAllowListHandler). */
const UNLISTED_HOST = "HTTP 403";
const UNAUTHORIZED = "HTTP 401";

/** What helps when the signer gave no signature. */
function adviseOnSilence({ code, detail }: RpcFault, address: Address): string {
  switch (code) {
    case "unreachable":
      return "check that Web3Signer runs, and the URL behind web3signer: in `signer`";
    case "not_found":
      return `load the key of ${address} into Web3Signer, or correct \`signer_address\``;
    case "unauthorized":
      return detail === UNLISTED_HOST
        ? "start Web3Signer with the host name of its URL in --http-host-allowlist"
        : detail === UNAUTHORIZED
        ? "correct user name and password in the URL of `signer`"
        : "start Web3Signer with the command eth1, version 23.8 or newer, and let its paths be reached";
    case "timeout":
    case "throttled":
    case "server_error":
      return "check the log of Web3Signer, and the vault that holds its keys";
    default:
      return "check the log of Web3Signer, and the URL behind web3signer: in `signer`";
  }
}
