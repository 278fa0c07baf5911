/** How many transactions to a target may wait for inclusion at the same time, and how many more there is room for. */
import type { Chain } from "../../core/chains/port.ts";
import type { SubmissionKind } from "../ledger/ledger.ts";
import { inFlightLimit, MAX_IN_FLIGHT } from "./decisions/competition.ts";
import { isUnfunded } from "./gas_balance.ts";
import type { PipelineDeps } from "./leg.ts";
import { isSpendingStopped } from "./loss_limit.ts";
import { losesGasOnRace, readCompetition } from "./competitors.ts";

/** True when another transaction to the target may be made now. */
export function hasRoomInFlight(deps: PipelineDeps, { target }: { readonly target: Chain }): boolean {
  return countRoom(deps, target) > 0;
}

/** How many more transactions to the target may be made now; none while it is not known whether one arrived. */
export function countRoom(deps: PipelineDeps, target: Chain): number {
  if (isUnfunded(deps, target) || isSpendingStopped(deps, target)) return 0;
  const waiting = deps.ledger.submissions.listInFlight(target.id.stateMachine)
    .filter(({ kind }) => !isHubCall(kind));
  const max = losesGasOnRace(target) ? inFlightLimit(readCompetition(deps, target)) : MAX_IN_FLIGHT;
  return waiting.every(({ state }) => state === "broadcast") ? Math.max(0, max - waiting.length) : 0;
}

/** Claims and withdrawals travel to the hub besides the messages; they have no nonce in common. */
function isHubCall(kind: SubmissionKind): boolean {
  return kind === "accumulate" || kind === "withdraw" || kind === "claim";
}
