/**
 * Exit codes of the programs. Source: docs/protocol/messaging.md section 2.2; docs/protocol/hub-consensus.md section
 * 3.5.
 */
export const exitCodes = {
  /** Done, or ended by the first signal. */
  ok: 0,
  /** Configuration, start-up check or an unrecoverable fault; `accumulate-fees`: something failed. */
  failed: 1,
  /** Unknown option or a missing one. */
  usage: 2,
  /** The consensus relayer: a watched chain has had no update for longer than `maximum_update_intervals` allows. */
  stalled: 3,
  /** `check`: nothing failed, but something needs attention. */
  warnings: 3,
  /** The messaging relayer: `--fence` does not allow to work, or not any more. */
  fenced: 4,
  /** Ended by the second signal. */
  interrupted: 130,
} as const;

/** One of {@link exitCodes}. */
export type ExitCode = typeof exitCodes[keyof typeof exitCodes];
