/**
 * A port for what goes away and comes back at the same address, such as a node that is restarted. Start reading at
 * {@link KeptPort}.
 */

/** Linux takes no port from here by itself: not for port 0, not for connections. Up to this one, exclusively. */
const LAST = 32_768;
const FIRST = 20_000;
const HOST = "127.0.0.1";
/** A listener on this address keeps other processes of ours from the same port of {@link HOST}, and nobody connects to it. */
const SIGN_HOST = "127.0.0.2";
const ATTEMPTS = 1_000;

/** A port of 127.0.0.1 that stays with its owner while nobody listens on it. Connections are refused meanwhile. */
export class KeptPort implements Disposable {
  readonly number: number;
  readonly #sign: Disposable | undefined;

  /** @param chosen one that is not kept, but taken as it is; 0: none is chosen. */
  constructor(chosen = 0) {
    const [number, sign] = chosen === 0 ? takeAny() : [chosen];
    this.number = number;
    this.#sign = sign;
  }

  [Symbol.dispose](): void {
    this.#sign?.[Symbol.dispose]();
  }
}

/** No port was found. */
export class NoPortFault extends Error {
  override readonly name = "NoPortFault";
  readonly code = "no_port";
}

function takeAny(): readonly [number, Disposable] {
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const number = FIRST + Math.floor(Math.random() * (LAST - FIRST));
    const sign = listen(SIGN_HOST, number);
    if (sign === undefined) continue;
    const trial = listen(HOST, number);
    trial?.[Symbol.dispose]();
    if (trial !== undefined) return [number, sign];
    sign[Symbol.dispose]();
  }
  throw new NoPortFault(`All of ${ATTEMPTS} ports from ${FIRST} to ${LAST - 1} are taken`);
}

/** A listener; `undefined` where the port is taken. */
function listen(hostname: string, port: number): Disposable | undefined {
  try {
    return Deno.listen({ hostname, port });
  } catch (error) {
    if (!(error instanceof Deno.errors.AddrInUse)) throw error;
    return undefined;
  }
}
