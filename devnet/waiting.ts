/** Waits of the devnet and of tests for what happens elsewhere: look again and again, give up when it is hopeless. */

/**
 * Longest wait for anything, milliseconds. It ends waits that are hopeless and decides nothing else: what is awaited
 * takes seconds on an idle machine, and may take minutes on a crowded one.
 */
export const DEADLINE_MS = 240_000;

/**
 * Waits until `holds` does, looking again and again.
 * @throws {Error} with `what` after the deadline (default {@link DEADLINE_MS}).
 */
export async function waitUntil(
  what: string,
  holds: () => boolean | Promise<boolean>,
  { deadlineMs = DEADLINE_MS, everyMs = 100 }: { readonly deadlineMs?: number; readonly everyMs?: number } =
    {},
): Promise<void> {
  const endMs = Date.now() + deadlineMs;
  while (!await holds()) {
    if (Date.now() >= endMs) throw new Error(`Not after ${deadlineMs / 1000} s: ${what}`);
    await pause(everyMs);
  }
}

/** Resolves after `ms`, or at once when `signal` is aborted. */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const finish = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", finish);
      resolve();
    };
    const timer = setTimeout(finish, ms);
    signal?.addEventListener("abort", finish, { once: true });
  });
}
