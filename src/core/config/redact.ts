/**
 * The one place that decides what of a secret or of an endpoint may be seen. Whatever reaches a log line, an
 * error text, a metric label or JSON goes through here first.
 */

const SECRET_MARK = "[secret]";
const HIDDEN_LABEL = "hidden";
/** Honoured by `Deno.inspect`, `console` and `node:util` alike. */
const INSPECT = Symbol.for("nodejs.util.inspect.custom");

/**
 * A value that must not be shown: private keys and API keys. Text, JSON and inspection give `[secret]`;
 * {@link Secret.reveal} is the only way to the value.
 */
export class Secret<T> {
  readonly #value: T;

  readonly #place: string | undefined;

  /** @param place where it was read from, as the configuration names it; absent: it stands in the configuration */
  constructor(value: T, place?: string) {
    this.#value = value;
    this.#place = place;
  }

  /** Where it was read from; `undefined`: it stands in the configuration. */
  get place(): string | undefined {
    return this.#place;
  }

  /** The value itself, for the code that signs or authenticates. */
  reveal(): T {
    return this.#value;
  }

  toString(): string {
    return SECRET_MARK;
  }

  toJSON(): string {
    return SECRET_MARK;
  }

  [INSPECT](): string {
    return SECRET_MARK;
  }
}

/** Words of paths and queries of endpoints that are no keys, in lower case. */
const PLAIN_WORDS: ReadonlySet<string> = new Set(
  ("http https json jsonrpc socket sockets websocket websockets node nodes public private mainnet testnet devnet " +
    "sepolia hoodi holesky chiado chapel amoy ethereum arbitrum optimism polygon gnosis binance avalanche unichain " +
    "soneium polkadot kusama paseo westend hyperbridge nexus gargantua archive beacon execution consensus rollup " +
    "bridge network relayer causeway heimdall erigon substrate true false latest finalized").split(" "),
);

/**
 * Parts of an endpoint's URL that may be keys, decoded and as written: user and password, alone and as the header that
 * carries them; segments of the path; names and values of the query; the fragment; labels of the host that look like
 * keys. What {@link isPlain} takes for words is none, unless it is user or password.
 */
export function secretParts(url: string): readonly string[] {
  const parsed = URL.parse(url);
  if (parsed === null) return [];
  const { username, password, pathname, search, hash, hostname } = parsed;
  const pair = [username, password].map(decodePercent);
  const parts = [...pathname.split("/"), ...search.slice(1).split(/[&=]/), hash.slice(1)]
    .filter((part) => !isPlain(decodePercent(part)));
  const labels = hostname.split(".").filter((label) => looksSecret(label));
  const all = [username, password, ...parts, ...labels].flatMap((part) => [part, decodePercent(part)]);
  if (pair.join("") !== "") all.push(new TextEncoder().encode(pair.join(":")).toBase64());
  return [...new Set(all)].filter((part) => part !== "");
}

/** Decodes percent-encoding; what is none stays. */
export function decodePercent(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part; // a percent sign that encodes nothing
  }
}

/**
 * True for parts of less than six characters, and for those of words of less than six letters or of {@link PLAIN_WORDS}
 * ("v1", "rpc", "eth-mainnet"): with them, ordinary lines would lose their words.
 */
export function isPlain(part: string): boolean {
  const words = part.toLowerCase().split(/[-_.]/);
  const isLetters = words.every((word) =>
    /^(?:[a-z]{0,5}|v?\d{1,2}|[a-z]{2,4}\d)$/.test(word) || PLAIN_WORDS.has(word)
  );
  return part.length < 6 || (isLetters && part.length <= 24);
}

/** Lists the secrets of a configuration, at any depth: texts that no log line may contain. */
export function listSecrets(config: unknown): readonly string[] {
  if (config instanceof EndpointUrl) return secretParts(config.reveal());
  if (config instanceof Secret) {
    const value: unknown = config.reveal();
    return typeof value === "string" ? [value] : [];
  }
  return typeof config === "object" && config !== null ? Object.values(config).flatMap(listSecrets) : [];
}

