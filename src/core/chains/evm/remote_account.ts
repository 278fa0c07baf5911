/**
 * The account of a remote signer, a Web3Signer in its mode `eth1`: it is asked for signatures, and what it answers is used
 * only if it is exactly what was asked for. Transactions are signed by JSON-RPC, data by its REST API, since JSON-RPC would
 * sign it with a prefix (`eth_sign`). Start reading at {@link RemoteAccount}. Source: Consensys/web3signer:
 * core/src/main/java/tech/pegasys/web3signer/core/routes/eth1, openapi-specs/eth1/web3signer.yaml.
 */
import * as z from "zod";
import type { RemoteSigner } from "../../config/redact.ts";
import { fromHex, keccak256, toHex } from "../../encoding/bytes.ts";
import type { Address } from "../../evm/address.ts";
import type { SignedMessage } from "../../ismp/signed_messages.ts";
import { evmChainId, type StateMachine } from "../../ismp/state_machine.ts";
import type { FaultPlace, RpcEndpoint, RpcFaultCode, TranslateError } from "../../rpc/call.ts";
import { RpcFault } from "../../rpc/call.ts";
import { translateEvmError } from "../../rpc/evm_errors.ts";
import { HttpEndpoint } from "../../rpc/http.ts";
import { HttpAddress } from "../../rpc/http_exchange.ts";
import { parseJson } from "../../rpc/json.ts";
import { observeRequest } from "../../rpc/observed_endpoint.ts";
import { type Backoff, retry } from "../../runtime/retry.ts";
import type { Log } from "../../telemetry/log.ts";
import type { RemoteKeyHolder, SigningAccount } from "./account.ts";
import type { EvmEndpointSetDeps } from "./evm_endpoint_set.ts";
import { toQuantity } from "./queries.ts";
import {
  judgeMessage,
  judgeTransaction,
  type SignerJudgement,
  type SignerMismatch,
  type TransactionToSign,
} from "./signed_transaction.ts";

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
/** Maximum size of an answer, bytes: that of a transaction of 128 KiB in hex, or of the keys of a large signer. */
const MAX_RESPONSE_BYTES = 4 * 1024 * 1024;

const SIGN_ROUTE = "eth1/sign";
const KEYS_ROUTE = "eth1/publicKeys";

const texts = z.array(z.string());

/** A request for one signature. */
interface Asked {
  /** Name of the request in faults and metrics. */
  readonly method: string;
  readonly send: (signal: AbortSignal) => Promise<string>;
  readonly judge: (answer: string) => SignerJudgement;
}

/**
 * An account whose key is held by a Web3Signer.
 *
 * Its methods throw a {@link SignerFault}: `signer_unavailable`, or `wrong_signature` for an answer that differs from
 * what was asked for.
 */
export class RemoteAccount implements SigningAccount, RemoteKeyHolder {
  readonly address: Address;
  /** Host and port of the signer. */
  readonly host: string;
  readonly remote: RemoteKeyHolder = this;
  readonly #rpc: RpcEndpoint;
  readonly #http: HttpAddress;
  /** Public key of the address, as the signer spells it; it names the key where data are signed. */
  #publicKey: string | undefined;
  /** True after a request that gave no usable signature. */
  #isFailing = false;

  constructor(
    readonly deps: EvmEndpointSetDeps & { readonly log: Log },
    readonly options: { readonly chain: StateMachine; readonly signer: RemoteSigner },
  ) {
    const { chain, signer } = options;
    const limits = { timeoutMs: TIMEOUT_MS, maxResponseBytes: MAX_RESPONSE_BYTES };
    const address = { url: signer.reveal(), chain, ...limits };
    this.#rpc = new HttpEndpoint(deps, { ...address, translate: translateSignerError });
    this.#http = new HttpAddress(deps, address);
    this.host = this.#http.host;
    this.address = signer.address;
  }

