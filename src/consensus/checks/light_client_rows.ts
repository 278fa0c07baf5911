/** Row about the light client that updates of a chain advance. Pure. */
import type { ConsensusClientView } from "../../core/chains/consensus_target.ts";
import { formatAge } from "../../core/chains/chain_checks.ts";
import type { CheckRow } from "../../core/checks/check_row.ts";
import { findUnusableReason, neverExpires } from "../client_usability.ts";

/** The light client's place: the chain that it proves, and the chain that stores it. */
export interface LightClientPlace {
  readonly chain: string;
  readonly target: string;
  /** Its consensus state id. */
  readonly id: string;
}

/** Row about a light client. @param nowSec clock of the chain that stores it, Unix seconds. */
export function judgeLightClient(
  { chain, target, id }: LightClientPlace,
  view: Pick<ConsensusClientView, "isFrozen" | "updatedSec" | "unbondingSec"> | undefined,
  nowSec: bigint,
): CheckRow {
  const row = { chain, check: "light_client" } as const;
  const where = `the light client "${id}" on ${target}`;
  if (view === undefined) {
    return {
      ...row,
      result: "failed",
      found: `${target} has no light client "${id}"`,
      advice:
        "correct consensus_state_id, or let governance create it with the output of log-consensus-state",
    };
  }
  const unusable = findUnusableReason(where, view, nowSec);
  if (unusable !== undefined) {
    return { ...row, result: "failed", found: unusable.detail, advice: `ask the governance of ${target}` };
  }
  const ageSec = nowSec - view.updatedSec;
  const expiry = neverExpires(view) ? "never expires" : `expires after ${formatAge(view.unbondingSec)}`;
  const found = `${where} was updated ${formatAge(ageSec)} ago and ${expiry}`;
  return ageSec * 2n > view.unbondingSec
    ? {
      ...row,
      result: "warning",
      found,
      advice: `look at the updates of ${chain}: half of that time is over`,
    }
    : { ...row, result: "ok", found };
}
