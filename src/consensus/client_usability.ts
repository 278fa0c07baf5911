/** Checks that a light client accepts updates. Source: docs/protocol/hub-consensus.md section 3.4. */
import type { ConsensusClientView } from "../core/chains/consensus_target.ts";

/** Reason that a light client accepts no updates. */
export interface UnusableReason {
  readonly code: "frozen" | "expired";
  /** Explanation for the operator, with advice. */
  readonly detail: string;
}

/** Unbonding period from which a client never expires, seconds: those of rollups have 2^64 - 1. */
const NEVER_SEC = 100n * 365n * 86_400n;

/** True for a light client that needs no updates to stay usable. */
export function neverExpires({ unbondingSec }: Pick<ConsensusClientView, "unbondingSec">): boolean {
  return unbondingSec >= NEVER_SEC;
}

/**
 * Finds the {@link UnusableReason} of a light client; `undefined`: it is usable. @param where names the client. @param
 * nowSec clock of the chain that stores it, Unix seconds.
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
    "allowed; no relayer can update it, its governance must create it again";
  return { code: "expired", detail };
}