  /** @throws {SignerFault} */
  async fetchAddresses(signal: AbortSignal): Promise<readonly string[]> {
    const method = "eth_accounts";
    try {
      return this.#read(method, texts, await this.#call(method, [], signal));
    } catch (error) {
      throw error instanceof RpcFault ? this.#noteSilence(method, error) : error;
    }
  }

  /** Of the fields others are ignored, `chainId` too: Web3Signer is started for one chain. @throws {SignerFault} */
  signTransaction(transaction: TransactionToSign, signal: AbortSignal): Promise<Uint8Array> {
    const fields = toFields(transaction, this.address);
    const method = "eth_signTransaction";
    return this.#ask({
      method,
      send: async (inner) => this.#read(method, z.string(), await this.#call(method, [fields], inner)),
      judge: (answer) => judgeTransaction(answer, transaction, this.address),
    }, signal);
  }

  /** Has the bytes of the message signed: the signer hashes them as the hub does. @throws {SignerFault} */
  signMessage(message: SignedMessage, signal: AbortSignal): Promise<Uint8Array> {
    return this.#ask({
      method: SIGN_ROUTE,
      send: async (inner) => {
        const publicKey = this.#publicKey ??= await this.#findPublicKey(inner);
        const path = `${SIGN_ROUTE}/${encodeURIComponent(publicKey)}`;
        const body = JSON.stringify({ data: toHex(message.preimage) });
        return (await this.#request({ what: SIGN_ROUTE, path, body }, inner)).trim();
      },
      judge: (answer) => judgeMessage(answer, message, this.address),
    }, signal);
  }

  async #call(method: string, params: readonly unknown[], signal: AbortSignal): Promise<unknown> {
    const [answer] = await this.#rpc.send([{ method, params }], { signal });
    if (answer?.kind !== "result") throw answer?.fault ?? new Error("A call without an answer");
    return answer.result;
  }

  /** Text of a route's answer. */
  async #request(
    { what, path, body }: { readonly what: string; readonly path: string; readonly body?: string },
    signal: AbortSignal,
  ): Promise<string> {
    const request = { what, path: `/api/v1/${path}`, ...body === undefined ? {} : { body } };
    const answer = await this.#http.exchange(request, { signal });
    if (answer.status !== 200) throw this.#http.statusFault(answer, what);
    return answer.text;
  }

  #read<T>(what: string, schema: z.ZodType<T>, answer: unknown): T {
    const parsed = schema.safeParse(answer);
    if (parsed.success) return parsed.data;
    throw this.#http.fault("malformed", what, { detail: "an answer of another form" });
  }

  async #ask({ method, send, judge }: Asked, signal: AbortSignal): Promise<Uint8Array> {
    const { clock, randomness } = this.deps;
    let judged: SignerJudgement;
    try {
      judged = await retry(
        { clock, randomness, signal },
        {
          backoff: pauses,
          maxAttempts: MAX_ATTEMPTS,
          withinMs: ATTEMPTS_WITHIN_MS,
          pauseAfter: (error) =>
            error instanceof RpcFault && PASSING.has(error.code) ? error.retryAfterMs ?? 0 : undefined,
        },
        () =>
          observeRequest(
            this.deps,
            {
              place: { chain: this.options.chain, endpointHost: this.host, role: "signer" },
              calls: [{ method }],
            },
            async () => judge(await send(signal)),
            ({ kind }) => ({ outcomes: [kind === "verified" ? "ok" : "wrong_signature"] }),
          ),
      );
    } catch (error) {
      if (!(error instanceof RpcFault)) throw error;
      this.#publicKey = undefined;
      throw this.#noteSilence(method, error);
    }
    if (judged.kind === "mismatch") throw this.#noteMismatch(method, judged);
    if (this.#isFailing) {
      this.#isFailing = false;
      this.deps.log.info("signer_recovered", { endpoint: this.host });
    }
    return judged.bytes;
  }

  #noteSilence(method: string, cause: RpcFault): SignerFault {
    const detail = cause.detail === undefined ? cause.code : `${cause.code}: ${cause.detail}`;
    const advice = adviseOnSilence(cause, this.address);
    this.#isFailing = true;
    this.deps.log.warn("signer_unavailable", { endpoint: this.host, method, detail, explanation: advice });
    return new SignerFault("signer_unavailable", this.#place(method), { found: detail, advice, cause });
  }

  #noteMismatch(method: string, { field, explanation }: SignerMismatch): SignerFault {
    const detail = `${field} ${explanation}`;
    const advice = adviseOnMismatch(field, this.options.chain);
    this.#isFailing = true;
    const fields = { endpoint: this.host, method, field, detail, explanation: advice };
    this.deps.log.error("signer_answer_wrong", fields);
    return new SignerFault("wrong_signature", this.#place(method), { found: detail, advice });
  }

  #place(method: string): FaultPlace {
    return { chain: this.options.chain, endpointHost: this.host, method };
  }

  /** Finds the public key of our address among those of the signer. @throws {RpcFault} `not_found`. */
  async #findPublicKey(signal: AbortSignal): Promise<string> {
    const answer = await this.#request({ what: KEYS_ROUTE, path: KEYS_ROUTE }, signal);
    const keys = this.#read(KEYS_ROUTE, texts, parseLeniently(answer));
    const own = keys.find((key) => isKeyOf(key, this.address));
    if (own !== undefined) return own;
    const detail = `none of its ${keys.length} keys is that of ${this.address}`;
    throw this.#http.fault("not_found", KEYS_ROUTE, { detail });
  }
}

