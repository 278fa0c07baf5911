/**
 * The compiled consensus relayer with a Substrate chain whose client of the hub cannot always be used, beside an EVM chain
 * that cannot follow a hub that GRANDPA makes final.
 */
import assert from "node:assert/strict";
import type { EventCode } from "../../src/core/telemetry/log.ts";
import { toHex } from "../../src/core/encoding/bytes.ts";
import { DEVNET_ACCOUNTS } from "../../devnet/evm/accounts.ts";
import { grandpaStateOf, GrandpaUpdater } from "../../devnet/updates/substrate_oracle_chain.ts";
import { demoModuleId } from "../../devnet/hub/hub.ts";
import { clientOf } from "../../devnet/hub/initial_clients.ts";
import { waitUntil } from "../../devnet/traffic/messages.ts";
import { relayerConfig } from "../../devnet/programs/relayer_config.ts";
import {
  consensusCommands,
  type ConsensusScene,
  DEADLINE_MS,
  playConsensus,
  proveByHand,
} from "./support/consensus_scene.ts";
import { assertSpending } from "./support/invariants.ts";
import { type LineMatch, type RelayerProcess, startRelayer } from "./support/relayer_process.ts";
import { assertNothingLeaked, secretly } from "./support/secrets.ts";
import { HubFollower } from "./support/follower_checks.ts";

const CHAIN = "SUBSTRATE-told";
const BSC = "EVM-97";

/** Of the hub on the chain, seconds: longer than the whole scenario. */
const CHALLENGE_SEC = 1_800n;

/** More than the unbonding period of GRANDPA clients (67.5 days). */
const TOO_LONG_MS = 68 * 86_400_000;

/** Calls of the chain's node for a look that ends at its client. */
const MAX_CALLS_PER_POLL = 10;

/** Tells the hub of the chain once, by the chain's own votes. */
async function tellHub({ devnet }: ConsensusScene, { chain }: HubFollower): Promise<void> {
  await using updater = new GrandpaUpdater({
    voting: chain.node,
    followed: devnet.idOnHub(chain),
    receiver: { node: devnet.hub, hashing: "Keccak", makesBlocks: false },
  });
  await updater.update(0n, true);
}

/** Looks that the client's state ends: named once, and after growing pauses; every other chain continues. */
async function untilSuspended(
  scene: ConsensusScene,
  relayer: RelayerProcess,
  told: HubFollower,
  { event, since }: { readonly event: EventCode; readonly since: number },
): Promise<void> {
  const tells: LineMatch = ({ record }) => record?.event === event && record.to === CHAIN;
  scene.expect(tells);
  await relayer.waitForLine(tells, { since, deadlineMs: DEADLINE_MS });
  const calls = (): number => [...told.chain.node.callCounts.values()].reduce((sum, count) => sum + count, 0);
  const failed = (): readonly number[] =>
    relayer.lines.slice(since).filter(({ record }) =>
      record?.event === "poll_finished" && record.to === CHAIN
    )
      .filter(({ record }) => record?.result === "failed").map(({ record }) => Number(record?.nextInMs));
  const before = { calls: calls(), looks: failed().length, block: told.now };
  await waitUntil("it was looked at again", () => failed().length >= before.looks + 2, {
    deadlineMs: DEADLINE_MS,
  });
  const looks = failed().length - before.looks;
  // The next look may have begun.
  assert.ok(calls() - before.calls <= (looks + 1) * MAX_CALLS_PER_POLL, `${calls() - before.calls} calls`);
  const pauses = failed();
  assert.ok(pauses.every((pause, at) => pause >= 1_000 && pause >= (pauses[at - 1] ?? 0)), pauses.join(", "));
  assert.deepEqual(await told.updatesSince(before.block), []);
  await scene.untilGrown(["bsc"]);
}

