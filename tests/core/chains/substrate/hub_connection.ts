/** The hub's adapter over a real WebSocket to a simulated hub, with its messages counted. */
import type { HubChain } from "../../../../src/core/chains/hub.ts";
import { createHubChain } from "../../../../src/core/chains/substrate/relayer_hub.ts";
import type { SubstrateChainOptions } from "../../../../src/core/chains/substrate/substrate_chain.ts";
import { EndpointUrl } from "../../../../src/core/config/redact.ts";
import type { OpenSocket } from "../../../../src/core/rpc/socket_link.ts";
import type { Clock } from "../../../../src/core/runtime/clock.ts";
import { systemClock } from "../../../../src/core/runtime/system_clock.ts";
import type { Hub } from "../../../../devnet/hub/hub.ts";
import { countingSocket } from "../../../support/counting_socket.ts";
import { RecordedLog } from "../../../support/recorded_log.ts";
import { seededRandomness } from "../../../support/seeded_randomness.ts";

/** Name under which deliveries are filed without a key. */
export const relayerId: Uint8Array = new Uint8Array(20).fill(5);

/** A connected adapter. */
export interface Connection extends AsyncDisposable {
  readonly chain: HubChain;
  readonly log: RecordedLog;
  /** Messages that `work` sends; every one is a round trip. */
  trips<T>(work: () => Promise<T>): Promise<readonly [result: T, messages: number]>;
}

/**
 * Connects to the hub; closes when disposed of.
 * @param alter what the adapter gets instead of a message of the node
 */
export function connect(
  hub: Hub,
  change: Partial<SubstrateChainOptions> = {},
  { clock = systemClock, alter = (text) => text }: {
    readonly clock?: Clock;
    readonly alter?: (text: string) => string;
  } = {},
): Connection {
  const sockets = countingSocket();
  const openSocket: OpenSocket = (url, events) =>
    sockets.open(url, {
      ...events,
      onMessage: (data) => events.onMessage(typeof data === "string" ? alter(data) : data),
    });
  const log = new RecordedLog();
  const chain = createHubChain(
    { clock, randomness: seededRandomness(1), openSocket, log },
    {
      id: { stateMachine: hub.identity.stateMachine, consensusStateId: hub.identity.consensusStateId },
      hashing: "Keccak",
      rpcWs: new EndpointUrl(hub.wsUrl),
      maxRpcPayloadSizeBytes: 150_000_000,
      maxConcurrentQueries: 10,
      signer: undefined,
      relayerId,
      ...change,
    },
  );
  return {
    chain,
    log,
    trips: sockets.trips,
    [Symbol.asyncDispose]: () => chain.close(),
  };
}

/** What a test does with a simulated hub and an adapter that is connected to it. */
export type HubWork = (scene: Connection & { readonly hub: Hub }) => Promise<void>;

/** A test's work on a hub of its own. @param start starts the hub */
export function onHub(start: () => Promise<Hub>, work: HubWork): () => Promise<void> {
  return async () => {
    await using hub = await start();
    await using connection = connect(hub);
    await work({ ...connection, hub });
  };
}
