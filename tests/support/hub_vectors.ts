/** The hub's known answers, read from `tests/vectors`. */
import { fromHex, type Hex } from "../../src/core/encoding/bytes.ts";

/** One known answer of `hub-scale.json`. */
export interface HubScaleVector {
  readonly name: string;
  readonly scale: Hex;
  readonly bareExtrinsicV4?: Hex;
  readonly bareExtrinsicHashKeccak?: Hex;
}

/** Metadata of a runtime. */
export interface HubMetadata {
  readonly specName: string;
  readonly specVersion: number;
  readonly metadata: Uint8Array;
}

function readVectors(file: string): Record<string, unknown> {
  return JSON.parse(Deno.readTextFileSync(new URL(`../vectors/${file}`, import.meta.url)));
}

/** A vector by its name. @throws {Error} when there is none. */
export function hubScale(name: string): HubScaleVector {
  const vectors = readVectors("hub-scale.json")["vectors"] as readonly HubScaleVector[];
  const found = vectors.find((vector) => vector.name === name);
  if (found === undefined) throw new Error(`No vector ${name}`);
  return found;
}

/** Metadata of a hub's runtime. */
export function hubMetadata(
  name: "nexus-head" | "gargantua-head" | "nexus-genesis" | "gargantua-genesis",
): HubMetadata {
  const file = readVectors(`hub-metadata-${name}.json`);
  return {
    specName: String(file.specName),
    specVersion: Number(file.specVersion),
    metadata: fromHex(String(file.metadata)),
  };
}
