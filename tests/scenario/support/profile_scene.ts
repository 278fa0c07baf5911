/**
 * Messages through nodes with profiles: 50 each way between two chains, half of them sent before the relayer starts, and
 * their fees withdrawn. Start reading at {@link playProfiles}.
 */
import type { Devnet, DevnetChain } from "../../../devnet/devnet.ts";
import { sendPing, type SentMessage, waitUntil } from "../../../devnet/traffic/messages.ts";
import type { Profile, RestBehaviour } from "../../../devnet/profiles/profile.ts";
import type { RpcBehaviour } from "../../../devnet/profiles/rpc_behaviour.ts";
import { type ProfiledNode, startProfiledNode } from "../../../devnet/profiles/rpc_front.ts";
import { type ConfigChanges, sectionOf } from "../../../devnet/programs/relayer_config.ts";
import { creditOf, feeTokensOf, runCommand, TOKEN } from "./fee_accounts.ts";
import { playSceneOn, type Scene, type SceneRelayer, startSceneDevnet } from "./scene.ts";
import { startProfiledBeacon } from "../../../devnet/profiles/rest_front.ts";
import type { ConsensusScene } from "./consensus_scene.ts";
import assert from "node:assert/strict";

/** Which nodes have which profile; the others are as they are. */
interface ProfileCast {
  /** Nodes of the chains A and B. */
  readonly evm?: readonly [Profile<RpcBehaviour>, Profile<RpcBehaviour>];
  /** The hub's node. */
  readonly hub?: Profile<RpcBehaviour>;
}

/** Messages each way, half before the program starts and half while it runs. */
const MESSAGES = 50;
/** Blocks that pass before the first half, so that it is not in the first block that is read. */
const LEAD_BLOCKS = 6;
/** Blocks that pass between the first half and the start: a backlog that is wider than the limits of logs. */
const BACKLOG_BLOCKS = 25;
/** The same where a node keeps few states: more than those. */
const FORGOTTEN_BLOCKS = 45;
/** Fee of each message. */
const FEE = 2n * TOKEN;

/** A devnet for profiles, of a Polygon chain (A) and another one: what makes no difference to them is slow, which leaves the cores to the rest. */
export function startProfileDevnet(): Promise<Devnet> {
  return startSceneDevnet({
    kinds: ["polygon", "bsc"],
    hubBlockTimeMs: 800,
    relayBlockTimeMs: 800,
    oracleEveryMs: 400,
  });
}

/**
 * Plays it on a devnet with the chains A and B.
 * @throws {Error} when a message does not arrive, a fee does not come home, an invariant does not hold, or a behaviour was
 * never met.
 */
export async function playProfiles(devnet: Devnet, { evm, hub }: ProfileCast): Promise<void> {
  await using nodes = new AsyncDisposableStack();
  const [a, b] = [devnet.chain("A"), devnet.chain("B")];
  const fronts = new Map<DevnetChain, ProfiledNode>();
  for (const [at, chain] of [a, b].entries()) {
    const profile = evm?.[at];
    if (profile === undefined || (profile.onlyOf ?? chain.proven.kind) !== chain.proven.kind) continue;
    fronts.set(chain, nodes.use(startProfiledNode(chain.rpcUrl, profile)));
  }
  const hubFront = hub === undefined ? undefined : nodes.use(startProfiledNode(devnet.hub.httpUrl, hub));
  const changes = changesFor(fronts, hubFront);
  await playSceneOn(devnet, async (scene) => {
    outgrow(devnet, hubFront);
    const sections = {
      ...await scene.heightsNow(),
      // What earlier scenes have earned stays where it is.
      relayer: { minimum_withdrawal_amount: 1_000_000 },
    };
    await Promise.all([a, b].map((chain) => devnet.mine(chain, LEAD_BLOCKS)));
    const early = await sendBoth(scene, MESSAGES / 2);
    const behind = await holdBack(devnet, fronts, early);
    await Promise.all([a, b].map(async (chain) => {
      await devnet.mine(chain, behind.chains.includes(chain) ? FORGOTTEN_BLOCKS : BACKLOG_BLOCKS);
    }));
    const relayer = scene.relayer();
    const credit = [a, b].map((chain) => creditOf(devnet, chain, "relayer"));
    await relayer.startAndWait({ ...changes, sections });
    await behind.untilMet();
    const sent = [...early, ...await sendBoth(scene, MESSAGES / 2)];
    await scene.untilDelivered(sent);
    await relayer.untilClaims(sent);
    assert.deepEqual(
      [a, b].map((chain) => creditOf(devnet, chain, "relayer")),
      credit.map((before) => before + BigInt(MESSAGES) * FEE),
      "credit on the hub",
    );
    await bringHome(scene, relayer, changes);
    await scene.finish();
  });
  assertMet([...fronts.values(), ...hubFront === undefined ? [] : [hubFront]]);
}

/**
 * Starts the program with a node that cannot do what is needed: the chain A, or the hub, has this profile.
 * @throws {Error} when the program does not name the reason and the cure, or sends something anyway
 */
