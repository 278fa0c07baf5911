/** Ctrl-C and SIGTERM for the programs of the devnet: the first ends them in order, the second at once. */

/** Status of a program that a signal ended. */
export const INTERRUPTED = 130;

/** One Ctrl-C arrives twice under `deno task`: from the terminal and passed on by the parent. */
const ECHO_MS = 1_000;

/** Why work was given up: somebody asked the program to end. */
export class Interruption extends Error {
  override readonly name = "Interruption";
  readonly code = "interrupted";
  constructor() {
    super("Interrupted");
  }
}

/**
 * Runs a program's `work` with a signal that the first SIGINT or SIGTERM aborts (with an {@link Interruption}). The
 * second one exits at once, after `beforeExit`.
 * @returns the status to exit with: that of `work`, 130 when it gave up because of the signal, 1 for a fault with a
 * code, whose message is on standard error.
 */
export async function runInterruptibly(
  work: (signal: AbortSignal) => Promise<number>,
  beforeExit: () => void = () => {},
): Promise<number> {
  const controller = new AbortController();
  let firstAtMs = 0;
  const onSignal = (): void => {
    if (controller.signal.aborted) {
      if (performance.now() - firstAtMs < ECHO_MS) return;
      beforeExit();
      Deno.exit(INTERRUPTED);
    }
    firstAtMs = performance.now();
    controller.abort(new Interruption());
  };
  const names = ["SIGINT", "SIGTERM"] as const;
  for (const name of names) Deno.addSignalListener(name, onSignal);
  try {
    return await work(controller.signal);
  } catch (error) {
    if (controller.signal.aborted) return INTERRUPTED;
    // Faults of known kinds say all in their message; anything else is a defect and shows where it happened.
    if (!(error instanceof Error && "code" in error)) throw error;
    Deno.stderr.writeSync(new TextEncoder().encode(`${error.message}\n`));
    return 1;
  } finally {
    for (const name of names) Deno.removeSignalListener(name, onSignal);
  }
}

/** Resolves when `signal` is aborted. */
export function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
