/** What the programs tell the shell. Source: 04-messaging-flow.md 2.2. */
export const exitCodes = {
  /** Done, or ended by the first signal. */
  ok: 0,
  /** Configuration, start-up check or an unrecoverable fault; `accumulate-fees`: something failed. */
  failed: 1,
  /** Unknown option or a missing one. */
  usage: 2,
  /** Ended by the second signal. */
  interrupted: 130,
} as const;

/** One of {@link exitCodes}. */
export type ExitCode = typeof exitCodes[keyof typeof exitCodes];
