/** Numbers of the profit rule as text. */
import { formatValues, shownTime } from "../../core/runtime/text_table.ts";
import type { DecisionView } from "../control/operations/show.ts";

/** Formats the numbers of a decision, below each other. */
export function formatDecision(decision: DecisionView): string {
  const { price, priceSource, feeUsd, costUsd, requiredUsd } = decision;
  return formatValues({
    decided: `${shownTime(decision.at)}: ${decision.verdict}`,
    offered: feeUsd === undefined ? "unknown" : `${feeUsd} dollars`,
    required: requiredUsd === undefined
      ? "unknown"
      : `${requiredUsd} dollars: cost ${costUsd} and ${decision.minimumProfitPercent} %`,
    gas: `${decision.gas} at ${decision.gasPriceGwei} gwei${
      decision.dataCost === "0" ? "" : `, data for ${decision.dataCost} native tokens`
    }`,
    price: price === undefined
      ? "unknown"
      : `${price} dollars per native token (${priceSource ?? "unknown source"})`,
  }, "    ");
}
