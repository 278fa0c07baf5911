/** Checked access to the JSON of vectors, for the tests of every consensus client. */
import { fromHex, type Hash256, toHash256 } from "../../src/core/encoding/bytes.ts";
import type { ProofNodes } from "../../src/consensus/rollup/spec/l1_storage.ts";
import { type Address, toAddress } from "../../src/core/evm/address.ts";

/** A JSON value with checked access to what is in it. */
export class VectorNode {
  constructor(readonly json: unknown) {}

  /** Value at a path of field names and indexes, e.g. `vectors.0.expected`. */
  at(path: string): VectorNode {
    let value = this.json;
    for (const name of path.split(".")) {
      if (typeof value !== "object" || value === null || !(name in value)) throw new Error(`No ${path}`);
      value = Reflect.get(value, name);
    }
    return new VectorNode(value);
  }

  text(path: string): string {
    const value = this.at(path).json;
    if (typeof value !== "string") throw new Error(`${path} is no text`);
    return value;
  }

  integer(path: string): bigint {
    return BigInt(String(this.at(path).json));
  }

  list(path: string): VectorNode[] {
    const value = this.at(path).json;
    if (!Array.isArray(value)) throw new Error(`${path} is no list`);
    return value.map((item) => new VectorNode(item));
  }

  hash(path: string): Hash256 {
    return toHash256(this.text(path));
  }

  hashes(path: string): Hash256[] {
    return this.list(path).map((item) => toHash256(String(item.json)));
  }

  address(path: string): Address {
    return toAddress(this.text(path));
  }

  bytes(path: string): Uint8Array {
    return fromHex(this.text(path));
  }

  nodes(path: string): ProofNodes {
    return this.list(path).map((item) => fromHex(String(item.json)));
  }
}

const folder = new URL("../vectors/", import.meta.url);

/** Reads a file of the vectors folder by its name without the ending, e.g. `grandpa-accepted`. */
export function readVector(name: string): VectorNode {
  return new VectorNode(JSON.parse(Deno.readTextFileSync(new URL(`${name}.json`, folder))));
}
