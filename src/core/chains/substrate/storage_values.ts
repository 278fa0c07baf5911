/** Decoding of stored values. */
import type { SubstrateNode } from "./node.ts";
import type { StorageValues } from "../../rpc/substrate_calls.ts";
import type { Codec } from "scale-ts";
import { toHex } from "../../encoding/bytes.ts";
import { decodePrefix, ScaleError } from "../../encoding/scale.ts";

/** Reads several values at the best block, and decodes them. */
export class Values {
  readonly #node: SubstrateNode;
  readonly #values: StorageValues;

  constructor(node: SubstrateNode, values: StorageValues) {
    this.#node = node;
    this.#values = values;
  }

  /** The decoded value, `undefined` when nothing is stored. @throws {RpcFault} `malformed`. */
  read<T>(key: Uint8Array, codec: Codec<T>, name: string): T | undefined {
    return decodeValue(this.#node, this.#values.get(toHex(key)), codec, name);
  }
}

/**
 * A stored value. What a newer runtime has appended to it is named and skipped. @throws {RpcFault} `malformed` when
 * it is no value of the type.
 */
export function decodeValue<T>(
  node: SubstrateNode,
  stored: Uint8Array | undefined,
  codec: Codec<T>,
  name: string,
): T | undefined {
  if (stored === undefined) return undefined;
  try {
    return readKnown(node, codec, stored, name);
  } catch (error) {
    if (error instanceof ScaleError) throw node.client.fault("malformed", "state_getStorage", error.message);
    throw error;
  }
}

/** The known part of what a runtime stores or reports; what follows it is named. @throws {ScaleError} */
export function readKnown<T>(
  { log }: Pick<SubstrateNode, "log">,
  codec: Codec<T>,
  encoded: Uint8Array,
  name: string,
): T {
  return decodePrefix(codec, encoded, name, () =>
    log.warn("unknown_met", {
      what: `a field at the end of ${name}`,
      cost: "it is skipped, and the fields before it are used",
    }));
}