/** True for a value that is a secret, or holds one at any depth. */
export function hasSecret(value: unknown): boolean {
  if (value instanceof Secret || value instanceof EndpointUrl) return true;
  return typeof value === "object" && value !== null && Object.values(value).some(hasSecret);
}

/**
 * URL of an endpoint whose user info, path and query may hold keys. Text, JSON and inspection give the
 * redacted form; {@link EndpointUrl.reveal} gives the whole URL to the code that connects.
 */
export class EndpointUrl {
  readonly #url: string;
  /** Host and, where given, port: how this endpoint is named in logs and errors. */
  readonly host: string;

  constructor(url: string) {
    this.#url = url;
    this.host = endpointHost(url);
  }

  /** The whole URL as configured. */
  reveal(): string {
    return this.#url;
  }

  toString(): string {
    return redactUrl(this.#url);
  }

  toJSON(): string {
    return this.toString();
  }

  [INSPECT](): string {
    return this.toString();
  }
}

/** Before the URL of a Web3Signer in `signer`. */
export const REMOTE_PREFIX = "web3signer:";

/** Before the path of an encrypted keystore in `signer`. */
export const KEYSTORE_PREFIX = "keystore:";

/** A remote signer: where it is, and which of its accounts signs. */
export class RemoteSigner extends EndpointUrl {
  /** @param address lower-case hex. */
  constructor(url: string, readonly address: `0x${string}`) {
    super(url);
  }

  /** As a configuration has it. */
  override toString(): string {
    return `${REMOTE_PREFIX}${super.toString()}`;
  }
}

/**
 * `host[:port]` of a URL. Labels of the host that look like keys (some providers put them there) become
 * `hidden`; text that is not a URL with a host gives `[not a URL]`.
 */
export function endpointHost(url: string): string {
  const parsed = URL.parse(url);
  if (parsed === null || parsed.host === "") return "[not a URL]";
  return parsed.host.split(".").map((label) => looksSecret(label) ? HIDDEN_LABEL : label).join(".");
}

/** Scheme and host of a URL; user info is dropped, and path, query and fragment become `...`. */
export function redactUrl(url: string): string {
  const parsed = URL.parse(url);
  if (parsed === null || parsed.host === "") return "[not a URL]";
  const isBare = (parsed.pathname === "/" || parsed.pathname === "") && parsed.search === "" &&
    parsed.hash === "";
  return `${parsed.protocol}//${endpointHost(url)}${isBare ? "" : "/..."}`;
}

/**
 * True for text that may hold a key: at least 32 hex digits in a row, or `mixedRun` letters and digits in a row
 * with both kinds among them. Etherscan keys have 34 such characters, those of RPC providers 20 and more.
 */
export function looksSecret(text: string, mixedRun = 20): boolean {
  return (text.match(/[0-9A-Za-z]+/g) ?? []).some((run) =>
    (run.length >= 32 && /[0-9a-fA-F]{32}/.test(run)) ||
    (run.length >= mixedRun && /[0-9]/.test(run) && /[A-Za-z]/.test(run))
  );
}

/** Quoted text for messages, or only its length when it is long, may be a URL (also without a scheme), or may hold a key. */
export function shownText(text: string): string {
  if (text === "") return "an empty text";
  if (text.length > 60 || /[/@]/.test(text) || looksSecret(text)) {
    return `a text of ${text.length} characters`;
  }
  return quoted(text);
}

/** JSON text without line breaks, control or direction marks, so that a message stays one honest line. */
export function quoted(text: string): string {
  return escapeControls(JSON.stringify(text));
}

/**
 * Text without line breaks, control or direction marks, but those in `kept`: they are escaped as in JSON, so that JSON
 * stays what it is.
 */
export function escapeControls(text: string, kept = ""): string {
  const unit = (code: string): string => `\\u${code.charCodeAt(0).toString(16).padStart(4, "0")}`;
  return text.replace(
    /[\p{C}\u2028\u2029]/gu,
    (character) => kept.includes(character) ? character : character.split("").map(unit).join(""),
  );
}
