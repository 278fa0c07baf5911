/**
 * All field roots of a beacon state from Electra on from a stream of its JSON, for nodes that serve no bytes: some
 * providers turn every answer into JSON. Memory does not grow with the state. Source of the form: ethereum/beacon-APIs:
 * apis/debug/state.v2.yaml; ethereum/consensus-specs: ssz (JSON mapping).
 */
import { JSONParser } from "@streamparser/json";
import type { Type } from "@chainsafe/ssz";
import { fromHex } from "../../../../core/encoding/bytes.ts";
import { type BeaconStateParts, FieldRoots, type FieldSink, stateError } from "./field_roots.ts";
import { itemsOf, type StateField, type StateType } from "./state_type.ts";
import { DerivationError } from "./sync_committee_error.ts";

/** Maximum number of bytes without a value: those of a list of all validators as one text in hex. */
const MAX_VALUE_BYTES = 2 ** 26;
/** Maximum number of tokens without a value: more than those of a field that is read whole, or of an item. */
const MAX_VALUE_TOKENS = 2 ** 14;

/** A list or vector whose items are read one by one. */
interface OpenList {
  readonly name: string;
  readonly elementType: Type<unknown>;
  readonly target: FieldSink;
}

/** Takes the JSON of one state in pieces of any size. As with the bytes, compare the root before use. */
export class StateJsonReader {
  readonly #fields: ReadonlyMap<string, StateField>;
  readonly #roots: FieldRoots;
  readonly #parser = new JSONParser({
    paths: ["$.data.*", "$.data.*.*"],
    keepStack: false,
    stringBufferSize: 65_536,
  });
  #sinceValue = 0;
  #tokens = 0;
  #list: OpenList | undefined;

  constructor(type: StateType) {
    this.#fields = new Map(type.fieldsEntries.map((field) => [field.jsonKey, field]));
    this.#roots = new FieldRoots(type);
    this.#parser.onError = (cause) => {
      throw stateError(cause);
    };
    this.#parser.onToken = () => {
      if (++this.#tokens > MAX_VALUE_TOKENS) throw new DerivationError("state_bytes");
    };
    this.#parser.onValue = ({ value, key, parent, stack }) => {
      const list = stack[2]?.key;
      if (list === undefined) this.#takeField(String(key), value);
      else if (this.#takeItem(String(list), value)) {
        if (!Array.isArray(parent)) throw new DerivationError("state_bytes");
        parent.length = 0; // what is taken is not kept
      }
    };
  }

  /** Takes the next bytes. @throws {DerivationError} `state_bytes` when they cannot be those of such a state. */
  write(bytes: Uint8Array): void {
    this.#sinceValue += bytes.length;
    if (this.#sinceValue > MAX_VALUE_BYTES) throw new DerivationError("state_bytes");
    this.#parser.write(bytes);
  }

  /** Returns the parts after the last byte. @throws {DerivationError} `state_bytes` when something is missing. */
  finish(): BeaconStateParts {
    if (!this.#parser.isEnded) throw new DerivationError("state_bytes");
    return this.#roots.finish();
  }

  #noteValue(): void {
    this.#sinceValue = 0;
    this.#tokens = 0;
  }

  /** Takes an item of a list or vector. @returns false for parts of other fields, which are taken when they are complete. */
  #takeItem(name: string, value: unknown): boolean {
    const list = this.#openList(name);
    if (list === undefined) return false;
    this.#noteValue();
    list.target.take(bytesOf(list.elementType, value));
    return true;
  }

  /** Takes a field, of a list or vector its end. Lists of small items come as one text, too, from some nodes. */
  #takeField(name: string, value: unknown): void {
    this.#noteValue();
    const field = this.#fields.get(name);
    if (field === undefined) throw new DerivationError("state_bytes");
    const list = this.#openList(name);
    this.#list = undefined;
    const { fieldType } = field;
    const target = list?.target ?? this.#roots.sinkOf(field);
    if (list === undefined || typeof value === "string") target.take(bytesOf(fieldType, value));
    target.end();
  }

  /** The list or vector that is read, opened for its first item; `undefined`: the field is none. */
  #openList(name: string): OpenList | undefined {
    if (this.#list?.name === name) return this.#list;
    const field = this.#fields.get(name);
    const list = field && itemsOf(field.fieldType);
    if (field === undefined || list === undefined) return undefined;
    return this.#list = { name, elementType: list.elementType, target: this.#roots.sinkOf(field) };
  }
}

/** SSZ of a value; bytes have the same digits in both forms. */
function bytesOf(type: Type<unknown>, value: unknown): Uint8Array {
  const isBytes = typeof value === "string" && value.startsWith("0x");
  return isBytes ? fromHex(value) : type.serialize(type.fromJson(value));
}
