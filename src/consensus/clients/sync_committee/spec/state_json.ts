/**
 * All field roots of a beacon state from Electra on from a stream of its JSON, for nodes that serve no bytes: some
 * providers turn every answer into JSON. The text is cut between fields and between items of lists, and each part is
 * parsed as a whole: memory does not grow with the state. Source of the form: ethereum/beacon-APIs:
 * apis/debug/state.v2.yaml; ethereum/consensus-specs: ssz (JSON mapping).
 */
import type { Type } from "@chainsafe/ssz";
import { fromHex } from "../../../../core/encoding/bytes.ts";
import { mapError } from "../../../spec/client_error.ts";
import { type BeaconStateParts, FieldRoots, type FieldSink, stateError } from "./field_roots.ts";
import { itemsOf, type StateField, type StateType } from "./state_type.ts";
import { DerivationError } from "./sync_committee_error.ts";

/** Maximum size of a part: of a list of all validators as one text in hex. */
const MAX_PART = 2 ** 26;
/** Size from which a list is cut between its items. */
const CUT_PART = 2 ** 17;
/** Maximum number of levels, that of the answer included. */
const MAX_DEPTH = 8;
/** Levels of the commas between the fields of the state, and between the items of its lists. */
const FIELDS = 2, ITEMS = 3;

/** A list or vector whose items are read in parts. */
interface OpenList {
  readonly elementType: Type<unknown>;
  readonly target: FieldSink;
}

/** Takes the JSON of one state in pieces of any size. As with the bytes, compare the root before use. */
export class StateJsonReader {
  readonly #fields: ReadonlyMap<string, StateField>;
  readonly #roots: FieldRoots;
  readonly #decoder = new TextDecoder();
  /** Text since the last cut. */
  #text = "";
  #place: "before the state" | "in the state" | "after the state" = "before the state";
  #depth = 0;
  /** True between quotes; no text of a state has an escape. */
  #isQuoted = false;
  /** True inside of a list of the state, false inside of an object. */
  #isInList = false;
  #list: OpenList | undefined;

  constructor(type: StateType) {
    this.#fields = new Map(type.fieldsEntries.map((field) => [field.jsonKey, field]));
    this.#roots = new FieldRoots(type);
  }

  /** Takes the next bytes. @throws {DerivationError} `state_bytes` when they cannot be those of such a state. */
  write(bytes: Uint8Array): void {
    let from = 0;
    for (let at = 0; at < bytes.length; at++) {
      const byte = bytes[at];
      if (byte === QUOTE) this.#isQuoted = !this.#isQuoted;
      if (this.#isQuoted) {
        const end = bytes.indexOf(QUOTE, at + 1);
        if (end === -1) break;
        at = end - 1;
      } else if (byte !== undefined && this.#isCut(byte, this.#text.length + at - from)) {
        this.#keep(bytes.subarray(from, at));
        mapError(Error, () => this.#takePart(), stateError);
        from = at + 1;
      }
    }
    this.#keep(bytes.subarray(from));
  }

  /** Returns the parts after the last byte. @throws {DerivationError} `state_bytes` when something is missing. */
  finish(): BeaconStateParts {
    if (this.#place !== "after the state") throw new DerivationError("state_bytes");
    mapError(Error, () => JSON.parse(`{"data":0${this.#text}`), stateError);
    return this.#roots.finish();
  }

  /** Follows the structure; true at the end of a part. @param size of the part so far. */
  #isCut(byte: number, size: number): boolean {
    switch (byte) {
      case OPEN_LIST:
      case OPEN_OBJECT:
        if (++this.#depth > MAX_DEPTH) throw new DerivationError("state_bytes");
        if (this.#depth === ITEMS) this.#isInList = byte === OPEN_LIST;
        return this.#depth === FIELDS;
      case CLOSE_LIST:
      case CLOSE_OBJECT:
        return this.#depth-- === FIELDS;
      case COMMA:
        return this.#depth === FIELDS || (this.#depth === ITEMS && this.#isInList && size > CUT_PART);
      default:
        return false;
    }
  }

  #keep(bytes: Uint8Array): void {
    this.#text += this.#decoder.decode(bytes, { stream: true });
    if (this.#text.length > MAX_PART) throw new DerivationError("state_bytes");
  }

  #takePart(): void {
    const text = this.#text;
    this.#text = "";
    if (this.#place === "before the state") {
      if (JSON.parse(`${text}0}`).data !== 0) throw new DerivationError("state_bytes");
      this.#place = "in the state";
    } else if (this.#place === "in the state") {
      const isEnd = this.#depth <= FIELDS;
      if (this.#list === undefined) this.#takeField(JSON.parse(`{${text}${isEnd ? "}" : "]}"}`), isEnd);
      else this.#takeItems(this.#list, JSON.parse(`[${text}${isEnd ? "" : "]"}`), isEnd);
      if (this.#depth < FIELDS) this.#place = "after the state";
    } else throw new DerivationError("state_bytes");
  }

  /** Takes a field, or the beginning of a list. Lists of small items come as one text, too, from some nodes. */
  #takeField(part: object, isEnd: boolean): void {
    for (const [name, value] of Object.entries(part)) {
      const field = this.#fields.get(name);
      if (field === undefined) throw new DerivationError("state_bytes");
      const target = this.#roots.sinkOf(field);
      const items = itemsOf(field.fieldType);
      if (items !== undefined && Array.isArray(value)) {
        this.#takeItems({ elementType: items.elementType, target }, value, isEnd);
      } else {
        if (!isEnd) throw new DerivationError("state_bytes");
        target.take(bytesOf(field.fieldType, value));
        target.end();
      }
    }
  }

  #takeItems(list: OpenList, items: readonly unknown[], isEnd: boolean): void {
    items.forEach((item) => list.target.take(bytesOf(list.elementType, item)));
    if (isEnd) list.target.end();
    this.#list = isEnd ? undefined : list;
  }
}

/** Characters of JSON that give a text its structure. */
const QUOTE = 34, COMMA = 44, OPEN_LIST = 91, CLOSE_LIST = 93, OPEN_OBJECT = 123, CLOSE_OBJECT = 125;

/** SSZ of a value; bytes have the same digits in both forms. */
function bytesOf(type: Type<unknown>, value: unknown): Uint8Array {
  const isBytes = typeof value === "string" && value.startsWith("0x");
  return isBytes ? fromHex(value) : type.serialize(type.fromJson(value));
}
