/**
 * Comparison of a runtime's types with the layouts of this program's codecs, so that bytes of one layout are never
 * sent to, or believed of, a runtime with another. Only the encoding matters, not the names of types and fields.
 */
import type { Layout, LayoutPart } from "../../encoding/scale.ts";

/** A type of a runtime, as far as its encoding goes. */
export type RuntimeType =
  | { readonly kind: "primitive"; readonly name: string }
  | { readonly kind: "list"; readonly of: number }
  | { readonly kind: "array"; readonly of: number; readonly length: number }
  | { readonly kind: "fields"; readonly of: readonly number[] }
  | { readonly kind: "variants"; readonly of: ReadonlyMap<number, readonly number[]> }
  /** A number of one to 68 bytes. */
  | { readonly kind: "compact" }
  | { readonly kind: "bits"; readonly storeBytes: number }
  | { readonly kind: "other"; readonly name: string };

/** Finds a type by its number in the metadata. */
export type TypeLookup = (id: number) => RuntimeType;

/** More parts in a row than any honest type has. */
const MAX_PARTS = 1_000;

/** How a comparison is made. */
export interface Comparison {
  /** Where the types are, for the text. */
  readonly path: string;
  /**
   * True for what is only read: newer versions of a type may have more fields at its end, also of the last field, which
   * are skipped. What is written must fit exactly.
   */
  readonly isRead: boolean;
}

/** Comparison of a runtime's types with layouts. */
export class LayoutComparison {
  readonly #lookup: TypeLookup;
  readonly #rows = new Map<number, readonly RuntimeType[]>();

  constructor(lookup: TypeLookup) {
    this.#lookup = lookup;
  }

  /**
   * First difference of types in a row from the layout, e.g. `[].2.0[].5: expected u64, found list`; `undefined` when
   * they fit. Variants that the layout does not have are allowed: they do not change the others.
   */
  findMismatch(ids: readonly number[], expected: Layout, { path, isRead }: Comparison): string | undefined {
    const found = ids.flatMap((id) => this.#rowOf(id));
    const mayContinue = isRead && expected.length > 0;
    const isShort = found.length < expected.length;
    for (const [at, part] of expected.slice(0, found.length).entries()) {
      const isLast = at === expected.length - 1;
      const place = { path: expected.length === 1 ? path : `${path}.${at}`, isRead: isRead && isLast };
      const mismatch = this.#comparePart(found[at], part, place);
      if (mismatch !== undefined) return mismatch;
    }
    if (!isShort && (mayContinue || found.length === expected.length)) return undefined;
    return `${path || "argument"}: expected ${expected.length} fields, found ${found.length}`;
  }

  #comparePart(found: RuntimeType | undefined, part: LayoutPart, at: Comparison): string | undefined {
    const { path } = at;
    const inside = { path: `${path}[]`, isRead: false };
    if (typeof part === "string") {
      if (found?.kind === "primitive" && found.name === part) return undefined;
    } else if ("list" in part) {
      if (found?.kind === "list") return this.findMismatch([found.of], part.list, inside);
    } else if ("array" in part) {
      const isOfLength = found?.kind === "array" && found.length === part.length;
      if (isOfLength) return this.findMismatch([found.of], part.array, inside);
    } else if (found?.kind === "variants") {
      for (const [index, fields] of Object.entries(part.variants)) {
        const ids = found.of.get(Number(index));
        if (ids === undefined) return `${path || "argument"}: no variant ${index}`;
        const mismatch = this.findMismatch(ids, fields, { ...at, path: `${path}.${index}` });
        if (mismatch !== undefined) return mismatch;
      }
      return undefined;
    }
    const kind = typeof part === "string" ? part : Object.keys(part)[0];
    return `${path || "argument"}: expected ${kind}, found ${nameOf(found)}`;
  }

  /** A type with its structs and tuples replaced by their fields; found once, so that none is nested without end. */
  #rowOf(id: number): readonly RuntimeType[] {
    const known = this.#rows.get(id);
    if (known !== undefined) return known;
    this.#rows.set(id, [{ kind: "other", name: "a type within itself" }]);
    const type = this.#lookup(id);
    const all = type.kind === "fields" ? type.of.flatMap((field) => this.#rowOf(field)) : [type];
    const row = all.slice(0, MAX_PARTS);
    this.#rows.set(id, row);
    return row;
  }
}

function nameOf(type: RuntimeType | undefined): string {
  if (type === undefined) return "nothing";
  return type.kind === "primitive" || type.kind === "other" ? type.name : type.kind;
}
