/**
 * A port for what goes away and comes back at the same address, such as a node that is restarted. Start reading at
 * {@link KeptPort}.
 */
import { pause } from "./waiting.ts";

const HOST = "127.0.0.1";
/** A listener on this address keeps other processes of ours from the same port of {@link HOST}, and nobody connects to it. */
const SIGN_HOST = "127.0.0.2";
const ATTEMPTS = 1_000;
/** Without room beside the system's own range, or where that is not known. */
const DEFAULT_RANGE = [20_000, 32_768] as const;
const MIN_ROOM = 1_000;
/**
 * A process that is being started holds for a moment what its parent had open, a closed listener, too. Anything else that
 * has the port is not waited for any longer.
 */
const MAX_WAIT_MS = 30_000;
const TRY_EVERY_MS = 20;

/** A port of 127.0.0.1 that stays with its owner while nobody listens on it. Connections are refused meanwhile. */
export class KeptPort implements Disposable {
  readonly #preferred: number;
  #kept: { readonly number: number; readonly sign: Disposable } | undefined;

  /** @param preferred one to use where it is free; 0: any. */
  constructor(preferred = 0) {
    this.#preferred = preferred;
  }

  /** One for a child process, which is told where to listen. @throws {NoPortFault} */
  static forChild(): KeptPort {
    const port = new KeptPort();
    port.#choose((number) => Deno.listen({ hostname: HOST, port: number }).close());
    return port;
  }

  /** @throws {NoPortFault} before the first {@link listen}. */
  get number(): number {
    if (this.#kept === undefined) throw new NoPortFault("Nothing has listened yet");
    return this.#kept.number;
  }

  /**
   * Listens by `serve`, which throws what {@link Deno.listen} throws. The first call chooses a port that `serve` gets, at
   * once; every later one waits until the same port is free.
   * @throws {NoPortFault}
   */
  async listen<T>(serve: (port: number) => T): Promise<T> {
    if (this.#kept === undefined) return this.#choose(serve);
    const { number } = this.#kept;
    for (let waitedMs = 0; waitedMs < MAX_WAIT_MS; waitedMs += TRY_EVERY_MS) {
      const served = whereFree(() => serve(number));
      if (served !== undefined) return served.value;
      await pause(TRY_EVERY_MS);
    }
    throw new NoPortFault(
      `Another process has port ${number} of ${HOST}: not free for ${MAX_WAIT_MS / 1000} s`,
    );
  }

  [Symbol.dispose](): void {
    this.#kept?.sign[Symbol.dispose]();
  }

  #choose<T>(serve: (port: number) => T): T {
    const [from, to] = range();
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const isPreferred = attempt === 0 && this.#preferred !== 0;
      const number = isPreferred ? this.#preferred : from + Math.floor(Math.random() * (to - from));
      const sign = whereFree(() => Deno.listen({ hostname: SIGN_HOST, port: number }))?.value;
      if (sign === undefined) continue;
      const served = whereFree(() => serve(number));
      if (served === undefined) {
        sign.close();
        continue;
      }
      this.#kept = { number, sign };
      return served.value;
    }
    throw new NoPortFault(`All of ${ATTEMPTS} ports from ${from} to ${to - 1} are taken`);
  }
}

/** No port was found, or it was not to be had again. */
export class NoPortFault extends Error {
  override readonly name = "NoPortFault";
}

/** Ports that Linux takes by itself neither for port 0 nor for connections: from, up to exclusively. */
function range(): readonly [number, number] {
  const [first = 0, last = 0] = Deno.readTextFileSync("/proc/sys/net/ipv4/ip_local_port_range").trim().split(
    /\s+/,
  )
    .map(Number);
  const below = [Math.max(1_024, first - 12_768), first] as const;
  const above = [last + 1, 65_536] as const;
  const [widest] = [below, above].sort(([a, b], [c, d]) => d - c - (b - a));
  return widest !== undefined && widest[1] - widest[0] >= MIN_ROOM ? widest : DEFAULT_RANGE;
}

/** What `listen` gives; `undefined` where the port is taken. */
function whereFree<T>(listen: () => T): { readonly value: T } | undefined {
  try {
    return { value: listen() };
  } catch (error) {
    if (!(error instanceof Deno.errors.AddrInUse)) throw error;
    return undefined;
  }
}

/** Listens by `serve` on a port where it is free, otherwise on any. */
export function listenPreferably<T>(port: number, serve: (port: number) => T): T {
  return (whereFree(() => serve(port)) ?? { value: serve(0) }).value;
}
