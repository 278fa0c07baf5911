/**
 * The compiled consensus relayer and EVM hosts that follow a hub of the type `beefy`: sessions that were missed, by
 * accepted proofs and by proofs of its own, and proofs only where there is work. All of it under a challenge period.
 */
import assert from "node:assert/strict";
import type { DevnetChain } from "../../devnet/devnet.ts";
import {
  beginSessions,
  deliveredDuring,
  postTo,
  proveHub,
  TELLING,
  untilHostHas,
  untilHostsKnow,
  untilIdle,
} from "./support/consensus_network.ts";
import { readHubHeight } from "../../devnet/evm/host_admin.ts";
import { sectionOf } from "../../devnet/programs/relayer_config.ts";
import {
  consensusCommands,
  playConsensus,
  proveByHand,
  type SceneChanges,
} from "./support/consensus_scene.ts";
import { ChainSigner } from "./support/chain_signer.ts";
import type { RelayerProcess } from "./support/relayer_process.ts";

/** How the relayer works that is started after sessions. */
interface SessionChanges extends SceneChanges {
  /** False: the hub has no proofs of them. Default true. */
  readonly isAccepted?: boolean;
  /** It is killed as soon as it has sent a transaction, and started again. Default false. */
  readonly crashes?: boolean;
}

/** Effects of transactions that bring so many rotations each. */
function rotations(...counts: readonly number[]): readonly (readonly string[])[] {
  return counts.map((count) => Array.from({ length: count }, () => "rotation"));
}

