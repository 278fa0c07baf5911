/**
 * Snapshot of the messaging relayer: what the status page shows, `/status.json` returns and `status` prints, and the
 * gauges that are read in it. Plain data that survives JSON: times are Unix milliseconds, heights numbers, amounts
 * decimal text in whole tokens. Start reading here; `build_status.ts` fills it.
 */
import * as z from "zod";
import { hours } from "../../core/checks/hours.ts";
import { chainStatus, listed, programStatus } from "../../core/checks/program_status.ts";
import { gaugesOf, type SnapshotGauges } from "../../core/telemetry/metrics.ts";
import { claimStates } from "../ledger/deliveries.ts";
import { messageReasons, messageStates } from "../ledger/ledger.ts";
import { withdrawalStates } from "../ledger/withdrawals.ts";

/** Our account on a chain. Amounts are whole native tokens. */
const wallet = z.object({
  chain: z.string(),
  address: z.string().optional(),
  /** Symbol of the native token, where it is known. */
  unit: z.string(),
  balance: z.string(),
  readAtMs: z.number(),
  /** Cost of the last 24 hours. */
  spentDay: z.string(),
  /** What is missing for seven days at that rate; absent: nothing. */
  topUp: z.string().optional(),
  /** Hours until the balance is spent at that rate, from the first of those costs on; absent: nothing was spent. */
  runwayHours: z.number().optional(),
});

/** Dollars of a period. Approximate: a cost counts where the price was known, a fee once it is. */
const account = z.object({
  earnedUsd: z.number(),
  spentUsd: z.number(),
  /** What transactions cost that earned nothing. */
  wastedUsd: z.number(),
  profitUsd: z.number(),
});

/** Earnings and costs on a chain. */
const money = z.object({ chain: z.string(), day: account, month: account, profitUsdByHour: hours });

/** What a chain knows of another one. */
const lightClient = z.object({
  chain: z.string(),
  counterparty: z.string(),
  height: z.number(),
  /** Time at which that height was first seen. */
  roseAtMs: z.number(),
  /** True: nothing of the counterparty is accepted. */
  isFrozen: z.boolean(),
  /** Highest age of the newest height in each hour, minutes; since the start of the program. */
  ageMinByHour: hours,
});

/** Transactions of a chain that are in no block. */
const inFlight = z.object({
  count: z.number(),
  oldestMs: z.number(),
  replacements: z.number(),
  nonceGap: z.number(),
});

/** Messages of a leg that have not ended, in one state and for one reason. */
const waitingMessages = z.object({
  state: z.enum(messageStates),
  /** What they wait for; absent: their turn. */
  reason: z.enum(messageReasons).optional(),
  /** True when they only wait for this program and its nodes. */
  isDue: z.boolean(),
  count: z.number(),
  /** Time at which the oldest was first seen. */
  oldestMs: z.number(),
});

/** One hop of messages. */
const leg = z.object({
  source: z.string(),
  target: z.string(),
  /** Height of the source up to which every message is recorded; absent: nothing was read yet. */
  cursor: z.number().optional(),
  open: listed(waitingMessages),
  /** Ended within 24 hours, by state; those without any are left out. */
  endedDay: z.partialRecord(z.enum(messageStates), z.number()),
  deliveredByHour: hours,
  /** Delivered by us within 15 minutes. */
  deliveredRecently: z.number(),
  /** Senders whose messages wait for bandwidth at the hub, with what they have left. */
  bandwidth: listed(z.object({ sender: z.string(), leftBytes: z.string() })),
});

/** A message that we delivered. */
const delivered = z.object({
  source: z.string(),
  target: z.string(),
  commitment: z.string(),
  /** Transaction on the target, where it has one that is known. */
  hash: z.string().optional(),
  seenAtMs: z.number(),
  deliveredAtMs: z.number(),
});

/** Deliveries of requests of one chain by the state of their claim. */
const claimSum = z.object({
  source: z.string(),
  state: z.enum(claimStates),
  count: z.number(),
  /** Whole fee tokens, where the decimals are known. */
  fees: z.string().optional(),
});

/** One of the last withdrawals. */
const withdrawal = z.object({
  chain: z.string(),
  state: z.enum(withdrawalStates),
  /** Whole fee tokens where the decimals are known, else units. */
  amount: z.string(),
  isWhole: z.boolean(),
  detail: z.string().optional(),
  changedAtMs: z.number(),
});

/** The snapshot. Without `startedAtMs` no relayer is running, and the database alone was read. */
const relayStatus = programStatus.extend({
  program: z.literal("causeway"),
  chains: listed(chainStatus.extend({
    /** Nothing is sent to it before this time because of `maximum_daily_loss`; absent: the limit is not reached. */
    lossLimit: z.object({ untilMs: z.number() }).optional(),
    gasPriceWei: z.string().optional(),
    /** What our transactions paid on average. */
    gasPriceGweiByHour: hours,
    inFlight: inFlight.optional(),
  })),
  wallets: listed(wallet),
  money: listed(money),
  lightClients: listed(lightClient),
  legs: listed(leg),
  /** Newest first. */
  delivered: listed(delivered),
  claims: listed(claimSum),
  /** Newest first. */
  withdrawals: listed(withdrawal),
  /** Gaps that reconciliations have ever found. */
  reconciliationGaps: z.number(),
  /** False while the database cannot be read or written. */
  isDatabaseUp: z.boolean(),
});

/** The snapshot. */
export type RelayStatus = Readonly<z.output<typeof relayStatus>>;

/** A leg of the snapshot. */
export type LegStatus = RelayStatus["legs"][number];

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
    causeway_wallet_balance: ["Balance in whole native tokens, read every minute", ({ balance }) => balance],
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
