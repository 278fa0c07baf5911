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

/** Reasons why an open message is not submitted: for operators, what it waits for. */
const waits = {
  no_fee_source:
    "Its source chain is not configured, so its fee cannot be read: add the chain and start again.",
  unprofitable:
    "Its fee does not cover the cost and the minimum profit. A raised fee, a lower gas price or " +
    "`relay` delivers it.",
  price_unknown:
    "The price of the native token is unknown: check etherscan_api_key or the price router. It is tried again " +
    "by itself.",
  simulation_failed: "The chain refuses the delivery in a simulation; `detail` gives the reason.",
  untraceable: "No endpoint of the chain can simulate its delivery; another one may.",
  suspended:
    "Deliveries between its modules were paid for and had no effect. One message is tried again now and then; " +
    "`release` lets all of them go.",
  gated:
    "Its receiving module accepts deliveries of one other account only, which `detail` names: that one delivers it. " +
    "The module is read again every day; `release` does it now.",
  not_executed: "It was delivered, but the receiving module failed, so that nothing counts.",
  reverted: "Its transaction was reverted.",
  challenge_period: "The target accepts the proof only after its challenge period.",
  proof_unavailable: "No endpoint of the source gave a proof of it: check that they keep old state.",
  not_final: "Its block is not final yet.",
  host_frozen: "The target's host accepts no messages until its owner unfreezes it.",
  handler_replaced: "The target's handler was replaced meanwhile; it is simulated again.",
  client_expired: "The target's light client has expired: governance must replace it.",
  unfunded:
    "Our account on the target cannot pay for gas: send it native tokens. It is tried again every minute.",
  loss_limit: "What is left of `maximum_daily_loss` does not cover it: it waits until the losses are older.",
  too_large: "No transaction of the target can carry it.",
  poison: "Its row is damaged: please report this with the log line that names it.",
  hub_refused: "The hub refuses it; `detail` gives the reason.",
  stuck: "Its transaction was not mined in time.",
  race: "Another relayer may deliver it first; receipts are read before it is attempted.",
  waiting_for_update:
    "The target's light client does not know the message's block yet: the next update brings it.",
  no_bandwidth: "The sending application has no bandwidth left at the hub; it has to buy some.",
  blocked_sender: "The hub accepts nothing from the sending application.",
  too_close_to_timeout: "Less time is left until its timeout than a delivery needs.",
  fee_unknown: "Its fee could not be read on the source; it is read again.",
  consensus_proofs_unprofitable:
    "It pays for itself, but not for the consensus proof that it needs: more messages, or another relayer's update, " +
    "let it go.",
  height_unknown: "The hub does not know the block that the GET request reads.",
  unconfigured_chain: "The chain that it reads is not configured: add it and start again.",
  target_unprovable:
    "No endpoint of the target can prove its state (eth_getProof; on Polkadot Hub the node at ws_url) at heights that the hub knows: use an archive node.",
  source_not_accepted: "The hub accepts no messages of the source yet: governance has not listed it.",
  runtime_unsupported:
    "The target was upgraded to a runtime that this program does not know; `detail` lists the differences. Update the program.",
  left_to_fleet:
    "It is in the share of another relayer of the fleet. If that one does not deliver it in time, this one does.",
  held_by_operator: "You hold its module or route: `release` lets it go.",
} as const;

/** Reasons why a message ended, for operators. */
const ends = {
  handled_by_us: "The target has our receipt.",
  handled_by_other: "The target has another relayer's receipt.",
  expired: "It timed out; its sender can have it undone on the source.",
  module_filter: "Its sender is not in module_filter.",
  delivery_endpoints: "Its destination is not in delivery_endpoints.",
  wrong_dest: "It goes elsewhere.",
  wrong_source: "It names another source than the chain that it was read on.",
  hub_originated: "It is a request of the hub whose module neither the hub nor module_filter lists.",
  bad_destination: "No host accepts its destination.",
  request_gone: "Its source no longer knows the request.",
  refused_by_hub: "The hub refused it too often.",
  request_unknown: "The target does not know the request that it answers.",
} as const;

/** One of {@link waits}. */
export type HoldReason = keyof typeof waits;

/** One of {@link ends}. */
export type TerminalReason = keyof typeof ends;

/** Reasons of open messages that the hub has refused. */
export const refusedReasons = [
  "hub_refused",
  "no_bandwidth",
  "blocked_sender",
] as const satisfies HoldReason[];

/** Every one of {@link waits}. */
export const holdReasons = Object.keys(waits) as HoldReason[];

/** Reason recorded with the state; `undefined` for rows that just wait for their turn. */
export type MessageReason = HoldReason | TerminalReason;

/** Every reason. */
export const messageReasons: readonly MessageReason[] = [
  ...holdReasons,
  ...Object.keys(ends) as TerminalReason[],
];

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

/** Says what messages that are held for a reason wait for. */
export function describeHold(reason: MessageReason | undefined): string {
  if (isEnd(reason)) return `${ends[reason]} It ends if that is still so some hours later.`;
  return reason === undefined ? "" : waits[reason];
}

/** Says why a message ended. */
export function describeEnd(reason: MessageReason | undefined): string {
  return isEnd(reason) ? ends[reason] : "";
}

function isEnd(reason: MessageReason | undefined): reason is TerminalReason {
  return reason !== undefined && Object.hasOwn(ends, reason);
}