Deno.test("clients of the hub on a Substrate chain: challenge period, frozen, expired", (t) =>
  playConsensus(t, {
    kinds: ["bsc"],
    substrateChains: [{ stateMachine: CHAIN, blockTimeMs: 400 }],
  }, async (scene) => {
    const { devnet } = scene;
    const { relay, hub } = devnet;
    const told = new HubFollower(scene, CHAIN);
    const { node } = told.chain;
    const { consensusStateId } = hub.identity;
    const { reader } = scene.chain("bsc").host;
    const sent = (): Promise<number> =>
      reader.getTransactionCount({ address: DEVNET_ACCOUNTS.relayer.address });
    const before = await sent();
    let relayer: RelayerProcess;

    await scene.step(
      "an EVM chain is not updated with the hub's finality, and that is reported once; its finality is still proved to the hub",
      async () => {
        relayer = await scene.start({ hubType: "grandpa", only: [BSC, CHAIN] });
        await Promise.all([told.untilKnows(1n), scene.untilGrown(["bsc"], 2)]);
        const skipped = relayer.lines.filter(({ record }) => record?.event === "chain_limited.no_hub_proofs");
        assert.deepEqual(skipped.map(({ record }) => record?.chain), [BSC]);
      },
    );

    await scene.step("a challenge period holds up messages of the hub, and no updates", async () => {
      await node.setChallengePeriod(hub.identity, CHALLENGE_SEC);
      await tellHub(scene, told);
      const folder = await Deno.makeTempDir({ prefix: "messaging-" });
      await using stack = new AsyncDisposableStack();
      stack.defer(() => Deno.remove(folder, { recursive: true }));
      const { endpoints } = devnet;
      const config = relayerConfig(
        endpoints,
        secretly(endpoints, { without: [BSC], moduleFilter: [toHex(demoModuleId)] }),
      );
      const messaging = stack.use(await startRelayer({ config, folder }));
      await messaging.waitForLine("program_started", { deadlineMs: DEADLINE_MS });
      const post = { dest: told.chain.stateMachine, from: demoModuleId, to: demoModuleId, timeoutSec: 0n };
      const { commitment, block } = await hub.dispatchPost({ ...post, body: Uint8Array.of(1) });
      await messaging.waitForLine("message_found", { deadlineMs: DEADLINE_MS });
      await told.untilKnows(BigInt(block.number));
      await told.untilGrown(2);
      assert.equal(node.findReceipt(commitment), undefined);
      node.advanceTime(Number(CHALLENGE_SEC) * 1_000);
      await waitUntil("the message is delivered", () => node.findReceipt(commitment) !== undefined, {
        deadlineMs: DEADLINE_MS,
      });
      assert.equal(await messaging.terminate(DEADLINE_MS), 0);
      messaging.assertNoErrors();
      await assertNothingLeaked([messaging]);
      await assertSpending(devnet, messaging);
    });

    await scene.step("a frozen client is named and left alone until it can be used again", async () => {
      const since = scene.now(relayer);
      await node.freezeClient(consensusStateId);
      await untilSuspended(scene, relayer, told, { event: "client_unusable.frozen", since });
      await node.unfreezeClient(consensusStateId);
      await told.untilGrown(2);
    });

    await scene.step("without a relayer an operator tells the chain of the hub", async () => {
      await scene.kill(relayer);
      const command = consensusCommands(scene, { hubType: "grandpa", only: [BSC, CHAIN] });
      const route = [hub.identity.stateMachine, "--to", CHAIN];
      const known = told.height;
      const tried = await proveByHand(command, ...route, "--dry-run");
      assert.deepEqual([tried.outcome, tried.cost?.gas], ["possible", "0"]);
      assert.ok(BigInt(tried.height ?? 0) > known);
      assert.equal(told.height, known, "a dry run sent something");
      const sent = await proveByHand(command, ...route);
      assert.equal(sent.outcome, "accepted");
      assert.ok(told.height >= BigInt(sent.height ?? 0) && told.height > known);
      const { code, stderr } = await command("prove", hub.identity.stateMachine, "--to", BSC);
      assert.equal(code, 1);
      assert.match(stderr, /is not proved to EVM-97: no EVM contract verifies GRANDPA, only BEEFY\. It is /);
      relayer = await scene.start({ hubType: "grandpa", only: [BSC, CHAIN] });
    });

    await scene.step(
      "an expired client is named and left alone until governance creates it again",
      async () => {
        // As a relayer that comes too late.
        await scene.kill(relayer);
        node.advanceTime(TOO_LONG_MS);
        node.produceBlock();
        relayer = await scene.start({ hubType: "grandpa", only: [BSC, CHAIN] });
        await untilSuspended(scene, relayer, told, { event: "client_unusable.expired", since: 0 });
        await node.createConsensusClient(
          clientOf(consensusStateId, await grandpaStateOf(relay, hub.identity)),
        );
        await told.untilGrown(2);
        assert.equal(await sent(), before, "no transaction was sent to the EVM chain");
      },
    );
  }));
