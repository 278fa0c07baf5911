/**
 * All field roots of a beacon state from Electra on from a stream of its JSON, for nodes that serve no bytes: some
 * providers turn every answer into JSON. Memory does not grow with the state. Start reading at {@link StateJsonReader}.
 * Source of the form: ethereum/beacon-APIs: apis/debug/state.v2.yaml; ethereum/consensus-specs: ssz (JSON mapping).
 */
import { Tokenizer, TokenizerError, TokenType } from "@streamparser/json";
import { DerivationError } from "./sync_committee_error.ts";
import { type BeaconStateParts, FieldRoots, type FieldSink } from "./field_roots.ts";
import type { NamedField, StateField, StateLayout } from "./state_layout.ts";

/** Depth of the names of fields: within `data` of the answer. */
const FIELD_DEPTH = 2;

/** Bytes of an offset. */
const OFFSET_BYTES = 4;

/** Maximum number of bytes without a token: those of a list of all validators as one text in hex. */
const MAX_TOKEN_BYTES = 2 ** 26;

/** Takes the JSON of one state in pieces of any size. As with the bytes, compare the root before use. */
export class StateJsonReader {
  readonly #fields: readonly NamedField[];
  readonly #roots: FieldRoots;
  readonly #tokenizer = new Tokenizer({ stringBufferSize: 65_536 });
  /** True for each open container that is an object. */
  readonly #open: boolean[] = [];
  #isNameNext = false;
  #isDone = false;
  #sinceToken = 0;
  /** Name of the member of the answer that is read. */
  #member = "";
  #field: FieldValues | undefined;

