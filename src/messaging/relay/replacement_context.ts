/**
 * Context for replacing transactions that are pending too long; the rules are in `core/chains/replacement_policy.ts`.
 */
import type { FeeChain } from "../../core/chains/fees.ts";
import type { ReplaceableChain } from "../../core/chains/replaceable.ts";
import type { LegProfit } from "./leg.ts";

/** Target whose transactions have nonces. */
export interface ReplacementContext {
  readonly chain: ReplaceableChain & Pick<FeeChain, "fetchDataCost">;
  /** Profit required of its messages; absent when everything is delivered. */
  readonly profit?: LegProfit | undefined;
}
