/** What replacing transactions that wait too long needs; the rules are in `core/chains/replacement_policy.ts`. */
import type { FeeChain } from "../../core/chains/fees.ts";
import type { ReplaceableChain } from "../../core/chains/replaceable.ts";
import type { LegProfit } from "./leg.ts";

/** A target whose transactions have nonces. */
export interface ReplacementContext {
  readonly chain: ReplaceableChain & Pick<FeeChain, "fetchDataCost">;
  /** What the messages of its transactions must pay; absent where everything is delivered. */
  readonly profit?: LegProfit | undefined;
}
