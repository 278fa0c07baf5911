/** Compiled relayers of both programs on chains of five kinds: messages, dead endpoints, a hub that restarts. */
import assert from "node:assert/strict";
import type { EventCode } from "../../src/core/telemetry/log.ts";
import type { Devnet } from "../../devnet/devnet.ts";
import type { ConsensusChanges } from "../../devnet/programs/consensus_config.ts";
import { relayerConfig, sectionOf } from "../../devnet/programs/relayer_config.ts";
import { assertSpending } from "./support/invariants.ts";
import { sendPing, waitUntil } from "../../devnet/traffic/messages.ts";
import type { ChainKind } from "../../devnet/chains/proven_chains.ts";
import { consensusCommands, type ConsensusScene, playConsensus } from "./support/consensus_scene.ts";
import { assertServedUpdates } from "./support/served_status.ts";
import { assertNoSecrets, assertNothingLeaked, withSecrets } from "./support/secrets.ts";
import { type RelayerLine, type RelayerProcess, startRelayer } from "./support/relayer_process.ts";
import { startRpcProxy } from "./support/rpc_proxy.ts";

/** Kinds of which a new height is proved every few seconds. */
const STEADY = ["beacon", "op_stack", "arbitrum", "bsc"] as const;

/** All of them: a head of Polkadot Hub is proved when messages were sent. */
const KINDS = [...STEADY, "polkadot_hub"] as const;

/** What the monitor allows; nothing here takes as long. */
const GENEROUS_SEC = 3_600;

function lineOf(
  kind: ChainKind,
  scene: ConsensusScene,
  event: EventCode,
): (line: Pick<RelayerLine, "record">) => boolean {
  const chain = scene.chain(kind).stateMachine;
  return ({ record }) => record?.chain === chain && record.event === event;
}

/** `check` beside the running relayer: the dead endpoint has failed, and nothing else. */
async function playCheck(
  scene: ConsensusScene,
  sections: NonNullable<ConsensusChanges["sections"]>,
): Promise<void> {
  const { code, stdout, stderr } = await consensusCommands(scene, { sections })("check", "--json");
  const { checks }: { checks: readonly { chain: string; check: string; result: string }[] } = JSON.parse(
    stdout,
  );
  const bsc = scene.chain("bsc").stateMachine;
  assert.deepEqual(
    checks.filter(({ result }) => result === "failed").map(({ chain, check }) => [chain, check]),
    [[bsc, "endpoint"]],
  );
  assert.equal(code, 1);
  const ok = checks.filter(({ result }) => result === "ok");
  for (const kind of KINDS) {
    const chain = scene.chain(kind).stateMachine;
    assert.ok(ok.some((row) => row.chain === chain && row.check === "light_client"), `${chain} ${stdout}`);
  }
  assert.ok(ok.some(({ check }) => check === "beacon_routes"));
  assertNoSecrets(`${stdout}${stderr}`, "the output");
}

/**
 * A messaging relayer on a devnet whose heights compiled consensus relayers prove: in the end it has to stop in order,
 * without an error line or a secret, and with all that it paid on record.
 */
async function playMessaging(
  devnet: Devnet,
  play: (messaging: RelayerProcess) => Promise<void>,
): Promise<void> {
  await using stack = new AsyncDisposableStack();
  const folder = await Deno.makeTempDir({ prefix: "messaging-" });
  stack.defer(() => Deno.remove(folder, { recursive: true }));
  const config = withSecrets(relayerConfig(devnet.endpoints));
  const messaging = stack.use(await startRelayer({ config, folder }));
  await messaging.waitForLine("program_started");
  await play(messaging);
  assert.equal(await messaging.terminate(), 0);
  messaging.assertNoErrors();
  await assertNothingLeaked([messaging]);
  await assertSpending(devnet, messaging);
}

Deno.test("both programs on all kinds of chains", (t) =>
  playConsensus(t, { kinds: KINDS }, async (scene) => {
    const { devnet } = scene;
    const bsc = scene.chain("bsc");
    await using proxy = await startRpcProxy({ upstream: bsc.rpcUrl });
    const throughProxy = { [sectionOf(bsc.stateMachine)]: { rpc_urls: [proxy.httpUrl] } };
    let first: RelayerProcess;

    await scene.step(
      "a message from each kind of chain to the hub is delivered on top of proven heights",
      async () => {
        const limits = devnet.chains.map((chain) => devnet.idOnHub(chain));
        first = await scene.start({
          sections: {
            ...throughProxy,
            relayer: {
              maximum_update_intervals: limits.map(({ stateMachine, consensusStateId }) => [
                { state_id: stateMachine, consensus_state_id: consensusStateId },
                GENEROUS_SEC,
              ]),
            },
          },
        }, ["--listen=127.0.0.1:0"]);
        // The messaging relayer does not start while the hub knows no height of a chain.
        await Promise.all(KINDS.map((kind) => scene.untilHubHas(kind, 1n)));
        await playMessaging(devnet, async (messaging) => {
          const legs = new Set<unknown>();
          await messaging.waitForLine(({ record }) => {
            const isToHub = String(record?.leg).endsWith(`-> ${devnet.hub.identity.stateMachine}`);
            if (record?.event === "leg_started" && isToHub) legs.add(record.leg);
            return legs.size === KINDS.length;
          });
          const sent = (await Promise.all(
            devnet.chains.map(({ stateMachine }) => sendPing(devnet, { from: stateMachine, to: "hub" })),
          )).flat();
          await waitUntil(
            "all messages are delivered",
            () => sent.every(({ commitment }) => devnet.hub.findReceipt(commitment) !== undefined),
          );
        });
        const watched = first.lines.find(({ record }) => record?.event === "program_started")?.record
          ?.watched;
        assert.equal(String(watched).split(", ").length, KINDS.length);
        await assertServedUpdates(first, devnet.chains.map(({ stateMachine }) => stateMachine));
      },
    );

    await scene.step(
      "while the endpoints of one chain are dead the others continue, and it follows later",
      async () => {
        const since = scene.now(first);
        await proxy.setMode({ kind: "refuse" });
        await first.waitForLine(lineOf("bsc", scene, "poll_failed"), { since });
        await playCheck(scene, throughProxy);
        const height = scene.hubHeight("bsc");
        await scene.untilGrown(STEADY.filter((kind) => kind !== "bsc"));
        assert.equal(scene.hubHeight("bsc"), height);
        await proxy.setMode({ kind: "pass" });
        await scene.untilGrown(["bsc"]);
      },
    );

    await scene.step("after a restart of the hub all chains continue", async () => {
      const since = scene.now(first);
      await devnet.hub.stop();
      await first.waitForLine(({ level }) => level === "warn", { since });
      await devnet.hub.start();
      await scene.untilGrown(STEADY);
    });

    await scene.step(
      "clients with the states that the program prints are such that the hub moves on from",
      async () => {
        await scene.stop(first);
        for (const kind of STEADY) await scene.renewClient(kind);
        await scene.start();
        await scene.untilGrown(STEADY);
      },
    );
  }));
