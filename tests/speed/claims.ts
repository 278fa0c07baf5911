/**
 * Requests of one claim, seen by proxies in front of every endpoint: from the first proof that is asked for to the
 * extrinsic, for 1 and for 50 deliveries (the most that the hub takes in one claim).
 */
import { startDevnet } from "../../devnet/devnet.ts";
import { sendPing, waitForDelivery, waitUntil } from "../../devnet/traffic/messages.ts";
import { relayerConfig } from "../../devnet/programs/relayer_config.ts";
import { DEADLINE_MS } from "../../devnet/waiting.ts";
import { type ProxiedRequest, type RpcProxy, startRpcProxy } from "../scenario/support/rpc_proxy.ts";
import { startRelayer } from "../scenario/support/relayer_process.ts";
import type { Part } from "./part.ts";
import type { Measure } from "./report.ts";
import { instantly, updateAll } from "./stage.ts";

const FEE = 2n * 10n ** 18n;
const COUNTS = [1, 50];

/** Methods that every poll at a chain uses all the time, claims or not. */
const LOOKS: ReadonlySet<string> = new Set([
  "state_queryStorageAt",
  "chain_getHeader",
  "chain_getFinalizedHead",
]);

/** See the head of the file. */
export const claims: Part = async (deps) => {
  await using devnet = await startDevnet({ startsOracle: false, hubBlockTimeMs: 500 });
  await using stack = new AsyncDisposableStack();
  const [a, b] = [devnet.chain("A"), devnet.chain("B")];
  const hub = devnet.hub.identity.stateMachine;
  const open = async (upstream: string): Promise<RpcProxy> =>
    stack.use(await startRpcProxy({ upstream, keepsAnswers: false }));
  const ofChain = new Map<string, RpcProxy>();
  for (const { stateMachine, node } of devnet.chains) ofChain.set(stateMachine, await open(node.rpcUrl));
  const hubProxy = await open(devnet.hub.httpUrl);
  const proxies = [...ofChain.values(), hubProxy];
  await updateAll(devnet);
  const relayer = stack.use(
    await startRelayer({
      executable: deps.executable,
      folder: deps.folder,
      config: relayerConfig(devnet.endpoints, {
        deliveryEndpoints: [b.stateMachine],
        rpcUrls: Object.fromEntries([...ofChain].map(([chain, proxy]) => [chain, [proxy.httpUrl]])),
        hubUrl: hubProxy.wsUrl,
      }),
      logLevel: "info",
    }),
  );
  const legs = new Set<unknown>();
  await relayer.waitForLine(({ record }) => {
    if (record?.event === "leg_started") legs.add(record.leg);
    return legs.size === 3;
  });
  const measures: Measure[] = [];
  for (const count of COUNTS) {
    const sent = await instantly(a, () => sendPing(devnet, { from: "A", to: "B", count, fee: FEE }));
    await devnet.mine(a, 3);
    await devnet.oracle.step({ from: a.stateMachine, to: hub });
    await waitUntil(
      "delivery to the hub",
      () => sent.every(({ commitment }) => devnet.hub.findReceipt(commitment) !== undefined),
    );
    const { number: head } = devnet.hub.best;
    await waitUntil("the delivery to be final", () => devnet.hub.finalized.number >= head);
    await devnet.oracle.step({ from: hub, to: b.stateMachine });
    await waitForDelivery(devnet, sent, { everyMs: 100 });
    await devnet.mine(b, 3);
    const before = relayer.lines.length;
    for (const proxy of proxies) proxy.clear();
    await devnet.oracle.step({ from: a.stateMachine, to: hub });
    await devnet.oracle.step({ from: b.stateMachine, to: hub });
    await waitUntil(
      `a claim of ${count}`,
      () => relayer.lines.slice(before).some(({ record }) => record?.event === "fees_claimed"),
      {
        deadlineMs: DEADLINE_MS,
        everyMs: 50,
      },
    );
    measures.push(measureOf(deps.say, count, proxies.flatMap(({ requests }) => requests)));
  }
  return measures;
};

function measureOf(say: (line: string) => void, count: number, requests: readonly ProxiedRequest[]): Measure {
  const ordered = requests.filter(({ calls }) => !calls.every(({ method }) => LOOKS.has(method)))
    .sort((x, y) => x.atMs - y.atMs);
  const has = (method: string) => ({ calls }: ProxiedRequest): boolean =>
    calls.some((call) => call.method === method);
  const start = ordered.findIndex(has("eth_getProof"));
  const length = ordered.slice(start).findIndex(has("author_submitExtrinsic"));
  if (start < 0 || length < 0) throw new Error("No claim among the requests");
  const window = ordered.slice(start, start + length + 1);
  for (const { transport, calls } of window) {
    say(`   ${transport} ${calls.length} x ${calls[0]?.method ?? ""}`);
  }
  const http = window.filter(({ transport }) => transport === "http").length;
  return {
    name: `a claim of ${count}: HTTP requests; socket messages (others' looks included)`,
    value: `${http}; ${window.length - http}`,
  };
}
