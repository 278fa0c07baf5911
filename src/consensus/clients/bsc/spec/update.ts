/**
 * Update of the hub's BSC client, with its SCALE form. Source: polytope-labs/hyperbridge:
 * modules/consensus/bsc/verifier/src/primitives.rs (BscClientUpdate).
 */
import { enhanceCodec } from "scale-ts";
import { type EvmBlockHeader, evmBlockHeaderCodec } from "../../../../core/evm/block_header.ts";
import { type Codec, list, ScaleError, Struct } from "../../../../core/encoding/scale.ts";

/** One step of the light client. */
export interface BscUpdate {
  /** Header that becomes final: the hub stores its state. */
  readonly sourceHeader: EvmBlockHeader;
  /** Child of the source. */
  readonly targetHeader: EvmBlockHeader;
  /** Header that carries the votes for source and target; the rest of it is ignored. */
  readonly attestedHeader: EvmBlockHeader;
  /**
   * From the first block of the source's epoch up to the source's parent, to prove the validators announced there;
   * empty when the source is that block or no set is due.
   */
  readonly epochHeaderAncestry: readonly EvmBlockHeader[];
}

/** Maximum number of headers of an ancestry; the hub's limit. */
export const MAX_ANCESTRY = 1000;

function bounded(headers: readonly EvmBlockHeader[]): readonly EvmBlockHeader[] {
  if (headers.length > MAX_ANCESTRY) throw new ScaleError("invalid", `BoundedVec<${MAX_ANCESTRY}>`);
  return headers;
}

/** SCALE of {@link BscUpdate}: about 1 KB per header. */
export const bscUpdateCodec: Codec<BscUpdate> = Struct({
  sourceHeader: evmBlockHeaderCodec,
  targetHeader: evmBlockHeaderCodec,
  attestedHeader: evmBlockHeaderCodec,
  epochHeaderAncestry: enhanceCodec(list(evmBlockHeaderCodec), bounded, bounded),
});
