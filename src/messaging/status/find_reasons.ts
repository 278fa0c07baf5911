/** Reasons for which the relayer does not do its work, found in a snapshot. Pure. */
import { findEndpointReasons } from "../../core/rpc/endpoint_board.ts";
import { formatDuration } from "../../core/runtime/text_table.ts";
import type { FoundReason } from "../../core/telemetry/readiness.ts";
import type { ChainStatus, LegStatus, RelayStatus } from "./relay_status.ts";

/** Age from which a message that only waits for us is too old, unless its leg delivers. */
const MAX_DUE_AGE_MS = 15 * 60_000;

/** Time for which that must hold: a message that waited long for a light client is due only now. */
const DUE_GRACE_MS = 5 * 60_000;

/** Time without a new height after which a light client that messages wait for has stalled. */
const STALLED_MS = 2 * 3_600_000;

/** Part of the snapshot that decides. */
export type JudgedStatus = Pick<RelayStatus, "nowMs" | "hub" | "chains" | "legs">;

/** Finds every reason; none: the relayer is ready. */
export function findReasons(status: JudgedStatus): readonly FoundReason[] {
  return [
    ...status.chains.flatMap((chain) => ofChain(chain, status)),
    ...status.legs.flatMap((leg) => ofLeg(leg, status)),
  ];
}

function ofChain({ chain, endpoints, wallet, isFrozen }: ChainStatus, { legs }: JudgedStatus): FoundReason[] {
  const found = [...findEndpointReasons(chain, endpoints)];
  const place = { chain, leg: undefined };
  const unfunded = legs.filter(({ target }) => target === chain)
    .flatMap(({ open }) => open.filter(({ reason }) => reason === "unfunded"));
  const waiting = unfunded.reduce((sum, { count }) => sum + count, 0);
  if (waiting > 0 || Number(wallet?.balance) === 0) {
    const held = waiting === 0
      ? ""
      : waiting === 1
      ? "; a message waits for it"
      : `; ${waiting} messages wait for it`;
    found.push({
      ...place,
      code: "wallet_empty",
      explanation: `Our account cannot pay for gas (balance ${wallet?.balance ?? "unknown"})${held}.`,
      help: "Send native tokens to the account of the chain's signer.",
    });
  }
  if (isFrozen === true) {
    found.push({
      ...place,
      code: "host_frozen",
      explanation: "The chain's host accepts no messages.",
      help: "Nothing can be done here: governance of the hub has to unfreeze it.",
    });
  }
  return found;
}

function ofLeg(leg: LegStatus, { nowMs, chains }: JudgedStatus): FoundReason[] {
  const { source, target, open } = leg;
  const place = { chain: target, leg: `${source} -> ${target}` };
  const found: FoundReason[] = [];
  const dueMs = oldestOf(open.filter(({ isDue }) => isDue));
  if (dueMs !== undefined && nowMs - dueMs > MAX_DUE_AGE_MS && leg.deliveredRecently === 0) {
    const reasons = [
      ...new Set(open.filter(({ isDue }) => isDue).map(({ state, reason }) => reason ?? state)),
    ];
    found.push({
      ...place,
      code: "message_too_old",
      explanation: `The oldest message that is due was seen ${formatDuration(nowMs - dueMs)} ago ` +
        `(${reasons.join(", ")}), and nothing was delivered for 15 min.`,
      help: "Look at the last warnings about this leg.",
      graceMs: DUE_GRACE_MS,
    });
  }
  const waitingMs = oldestOf(open.filter(({ reason }) => reason === "waiting_for_update"));
  const roseAtMs = chains.find(({ chain }) => chain === target)?.lightClients
    .find(({ counterparty }) => counterparty === source)?.roseAtMs;
  const stalledMs = nowMs - Math.max(waitingMs ?? nowMs, roseAtMs ?? 0);
  if (stalledMs > STALLED_MS) {
    found.push({
      ...place,
      code: "light_client_stalled",
      explanation: `${target} has learned no new height of ${source} while messages wait for one.`,
      help: "Check that a consensus relayer serves this pair of chains.",
      sinceMs: nowMs - stalledMs,
    });
  }
  return found;
}

function oldestOf(rows: LegStatus["open"]): number | undefined {
  return rows.length === 0 ? undefined : Math.min(...rows.map(({ oldestMs }) => oldestMs));
}
