/**
 * Streaming JSON scanner for texts that are too long for memory. It reports structure and scalars only; the caller
 * interprets them. Source: RFC 8259.
 */

/** Events in order of the text. */
export interface JsonEvents {
  /** An object or array begins. */
  begin(): void;
  /** An object or array ends. */
  end(): void;
  /** The name of the member that comes next. */
  key(name: string): void;
  /**
   * A string without its quotes, or a number, `true`, `false` or `null` as written. A string longer than
   * {@link MAX_TOKEN_BYTES} comes in pieces of that length, of which only the last `isWhole`.
   */
  scalar(text: string, isWhole: boolean): void;
}

/** The text is no JSON, or has a longer name or number than any that is read here. */
export class JsonScanError extends Error {
  override readonly name = "JsonScanError";
  readonly code = "bad_json";

  constructor() {
    super("The text is no JSON that is read here");
  }
}

/** Maximum length of a name or number and of a piece of a string, bytes; even, so that no byte in hex is cut. */
export const MAX_TOKEN_BYTES = 16_384;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/** White space between tokens. */
function isSpace(byte: number): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

/** A byte of a number or of `true`, `false`, `null`. */
function isBare(byte: number): boolean {
  return (byte >= 0x30 && byte <= 0x39) || (byte >= 0x61 && byte <= 0x7a) || byte === 0x2d || byte === 0x2b ||
    byte === 0x2e || byte === 0x45;
}

/**
 * Takes the bytes of one JSON text in pieces of any size. Scalars with escapes are refused: identifiers, numbers and
 * bytes in hex have none. Commas and colons are not checked against the grammar.
 */
export class JsonScanner {
  readonly #events: JsonEvents;
  /** True for each open container that is an object. */
  readonly #open: boolean[] = [];
  #token: number[] = [];
  #state: "between" | "string" | "bare" = "between";
  #isNameNext = false;
  #hasBegun = false;

  constructor(events: JsonEvents) {
    this.#events = events;
  }

  /** True once the outermost value has ended. */
  get isDone(): boolean {
    return this.#hasBegun && this.#open.length === 0 && this.#state === "between";
  }

  /** Takes the next bytes. @throws {JsonScanError} */
  write(bytes: Uint8Array): void {
    for (let at = 0; at < bytes.length;) {
      at = this.#state === "string" ? this.#string(bytes, at) : this.#one(bytes, at);
    }
  }

  /** Reads on within a string; returns where to continue. */
  #string(bytes: Uint8Array, from: number): number {
    let at = from;
    for (; at < bytes.length; at++) {
      const byte = bytes[at] ?? 0;
      if (byte === QUOTE) {
        this.#state = "between";
        this.#report(true);
        return at + 1;
      }
      if (byte === BACKSLASH) throw new JsonScanError();
      if (this.#token.length === MAX_TOKEN_BYTES) this.#report(false);
      this.#token.push(byte);
    }
    return at;
  }

  #one(bytes: Uint8Array, at: number): number {
    const byte = bytes[at] ?? 0;
    if (this.#state === "bare") {
      if (isBare(byte) && this.#token.length < MAX_TOKEN_BYTES) {
        this.#token.push(byte);
        return at + 1;
      }
      this.#state = "between";
      this.#report(true);
      return at;
    }
    if (isSpace(byte)) return at + 1;
    if (this.isDone) throw new JsonScanError();
    this.#between(byte);
    return at + 1;
  }

  #between(byte: number): void {
    this.#hasBegun = true;
    switch (byte) {
      case QUOTE:
        this.#state = "string";
        return;
      case OPEN_OBJECT:
      case OPEN_ARRAY:
        this.#open.push(byte === OPEN_OBJECT);
        this.#isNameNext = byte === OPEN_OBJECT;
        this.#events.begin();
        return;
      case CLOSE_OBJECT:
      case CLOSE_ARRAY:
        if (this.#open.pop() !== (byte === CLOSE_OBJECT)) throw new JsonScanError();
        this.#events.end();
        return;
      case COMMA:
        this.#isNameNext = this.#open.at(-1) === true;
        return;
      case COLON:
        this.#isNameNext = false;
        return;
      default:
        if (!isBare(byte)) throw new JsonScanError();
        this.#state = "bare";
        this.#token.push(byte);
    }
  }

  #report(isWhole: boolean): void {
    const text = String.fromCharCode(...this.#token);
    this.#token = [];
    if (!this.#isNameNext) this.#events.scalar(text, isWhole);
    else if (isWhole) this.#events.key(text);
    else throw new JsonScanError();
  }
}
