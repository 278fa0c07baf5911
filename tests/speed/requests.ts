/**
 * Requests and round trips of one delivery, seen by proxies in front of every endpoint: from the look that shows
 * the update to the request that sends the delivery. Both legs, 1 and 100 messages, 1 and 3 URLs per chain.
 */
import { encodeFunctionData, hexToBigInt, isHex } from "viem";
import { fromHex, toHex } from "../../src/core/encoding/bytes.ts";
import { toParaId } from "../../src/core/ismp/state_machine.ts";
import { ismpKeys } from "../../src/core/ismp/storage_keys.ts";
import { decodeStrict, u64 } from "../../src/core/encoding/scale.ts";
import { type Devnet, type DevnetChain, startDevnet } from "../../devnet/devnet.ts";
import { HOST_ABI } from "../../devnet/evm/abi.ts";
import { sendPing, type SentMessage, waitForDelivery, waitUntil } from "../../devnet/traffic/messages.ts";
import { relayerConfig } from "../../devnet/programs/relayer_config.ts";
import { type ProxiedRequest, type RpcProxy, startRpcProxy } from "../scenario/support/rpc_proxy.ts";
import { startRelayer } from "../scenario/support/relayer_process.ts";
import { type DeliveryMarks, type DeliveryTrace, traceOf } from "./leg_trace.ts";
import type { BenchDeps, Part } from "./part.ts";
import { atMost, type Measure } from "./report.ts";
import { instantly, updateAll } from "./stage.ts";

const MAX_HTTP = 8;
const MAX_TRIPS = 7;
/** Silence after which a relayer counts as settled: more than its poll interval of a second. */
const QUIET_MS = 1_300;

/** Latency of every endpoint, so that requests made together can be distinguished from those that waited for one another. */
const LATENCY_MS = 60;

/**
 * Times that each delivery is traced; the one with the fewest trips counts. A busy machine can only make requests
 * that were made together look as if one had waited for the other.
 */
const ROUNDS = 2;

/** The proxies of one run: `urls` in front of each chain, one in front of the hub. */
interface Proxies {
  readonly chains: ReadonlyMap<string, readonly RpcProxy[]>;
  readonly hub: RpcProxy;
}

/** See the head of the file. */
export const requests: Part = async (deps) => {
  await using devnet = await startDevnet({ startsOracle: false, hubBlockTimeMs: 500 });
  const [a, b] = [devnet.chain("A"), devnet.chain("B")];
  const measures: Measure[] = [];
  for (const urls of [1, 3]) {
    await using stack = new AsyncDisposableStack();
    const proxies = await openProxies(devnet, urls, stack);
    await updateAll(devnet);
    const relayer = stack.use(
      await startRelayer({
        executable: deps.executable,
        folder: `${deps.folder}/urls-${urls}`,
        config: relayerConfig(devnet.endpoints, {
          // Without a leg to A, all that A is asked belongs to the leg from A.
          deliveryEndpoints: [b.stateMachine],
          disableFeeAccumulation: true,
          rpcUrls: Object.fromEntries(
            [...proxies.chains].map(([chain, some]) => [chain, some.map(({ httpUrl }) => httpUrl)]),
          ),
          hubUrl: proxies.hub.wsUrl,
        }),
      }),
    );
    const legs = new Set<unknown>();
    await relayer.waitForLine(({ record }) => {
      if (record?.event === "leg_started") legs.add(record.leg);
      return legs.size === 3;
    });
    // What is read once in the life of a process (the name of the child trie) is none of a delivery's cost.
    await traceCrossing(devnet, proxies, { from: a, to: b, count: 1 });
    for (const count of [1, 100]) {
      const work = { from: a, to: b, count };
      const rounds: Crossing[] = [];
      for (let round = 0; round < ROUNDS; round++) rounds.push(await traceCrossing(devnet, proxies, work));
      const inbound = leastTrips(rounds.map((round) => round.inbound));
      const outbound = leastTrips(rounds.map((round) => round.outbound));
      measures.push(...measuresOf(deps, `${count} to hub, ${urls} URLs`, inbound));
      measures.push(...measuresOf(deps, `${count} to chain, ${urls} URLs`, outbound));
    }
  }
  return measures;
};

function measuresOf(deps: BenchDeps, name: string, trace: DeliveryTrace): readonly Measure[] {
  deps.say(
    `-- ${name}: ${trace.http} HTTP, ${trace.socket} socket, ${trace.trips} trips, ${trace.ms.toFixed(0)} ms`,
  );
  trace.steps.forEach((step) => deps.say(`   ${step}`));
  const plain = (value: number): string => `${value}`;
  return [
    atMost(`${name}: HTTP requests`, trace.http, MAX_HTTP, plain),
    atMost(`${name}: sequential trips (HTTP and socket)`, trace.trips, MAX_TRIPS, plain),
    {
      name: `${name}: socket messages; time`,
      value: `${trace.socket}; ${trace.ms.toFixed(0)} ms`,
    },
  ];
}

async function openProxies(devnet: Devnet, urls: number, stack: AsyncDisposableStack): Promise<Proxies> {
  const open = async (upstream: string): Promise<RpcProxy> =>
    stack.use(await startRpcProxy({ upstream, keepsAnswers: true, latencyMs: LATENCY_MS }));
  const chains = new Map<string, readonly RpcProxy[]>();
  for (const { stateMachine, rpcUrl } of devnet.chains) {
    const some = await Promise.all(Array.from({ length: urls }, () => open(rpcUrl)));
    chains.set(stateMachine, some);
  }
  return { chains, hub: await open(devnet.hub.httpUrl) };
}

