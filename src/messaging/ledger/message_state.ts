/**
 * State machine of a message row: its transitions, and the reasons of its states. Pure. Source:
 * docs/architecture/messaging.md, "States of a message", I5 and I6.
 */

/** States in which a message still requires work. */
export const openMessageStates = ["seen", "held", "ready", "not_executed"] as const;

/** Final states of a message, unless a destination reorganises. */
export const terminalMessageStates = [
  "delivered",
  "delivered_by_other",
  "timed_out",
  "rejected",
  "gone",
] as const;

/** States of a message that the pipeline may pick up again. */
export type OpenMessageState = typeof openMessageStates[number];

/** Final states of a message. */
export type TerminalMessageState = typeof terminalMessageStates[number];

/** Every state of a message row. */
export type MessageState = OpenMessageState | "submitted" | TerminalMessageState;

/** Every state, in the order of a message's life. */
export const messageStates: readonly MessageState[] = [
  ...openMessageStates,
  "submitted",
  ...terminalMessageStates,
];

/** Reasons why an open message is not submitted. */
export const holdReasons = [
  /** The source chain is not configured, so its fee is unknown. */
  "no_fee_source",
  "unprofitable",
  "price_unknown",
  "simulation_failed",
  /** No endpoint of the destination can simulate its delivery, although they simulate others. */
  "untraceable",
  /** Deliveries from its sender to its receiver cost gas and had no effect. */
  "suspended",
  /** Its receiver accepts deliveries of another account only. */
  "gated",
  /** Mined, but the host recorded nothing for it. */
  "not_executed",
  "reverted",
  "challenge_period",
  "proof_unavailable",
  "not_final",
  "host_frozen",
  /** The host accepts deliveries from another handler than the one that was simulated. */
  "handler_replaced",
  "client_expired",
  /** Our account cannot pay for gas. */
  "unfunded",
  /** `maximum_daily_loss` of the destination is reached. */
  "loss_limit",
  /** No transaction of the destination can carry it. */
  "too_large",
  /** A broken invariant: held for an operator. */
  "poison",
  "hub_refused",
  /** Our transaction was not mined in time. */
  "stuck",
  /** Another relayer's delivery of it is in the mempool. */
  "race",
  /** The target has not accepted a height of the source that proves it. */
  "waiting_for_update",
  /** The sending application has no bandwidth left at the hub. */
  "no_bandwidth",
  /** The hub accepts nothing from the sending application. */
  "blocked_sender",
  /** Less time is left until its timeout than a delivery needs. */
  "too_close_to_timeout",
  /** Its fee could not be read. */
  "fee_unknown",
  /** It pays for itself, but not for the consensus proof that must travel with it. */
  "consensus_proofs_unprofitable",
  /** The block that a GET request reads is not, or no longer, known to the hub. */
  "height_unknown",
  "unconfigured_chain",
  /**
   * No endpoint of the target can prove its state at heights that the hub knows: the delivery could never be claimed.
   */
  "target_unprovable",
  /** The hub accepts no messages of the source yet: governance has not listed it. */
  "source_not_accepted",
  /** The target's runtime is another than this program knows. */
  "runtime_unsupported",
  /** The operator holds its module or route (`causeway hold`). */
  "held_by_operator",
  /** Another relayer of the operator's fleet delivers it first. */
  "left_to_fleet",
] as const;

/** Reasons why a message ended. */
const terminalReasons = [
  "handled_by_us",
  "handled_by_other",
  "expired",
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
  /** The response to a request that the destination does not, or no longer, know. */
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

/** Reason recorded with the state; `undefined` for rows that just wait for their turn. */
export type MessageReason = HoldReason | TerminalReason;

/** Every reason. */
export const messageReasons: readonly MessageReason[] = [...holdReasons, ...terminalReasons];

const anyEnd: readonly MessageState[] = terminalMessageStates;

/**
 * Legal successors. A row may be written again in the same open state (another reason or date). `submitted` does not
 * follow `submitted`, because only one attempt may be unresolved. A delivery that is reorganised away is due again
 * (`ready`, `held`) or turns out to be another relayer's.
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
  /** A changed filter may accept it when its block is scanned again. */
  rejected: ["seen"],
  gone: [],
};

/** True for final states of a message. */
export function isTerminal(state: MessageState): state is TerminalMessageState {
  return anyEnd.includes(state);
}

/** True when a row in state `from` may be written as `to`. */
export function mayFollow(from: MessageState, to: MessageState): boolean {
  return successors[from].includes(to);
}

/** Lists the states that `to` may follow. */
export function listPredecessors(to: MessageState): readonly MessageState[] {
  return messageStates.filter((from) => mayFollow(from, to));
}
