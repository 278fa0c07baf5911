/** Tells that another relayer uses our account on a target: nonces that we did not sign for are used or taken. */
import type { PipelineDeps } from "./leg.ts";
import type { Settling } from "./settlement.ts";

/** How often it is told that another program uses the account, ms: it is one fact, however often it shows. */
const REPORT_INTERVAL_MS = 24 * 3_600_000;

/** Age of the first look that showed a stranger's nonce in the pool at which another look confirms it, ms. */
const CONFIRM_AFTER_MS = 30_000;

/**
 * A nonce in the pool that the journal does not know: one look at a node may be at two of them, of which one is
 * behind, so it is told only when a later look shows the same nonce.
 */
export function noteForeign(work: Pick<Settling, "deps" | "target">, nonce: bigint | undefined): void {
  if (nonce === undefined) return;
  const { ledger, clock } = work.deps;
  const name = `foreign nonce on ${work.target.id.stateMachine}`;
  const [seen = "", sinceMs = "0"] = (ledger.meta.find(name) ?? "").split(" ");
  if (seen !== String(nonce)) ledger.meta.write(name, `${nonce} ${clock.now()}`);
  else if (clock.now() - Number(sinceMs) >= CONFIRM_AFTER_MS) reportForeign(work, nonce);
}

/** Tells it once a day, also over restarts; what follows from it is settled in any case. */
export function reportForeign(
  { deps, target }: Pick<Settling, "deps" | "target">,
  nonce: bigint | undefined,
): void {
  if (nonce === undefined) return;
  const chain = target.id.stateMachine;
  const fields = { chain, nonce };
  if (isReported(deps, `foreign use on ${chain}`)) {
    deps.log.debug("foreign_nonce_used", fields);
    return;
  }
  deps.log.warn(
    "account_shared",
    fields,
  );
}

/** True when it was told less than a day ago; otherwise it counts as told now. */
function isReported({ ledger, clock }: PipelineDeps, name: string): boolean {
  const nowMs = clock.now();
  const lastReportedMs = Number(ledger.meta.find(name) ?? "0");
  if (nowMs - lastReportedMs < REPORT_INTERVAL_MS) return true;
  ledger.meta.write(name, String(nowMs));
  return false;
}
