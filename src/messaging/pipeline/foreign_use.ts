/** Tells that somebody else uses our account on a sink: nonces that we did not sign for are used or taken. */
import type { PipelineDeps } from "./leg.ts";
import type { Settling } from "./settlement.ts";

/** How often it is told that another program uses the account, ms: it is one fact, however often it shows. */
const TELL_EVERY_MS = 24 * 3_600_000;

/** Tells it once a day, also over restarts; what follows from it is settled in any case. */
export function tellForeign(
  { deps, sink }: Pick<Settling, "deps" | "sink">,
  nonce: bigint | undefined,
): void {
  if (nonce === undefined) return;
  const chain = sink.id.stateMachine;
  const fields = { chain, nonce };
  if (isTold(deps, `foreign use on ${chain}`)) {
    deps.log.debug("A nonce of ours was used by a transaction that we do not know", fields);
    return;
  }
  deps.log.warn(
    "Another program uses this account: a nonce was used by a transaction that we do not know. Deliveries go on, " +
      "slower; give this relayer an account of its own",
    fields,
  );
}

/** True when it was told less than a day ago; otherwise it counts as told now. */
function isTold({ ledger, clock }: PipelineDeps, name: string): boolean {
  const nowMs = clock.now();
  const toldMs = Number(ledger.meta.find(name) ?? "0");
  if (nowMs - toldMs < TELL_EVERY_MS) return true;
  ledger.meta.write(name, String(nowMs));
  return false;
}
