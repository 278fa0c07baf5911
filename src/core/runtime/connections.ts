/** Connections of a listener, a limited number at a time; each ends by itself, whatever its client does. */
import type { Clock } from "./clock.ts";

/** Pause after a connection could not be taken, ms: with too many open files, others need time to close theirs. */
const PAUSE_MS = 1_000;

/** Listener that connections are taken from. */
export interface ConnectionSource<C> {
  /** The next connection. A source that can be opened again does so in the call after one that was rejected. */
  accept(): Promise<C>;
  close(): void;
}

/** How connections are served. */
export interface ConnectionService<C> {
  readonly clock: Clock;
  readonly source: ConnectionSource<C>;
  /** Maximum number of open connections. */
  readonly limit: number;
  /** Connection that is closed for lack of room: the one that comes, or the one that has been open longest. */
  readonly surplus: "newest" | "oldest";
  /** Talks with one client; the connection is closed behind it. */
  readonly talk: (connection: C) => Promise<void>;
  /** Gets what a conversation threw, and why a connection could not be taken. */
  readonly onError: (error: unknown) => void;
}

/** Serves connections until `signal` is aborted, which closes them all. Never rejects. */
export async function serveConnections<C extends { close(): void }>(
  { clock, source, limit, surplus, talk, onError }: ConnectionService<C>,
  signal: AbortSignal,
): Promise<void> {
  const open = new Set<C>();
  const talks = new Set<Promise<void>>();
  const end = (connection: C): void => {
    if (open.delete(connection)) closeQuietly(connection);
  };
  const serve = async (connection: C): Promise<void> => {
    try {
      await talk(connection);
    } catch (error) {
      if (!signal.aborted) onError(error);
    } finally {
      end(connection);
    }
  };
  signal.addEventListener("abort", () => {
    source.close();
    open.forEach(end);
  }, { once: true });
  while (!signal.aborted) {
    try {
      const connection = await source.accept();
      open.add(connection);
      const [oldest = connection] = open;
      if (open.size > limit) end(surplus === "oldest" ? oldest : connection);
      if (!open.has(connection)) continue;
      const talking = serve(connection).finally(() => talks.delete(talking));
      talks.add(talking);
    } catch (error) {
      if (signal.aborted) break;
      onError(error);
      await clock.sleep(PAUSE_MS, signal).catch(() => undefined);
    }
  }
  await Promise.all(talks);
}

/** Closes what may be closed already. */
export function closeQuietly(connection: { close(): void }): void {
  try {
    connection.close();
  } catch {
    // it was closed before
  }
}
