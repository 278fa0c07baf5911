/**
 * Messages from one chain to another, leg after leg, seen by proxies in front of every endpoint: what a delivery asked
 * for, and how long it waited. Start reading at {@link traceCrossing}.
 */
import { encodeFunctionData, hexToBigInt, isHex } from "viem";
import { fromHex, toHex } from "../../src/core/encoding/bytes.ts";
import { toParaId } from "../../src/core/ismp/state_machine.ts";
import { ismpKeys } from "../../src/core/ismp/storage_keys.ts";
import { decodeStrict, u64 } from "../../src/core/encoding/scale.ts";
import type { Devnet, DevnetChain } from "../../devnet/devnet.ts";
import { HOST_ABI } from "../../devnet/evm/abi.ts";
import { sendPing, type SentMessage, waitForDelivery, waitUntil } from "../../devnet/traffic/messages.ts";
import { decodeBundleResult } from "../../src/core/evm/call_bundle.ts";
import {
  type ProxiedCall,
  type ProxiedRequest,
  type RpcProxy,
  startRpcProxy,
} from "../scenario/support/rpc_proxy.ts";
import { readsOf } from "../support/bundle_runner.ts";
import { type CallCounts, countCalls } from "./call_counts.ts";
import { type DeliveryMarks, type DeliveryTrace, traceOf } from "./leg_trace.ts";
import { instantly } from "./stage.ts";

/** Silence after which a relayer counts as settled: more than its poll interval of a second. */
const QUIET_MS = 1_300;

/** Latency of every endpoint, so that requests made together can be distinguished from those that waited for one another. */
const LATENCY_MS = 60;

/** The proxies of one run: some URLs in front of each chain, one in front of the hub. */
export interface Proxies {
  readonly chains: ReadonlyMap<string, readonly RpcProxy[]>;
  readonly hub: RpcProxy;
}

/** Opens as many proxies in front of each chain as it has URLs, and one in front of the hub. */
export async function openProxies(
  devnet: Devnet,
  urls: number,
  stack: AsyncDisposableStack,
): Promise<Proxies> {
  const open = async (upstream: string): Promise<RpcProxy> =>
    stack.use(await startRpcProxy({ upstream, keepsAnswers: true, latencyMs: LATENCY_MS }));
  const chains = new Map<string, readonly RpcProxy[]>();
  for (const { stateMachine, rpcUrl } of devnet.chains) {
    chains.set(stateMachine, await Promise.all(Array.from({ length: urls }, () => open(rpcUrl))));
  }
  return { chains, hub: await open(devnet.hub.httpUrl) };
}

/** One leg of some messages. */
export interface CrossedLeg {
  readonly trace: DeliveryTrace;
  /** What the chain on this leg was asked from its update until the relayer had settled. */
  readonly chain: CallCounts;
  readonly hub: CallCounts;
}

/** The two legs of the same messages. */
export interface Crossing {
  readonly inbound: CrossedLeg;
  readonly outbound: CrossedLeg;
}

/** Sends messages from a chain to the other and traces both of their legs, one after the other. */
export async function traceCrossing(
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
  const { number: head } = devnet.hub.best;
  await untilQuiet(proxies);
  const inbound = crossed(proxies, from, toHubMarks(devnet, from, newestOf(sent)));

  // An update to an earlier block would not show the messages to the other chain.
  await waitUntil("the hub's messages to be final", () => devnet.hub.finalized.number >= head);
  clearAll(proxies);
  const hubHeight = await devnet.oracle.step({ from: hub, to: to.stateMachine });
  await waitForDelivery(devnet, sent, { everyMs: 100 });
  await devnet.mine(to, 3);
  await untilQuiet(proxies);
  return { inbound, outbound: crossed(proxies, to, toChainMarks(devnet, hubHeight)) };
}

function crossed(proxies: Proxies, chain: DevnetChain, marks: DeliveryMarks): CrossedLeg {
  const evm = (proxies.chains.get(chain.stateMachine) ?? []).flatMap(({ requests }) => requests);
  return {
    trace: traceOf([...evm, ...proxies.hub.requests], marks),
    chain: countCalls(evm),
    hub: countCalls(proxies.hub.requests),
  };
}

function hasHub(devnet: Devnet, sent: readonly SentMessage[]): boolean {
  return sent.every(({ commitment }) => devnet.hub.findReceipt(commitment) !== undefined);
}

/** Forgets everything that passed so far. */
export function clearAll(proxies: Proxies): void {
  for (const proxy of allOf(proxies)) proxy.clear();
}

function allOf({ chains, hub }: Proxies): readonly RpcProxy[] {
  return [...[...chains.values()].flat(), hub];
}

/** What only a delivery asks; looking for updates, payments and accepted proofs continues all the time. */
const OF_A_DELIVERY: ReadonlySet<string> = new Set([
  "eth_getProof",
  "debug_traceCall",
  "eth_sendRawTransaction",
  "eth_getTransactionReceipt",
  "author_submitExtrinsic",
  "author_pendingExtrinsics",
  "mmr_queryProof",
  "state_call",
]);

/** Waits until the relayer delivers nothing. */
export async function untilQuiet(proxies: Proxies): Promise<void> {
  await waitUntil("the relayer to settle", () => {
    const busy = allOf(proxies).flatMap(({ requests }) => requests)
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
  return calls.some((call) =>
    call.method === "state_queryStorageAt" ||
    contractReads(call).some(({ data }) => data.startsWith(LOOK_AT_HOST))
  );
}

/** What contracts are asked in a call, alone or in a bundle, with their answers where the call's result is given. */
function contractReads(
  { method, params }: ProxiedCall,
  result?: unknown,
): readonly { readonly data: string; readonly answer: unknown }[] {
  const [call]: readonly unknown[] = Array.isArray(params) ? params : [];
  if (method !== "eth_call") return [];
  const reads = readsOf(call);
  if (reads === undefined) return [{ data: String(Object(call).data), answer: result }];
  const answers = isHex(result) ? decodeBundleResult(result, reads.length) : undefined;
  return reads.map(({ data }, index) => ({ data, answer: answers?.[index] }));
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
    showsUpdate: (call, result) =>
      contractReads(call, result).some(({ data, answer }) =>
        data === look && isHex(answer) && hexToBigInt(answer) === height
      ),
    // The legs to the hub look for updates over the same socket.
    belongs: (request) => request.transport === "http" || !isLook(request),
  };
}
