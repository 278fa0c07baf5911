/** What happens to a message next, and what an operator can do about it: a sentence for every reason. Pure. */
import type { HoldReason, MessageRow, TerminalReason } from "../ledger/ledger.ts";
import { isTerminal, neverMs } from "../ledger/ledger.ts";

/** What a held message waits for. */
const waits: Readonly<Record<HoldReason, string>> = {
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
};

/** Why a message ended. */
const ends: Readonly<Record<TerminalReason, string>> = {
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
};

/** Facts beside the row. */
export interface NextFacts {
  readonly nowMs: number;
  /** False when no relayer runs on the database. */
  readonly isRunning: boolean;
}

/** Says what messages that are held for a reason wait for. */
export function describeHold(reason: MessageRow["reason"]): string {
  if (isEnd(reason)) return `${ends[reason]} It ends if that is still so some hours later.`;
  return reason === undefined ? "" : waits[reason];
}

/** Says what happens next to a message on a leg, and why nothing does where that is so. */
export function describeNext(row: MessageRow, { nowMs, isRunning }: NextFacts): string {
  if (isTerminal(row.state)) {
    const because = isEnd(row.reason) ? ends[row.reason] : "";
    return `Nothing: this leg is over. ${because}`.trim();
  }
  const stopped = isRunning ? "" : " No relayer runs on this database.";
  if (row.state === "submitted") return `Its transaction is followed until it is final.${stopped}`;
  return `${describeHold(row.reason)} ${whenText(row, nowMs)}${stopped}`.trim();
}

function isEnd(reason: MessageRow["reason"]): reason is TerminalReason {
  return reason !== undefined && Object.hasOwn(ends, reason);
}

function whenText({ nextAttemptAtMs, reason }: MessageRow, nowMs: number): string {
  if (reason === "held_by_operator") return ""; // a retry would hold it again
  if (nextAttemptAtMs === neverMs) {
    return "It is not attempted again by itself: `retry` or `relay` does it now.";
  }
  if (nextAttemptAtMs <= nowMs) return "It is attempted in the next round of its leg.";
  return `It is attempted again at ${new Date(nextAttemptAtMs).toISOString()}.`;
}
