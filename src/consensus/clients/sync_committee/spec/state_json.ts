/**
 * All field roots of a beacon state of Electra or Fulu from a stream of its JSON, for nodes that serve no bytes: some
 * providers turn every answer into JSON. Memory does not grow with the state. Start reading at {@link StateJsonReader}.
 * Source of the form: ethereum/beacon-APIs: apis/debug/state.v2.yaml; ethereum/consensus-specs: ssz (JSON mapping).
 */
import { JsonScanError, JsonScanner } from "./json_scanner.ts";
import { DerivationError } from "./derivation_error.ts";
import { type BeaconStateParts, FieldRoots, type FieldSink } from "./field_roots.ts";
import { LightClientJsonError, parseExecutionPayloadHeader } from "./light_client_data.ts";
import { payloadHeaderBytes } from "./ssz_roots.ts";
import { STATE_FIELD, type StateField, stateFields } from "./state_layout.ts";

/** Depth of the names of fields: within `data` of the answer. */
const FIELD_DEPTH = 2;

/** Takes the JSON of one state in pieces of any size. As with the bytes, compare the root before use. */
export class StateJsonReader {
  readonly #fields: readonly StateField[];
  readonly #indexOf: ReadonlyMap<string, number>;
  readonly #roots = new FieldRoots();
  readonly #scanner: JsonScanner;
  #depth = 0;
  /** Name of the member of the answer that is read. */
  #member = "";
  #field: FieldValues | undefined;

  constructor(slotsPerEpoch: bigint) {
    const fields = stateFields(Number(slotsPerEpoch));
    this.#fields = fields;
    this.#indexOf = new Map(fields.map(({ name }, index) => [name, index]));
    this.#scanner = new JsonScanner({
      begin: () => this.#depth++,
      end: () => this.#end(),
      key: (name) => this.#key(name),
      scalar: (text) => this.#scalar(text),
    });
  }

  /** Takes the next bytes. @throws {DerivationError} `state_bytes` when they cannot be those of such a state. */
  write(bytes: Uint8Array): void {
    try {
      this.#scanner.write(bytes);
    } catch (cause) {
      if (!(cause instanceof JsonScanError)) throw cause;
      throw new DerivationError("state_bytes", { cause });
    }
  }

  /** Returns the parts after the last byte. @throws {DerivationError} `state_bytes` when something is missing. */
  finish(): BeaconStateParts {
    if (!this.#scanner.isDone) throw new DerivationError("state_bytes");
    return this.#roots.finish();
  }

  #key(name: string): void {
    if (this.#depth === 1) this.#member = name;
    else if (this.#isInState && this.#depth === FIELD_DEPTH) this.#open(name);
    else this.#field?.key(name);
  }

  get #isInState(): boolean {
    return this.#member === "data";
  }

  #open(name: string): void {
    this.#close();
    const index = this.#indexOf.get(name);
    const field = index === undefined ? undefined : this.#fields[index];
    if (index === undefined || field === undefined) throw new DerivationError("state_bytes");
    const target = this.#roots.sinkOf(index, field);
    this.#field = index === STATE_FIELD.payloadHeader
      ? new HeaderValues(target)
      : new Values(target, sizesOf(field));
  }

  #close(): void {
    this.#field?.end();
    this.#field = undefined;
  }

  #end(): void {
    this.#depth--;
    if (this.#isInState && this.#depth < FIELD_DEPTH) this.#close();
  }

  #scalar(text: string): void {
    if (this.#isInState) this.#field?.scalar(text);
  }
}

/** Bytes of the values of a field, repeated. */
function sizesOf(field: StateField): readonly number[] {
  switch (field.kind) {
    case "value":
    case "records":
      return field.sizes;
    case "vector":
    case "list":
      return [field.itemBytes];
    case "whole":
      return [32]; // the summaries are roots
  }
}

/** Takes the values of one field. */
interface FieldValues {
  key(name: string): void;
  scalar(text: string): void;
  end(): void;
}

/** Bytes that are buffered before they are passed on. */
const BUFFER_BYTES = 65_536;

/** Values of known sizes, in the order of the specification. */
class Values implements FieldValues {
  readonly #target: FieldSink;
  readonly #sizes: readonly number[];
  readonly #buffer = new Uint8Array(BUFFER_BYTES);
  #filled = 0;
  #turn = 0;

  constructor(target: FieldSink, sizes: readonly number[]) {
    this.#target = target;
    this.#sizes = sizes;
  }

  key(): void {
    // Objects have their members in the order of the specification; the root shows when they have not.
  }

  scalar(text: string): void {
    const size = this.#sizes[this.#turn] ?? 0;
    this.#turn = (this.#turn + 1) % this.#sizes.length;
    if (this.#filled + size > BUFFER_BYTES) this.#flush();
    writeValue(text, this.#buffer.subarray(this.#filled, this.#filled + size));
    this.#filled += size;
  }

  end(): void {
    if (this.#turn !== 0) throw new DerivationError("state_bytes");
    this.#flush();
    this.#target.end();
  }

  #flush(): void {
    this.#target.take(this.#buffer.subarray(0, this.#filled));
    this.#filled = 0;
  }
}

/** The payload header, whose extra data has any length. */
class HeaderValues implements FieldValues {
  readonly #target: FieldSink;
  readonly #members: Record<string, string> = {};
  #name = "";

  constructor(target: FieldSink) {
    this.#target = target;
  }

  key(name: string): void {
    this.#name = name;
  }

  scalar(text: string): void {
    this.#members[this.#name] = text;
  }

  end(): void {
    try {
      this.#target.take(payloadHeaderBytes(parseExecutionPayloadHeader(this.#members)));
    } catch (cause) {
      if (!(cause instanceof LightClientJsonError)) throw cause;
      throw new DerivationError("state_bytes", { cause });
    }
    this.#target.end();
  }
}

/** Digits of numbers that are exact as a double. */
const SAFE_DIGITS = 15;

/** Writes a value as SSZ has it: bytes in hex, numbers in decimal (little endian), truth values. */
function writeValue(text: string, target: Uint8Array): void {
  if (text.startsWith("0x")) writeHex(text, target);
  else if (text === "true" || text === "false") target[0] = text === "true" ? 1 : 0;
  else writeNumber(text, target);
}

function writeHex(text: string, target: Uint8Array): void {
  if (text.length !== 2 + 2 * target.length) throw new DerivationError("state_bytes");
  for (let index = 0; index < target.length; index++) {
    const byte = 16 * digitOf(text.charCodeAt(2 + 2 * index)) + digitOf(text.charCodeAt(3 + 2 * index));
    target[index] = byte;
  }
}

function digitOf(code: number): number {
  if (code >= 0x30 && code <= 0x39) return code - 0x30;
  const lower = code | 0x20;
  if (lower >= 0x61 && lower <= 0x66) return lower - 0x57;
  throw new DerivationError("state_bytes");
}

function writeNumber(text: string, target: Uint8Array): void {
  if (!/^[0-9]{1,20}$/.test(text)) throw new DerivationError("state_bytes");
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