/** The two legs of the same messages. */
interface Crossing {
  readonly inbound: DeliveryTrace;
  readonly outbound: DeliveryTrace;
}

function leastTrips(traces: readonly DeliveryTrace[]): DeliveryTrace {
  return traces.reduce((best, trace) => trace.trips < best.trips ? trace : best);
}

/** Sends messages from a chain to the other and traces both of their legs, one after the other. */
async function traceCrossing(
  devnet: Devnet,
  proxies: Proxies,
  work: { readonly from: DevnetChain; readonly to: DevnetChain; readonly count: number },
): Promise<Crossing> {
  const { from, to, count } = work;
  const hub = devnet.hub.identity.stateMachine;
  const sent = await instantly(from, () => sendPing(devnet, { from: from.name, to: to.name, count }));
  await devnet.mine(from, 3);
  await untilQuiet(proxies);

  clearAll(proxies);
  await devnet.oracle.step({ from: from.stateMachine, to: hub });
  await waitUntil("delivery to the hub", () => hasHub(devnet, sent), { everyMs: 20 });
  const inbound = traceOf(seenBy(proxies, [from]), toHubMarks(devnet, from, newestOf(sent)));
  await untilQuiet(proxies);

  clearAll(proxies);
  const hubHeight = await devnet.oracle.step({ from: hub, to: to.stateMachine });
  await waitForDelivery(devnet, sent, { everyMs: 100 });
  const outbound = traceOf(seenBy(proxies, [to]), toChainMarks(devnet, hubHeight));
  await devnet.mine(to, 3);
  await untilQuiet(proxies);
  return { inbound, outbound };
}

function hasHub(devnet: Devnet, sent: readonly SentMessage[]): boolean {
  return sent.every(({ commitment }) => devnet.hub.findReceipt(commitment) !== undefined);
}

function seenBy(proxies: Proxies, chains: readonly DevnetChain[]): readonly ProxiedRequest[] {
  const evm = chains.flatMap(({ stateMachine }) => proxies.chains.get(stateMachine) ?? []);
  return [...evm, proxies.hub].flatMap(({ requests }) => requests);
}

function clearAll(proxies: Proxies): void {
  for (const proxy of [...[...proxies.chains.values()].flat(), proxies.hub]) proxy.clear();
}

/** What only a delivery asks; looking for updates, payments and accepted proofs continues all the time. */
const OF_A_DELIVERY: ReadonlySet<string> = new Set([
  "eth_getProof",
  "debug_traceCall",
  "eth_sendRawTransaction",
  "author_submitExtrinsic",
  "mmr_queryProof",
  "state_call",
]);

/** Waits until the relayer delivers nothing. */
async function untilQuiet(proxies: Proxies): Promise<void> {
  const all = [...[...proxies.chains.values()].flat(), proxies.hub];
  await waitUntil("the relayer to settle", () => {
    const busy = all.flatMap(({ requests }) => requests)
      .filter(({ calls }) => calls.some(({ method }) => OF_A_DELIVERY.has(method)));
    const now = performance.timeOrigin + performance.now();
    return busy.every(({ atMs }) => now - atMs > QUIET_MS);
  });
}

const LOOK_AT_HOST = encodeFunctionData({
  abi: HOST_ABI,
  functionName: "latestStateMachineHeight",
  args: [0n],
})
  .slice(0, 10);

/** True for a look whether there is an update, which every leg repeats all the time. */
function isLook({ calls }: ProxiedRequest): boolean {
  return calls.some(({ method, params }) =>
    method === "state_queryStorageAt" ||
    (method === "eth_call" && JSON.stringify(params).includes(LOOK_AT_HOST))
  );
}

function newestOf(sent: readonly SentMessage[]): bigint {
  return sent.reduce((newest, { height }) => height > newest ? height : newest, 0n);
}

/** @param height of the newest message: the first height from there on begins the delivery, and more may follow it. */
function toHubMarks(devnet: Devnet, from: DevnetChain, height: bigint): DeliveryMarks {
  const key = toHex(ismpKeys.latestStateMachineHeight(devnet.idOnHub(from)));
  return {
    sendMethod: "author_submitExtrinsic",
    showsUpdate: ({ method }, result) =>
      method === "state_queryStorageAt" && (heightUnder(key, result) ?? -1n) >= height,
    belongs: (request) => !isLook(request) || JSON.stringify(request.calls).includes(key),
  };
}

/** The height that an answer of `state_queryStorageAt` has under a key. */
function heightUnder(key: string, result: unknown): bigint | undefined {
  const found = new RegExp(`"${key}","(0x[0-9a-f]+)"`).exec(JSON.stringify(result))?.[1];
  return isHex(found) ? decodeStrict(u64, fromHex(found), "LatestStateMachineHeight") : undefined;
}

function toChainMarks(devnet: Devnet, height: bigint): DeliveryMarks {
  const look = encodeFunctionData({
    abi: HOST_ABI,
    functionName: "latestStateMachineHeight",
    args: [BigInt(toParaId(devnet.hub.identity.stateMachine))],
  });
  return {
    sendMethod: "eth_sendRawTransaction",
    showsUpdate: ({ method, params }, result) =>
      method === "eth_call" && JSON.stringify(params).includes(look) && isHex(result) &&
      hexToBigInt(result) === height,
    // The legs to the hub look for updates over the same socket.
    belongs: (request) => request.transport === "http" || !isLook(request),
  };
}
