/**
 * Messages through nodes with profiles: 50 each way between two chains, half of them sent before the relayer starts, and
 * their fees brought home. Start reading at {@link playProfiles}.
 */
import assert from "node:assert/strict";
import type { Devnet, DevnetChain } from "../../devnet/devnet.ts";
import { sendPing, type SentMessage, waitUntil } from "../../devnet/messages.ts";
import { playedOf, type Profile } from "../../devnet/profiles/profile.ts";
import type { RpcBehaviour } from "../../devnet/profiles/rpc_behaviour.ts";
import { type ProfiledNode, startProfiledNode } from "../../devnet/profiles/rpc_front.ts";
import type { ConfigChanges } from "../../devnet/relayer_config.ts";
import { creditOf, feeTokensOf, runCommand, TOKEN } from "./fee_accounts.ts";
import { assertMet } from "./beacon_profile_scene.ts";
import { playSceneOn, type Scene, type SceneRelayer, startSceneDevnet } from "./scene.ts";

/** Which nodes have which profile; the others are as they are. */
export interface ProfileCast {
  /** Nodes of the chains A and B. */
  readonly evm?: readonly [Profile<RpcBehaviour>, Profile<RpcBehaviour>];
  /** The hub's node. */
  readonly hub?: Profile<RpcBehaviour>;
}

/** What came of it. */
export interface ProfileResult {
  /** From the start of the program until all messages had arrived, and until their fees were claimed. */
  readonly deliveredMs: number;
  readonly claimedMs: number;
  /** How often each behaviour was met, by profile. */
  readonly strikes: ReadonlyMap<string, ReadonlyMap<string, number>>;
}

/** Messages each way, half before the program starts and half while it runs. */
const MESSAGES = 50;
/** Blocks that pass between the first half and the start: a backlog that is wider than the limits of logs. */
const BACKLOG_BLOCKS = 25;
/** The same where a node keeps few states: more than those. */
const FORGOTTEN_BLOCKS = 45;
/** Longest wait for anything: proxies, programs and nodes share two cores. */
const DEADLINE_MS = 180_000;
/** Time between two looks at what has arrived. */
const EVERY_MS = 1000;
/** Fee of each message. */
const FEE = 2n * TOKEN;

/** A devnet for profiles: what makes no difference to them is slow, which leaves the cores to the rest. */
export function startProfileDevnet(): Promise<Devnet> {
  return startSceneDevnet({ hubBlockTimeMs: 800, relayBlockTimeMs: 800, oracleEveryMs: 400 });
}

/**
 * Plays it on a devnet with the chains A and B.
 * @throws {Error} when a message does not arrive, a fee does not come home, an invariant does not hold, or a behaviour
 * of a profile was never met.
 */
export async function playProfiles(
  devnet: Devnet,
  { evm, hub }: ProfileCast,
  { withdraws = false }: { readonly withdraws?: boolean } = {},
): Promise<ProfileResult> {
  await using nodes = new AsyncDisposableStack();
  const [a, b] = [devnet.chain("A"), devnet.chain("B")];
  const fronts = new Map<DevnetChain, ProfiledNode>();
  for (const [at, chain] of [a, b].entries()) {
    const profile = evm?.[at];
    if (profile !== undefined) fronts.set(chain, nodes.use(startProfiledNode(chain.rpcUrl, profile)));
  }
  const hubFront = hub === undefined ? undefined : nodes.use(startProfiledNode(devnet.hub.httpUrl, hub));
  const changes: ConfigChanges = {
    rpcUrls: Object.fromEntries([...fronts].map(([{ stateMachine, rpcUrl }, { httpUrl, profile }]) => {
      return [stateMachine, profile.needsSecond === undefined ? [httpUrl] : [httpUrl, rpcUrl]];
    })),
    ...hubFront === undefined ? {} : { hubUrl: hubFront.wsUrl },
  };
  let result: ProfileResult | undefined;
  await playSceneOn(devnet, async (scene) => {
    const sections = {
      ...await scene.heightsNow(),
      // What earlier scenes have earned stays where it is.
      relayer: { minimum_withdrawal_amount: 1_000_000 },
    };
    const early = await sendBoth(scene, MESSAGES / 2);
    const behind = await holdBack(devnet, fronts, early);
    for (const chain of [a, b]) {
      await devnet.mine(chain, behind.chains.includes(chain) ? FORGOTTEN_BLOCKS : BACKLOG_BLOCKS);
    }
    const relayer = scene.relayer();
    const credit = [a, b].map((chain) => creditOf(devnet, chain, "relayer"));
    const startMs = performance.now();
    await relayer.startAndWait({ ...changes, sections });
    await behind.untilMet();
    if (hubFront !== undefined) await ageHub(devnet, relayer, hubFront, early);
    const sent = [...early, ...await sendBoth(scene, MESSAGES / 2)];
    await scene.untilDelivered(sent, DEADLINE_MS);
    const deliveredMs = performance.now() - startMs;
    await untilClaimed(relayer, sent);
    const claimedMs = performance.now() - startMs;
    assert.deepEqual(
      [a, b].map((chain) => creditOf(devnet, chain, "relayer")),
      credit.map((before) => before + BigInt(MESSAGES) * FEE),
      "credit on the hub",
    );
    if (withdraws) await bringHome(scene, relayer, changes);
    await scene.finish();
    const all = [...fronts.values(), ...hubFront === undefined ? [] : [hubFront]];
    result = { deliveredMs, claimedMs, strikes: strikesOf(all) };
  });
  if (result === undefined) throw new Error("The scene ended without a result");
  for (const [name, kinds] of result.strikes) assertMet(name, kinds);
  return result;
}

