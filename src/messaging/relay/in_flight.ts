/** Limit of transactions to a target that may wait for inclusion at the same time. */
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

/** Number of further transactions to the target that may be made now; 0 while the result of a broadcast is unknown. */
export function countRoom(deps: PipelineDeps, target: Chain): number {
  if (isUnfunded(deps, target) || isSpendingStopped(deps, target)) return 0;
  const waiting = deps.ledger.submissions.listInFlight(target.id.stateMachine)
    .filter(({ kind }) => !isHubCall(kind));
  const max = losesGasOnRace(target) ? inFlightLimit(readCompetition(deps, target)) : MAX_IN_FLIGHT;
  return waiting.every(({ state }) => state === "broadcast") ? Math.max(0, max - waiting.length) : 0;
}

/** True for claims and withdrawals: they are sent to the hub alongside messages and share no nonce with them. */
function isHubCall(kind: SubmissionKind): boolean {
  return kind === "accumulate" || kind === "withdraw" || kind === "claim";
}
