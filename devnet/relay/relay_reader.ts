/** The relayer's own reader, connected to a simulated relay chain. */
import { RelayChain } from "../../src/consensus/relay_chain/relay_chain.ts";
import { EndpointUrl } from "../../src/core/config/redact.ts";
import { systemClock } from "../../src/core/runtime/system_clock.ts";
import { countingSocket } from "../../tests/support/counting_socket.ts";
import { seededRandomness } from "../../tests/support/seeded_randomness.ts";

/** A reader that closes when disposed of. */
export interface RelayConnection extends AsyncDisposable {
  readonly chain: RelayChain;
  /** Messages that `work` sends; every one is a round trip. */
  trips<T>(work: () => Promise<T>): Promise<readonly [result: T, messages: number]>;
}

/** Connects at the first call. */
export function connectRelay(wsUrl: string): RelayConnection {
  const sockets = countingSocket();
  const deps = { clock: systemClock, randomness: seededRandomness(1), openSocket: sockets.open, fetch };
  const chain = new RelayChain(deps, "Paseo devnet", { rpcWs: new EndpointUrl(wsUrl) });
  return { chain, trips: sockets.trips, [Symbol.asyncDispose]: () => chain.close() };
}
