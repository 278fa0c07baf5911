/** Writes a snapshot as gauges. What is gone since the last one is not exposed any longer. */
import type { MetricRegistry } from "../../core/telemetry/metrics.ts";
import { writeReadiness } from "../../core/telemetry/readiness.ts";
import type { ChainStatus, LegStatus, RelayStatus } from "./relay_status.ts";

/** Gauges whose labels come and go with what they count. */
const PASSING = [
  "causeway_messages_open",
  "causeway_message_oldest_age_seconds",
  "causeway_claims",
  "causeway_fees_unclaimed",
  "causeway_withdrawals_open",
  "causeway_wallet_runway_hours",
] as const;

/** Writes the gauges of a snapshot. */
export function writeStatusGauges(registry: MetricRegistry, status: RelayStatus): void {
  for (const name of PASSING) registry.clear(name);
  writeReadiness(registry, status.reasons);
  for (const chain of status.chains) writeChain(registry, chain, status.nowMs);
  for (const leg of status.legs) writeLeg(registry, leg, status.nowMs);
  const claims = Map.groupBy(status.claims, ({ state }) => state);
  for (const [state, sums] of claims) {
    registry.set("causeway_claims", { state }, sums.reduce((sum, { count }) => sum + count, 0));
  }
  for (const { source, state, fees } of status.claims) {
    if (state === "unclaimed" && fees !== undefined) {
      registry.set("causeway_fees_unclaimed", { source }, Number(fees));
    }
  }
  const open = status.withdrawals.filter(({ state }) => state !== "done" && state !== "void");
  for (const [chain, rows] of Map.groupBy(open, (row) => row.chain)) {
    registry.set("causeway_withdrawals_open", { chain }, rows.length);
  }
}

function writeChain(registry: MetricRegistry, status: ChainStatus, nowMs: number): void {
  const { chain, gasPriceWei, lightClients, wallet, inFlight } = status;
  if (gasPriceWei !== undefined) registry.set("causeway_gas_price_wei", { chain }, Number(gasPriceWei));
  for (const { counterparty, height, roseAtMs } of lightClients) {
    registry.set("causeway_light_client_height", { chain, counterparty }, height);
    registry.set("causeway_light_client_age_seconds", { chain, counterparty }, (nowMs - roseAtMs) / 1_000);
  }
  if (wallet !== undefined) {
    registry.set("causeway_wallet_balance", { chain }, Number(wallet.balance));
    if (wallet.runwayHours !== undefined) {
      registry.set("causeway_wallet_runway_hours", { chain }, wallet.runwayHours);
    }
  }
  registry.set("causeway_transactions_in_flight", { chain }, inFlight?.count ?? 0);
  const ageMs = inFlight === undefined ? 0 : nowMs - inFlight.oldestMs;
  registry.set("causeway_transaction_oldest_age_seconds", { chain }, ageMs / 1_000);
  registry.set("causeway_transaction_replacements", { chain }, inFlight?.replacements ?? 0);
  registry.set("causeway_nonce_gap", { chain }, inFlight?.nonceGap ?? 0);
}

function writeLeg(
  registry: MetricRegistry,
  { source, target, cursor, open }: LegStatus,
  nowMs: number,
): void {
  const leg = { source, target };
  if (cursor !== undefined) registry.set("causeway_cursor_height", leg, cursor);
  for (const { state, reason, count } of open) {
    registry.set("causeway_messages_open", { ...leg, status: state, reason: reason ?? "" }, count);
  }
  for (const kind of ["due", "waiting"] as const) {
    const times = open.filter(({ isDue }) => isDue === (kind === "due")).map(({ oldestMs }) => oldestMs);
    const ageMs = times.length === 0 ? 0 : nowMs - Math.min(...times);
    registry.set("causeway_message_oldest_age_seconds", { ...leg, kind }, ageMs / 1_000);
  }
}