Deno.test("EVM hosts follow a hub of the type beefy", (t) =>
  playConsensus(t, {
    kinds: ["beacon", "bsc"],
    blockTimeSec: "automine",
    hubBlockTimeMs: 200,
    acceptsProofs: {},
    evmChallengePeriodSec: 3_600n,
  }, async (scene) => {
    const { devnet } = scene;
    const { chains } = devnet;
    // Their blocks are those of our transactions, and few.
    scene.limit({ withoutUpdates: chains.map(({ stateMachine }) => stateMachine) });
    const [one, other] = chains;
    if (one === undefined || other === undefined) throw new Error("A devnet of two chains");
    let relayer: RelayerProcess | undefined;

    /** The effects of what reaches the chains when the relayer is started after so many sessions. */
    const afterSessions = async (
      count: number,
      told: readonly DevnetChain[],
      { isAccepted = true, crashes = false, ...changes }: SessionChanges = {},
    ): Promise<readonly (readonly (readonly string[])[])[]> => {
      if (relayer !== undefined) await scene.kill(relayer);
      const delivered = await deliveredDuring(chains, async () => {
        await beginSessions(devnet, count, isAccepted);
        const only = told.map(({ stateMachine }) => stateMachine);
        const start = (): Promise<RelayerProcess> => scene.start({ ...TELLING, ...changes, only });
        relayer = await start();
        if (crashes) {
          await relayer.waitForLine("proofs_sent");
          await scene.kill(relayer);
          relayer = await start();
        }
        await untilHostsKnow(devnet, told);
        await untilIdle(scene, relayer, told);
      });
      return delivered.map((deliveries) => deliveries.map(({ effects }) => effects));
    };

    const assertHubHeights = async (): Promise<void> => {
      const newest = [...devnet.hub.ownProofs.rotationProofs.values()].reduce((a, b) => a > b ? a : b);
      assert.deepEqual(await Promise.all(chains.map(({ host }) => readHubHeight(host))), [newest, newest]);
    };

    await scene.step(
      "a remote signer with another key sends nothing; the missed session is delivered with its own",
      async () => {
        scene.expect("signer_answer_wrong");
        await using held = new ChainSigner();
        const sections = { [sectionOf(one.stateMachine)]: held.keys };
        held.signer.misbehaviour = { kind: "other_key" };
        const delivered = await deliveredDuring(chains, async () => {
          relayer = await scene.start({ ...TELLING, sections, only: [one.stateMachine] });
          await beginSessions(devnet, 1, true);
          const line = await relayer.waitForLine("signer_answer_wrong");
          held.assertNamed(line, ["the signature is of", "find out why"]);
        });
        assert.deepEqual(delivered, [[], []]);
        held.signer.misbehaviour = undefined;
        assert.deepEqual(await afterSessions(0, [one], { sections }), [rotations(1), []]);
      },
    );

    await scene.step(
      "three sessions after a crash go into one transaction, and four into two, in order",
      async () => {
        assert.deepEqual(await afterSessions(3, chains), [rotations(3), rotations(3, 1)]);
        await assertHubHeights();
      },
    );

    await scene.step("sessions that the hub has no proofs of are proved by the relayer itself", async () => {
      const own = { isAccepted: false, makesProofs: true };
      assert.deepEqual(await afterSessions(4, [one], own), [rotations(3, 1), []]);
    });

    await scene.step(
      "seven sessions are delivered in three transactions, with a crash behind the first",
      async () => {
        const delivered = await afterSessions(3, chains, { crashes: true });
        assert.deepEqual(delivered, [rotations(3), rotations(3, 3, 1)]);
        await assertHubHeights();
      },
    );

    await scene.step("an accepted proof of a message goes to the chain of the message only", async () => {
      const running = relayer;
      if (running === undefined) throw new Error("No relayer runs");
      const delivered = await deliveredDuring(chains, async () => {
        const { height: posted } = await postTo(devnet, one);
        assert.ok(await proveHub(devnet) >= posted);
        await untilHostHas(one, posted);
        await untilIdle(scene, running, chains);
      });
      assert.deepEqual(delivered.map((all) => all.map(({ effects }) => effects)), [[["height"]], []]);
    });

    await scene.step("a relayer that makes proofs makes them only where there is work", async () => {
      if (relayer !== undefined) await scene.kill(relayer);
      const running = await scene.start({ ...TELLING, makesProofs: true });
      relayer = running;
      const delivered = await deliveredDuring(chains, async () => {
        // The hub moves on without a message.
        await untilIdle(scene, running, chains, "the newest head of the hub holds nothing");
        await untilHostHas(other, (await postTo(devnet, other)).height);
        await untilIdle(scene, running, chains);
      });
      assert.deepEqual(delivered.map((all) => all.map(({ effects }) => effects)), [[], [["height"]]]);
      const made = running.lines.filter(({ record }) => record?.event === "proof_built");
      assert.equal(made.length, 1);
    });

    const hubName = devnet.hub.identity.stateMachine;

    await scene.step("without a relayer an operator delivers what a host lacks", async () => {
      if (relayer !== undefined) await scene.kill(relayer);
      const command = consensusCommands(scene, TELLING);
      const toOne = [hubName, "--to", one.stateMachine];
      const delivered = await deliveredDuring(chains, async () => {
        await beginSessions(devnet, 2, true);
        const tried = await proveByHand(command, ...toOne, "--dry-run");
        assert.deepEqual([tried.outcome, tried.updates, tried.cost?.isPaid], ["possible", 2, false]);
        const sent = await proveByHand(command, ...toOne);
        assert.deepEqual([sent.outcome, sent.bytes, sent.cost?.isPaid], ["accepted", tried.bytes, true]);
        assert.deepEqual([await readHubHeight(one.host), sent.height], [
          BigInt(sent.height ?? 0),
          tried.height,
        ]);
        assert.equal((await proveByHand(command, ...toOne)).outcome, "nothing");
      });
      assert.deepEqual(delivered.map((all) => all.map(({ effects }) => effects)), [rotations(2), []]);
      const unknown = await command("prove", hubName, "--to", "EVM-5");
      assert.deepEqual([unknown.code, unknown.stdout], [1, ""]);
      const known = chains.map(({ stateMachine }) => stateMachine).join(", ");
      assert.ok(
        unknown.stderr.endsWith(`is not proved to EVM-5. It is proved to ${known}.\n`),
        unknown.stderr,
      );
    });
  }));
