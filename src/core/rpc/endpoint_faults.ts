/** Faults of one endpoint, which hold nothing of its URL but the host. */
import { endpointHost, redactUrl, secretParts } from "../config/redact.ts";
import { createRedactor } from "../telemetry/redactor.ts";
import { RpcFault, type RpcFaultCode } from "./call.ts";

const MAX_CHARACTERS = 300;
/** Nodes may echo megabytes; only the beginning is ever shown. */
const READ_CHARACTERS = 4 * MAX_CHARACTERS;

/**
 * An endpoint by its host. Its faults are made here and nowhere else, so that what logs, pages, answers and the database
 * have of them holds no key: parts of the URL that may be keys become `[secret]`, see `secretParts`, whatever the node
 * repeats.
 */
export class EndpointFaults {
  /** Host and port; safe to log. */
  readonly host: string;
  readonly #redact: (words: string) => string;

  /** @param chain name of the chain in faults */
  constructor(url: string, readonly chain: string) {
    this.host = endpointHost(url);
    this.#redact = createRedactor(secretParts(url));
  }

  /** Creates a fault. @param what method or name of the request @param options `detail` may be words of the node */
  fault(code: RpcFaultCode, what: string, options: ConstructorParameters<typeof RpcFault>[2] = {}): RpcFault {
    const where = { chain: this.chain, endpointHost: this.host, method: what };
    const { detail } = options;
    const safe = detail === undefined
      ? undefined
      : safeDetail(this.#redact(detail.slice(0, READ_CHARACTERS)));
    return new RpcFault(code, where, { ...options, detail: safe });
  }
}

/**
 * Text of a node for a fault: URLs keep scheme and host only, strings that may be keys become `[hidden]`, white space
 * is collapsed, and the rest is cut to 300 characters. `0x` hex (addresses, hashes) stays.
 */
function safeDetail(words: string): string {
  const shown = words
    .replace(/[a-z][a-z0-9+.-]*:\/\/[^\s"'<>()\\]+/gi, (url) => redactUrl(url))
    .replace(/[0-9A-Za-z_-]{20,}/g, (run) => mayBeKey(run) ? "[hidden]" : run)
    .replace(/[\s\p{Cc}]+/gu, " ")
    .trim();
  return shown.length <= MAX_CHARACTERS ? shown : `${shown.slice(0, MAX_CHARACTERS - 3)}...`;
}

function mayBeKey(run: string): boolean {
  return !/^0x[0-9a-fA-F]*$/.test(run) && /[0-9]/.test(run) && /[A-Za-z]/.test(run);
}
