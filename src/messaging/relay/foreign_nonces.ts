/** Detects another program using our account on a target: nonces that we did not sign for are used or pending. */
import type { PipelineDeps } from "./leg.ts";
import type { Settling } from "./settlement.ts";

/** Minimum interval between reports of foreign use of the account, ms. */
const REPORT_INTERVAL_MS = 24 * 3_600_000;

/** Time after which a second poll confirms a foreign nonce in the mempool, ms. */
const CONFIRM_AFTER_MS = 30_000;

/**
 * Records a nonce in the mempool that the journal does not know. One poll may reach two nodes of which one lags, so the
 * nonce is reported only when a later poll shows it again.
 */
export function noteForeign(work: Pick<Settling, "deps" | "target">, nonce: bigint | undefined): void {
  if (nonce === undefined) return;
  const { ledger, clock } = work.deps;
  const name = `foreign nonce on ${work.target.id.stateMachine}`;
  const [seen = "", sinceMs = "0"] = (ledger.meta.find(name) ?? "").split(" ");
  if (seen !== String(nonce)) ledger.meta.write(name, `${nonce} ${clock.now()}`);
  else if (clock.now() - Number(sinceMs) >= CONFIRM_AFTER_MS) reportForeign(work, nonce);
}

/** Reports it once a day, also across restarts; the consequences are settled in any case. */
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

/** True when it was reported less than a day ago; otherwise it counts as reported now. */
function isReported({ ledger, clock }: PipelineDeps, name: string): boolean {
  const nowMs = clock.now();
  const lastReportedMs = Number(ledger.meta.find(name) ?? "0");
  if (nowMs - lastReportedMs < REPORT_INTERVAL_MS) return true;
  ledger.meta.write(name, String(nowMs));
  return false;
}
