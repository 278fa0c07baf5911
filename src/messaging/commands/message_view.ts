/** Message rows as commands show them: plain data, amounts in dollars as decimal text, times as ISO 8601. */
import { formatDecimal, toHex } from "../../core/encoding/bytes.ts";
import { isTerminal, type MessageRow, neverMs } from "../ledger/ledger.ts";

/** A message on one leg. */
export type MessageView = ReturnType<typeof toMessageView>;

/** Converts a row; `source` and `dest` are those of the request, `from` and `to` of the leg. */
export const toMessageView = (row: MessageRow) => {
  const timeoutMs = row.timeoutSec * 1000n;
  return {
    commitment: row.commitment,
    requestCommitment: row.requestCommitment,
    kind: row.kind,
    source: row.requestSource,
    dest: row.requestDest,
    from: row.source,
    to: row.target,
    module: toHex(row.module),
    nonce: row.nonce.toString(),
    status: row.state,
    reason: row.reason,
    detail: row.detail,
    offeredUsd: dollarsText(row.offeredUsd18),
    requiredUsd: dollarsText(row.requiredUsd18),
    attempts: row.attempts,
    height: row.seenAtHeight.toString(),
    foundAt: timeText(row.createdAtMs),
    changedAt: timeText(row.updatedAtMs),
    /** Absent: not by itself, or no more, since it is sent or over. */
    nextAttemptAt: isAttempted(row) ? timeText(row.nextAttemptAtMs) : undefined,
    /** Absent: never. */
    timesOutAt: timeoutMs === 0n || timeoutMs > MAX_TIME_MS ? undefined : timeText(Number(timeoutMs)),
  };
};

/** True when a message is attempted by itself at the time of its row; ended and sent ones keep an old time. */
function isAttempted({ state, nextAttemptAtMs }: MessageRow): boolean {
  return !isTerminal(state) && state !== "submitted" && nextAttemptAtMs !== neverMs;
}

/** Latest time that a date can hold, Unix milliseconds. */
const MAX_TIME_MS = 8_640_000_000_000_000n;

/** Formats a time, Unix milliseconds. */
export function timeText(atMs: number): string {
  return new Date(atMs).toISOString();
}

/** Formats dollars x 10^18, rounded down to a millionth of a millionth. */
export function dollarsText(amount18: bigint | undefined): string | undefined {
  return amount18 === undefined ? undefined : formatDecimal(amount18 / 10n ** 6n, 12);
}
