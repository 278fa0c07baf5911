/** What is in the way of deliveries, found in a snapshot. Pure. */
import { findChainReasons } from "../../core/checks/program_status.ts";
import { formatDuration } from "../../core/runtime/text_table.ts";
import { events } from "../../core/telemetry/log.ts";
import type { FoundReason } from "../../core/telemetry/readiness.ts";
import { describeHold } from "../ledger/message_state.ts";
import type { HoldReason, LedgerFault, MessageReason } from "../ledger/ledger.ts";
import type { LegStatus, RelayFacts } from "./relay_facts.ts";

/** Age from which a message that only waits for us is too old, unless its leg delivers. */
const MAX_DUE_AGE_MS = 15 * 60_000;

/** Time for which that must hold: a message that waited long for a light client is due only now. */
const DUE_GRACE_MS = 5 * 60_000;

/** Time without a new height after which a light client that messages wait for has stalled, and any other one is too old. */
const STALLED_MS = 2 * 3_600_000;
const OLD_MS = 6 * 3_600_000;

/** Time after which messages that are held for one of {@link NAMED_HOLDS} are told. */
const HELD_GRACE_MS = 60_000;

/**
 * Holds that an operator, a node or governance can end, and that no other reason tells. All others are a matter of the
 * single message: they are listed with its leg.
 */
const NAMED_HOLDS: ReadonlySet<MessageReason> = new Set<HoldReason>([
  "proof_unavailable",
  "untraceable",
  "fee_unknown",
  "price_unknown",
  "handler_replaced",
  "client_expired",
  "suspended",
  "poison",
  "held_by_operator",
]);

/** Part of the snapshot that decides. */
interface JudgedStatus extends Pick<RelayFacts, "chains" | "wallets" | "lightClients" | "legs"> {
  readonly nowMs: number;
  readonly hub: string;
}

/** Finds what is in the way of deliveries. */
export function findReasons(status: JudgedStatus): readonly FoundReason[] {
  return [
    ...status.chains.flatMap((chain) => ofChain(chain, status)),
    ...status.legs.flatMap((leg) => ofLeg(leg, status)),
  ];
}

/** A database that cannot be read or written. */
export function ofDatabase({ found, advice }: LedgerFault): FoundReason {
  return {
    code: "database_fault",
    chain: undefined,
    leg: undefined,
    explanation: `${found}. Nothing is sent until a write works; one is tried every five seconds.`,
    help: advice,
  };
}

function ofChain(
  status: RelayFacts["chains"][number],
  { legs, wallets, lightClients, ...program }: JudgedStatus,
): FoundReason[] {
  const { chain, lossLimit } = status;
  const place = { chain, leg: undefined };
  const found = [...findChainReasons(status, program)];
  const wallet = wallets.find((each) => each.chain === chain);
  const unfunded = legs.filter(({ target }) => target === chain)
    .flatMap(({ open }) => open.filter(({ reason }) => reason === "unfunded"));
  const waiting = unfunded.reduce((sum, { count }) => sum + count, 0);
  if (waiting > 0 || Number(wallet?.balance) === 0) {
    const held = waiting === 0 ? "" : `; ${countText(waiting)} for it`;
    found.push({
      ...place,
      code: "wallet_empty",
      explanation:
        `Our account${wallet?.address === undefined ? "" : ` ${wallet.address}`} cannot pay for gas ` +
        `(balance ${wallet === undefined ? "unknown" : `${wallet.balance} ${wallet.unit}`})${held}.`,
      help: wallet?.topUp === undefined
        ? "Send native tokens to the account of the chain's signer; it is tried again every minute."
        : `Send ${wallet.topUp} ${wallet.unit} to it, which lasts for 7 days; it is tried again every minute.`,
    });
  }
  if (lossLimit !== undefined) {
    const { text, action = "" } = events.loss_limit_reached;
    const code = "loss_limit_reached";
    found.push({ ...place, code, explanation: `${text}.`, help: action, nextMs: lossLimit.untilMs });
  }
  for (const { counterparty, height, isFrozen } of lightClients.filter((each) => each.chain === chain)) {
    const leg = `${counterparty} -> ${chain}`;
    if (height === 0) {
      found.push({
        chain,
        leg,
        code: "no_height_known",
        explanation: `${chain} knows no height of ${counterparty}: no message can be proved to it.`,
        help: "Check that its governance has added the chain, and run a consensus relayer for the pair.",
      });
    }
    if (!isFrozen) continue;
    found.push({
      chain,
      leg,
      code: "host_frozen",
      explanation: `The chain accepts nothing of ${counterparty}: its host or the light client is frozen.`,
      help: "Nothing can be done here: its governance has to unfreeze it. It is read in every round.",
    });
  }
  return found;
}

function ofLeg({ source, target, open, deliveredRecently }: LegStatus, status: JudgedStatus): FoundReason[] {
  const { nowMs, lightClients } = status;
  const place = { chain: target, leg: `${source} -> ${target}` };
  const found = open.filter(({ reason }) => reason !== undefined && NAMED_HOLDS.has(reason))
    .map(({ reason, count }): FoundReason => ({
      ...place,
      code: `${reason}`,
      explanation: `${countText(count)}.`,
      help: describeHold(reason),
      isWarning: reason !== "client_expired",
      graceMs: HELD_GRACE_MS,
    }));
  const due = open.filter((row) => row.isDue);
  const dueMs = oldestOf(due);
  if (dueMs !== undefined && nowMs - dueMs > MAX_DUE_AGE_MS && deliveredRecently === 0) {
    const reasons = [...new Set(due.map(({ state, reason }) => reason ?? state))];
    found.push({
      ...place,
      code: "message_too_old",
      explanation: `The oldest message that is due was seen ${formatDuration(nowMs - dueMs)} ago ` +
        `(${reasons.join(", ")}), and nothing was delivered for 15 min.`,
      help: "Read the last warnings about this leg.",
      graceMs: DUE_GRACE_MS,
    });
  }
  const waitingMs = oldestOf(open.filter(({ reason }) => reason === "waiting_for_update"));
  const roseAtMs = lightClients.find(({ chain, counterparty }) => chain === target && counterparty === source)
    ?.roseAtMs;
  const stalledMs = nowMs - Math.max(waitingMs ?? nowMs, roseAtMs ?? 0);
  const isStalled = stalledMs > STALLED_MS;
  if (isStalled || nowMs - (roseAtMs ?? nowMs) > OLD_MS) {
    found.push({
      ...place,
      code: "light_client_stalled",
      explanation: `${target} has accepted no new height of ${source}${
        isStalled ? " while messages wait for one" : " for 6 h"
      }.`,
      help: "Check that a consensus relayer serves this pair of chains.",
      isWarning: !isStalled,
      sinceMs: isStalled ? nowMs - stalledMs : roseAtMs,
    });
  }
  return found;
}

function countText(count: number): string {
  return count === 1 ? "a message waits" : `${count} messages wait`;
}

function oldestOf(rows: LegStatus["open"]): number | undefined {
  return rows.length === 0 ? undefined : Math.min(...rows.map(({ oldestMs }) => oldestMs));
}
