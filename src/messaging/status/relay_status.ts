/**
 * Snapshot of the messaging relayer: what the status page shows, `/status.json` returns and `status` prints, and the
 * gauges that are read in it. `relay_facts.ts` says what is in it.
 */
import { HourlyMaxima } from "../../core/telemetry/status_sections.ts";
import { type ProgramStatus, type SnapshotPlace, toProgramStatus } from "../../core/checks/program_status.ts";
import { ChainNames } from "../../core/config/chain_names.ts";
import type { Clock } from "../../core/runtime/clock.ts";
import { gaugesOf, type SnapshotGauges } from "../../core/telemetry/metrics.ts";
import type { FoundReason } from "../../core/telemetry/readiness.ts";
import type { MessagingConfig } from "../config/schema.ts";
import { readFacts, type RelayFacts, type StatusInput, sumHistory } from "./relay_facts.ts";
import { findReasons, ofDatabase } from "./relay_reasons.ts";

/** The snapshot. Without `startedAtMs` no relayer is running, and the database alone was read. */
export type RelayStatus = Omit<ProgramStatus, "chains"> & RelayFacts;

/** Snapshot while there is no database to read. */
export function emptyStatus(place: SnapshotPlace, found: readonly FoundReason[]): RelayStatus {
  return toProgramStatus<RelayFacts>(place, {
    ...{ chains: [], wallets: [], money: [], lightClients: [], legs: [] },
    ...{ delivered: [], claims: [], withdrawals: [], reconciliationGaps: 0 },
    isDatabaseUp: found.every(({ code }) => code !== "database_fault"),
  }, found);
}

/** Builds the snapshot. May throw a `LedgerFault`. */
export function buildStatus(input: StatusInput): RelayStatus {
  const fault = input.ledger.fault();
  const facts = readFacts(input);
  const found = findReasons({ ...input, ...facts });
  return toProgramStatus(input, facts, [...fault === undefined ? [] : [ofDatabase(fault)], ...found]);
}

/** Builds the snapshot of a database that no relayer uses. May throw a `LedgerFault`. */
export function readStatus(
  { ledger, config: { hub, chains }, clock }: {
    readonly ledger: StatusInput["ledger"];
    readonly config: Pick<MessagingConfig, "hub" | "chains">;
    readonly clock: Pick<Clock, "now">;
  },
): RelayStatus {
  return buildStatus({
    ledger,
    program: "causeway",
    hub: hub.stateMachine,
    chains: chains.map(({ stateMachine }) => stateMachine),
    names: new ChainNames([hub, ...chains]),
    nowMs: clock.now(),
    readChain: () => ({ counterparties: [] }),
    history: sumHistory(ledger, clock.now()),
    ages: new HourlyMaxima(),
  });
}

/** Open messages with the labels of their gauges. */
const listOpen = ({ legs }: RelayStatus) =>
  legs.flatMap(({ source, target, open }) =>
    open.map(({ state, reason, count }) => ({ source, target, status: state, reason, count }))
  );

/** The oldest message of each kind and leg; of now where there is none. */
const listOldest = ({ legs, nowMs }: RelayStatus) =>
  legs.flatMap(({ source, target, open }) =>
    (["due", "waiting"] as const).map((kind) => {
      const times = open.filter(({ isDue }) => isDue === (kind === "due")).map(({ oldestMs }) => oldestMs);
      return { source, target, kind, oldestMs: Math.min(nowMs, ...times) };
    })
  );

/** Gauges of the messaging relayer. */
export const relayGauges: SnapshotGauges<RelayStatus> = {
  ...gaugesOf(({ lightClients }) => lightClients, ["chain", "counterparty"], {
    causeway_light_client_height: [
      "Latest height of `counterparty` that `chain` knows",
      ({ height }) => height,
    ],
    causeway_light_client_age_seconds: [
      "Time since that height was seen to rise; counted from the start of the program at the earliest",
      ({ roseAtMs }, { nowMs }) => (nowMs - roseAtMs) / 1_000,
    ],
  }),
  ...gaugesOf(({ wallets }) => wallets, ["chain"], {
    causeway_wallet_balance: [
      "Balance in whole native tokens, read every 5 minutes",
      ({ balance }) => balance,
    ],
    causeway_wallet_runway_hours: [
      "Hours until it is spent at the rate since the first cost of the last 24; absent where nothing was spent",
      ({ runwayHours }) => runwayHours,
    ],
  }),
  ...gaugesOf(({ legs }) => legs, ["source", "target"], {
    causeway_cursor_height: [
      "Height of the source up to which messages are recorded",
      ({ cursor }) => cursor,
    ],
  }),
  ...gaugesOf(listOpen, ["source", "target", "status", "reason"], {
    causeway_messages_open: ["Messages that have not ended, by what they wait for", ({ count }) => count],
  }),
  ...gaugesOf(listOldest, ["source", "target", "kind"], {
    causeway_message_oldest_age_seconds: [
      "Age of the oldest open message; `due` of those that only wait for this program and its nodes, " +
      "`waiting` of those that wait for a light client, a better price or an operator",
      ({ oldestMs }, { nowMs }) => (nowMs - oldestMs) / 1_000,
    ],
  }),
  ...gaugesOf(({ chains }) => chains, ["chain"], {
    causeway_gas_price_wei: ["Gas price as last read, without buffer", ({ gasPriceWei }) => gasPriceWei],
    causeway_transactions_in_flight: ["Our transactions in no block", ({ inFlight }) => inFlight?.count ?? 0],
    causeway_transaction_oldest_age_seconds: [
      "Age of the oldest of them",
      ({ inFlight }, { nowMs }) => (nowMs - (inFlight?.oldestMs ?? nowMs)) / 1_000,
    ],
    causeway_transaction_replacements: [
      "Most replacements of a nonce",
      ({ inFlight }) => inFlight?.replacements ?? 0,
    ],
    causeway_withdrawals_open: [
      "Withdrawals that were requested and not received yet",
      ({ chain }, { withdrawals }) =>
        withdrawals.filter((each) => each.chain === chain && /^requested|^dispatched/.test(each.state))
          .length,
    ],
    causeway_nonce_gap: [
      "Nonces between them that none holds: 0 is right",
      ({ inFlight }) => inFlight?.nonceGap ?? 0,
    ],
  }),
  ...gaugesOf(({ claims }) => claims.filter(({ state }) => state === "unclaimed"), ["source"], {
    causeway_fees_unclaimed: ["Fees of final deliveries to be claimed, whole fee tokens", ({ fees }) => fees],
  }),
  ...gaugesOf(({ claims }) => claims, ["source", "state"], {
    causeway_claims: ["Deliveries by the state of their claim", ({ count }) => count],
  }),
  ...gaugesOf((status) => [status], [], {
    causeway_reconciliation_gaps: [
      "Gaps that reconciliations ever found: 0 is right",
      (each) => each.reconciliationGaps,
    ],
    causeway_database_up: [
      "0 while the database cannot be read or written",
      ({ isDatabaseUp }) => +isDatabaseUp,
    ],
  }),
};