/**
 * Chains whose nodes keep few states or proofs: the hub hears nothing more of them once it knows the early messages, so
 * that they can be proved only at blocks which are old when the relayer starts. Goes on when the node has refused.
 */
async function holdBack(
  devnet: Devnet,
  fronts: ReadonlyMap<DevnetChain, ProfiledNode>,
  early: readonly SentMessage[],
): Promise<{ readonly chains: readonly DevnetChain[]; readonly untilMet: () => Promise<void> }> {
  const forgetful = [...fronts].filter(([, { strikes }]) => strikes.has("states") || strikes.has("proofs"));
  const hub = devnet.hub.identity.stateMachine;
  for (const [{ stateMachine: from }] of forgetful) {
    const heights = early.filter(({ request }) => request.source === from).map(({ height }) => height);
    await waitUntil(
      `the hub knows the early messages of ${from}`,
      () => heights.every((height) => devnet.oracle.told({ from, to: hub }) >= height),
      { deadlineMs: DEADLINE_MS },
    );
    await devnet.oracle.pause({ from, to: hub });
  }
  const untilMet = async (): Promise<void> => {
    for (const [{ stateMachine: from }, { strikes, profile: { name } }] of forgetful) {
      const isMet = (): boolean => (strikes.get("states") ?? 0) + (strikes.get("proofs") ?? 0) > 0;
      await waitUntil(`${name} has refused an old state`, isMet, { deadlineMs: DEADLINE_MS });
      devnet.oracle.resume({ from, to: hub });
    }
  };
  return { chains: forgetful.map(([chain]) => chain), untilMet };
}

/**
 * A hub's node that keeps few states: the relayer stands still from the moment at which the hub has the early messages
 * until the newest block that the chains know of the hub is an old one.
 */
async function ageHub(
  devnet: Devnet,
  relayer: SceneRelayer,
  { strikes, profile: { name, behaviours } }: ProfiledNode,
  early: readonly SentMessage[],
): Promise<void> {
  const states = behaviours.find(({ kind }) => kind === "states");
  if (states?.kind !== "states") return;
  const { hub } = devnet;
  const chains = devnet.chains.map(({ stateMachine: to }) => ({ from: hub.identity.stateMachine, to }));
  await waitUntil(
    "the hub has early messages",
    () => early.some(({ commitment }) => hub.findReceipt(commitment) !== undefined),
    { deadlineMs: DEADLINE_MS, everyMs: 20 },
  );
  relayer.process.signal("SIGSTOP");
  const height = BigInt(hub.best.number);
  await waitUntil(
    "the chains know the hub's block",
    () => chains.every((way) => devnet.oracle.told(way) >= height),
    { deadlineMs: DEADLINE_MS },
  );
  for (const way of chains) await devnet.oracle.pause(way);
  for (let blocks = 0; blocks <= playedOf(states.blocks); blocks++) hub.produceBlock();
  relayer.process.signal("SIGCONT");
  await waitUntil(`${name} has refused an old state`, () => (strikes.get("states") ?? 0) > 0, {
    deadlineMs: DEADLINE_MS,
  });
  for (const way of chains) devnet.oracle.resume(way);
}

async function sendBoth({ devnet }: Scene, count: number): Promise<readonly SentMessage[]> {
  return (await Promise.all([
    sendPing(devnet, { from: "A", to: "B", count, fee: FEE }),
    sendPing(devnet, { from: "B", to: "A", count, fee: FEE }),
  ])).flat();
}

/** Waits until each delivery on its destination is claimed. */
async function untilClaimed(relayer: SceneRelayer, sent: readonly SentMessage[]): Promise<void> {
  const wanted = new Set(sent.map(({ commitment, request }) => `${commitment} ${request.dest}`));
  await waitUntil(`${sent.length} deliveries are claimed`, async () => {
    const { deliveries } = await relayer.ledger();
    const rows = deliveries.filter(({ commitment, dest }) => wanted.has(`${commitment} ${dest}`));
    return rows.length === sent.length && rows.every(({ claimState }) => claimState === "claimed");
  }, { deadlineMs: DEADLINE_MS, everyMs: EVERY_MS });
}

/** Has all credit paid out by the command, through the same nodes. */
async function bringHome(scene: Scene, relayer: SceneRelayer, changes: ConfigChanges): Promise<void> {
  const { devnet } = scene;
  const chains = [devnet.chain("A"), devnet.chain("B")];
  await relayer.untilSettled();
  await relayer.stop();
  const before = await Promise.all(chains.map((chain) => feeTokensOf(chain, "relayer")));
  const owed = chains.map((chain) => creditOf(devnet, chain, "relayer"));
  const { code, log } = await runCommand(relayer, ["--withdraw"], changes);
  assert.equal(code, 0, log.join("\n"));
  assert.deepEqual(
    await Promise.all(chains.map((chain) => feeTokensOf(chain, "relayer"))),
    before.map((tokens, at) => tokens + (owed[at] ?? 0n)),
    "fee tokens on the chains",
  );
}

/** Strikes by profile; the same profile at several nodes counts once. */
function strikesOf(nodes: readonly ProfiledNode[]): ProfileResult["strikes"] {
  const all = new Map<string, Map<string, number>>();
  for (const { profile, strikes } of nodes) {
    const sums = all.get(profile.name) ?? new Map<string, number>();
    all.set(profile.name, sums);
    for (const [kind, count] of strikes) sums.set(kind, (sums.get(kind) ?? 0) + count);
  }
  return all;
}
