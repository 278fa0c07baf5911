/**
 * Web3Signer in its mode `eth1`: transactions by JSON-RPC, and signatures of data, which JSON-RPC would sign with a
 * prefix only (`eth_sign`), by its REST API. What it answers is not judged here. Source: Consensys/web3signer:
 * core/src/main/java/tech/pegasys/web3signer/core/routes/eth1, openapi-specs/eth1/web3signer.yaml.
 */
import * as z from "zod";
import type { CallConditions, NodeError, RpcEndpoint, TranslateError } from "./call.ts";
import { translateEvmError } from "./evm_errors.ts";
import { createHttpEndpoint } from "./http.ts";
import { HttpAddress, type HttpAnswer, type HttpDeps, type HttpRequest } from "./http_exchange.ts";

/** Time of a request, milliseconds: a key in a vault or a hardware module takes a second. */
const TIMEOUT_MS = 5_000;

/** Maximum size of an answer, bytes: that of a transaction of 128 KiB in hex, or of the keys of a large signer. */
const MAX_RESPONSE_BYTES = 4 * 1024 * 1024;

/** Fields of `eth_signTransaction`. Other fields are ignored, `chainId` too: Web3Signer is started for one chain. */
export type TransactionFields = Readonly<Record<string, string>>;

const SIGN_ROUTE = "eth1/sign";
const KEYS_ROUTE = "eth1/publicKeys";

const texts = z.array(z.string());

/** A Web3Signer. Every method may throw an `RpcFault`. */
export class Web3Signer {
  /** Host and port; safe to log. */
  readonly host: string;
  readonly #rpc: RpcEndpoint;
  readonly #address: HttpAddress;

  /** @param options `chain` is the name of the chain in faults. */
  constructor(deps: HttpDeps, options: { readonly url: string; readonly chain: string }) {
    const limited = { ...options, timeoutMs: TIMEOUT_MS, maxResponseBytes: MAX_RESPONSE_BYTES };
    this.#address = new HttpAddress(deps, limited);
    this.#rpc = createHttpEndpoint(deps, { ...limited, translate: translateSignerError });
    this.host = this.#address.host;
  }

  /** Lists the addresses whose keys it holds. */
  async fetchAccounts(conditions: CallConditions): Promise<readonly string[]> {
    const method = "eth_accounts";
    return this.#read(method, texts.safeParse(await this.#call(method, [], conditions)));
  }

  /** Has a transaction signed; the answer should be its bytes as hex. */
  async signTransaction(fields: TransactionFields, conditions: CallConditions): Promise<string> {
    const method = "eth_signTransaction";
    return this.#read(method, z.string().safeParse(await this.#call(method, [fields], conditions)));
  }

  /** Lists the public keys of the private keys that it holds, 64 bytes as hex. */
  async fetchPublicKeys(conditions: CallConditions): Promise<readonly string[]> {
    const { text } = await this.#request({ what: KEYS_ROUTE, path: `/api/v1/${KEYS_ROUTE}` }, conditions);
    return this.#read(KEYS_ROUTE, texts.safeParse(parseLeniently(text)));
  }

  /** Has the Keccak-256 of data signed, without a prefix; the answer should be r, s and v as hex. */
  async sign(
    { publicKey, data }: { readonly publicKey: string; readonly data: string },
    conditions: CallConditions,
  ): Promise<string> {
    const path = `/api/v1/${SIGN_ROUTE}/${encodeURIComponent(publicKey)}`;
    const body = JSON.stringify({ data });
    return (await this.#request({ what: SIGN_ROUTE, path, body }, conditions)).text.trim();
  }

  async #call(method: string, params: readonly unknown[], conditions: CallConditions): Promise<unknown> {
    const [answer] = await this.#rpc.send([{ method, params }], conditions);
    if (answer === undefined) throw new Error("A call without an answer");
    if (answer.kind === "fault") throw answer.fault;
    return answer.result;
  }

  async #request(request: HttpRequest, conditions: CallConditions): Promise<HttpAnswer> {
    const answer = await this.#address.exchange(request, conditions);
    if (answer.status !== 200) throw this.#address.statusFault(answer, request.what);
    return answer;
  }

  #read<T>(what: string, parsed: z.ZodSafeParseResult<T>): T {
    if (parsed.success) return parsed.data;
    throw this.#address.fault("malformed", what, { detail: "an answer of another form" });
  }
}

/** `undefined`: no JSON. */
function parseLeniently(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/**
 * Maps errors of Web3Signer to fault codes. An account whose key it does not hold is `not_found`. Source:
 * Consensys/web3signer: core/src/main/java/tech/pegasys/web3signer/core/service/jsonrpc/response/JsonRpcError.java.
 */
const translateSignerError: TranslateError = (error: NodeError, method: string) =>
  /no unlocked account/i.test(error.message)
    ? { code: "not_found", data: undefined }
    : translateEvmError(error, method);