/** `undefined`: no JSON, or more than a list of keys needs. */
function parseLeniently(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}

/**
 * Maps errors of Web3Signer to fault codes. An account whose key it does not hold is `not_found`. Source:
 * Consensys/web3signer: core/src/main/java/tech/pegasys/web3signer/core/service/jsonrpc/response/JsonRpcError.java.
 */
const translateSignerError: TranslateError = (error, method) =>
  /no unlocked account/i.test(error.message)
    ? { code: "not_found", data: undefined }
    : translateEvmError(error, method);

/** True for the public key of an address: 64 bytes in hex. */
function isKeyOf(publicKey: string, address: Address): boolean {
  return /^0x[0-9a-f]{128}$/i.test(publicKey) &&
    toHex(keccak256(fromHex(publicKey)).slice(12)) === address;
}

/** A transaction as fields of `eth_signTransaction`. */
function toFields(transaction: TransactionToSign, from: Address): Readonly<Record<string, string>> {
  const { type: _type, ...fields } = transaction;
  const show = (value: unknown): string =>
    typeof value === "bigint" || typeof value === "number" ? toQuantity(BigInt(value)) : String(value);
  const texts = Object.entries(fields).map(([field, value]) => [field, show(value)]);
  return { from, ...Object.fromEntries(texts) };
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
    case "missing_method":
    case "unauthorized":
      return detail === UNLISTED_HOST
        ? "start Web3Signer with the host name of its URL in --http-host-allowlist"
        : detail === UNAUTHORIZED
        ? "correct user name and password in the URL of `signer`"
        : "start Web3Signer with the command eth1, version 23.8 or newer";
    case "timeout":
    case "throttled":
    case "server_error":
      return "check the log of Web3Signer, and the vault that holds its keys";
    default:
      return "check the log of Web3Signer, and the URL behind web3signer: in `signer`";
  }
}

/** What helps when the signer answered something else than it was asked for. */
function adviseOnMismatch(field: string, chain: StateMachine): string {
  return field === "chainId"
    ? `start a Web3Signer with --chain-id=${evmChainId(chain)} for this chain: each signs for one chain only`
    : "find out why before you trust this signer again: it, or something in front of it, changes what it signs";
}
