/** Metrics of the messaging relayer: light clients, wallets, messages, transactions and money. */
import { LONG_SECONDS, type MetricText, SHORT_SECONDS } from "./metric_text.ts";

/** See {@link MetricText}. */
export const chainMetrics = {
  causeway_light_client_height: {
    type: "gauge",
    help: "Latest height of `counterparty` that `chain` knows",
    labels: ["chain", "counterparty"],
  },
  causeway_light_client_age_seconds: {
    type: "gauge",
    help: "Time since that height was seen to rise; counted from the start of the program at the earliest",
    labels: ["chain", "counterparty"],
  },
  causeway_gas_price_wei: {
    type: "gauge",
    help: "Gas price as last read, without buffer",
    labels: ["chain"],
  },
  causeway_wallet_balance: {
    type: "gauge",
    help: "Balance of our account in whole native tokens, read every minute",
    labels: ["chain"],
  },
  causeway_wallet_runway_hours: {
    type: "gauge",
    help:
      "Hours until the balance is spent at the rate since the first cost of the last 24 hours; absent where nothing " +
      "was spent",
    labels: ["chain"],
  },
} as const satisfies Record<string, MetricText>;

/** See {@link MetricText}. */
export const messageMetrics = {
  causeway_cursor_height: {
    type: "gauge",
    help: "Height of the source up to which every message is recorded",
    labels: ["source", "target"],
  },
  causeway_messages_open: {
    type: "gauge",
    help: "Messages that have not ended, by status and, where they wait for something, by reason",
    labels: ["source", "target", "status", "reason"],
  },
  causeway_message_oldest_age_seconds: {
    type: "gauge",
    help: "Age of the oldest open message; `due` of those that only wait for this program and its nodes, " +
      "`waiting` of those that wait for a light client, a better price or an operator",
    labels: ["source", "target", "kind"],
  },
  causeway_messages_ended_total: {
    type: "counter",
    help: "Messages that ended; `delivered` by us, `delivered_by_other` by a competitor",
    labels: ["source", "target", "status"],
  },
  causeway_message_stage_seconds: {
    type: "histogram",
    help:
      "`sent`: from seen to our transaction, per message; `proven`, `simulated`: of one batch; `included`: " +
      "from our transaction to its block; `final`: from its block to finality",
    labels: ["target", "stage"],
    buckets: LONG_SECONDS,
  },
  causeway_batch_messages: {
    type: "histogram",
    help: "Messages of a transaction that was mined",
    labels: ["target"],
    buckets: [1, 2, 5, 10, 25, 50, 100, 200],
  },
  causeway_transactions_in_flight: {
    type: "gauge",
    help: "Transactions that are signed or sent and in no block",
    labels: ["chain"],
  },
  causeway_transaction_oldest_age_seconds: {
    type: "gauge",
    help: "Age of the oldest of them",
    labels: ["chain"],
  },
  causeway_transaction_replacements: {
    type: "gauge",
    help: "Most replacements of one nonce among them",
    labels: ["chain"],
  },
  causeway_nonce_gap: {
    type: "gauge",
    help: "Nonces between those in flight that no transaction of ours holds: should be 0",
    labels: ["chain"],
  },
  causeway_transactions_total: {
    type: "counter",
    help: "Mined transactions by purpose and result; `lost_race`, `already_known`, `reverted` and " +
      "`not_executed` earned nothing",
    labels: ["chain", "purpose", "result"],
  },
} as const satisfies Record<string, MetricText>;

/** See {@link MetricText}. */
export const moneyMetrics = {
  causeway_gas_spent_total: {
    type: "counter",
    help: "Cost of mined transactions in whole native tokens",
    labels: ["chain", "purpose", "result"],
  },
  causeway_gas_spent_dollars_total: {
    type: "counter",
    help: "The same in dollars at the price of that time, where it was known",
    labels: ["chain", "purpose", "result"],
  },
  causeway_revenue_dollars_total: {
    type: "counter",
    help: "Fees that mined transactions earned, dollars",
    labels: ["chain"],
  },
  causeway_fees_offered_dollars_total: {
    type: "counter",
    help: "Fees that mined transactions expected when they were sent, dollars",
    labels: ["chain"],
  },
  causeway_fees_unclaimed: {
    type: "gauge",
    help: "Fees of final deliveries that are not claimed yet, whole fee tokens of the source",
    labels: ["source"],
  },
  causeway_fees_claimed_total: {
    type: "counter",
    help: "Fees that were claimed, whole fee tokens of the source",
    labels: ["source"],
  },
  causeway_fees_withdrawn_total: {
    type: "counter",
    help: "Withdrawals that were received, whole fee tokens of the chain",
    labels: ["chain"],
  },
  causeway_claims: { type: "gauge", help: "Deliveries by the state of their claim", labels: ["state"] },
  causeway_withdrawals_open: {
    type: "gauge",
    help: "Withdrawals that were requested and not received yet",
    labels: ["chain"],
  },
} as const satisfies Record<string, MetricText>;

/** See {@link MetricText}. */
export const databaseMetrics = {
  causeway_reconciliation_gaps: {
    type: "gauge",
    help: "Gaps that reconciliations have ever found: it should stay 0",
    labels: [],
  },
  causeway_database_up: {
    type: "gauge",
    help: "0 while the database cannot be read or written",
    labels: [],
  },
  causeway_database_transaction_seconds: {
    type: "histogram",
    help: "Time of write transactions, with their way to the disk",
    labels: [],
    buckets: SHORT_SECONDS,
  },
} as const satisfies Record<string, MetricText>;
