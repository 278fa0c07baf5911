/**
 * Messages to modules that accept deliveries of one relayer only (docs/protocol/evm-host.md section 13). Where that is
 * another account they are held before anything is proved, so that they cost nothing; where it is ours, nobody else can
 * deliver them. A module may name whom it likes at any time: that concerns the messages to it, and no others.
 */
import { equalBytes, toHex } from "../../../core/encoding/bytes.ts";
import type { Gate } from "../../../core/chains/reads.ts";
import { toReceiver } from "../decisions/route.ts";
import type { LegRun, TargetContext } from "../leg.ts";
import { type Candidate, stillOpen, transition } from "../messages.ts";
import { holdSuspended } from "./suspension.ts";

/** Explains that another account alone may deliver to a module; `undefined`: we may. */
export function explainClosed(gate: Gate | undefined, { target }: TargetContext): string | undefined {
  const account = gate?.account;
  if (account === undefined || (target.relayer !== undefined && equalBytes(account, target.relayer))) {
    return undefined;
  }
  return `the receiving module accepts deliveries of ${toHex(account)} only`;
}

/** Holds what must not be proved now: messages to modules with another relayer, and those of suspended pairs. */
export async function holdBack(leg: LegRun, candidates: readonly Candidate[]): Promise<readonly Candidate[]> {
  const open = await holdGated(leg, candidates);
  return leg.ledger.transaction(() => holdSuspended(leg, open));
}

/** Holds the messages to modules with another relayer; returns the others. May throw an `RpcFault`. */
async function holdGated(leg: LegRun, candidates: readonly Candidate[]): Promise<readonly Candidate[]> {
  const { gates } = leg.target;
  if (gates === undefined || candidates.length === 0) return candidates;
  // Its gate may have closed since it was read: see `hold`.
  const failed = candidates.filter(({ row: { reason } }) =>
    reason === "simulation_failed" || reason === "not_executed"
  );
  for (const { message } of failed) gates.forget(toReceiver(message));
  const found = await gates.fetchGates(candidates.map(({ message }) => toReceiver(message)), leg.signal);
  const closed = new Map(candidates.flatMap(({ row: { commitment } }, index) => {
    const detail = explainClosed(found[index], leg);
    return detail === undefined
      ? []
      : [[commitment, { detail, nextAttemptAtMs: found[index]?.untilMs ?? 0 }]];
  }));
  if (closed.size === 0) return candidates;
  return leg.ledger.transaction(() =>
    stillOpen(leg, candidates).filter(({ row }) => {
      const why = closed.get(row.commitment);
      if (why !== undefined) transition(leg, row, { to: "held", reason: "gated", ...why });
      return why === undefined;
    })
  );
}
