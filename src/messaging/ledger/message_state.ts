/**
 * The automaton of a message row: which state may follow which, and why a row is where it is.
 * Pure. Source: docs/architecture/messaging.md, "States of a message", I5 and I6.
 */

/** States in which a message still waits for something that we do. */
export const openMessageStates = ["seen", "held", "ready", "not_executed"] as const;

/** States in which nothing more is done for a message, unless a destination reorganises. */
export const terminalMessageStates = [
  "delivered",
  "delivered_by_other",
  "timed_out",
  "rejected",
  "gone",
] as const;

/** States of a message that the pipeline may pick up again. */
export type OpenMessageState = typeof openMessageStates[number];

/** States that end a message's way. */
export type TerminalMessageState = typeof terminalMessageStates[number];

/** Every state of a message row. */
export type MessageState = OpenMessageState | "submitted" | TerminalMessageState;

/** Every state, in the order of a message's way. */
export const messageStates: readonly MessageState[] = [
  ...openMessageStates,
  "submitted",
  ...terminalMessageStates,
];

/** Why an open message is not under way. */
export const holdReasons = [
  /** The source chain is not configured, so its fee is unknown. */
  "no_fee_source",
  "unprofitable",
  "price_unknown",
  "simulation_failed",
  /** No endpoint of the destination shows what its delivery would do, though they show other deliveries. */
  "untraceable",
  /** Deliveries from its sender to its receiver were paid for and had no effect. */
  "suspended",
  /** Mined, but the host recorded nothing for it. */
  "not_executed",
  "reverted",
  "chain_down",
  "challenge_period",
  "proof_unavailable",
  "not_final",
  "host_frozen",
  /** The host takes deliveries from another handler than the one that was simulated. */
  "handler_replaced",
  "client_expired",
  /** Our account cannot pay for gas. */
  "unfunded",
  /** `maximum_daily_loss` of the destination is reached. */
  "loss_limit",
  /** No transaction of the destination can carry it. */
  "too_large",
  /** A broken invariant: kept aside for an operator. */
  "poison",
  "hub_refused",
  /** Our transaction was not mined in time. */
  "stuck",
  /** Another relayer's delivery of it is in the pool. */
  "race",
  /** The target has not accepted a height of the source that proves it. */
  "waiting_for_update",
  /** The sending application has no bandwidth left at the hub. */
  "no_bandwidth",
  /** The hub takes nothing from the sending application. */
  "blocked_sender",
  /** Less time is left until its timeout than a delivery takes. */
  "too_close_to_timeout",
  /** A kind of message that the destination does not take. */
  "kind_not_relayed",
  /** Its fee could not be read. */
  "fee_unknown",
  /** It pays for itself, but not for the consensus proof that must travel with it. */
  "consensus_proofs_unprofitable",
  /** The block that a GET request reads is not known to the hub (any more). */
  "height_unknown",
  "unconfigured_chain",
  /** No endpoint of the target proves its state where the hub knows it: the delivery could never be claimed. */
  "sink_unprovable",
  /** The hub takes no messages of the source yet: governance has not listed it. */
  "source_not_accepted",
] as const;

/** Why a message reached its end. */
export const terminalReasons = [
  "handled_by_us",
  "handled_by_other",
  "expired",
  /** Given up after 30 days; only requests that never time out. */
  "too_old",
  "module_filter",
  "delivery_endpoints",
  "wrong_dest",
  /** Read on a chain that is not its source. */
  "wrong_source",
  "hub_originated",
  /** A destination without a text form, or a module of a length that the host never accepts. */
  "bad_destination",
  "request_gone",
  /** The hub refused it too often; only requests that never time out. */
  "refused_by_hub",
  /** The answer to a request that the destination does not know (any more). */
  "request_unknown",
] as const;

/** Reasons of open messages that the hub has refused. */
export const refusedReasons = ["hub_refused", "no_bandwidth", "blocked_sender"] as const satisfies readonly (
  typeof holdReasons[number]
)[];

/** One of {@link holdReasons}. */
export type HoldReason = typeof holdReasons[number];

/** One of {@link terminalReasons}. */
export type TerminalReason = typeof terminalReasons[number];

/** Recorded besides the state; `undefined` for rows that simply take their turn. */
export type MessageReason = HoldReason | TerminalReason;

/** Every reason. */
export const messageReasons: readonly MessageReason[] = [...holdReasons, ...terminalReasons];

const anyEnd: readonly MessageState[] = terminalMessageStates;

/**
 * Legal successors. A row may be written again in the same open state (another reason or date). `submitted` does not
 * follow `submitted`, because only one attempt may be unresolved. A delivery that a destination reorganises away comes
 * back (`ready`, `held`) or turns out to be another relayer's.
 */
const successors: Readonly<Record<MessageState, readonly MessageState[]>> = {
  seen: ["seen", "held", "ready", ...anyEnd],
  held: ["held", "ready", ...anyEnd],
  ready: ["ready", "held", "submitted", ...anyEnd],
  submitted: ["ready", "held", "not_executed", ...anyEnd],
  not_executed: ["not_executed", "held", "ready", ...anyEnd],
  delivered: ["delivered", "delivered_by_other", "ready", "held"],
  delivered_by_other: ["delivered_by_other", "delivered", "ready", "held"],
  timed_out: [],
  /** A filter that has changed since lets it in again when its block is read again. */
  rejected: ["seen"],
  gone: [],
};

/** True for states that end a message's way. */
export function isTerminal(state: MessageState): state is TerminalMessageState {
  return anyEnd.includes(state);
}

/** True when a row in state `from` may be written as `to`. */
export function mayFollow(from: MessageState, to: MessageState): boolean {
  return successors[from].includes(to);
}

/** The states that `to` may follow. */
export function listPredecessors(to: MessageState): readonly MessageState[] {
  return messageStates.filter((from) => mayFollow(from, to));
}

/**
 * The state a row gets when `to` is asked for in state `from`.
 * @throws {Error} when the change is illegal: a defect of the caller, never to be retried.
 */
export function nextMessageState(from: MessageState, to: MessageState): MessageState {
  if (!mayFollow(from, to)) throw new Error(`Illegal change of a message: ${from} to ${to}`);
  return to;
}
