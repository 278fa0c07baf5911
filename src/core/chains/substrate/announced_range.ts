/** What the announced headers of final blocks tell of a range: their hashes, and whether the runtime stays the same. */
import type { Hash256 } from "../../encoding/bytes.ts";
import type { Header } from "../../rpc/substrate_calls.ts";
import { headerHash } from "./checks.ts";
import type { SubstrateNode } from "./node.ts";

/** First byte of the digest item of a block that changes the runtime: src/core/substrate/header.ts. */
const RUNTIME_UPDATED = 8;

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

  /** Hash of the block before the first one; `undefined`: it is not known. */
  get parent(): Hash256 | undefined {
    const [from] = this.#heights;
    return from === undefined ? undefined : this.hashAt(from - 1n);
  }

  /** Hashes of all blocks, ascending; `undefined`: some are not known. */
  get hashes(): readonly Hash256[] | undefined {
    const known = this.#heights.flatMap((height) => this.hashAt(height) ?? []);
    return known.length === 0 || known.length < this.#heights.length ? undefined : known;
  }

  /**
   * True when every header is known and none of them announces another runtime. Source: paritytech/polkadot-sdk:
   * substrate/frame/system/src/lib.rs (update_code_in_storage).
   */
  get keepsRuntime(): boolean {
    return this.#heights.length > 0 && this.#heights.every((height) => {
      const header = this.#byHeight.get(height);
      return header?.fields.logs.every((item) => item[0] !== RUNTIME_UPDATED) ?? false;
    });
  }

  /**
   * Hash of a block, in the range or not; `undefined`: not known. A header names its parent, so that the hash of a
   * block that was skipped is known as well.
   */
  hashAt(height: bigint): Hash256 | undefined {
    const child = this.#byHeight.get(height + 1n);
    if (child !== undefined) return child.parent;
    const header = this.#byHeight.get(height);
    if (header === undefined) return undefined;
    return headerHash(header, this.#node.hashing);
  }
}
