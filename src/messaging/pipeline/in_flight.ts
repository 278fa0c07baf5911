/** How many transactions to a sink may wait for inclusion at the same time, and how many more there is room for. */
import type { Chain } from "../../core/chains/chain.ts";
import type { SubmissionKind } from "../../core/ledger/ledger.ts";
import { inFlightLimit, MOST_IN_FLIGHT } from "../decisions/rivalry.ts";
import { isUnfunded } from "./funds.ts";
import type { PipelineDeps } from "./leg.ts";
import { isSpendingStopped } from "./loss_limit.ts";
import { isRaceCostly, readRivalry } from "./rivals.ts";

/** True when another transaction to the sink may be made now. */
export function hasRoomInFlight(deps: PipelineDeps, { sink }: { readonly sink: Chain }): boolean {
  return countRoom(deps, sink) > 0;
}

/** How many more transactions to the sink may be made now; none while it is not known whether one arrived. */
export function countRoom(deps: PipelineDeps, sink: Chain): number {
  if (isUnfunded(deps, sink) || isSpendingStopped(deps, sink)) return 0;
  const waiting = deps.ledger.submissions.listInFlight(sink.id.stateMachine)
    .filter(({ kind }) => !isHubCall(kind));
  const most = isRaceCostly(sink) ? inFlightLimit(readRivalry(deps, sink)) : MOST_IN_FLIGHT;
  return waiting.every(({ state }) => state === "broadcast") ? Math.max(0, most - waiting.length) : 0;
}

/** Claims and withdrawals travel to the hub beside the messages; they have no nonce in common. */
function isHubCall(kind: SubmissionKind): boolean {
  return kind === "accumulate" || kind === "withdraw" || kind === "claim";
}