export async function playRefused(
  devnet: Devnet,
  profile: Profile<RpcBehaviour>,
  kind: "evm" | "hub",
): Promise<void> {
  const { refusal } = profile;
  if (refusal === undefined) throw new Error(`${profile.name} is not refused`);
  const a = devnet.chain("A");
  await using front = startProfiledNode(kind === "evm" ? a.rpcUrl : devnet.hub.httpUrl, profile);
  await playSceneOn(devnet, async (scene) => {
    const changes: ConfigChanges = {
      ...kind === "evm" ? { rpcUrls: { [a.stateMachine]: [front.httpUrl] } } : { hubUrl: front.wsUrl },
      sections: await scene.heightsNow(),
    };
    const sent = await sendPing(devnet, { from: "B", to: "A", count: 3, fee: FEE });
    const relayer = scene.relayer();
    const process = await relayer.start(changes);
    const line = await process.waitForLine(
      ({ text }) => text.includes(refusal.reason) && text.includes(refusal.cure) && text.includes(front.host),
    );
    assert.equal(line.level, refusal.consequence === "ends" ? "error" : "warn");
    if (refusal.consequence === "ends") {
      assert.equal(await process.exitCode(), 1);
      assert.deepEqual((await relayer.ledger()).submissions, []);
      return;
    }
    await relayer.untilRows(
      sent,
      a.stateMachine,
      { state: "held", reason: "target_unprovable" },
    );
    const { submissions } = await relayer.ledger();
    assert.deepEqual(submissions.filter(({ chain }) => chain === a.stateMachine), []);
    await scene.finish();
  });
  assertMet([front]);
}

/** Endpoints with the profiles in front of them, and the second ones where those are needed. */
function changesFor(
  fronts: ReadonlyMap<DevnetChain, ProfiledNode>,
  hubFront: ProfiledNode | undefined,
): ConfigChanges {
  return {
    rpcUrls: Object.fromEntries([...fronts].map(([{ stateMachine, rpcUrl }, { httpUrl, profile }]) => {
      return [stateMachine, profile.needsSecond === undefined ? [httpUrl] : [httpUrl, rpcUrl]];
    })),
    ...hubFront === undefined ? {} : { hubUrl: hubFront.wsUrl },
  };
}

/**
 * Chains whose nodes keep few states or proofs: the hub hears nothing more of them once it knows the early messages, so
 * that they can be proved only at blocks which are old when the relayer starts. Continues when the node has refused.
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
      () => heights.every((height) => devnet.oracle.lastHeight({ from, to: hub }) >= height),
    );
    await devnet.oracle.pause({ from, to: hub });
  }
  const untilMet = async (): Promise<void> => {
    for (const [{ stateMachine: from }, { strikes, profile: { name } }] of forgetful) {
      const isMet = (): boolean => (strikes.get("states") ?? 0) + (strikes.get("proofs") ?? 0) > 0;
      await waitUntil(`${name} has refused an old state`, isMet);
      devnet.oracle.resume({ from, to: hub });
    }
  };
  return { chains: forgetful.map(([chain]) => chain), untilMet };
}

/**
 * A hub's node that keeps few states: before anything is sent the hub is older than those, so that what the relayer
 * looks back for when it starts is gone. Newer events have to be there: a chain is sent what happened up to the block of
 * the hub that it knows.
 */
function outgrow({ hub }: Devnet, hubFront: ProfiledNode | undefined): void {
  const states = hubFront?.profile.behaviours.find(({ kind }) => kind === "states");
  if (states?.limit === undefined) return;
  while (hub.best.number <= 2 * states.limit.played) hub.produceBlock();
}

async function sendBoth({ devnet }: Scene, count: number): Promise<readonly SentMessage[]> {
  return (await Promise.all([
    sendPing(devnet, { from: "A", to: "B", count, fee: FEE }),
    sendPing(devnet, { from: "B", to: "A", count, fee: FEE }),
  ])).flat();
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

/**
 * A relayer that asks this node (and, where the profile needs one, a whole node behind it) proves two heights, a period
 * begins, and the committee of the next one is proved.
 * @throws {assert.AssertionError} when a behaviour of the profile was never met
 */
export async function playBeaconProfile(
  scene: ConsensusScene,
  profile: Profile<RestBehaviour>,
): Promise<void> {
  const { beacon } = scene.chain("beacon").proven;
  if (beacon === undefined) throw new Error("The devnet has no beacon chain");
  const isInJson = profile.behaviours.some(({ kind }) => kind === "jsonOnly");
  const { url } = isInJson ? beacon.openNode({ hasJsonStatesOnly: true }) : beacon;
  await using front = startProfiledBeacon(url, profile);
  const relayer = await scene.start({
    sections: {
      [`${sectionOf(scene.chain("beacon").stateMachine)}.host`]: {
        beacon_http_urls: profile.needsSecond === undefined ? [front.url] : [front.url, beacon.url],
      },
    },
  });
  await scene.untilGrown(["beacon"], 2);
  const next = beacon.period + 1;
  const since = scene.now(relayer);
  await beacon.advanceToPeriod(next);
  await relayer.waitForLine(
    ({ record }) =>
      record?.event === "update_accepted" &&
      String(record.summary).includes(`committee of period ${next + 1}`),
    { since },
  );
  await scene.stop(relayer);
  assertMet([front]);
}

/** A node in front of another one, with how often each kind of behaviour of its profile was met. */
interface PlayedNode {
  readonly profile: { readonly name: string };
  readonly strikes: ReadonlyMap<string, number>;
}

/** The same profile at several nodes counts once. @throws {assert.AssertionError} when a behaviour was never met. */
function assertMet(nodes: readonly PlayedNode[]): void {
  const met = new Map<string, number>();
  for (const { profile, strikes } of nodes) {
    for (const [kind, count] of strikes) {
      const behaviour = `${profile.name}: ${kind}`;
      met.set(behaviour, (met.get(behaviour) ?? 0) + count);
    }
  }
  assert.deepEqual([...met].filter(([, count]) => count === 0).map(([behaviour]) => behaviour), []);
}