  constructor({ fields, isProgressive }: StateLayout) {
    this.#fields = fields;
    this.#roots = new FieldRoots(isProgressive);
    this.#tokenizer.onToken = ({ token, value }) => {
      this.#sinceToken = 0;
      this.#take(token, String(value));
    };
    this.#tokenizer.onError = (cause) => {
      throw cause instanceof TokenizerError ? new DerivationError("state_bytes", { cause }) : cause;
    };
  }

  /** Takes the next bytes. @throws {DerivationError} `state_bytes` when they cannot be those of such a state. */
  write(bytes: Uint8Array): void {
    this.#sinceToken += bytes.length;
    if (this.#sinceToken > MAX_TOKEN_BYTES) throw new DerivationError("state_bytes");
    this.#tokenizer.write(bytes);
  }

  /** Returns the parts after the last byte. @throws {DerivationError} `state_bytes` when something is missing. */
  finish(): BeaconStateParts {
    if (!this.#isDone) throw new DerivationError("state_bytes");
    return this.#roots.finish();
  }

  #take(token: TokenType, text: string): void {
    if (this.#isDone) throw new DerivationError("state_bytes");
    switch (token) {
      case TokenType.LEFT_BRACE:
      case TokenType.LEFT_BRACKET:
        this.#open.push(token === TokenType.LEFT_BRACE);
        this.#isNameNext = token === TokenType.LEFT_BRACE;
        return;
      case TokenType.RIGHT_BRACE:
      case TokenType.RIGHT_BRACKET:
        if (this.#open.pop() !== (token === TokenType.RIGHT_BRACE)) throw new DerivationError("state_bytes");
        return this.#end();
      case TokenType.COMMA:
        this.#isNameNext = this.#open.at(-1) === true;
        return;
      case TokenType.COLON:
        this.#isNameNext = false;
        return;
      default:
        if (this.#isNameNext) this.#key(text);
        else if (this.#isInState) this.#field?.scalar(text);
    }
  }

  #key(name: string): void {
    const depth = this.#open.length;
    if (depth === 1) this.#member = name;
    else if (this.#isInState && depth === FIELD_DEPTH) this.#begin(name);
  }

  get #isInState(): boolean {
    return this.#member === "data";
  }

  #begin(name: string): void {
    this.#close();
    const index = this.#fields.findIndex((field) => field.name === name);
    const field = this.#fields[index];
    if (field === undefined) throw new DerivationError("state_bytes");
    const target = this.#roots.sinkOf(index, field);
    this.#field = valuesOf(field, target);
  }

  #close(): void {
    this.#field?.end();
    this.#field = undefined;
  }

  #end(): void {
    if (this.#isInState && this.#open.length < FIELD_DEPTH) this.#close();
    this.#isDone = this.#open.length === 0;
  }
}

/** Takes the scalars of one field in the order of the specification; the root shows when they have another order. */
interface FieldValues {
  scalar(text: string): void;
  end(): void;
}

function valuesOf(field: StateField, target: FieldSink): FieldValues {
  switch (field.kind) {
    case "value":
    case "records":
      return new Values(target, field.sizes);
    case "vector":
    case "list":
      return new Values(target, [field.itemBytes], "as_one_text");
    case "whole": {
      const at = field.sizes.indexOf("rest");
      const sizes = field.sizes.flatMap((size) => size === "rest" ? [] : [size]);
      return at === -1 ? new Values(target, sizes) : new Container(target, sizes, at);
    }
  }
}

/** Bytes that are buffered before they are passed on. */
const BUFFER_BYTES = 65_536;

/** Values of known sizes. */
class Values implements FieldValues {
  readonly #target: FieldSink;
  readonly #sizes: readonly number[];
  readonly #mayBeOneText: boolean;
  readonly #buffer = new Uint8Array(BUFFER_BYTES);
  #filled = 0;
  #turn = 0;

  /** @param form items that also come as one text in hex: lists of bytes of some nodes, bit vectors of all. */
  constructor(target: FieldSink, sizes: readonly number[], form?: "as_one_text") {
    this.#target = target;
    this.#sizes = sizes;
    this.#mayBeOneText = form === "as_one_text";
  }

  scalar(text: string): void {
    if (this.#mayBeOneText && text.startsWith("0x")) return this.#wholeText(text);
    const size = this.#sizes[this.#turn] ?? 0;
    this.#turn = (this.#turn + 1) % this.#sizes.length;
    writeValue(text, this.#room(size));
  }

  #wholeText(text: string): void {
    for (let at = 2; at < text.length; at += 2 * BUFFER_BYTES) {
      const digits = text.slice(at, at + 2 * BUFFER_BYTES);
      writeHex(digits, this.#room(Math.ceil(digits.length / 2)));
    }
  }

  end(): void {
    if (this.#turn !== 0) throw new DerivationError("state_bytes");
    this.#flush();
    this.#target.end();
  }

  #room(size: number): Uint8Array {
    if (this.#filled + size > BUFFER_BYTES) this.#flush();
    this.#filled += size;
    return this.#buffer.subarray(this.#filled - size, this.#filled);
  }

  #flush(): void {
    this.#target.take(this.#buffer.subarray(0, this.#filled));
    this.#filled = 0;
  }
}

/** Maximum number of scalars in a container that is read whole. */
const MAX_TEXTS = 8192;

/** A container with one part of variable size: bytes, or a list of them. */
class Container implements FieldValues {
  readonly #target: FieldSink;
  readonly #sizes: readonly number[];
  readonly #restAt: number;
  readonly #texts: string[] = [];

  constructor(target: FieldSink, sizes: readonly number[], restAt: number) {
    this.#target = target;
    this.#sizes = sizes;
    this.#restAt = restAt;
  }

  scalar(text: string): void {
    if (this.#texts.push(text) > MAX_TEXTS) throw new DerivationError("state_bytes");
  }

  end(): void {
    const rest = this.#texts.splice(this.#restAt, this.#texts.length - this.#sizes.length);
    if (this.#texts.length !== this.#sizes.length) throw new DerivationError("state_bytes");
    const fixedBytes = this.#sizes.reduce((sum, size) => sum + size, OFFSET_BYTES);
    this.#sizes.forEach((size, index) => {
      if (index === this.#restAt) this.#takeOffset(fixedBytes);
      this.#take(this.#texts[index] ?? "", size);
    });
    for (const text of rest) this.#take(text, Math.ceil(text.length / 2) - 1);
    this.#target.end();
  }

  #takeOffset(offset: number): void {
    const bytes = new Uint8Array(OFFSET_BYTES);
    new DataView(bytes.buffer).setUint32(0, offset, true);
    this.#target.take(bytes);
  }

  #take(text: string, size: number): void {
    const bytes = new Uint8Array(size);
    writeValue(text, bytes);
    this.#target.take(bytes);
  }
}

/** Digits of numbers that are exact as a double. */
const SAFE_DIGITS = 15;

/** Writes a value as SSZ has it: bytes in hex, numbers in decimal (little endian), truth values. */
function writeValue(text: string, target: Uint8Array): void {
  if (text.startsWith("0x")) writeHex(text.slice(2), target);
  else if (text === "true" || text === "false") target[0] = text === "true" ? 1 : 0;
  else writeNumber(text, target);
}

function writeHex(digits: string, target: Uint8Array): void {
  if (digits.length !== 2 * target.length) throw new DerivationError("state_bytes");
  for (let index = 0; index < target.length; index++) {
    target[index] = 16 * digitOf(digits.charCodeAt(2 * index)) + digitOf(digits.charCodeAt(2 * index + 1));
  }
}

function digitOf(code: number): number {
  if (code >= 0x30 && code <= 0x39) return code - 0x30;
  const lower = code | 0x20;
  if (lower >= 0x61 && lower <= 0x66) return lower - 0x57;
  throw new DerivationError("state_bytes");
}

function writeNumber(text: string, target: Uint8Array): void {
  if (!/^[0-9]{1,78}$/.test(text)) throw new DerivationError("state_bytes");
  if (text.length <= SAFE_DIGITS) {
    let rest = Number(text);
    for (let index = 0; index < target.length; index++) {
      target[index] = rest % 256;
      rest = Math.floor(rest / 256);
    }
    if (rest > 0) throw new DerivationError("state_bytes");
    return;
  }
  let rest = BigInt(text);
  for (let index = 0; index < target.length; index++) {
    target[index] = Number(rest & 0xffn);
    rest >>= 8n;
  }
  if (rest > 0n) throw new DerivationError("state_bytes");
}
