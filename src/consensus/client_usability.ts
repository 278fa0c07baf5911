/** Whether a client takes updates at all. Source: docs/protocol/hub-consensus.md section 3.4. */
import type { ConsensusClientView } from "../core/chains/consensus_hub.ts";

/** What keeps a client from taking updates. */
export interface UnusableReason {
  readonly code: "frozen" | "expired";
  /** For the operator, with what helps. */
  readonly detail: string;
}

/**
 * Looks for {@link UnusableReason}; `undefined`: there is none.
 * @param where names the client.
 * @param nowSec the clock of the chain that has it, Unix seconds.
 */
export function findUnusableReason(
  where: string,
  client: Pick<ConsensusClientView, "isFrozen" | "updatedSec" | "unbondingSec">,
  nowSec: bigint,
): UnusableReason | undefined {
  if (client.isFrozen) return { code: "frozen", detail: `${where} is frozen: its governance must thaw it` };
  const ageSec = nowSec - client.updatedSec;
  if (ageSec < client.unbondingSec) return undefined;
  const detail =
    `${where} has expired: its last update was ${ageSec} s ago and ${client.unbondingSec} s are ` +
    "allowed; no relayer can update it, its governance must create it anew";
  return { code: "expired", detail };
}
