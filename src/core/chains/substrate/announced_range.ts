/** What the announced headers of final blocks tell of a range: their hashes, and whether the runtime stays the same. */
import { type Hash256, toHash256 } from "../../encoding/bytes.ts";
import { ScaleError } from "../../encoding/scale.ts";
import type { Header } from "../../rpc/substrate_calls.ts";
import { decodeDigestItem, type DigestItem, substrateHeaderCodec } from "../../substrate/header.ts";
import { chainHashFunction, type SubstrateNode } from "./node.ts";

/** Headers of the final blocks `from` to `to` as far as the node announced them. */
export class AnnouncedRange {
  readonly #node: Pick<SubstrateNode, "hashing">;
  readonly #byHeight: ReadonlyMap<bigint, Header>;
  readonly #heights: readonly bigint[];

  constructor(node: Pick<SubstrateNode, "heads" | "hashing">, from: bigint, to: bigint) {
    this.#node = node;
    this.#byHeight = new Map(node.heads.final.recent.map((header) => [header.height, header]));
    const isShort = to - from < BigInt(this.#byHeight.size);
    this.#heights = isShort
      ? Array.from({ length: Number(to - from) + 1 }, (_, index) => from + BigInt(index))
      : [];
  }

  /** Hashes of all blocks, ascending; `undefined`: some are not known. */
  get hashes(): readonly Hash256[] | undefined {
    const known = this.#heights.flatMap((height) => this.#hashAt(height) ?? []);
    return known.length === 0 || known.length < this.#heights.length ? undefined : known;
  }

  /**
   * True when every header is known and none of them announces another runtime. Source: paritytech/polkadot-sdk:
   * substrate/frame/system/src/lib.rs (update_code_in_storage).
   */
  get keepsRuntime(): boolean {
    return this.#heights.length > 0 && this.#heights.every((height) => {
      const header = this.#byHeight.get(height);
      const digest = header && readDigest(header);
      return digest?.every(({ kind }) => kind !== "runtimeUpdated") ?? false;
    });
  }

  /** A header names its parent, so that the hash of a block that was skipped is known as well. */
  #hashAt(height: bigint): Hash256 | undefined {
    const child = this.#byHeight.get(height + 1n);
    if (child !== undefined) return child.parent;
    const header = this.#byHeight.get(height);
    const digest = header && readDigest(header);
    if (header === undefined || digest === undefined) return undefined;
    const { stateRoot, extrinsicsRoot } = header.fields;
    const fields = { parentHash: header.parent, number: Number(height), stateRoot, extrinsicsRoot, digest };
    return toHash256(chainHashFunction(this.#node.hashing)(substrateHeaderCodec.enc(fields)));
  }
}

/** Items of a header's digest; `undefined`: it has some that this program does not know. */
function readDigest({ fields }: Header): readonly DigestItem[] | undefined {
  try {
    return fields.logs.map(decodeDigestItem);
  } catch (error) {
    if (error instanceof ScaleError) return undefined;
    throw error;
  }
}
