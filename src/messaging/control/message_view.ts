/** Message rows as operations show them: plain data, amounts in dollars as decimal text, times as ISO 8601. */
import { formatDecimal, fromHex, toHex } from "../../core/encoding/bytes.ts";
import { isTerminal, type MessageFilter, type MessageRow, neverMs } from "../ledger/ledger.ts";
import type { filterShape } from "./shapes.ts";
import * as z from "zod";

/** A message on one leg. */
export const messageShape = z.object({
  commitment: z.string(),
  requestCommitment: z.string(),
  kind: z.string(),
  /** Of the request. */
  source: z.string(),
  dest: z.string(),
  /** Of the leg. */
  from: z.string(),
  to: z.string(),
  module: z.string(),
  nonce: z.string(),
  status: z.string(),
  reason: z.string().optional(),
  detail: z.string().optional(),
  offeredUsd: z.string().optional(),
  requiredUsd: z.string().optional(),
  attempts: z.number(),
  height: z.string(),
  foundAt: z.string(),
  changedAt: z.string(),
  /** Absent: not on its own, or no more, since it is sent or over. */
  nextAttemptAt: z.string().optional(),
  /** Absent: never. */
  timesOutAt: z.string().optional(),
});

/** A message on one leg. */
export type MessageView = z.infer<typeof messageShape>;

/** Converts a row. */
export function toMessageView(row: MessageRow): MessageView {
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
    nextAttemptAt: isAttempted(row) ? timeText(row.nextAttemptAtMs) : undefined,
    timesOutAt: timeoutMs === 0n || timeoutMs > MAX_TIME_MS ? undefined : timeText(Number(timeoutMs)),
  };
}

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

/** Converts a selection as it travels to that of the ledger. */
export function toMessageFilter(filter: z.output<typeof filterShape>): MessageFilter {
  const { source, dest, module, ...rest } = filter;
  return {
    ...rest,
    requestSource: source,
    requestDest: dest,
    module: module === undefined ? undefined : fromHex(module),
  };
}
