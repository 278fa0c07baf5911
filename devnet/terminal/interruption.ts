/** Ctrl-C and SIGTERM for the programs of the devnet: the first ends them in order, the second at once. */

/** Status of a program that a signal ended. */
export const INTERRUPTED = 130;

/** One Ctrl-C arrives twice under `deno task`: from the terminal and passed on by the parent. */
const ECHO_MS = 1_000;

/** Work that does not end by itself for so long after a failure is left. */
const MAX_ENDING_MS = 20_000;

/** Why work was given up: somebody asked the program to end. */
export class Interruption extends Error {
  override readonly name = "Interruption";
  readonly code = "interrupted";
  constructor() {
    super("Interrupted");
  }
}

/** How a program is run. */
interface RunOptions {
  /** Called when no time is left for order. */
  readonly beforeExit?: () => void;
  /** Shows where a failure happened. */
  readonly isVerbose?: boolean;
}

/**
 * Runs a program's `work` with a signal that the first SIGINT or SIGTERM aborts (with an {@link Interruption}), and any
 * failure of what nobody waits for (with that). The second one exits at once.
 * @returns the status to exit with: that of `work`, 130 when it gave up because of the signal, 1 for a failure, which is a
 * sentence on standard error.
 */
export async function runInterruptibly(
  work: (signal: AbortSignal) => Promise<number>,
  { beforeExit = () => {}, isVerbose = false }: RunOptions = {},
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
  const report = (error: unknown): void => {
    const lines = [`Failed: ${sentenceOf(error)}.`];
    if (isVerbose && error instanceof Error) lines.push(String(error.stack));
    Deno.stderr.writeSync(new TextEncoder().encode(`${lines.join("\n")}\n`));
  };
  let overdue: ReturnType<typeof setTimeout> | undefined;
  const onStray = (event: ErrorEvent | PromiseRejectionEvent): void => {
    event.preventDefault();
    // A later one is a consequence: what it asked for has ended.
    if (controller.signal.aborted) return;
    const error = "reason" in event ? event.reason : event.error;
    overdue = setTimeout(() => {
      report(error);
      beforeExit();
      Deno.exit(1);
    }, MAX_ENDING_MS);
    controller.abort(error);
  };
  const names = ["SIGINT", "SIGTERM"] as const;
  for (const name of names) Deno.addSignalListener(name, onSignal);
  globalThis.addEventListener("error", onStray);
  globalThis.addEventListener("unhandledrejection", onStray);
  try {
    return await work(controller.signal);
  } catch (error) {
    const { aborted, reason } = controller.signal;
    if (aborted && reason instanceof Interruption) return INTERRUPTED;
    report(error);
    return 1;
  } finally {
    clearTimeout(overdue);
    for (const name of names) Deno.removeSignalListener(name, onSignal);
    globalThis.removeEventListener("error", onStray);
    globalThis.removeEventListener("unhandledrejection", onStray);
  }
}

/** A failure for people: what it says first. Below that are requests, answers and output of programs. */
export function sentenceOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.message.split("\n", 1)[0]?.replace(/[.:]?(?: Last lines:)?$/, "") || error.name;
}
