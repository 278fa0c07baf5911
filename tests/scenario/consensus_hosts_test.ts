/**
 * The compiled consensus relayer and EVM hosts that follow a hub of the type `beefy`: sessions that were missed, by
 * accepted proofs and by proofs of its own, and proofs only where there is work. All of it under a challenge period.
 */
import assert from "node:assert/strict";
import type { BeefyAuthoritySet } from "../../src/core/evm/beefy_client_state.ts";
import type { Devnet, DevnetChain } from "../../devnet/devnet.ts";
import { readHubConsensus, readHubHeight } from "../../devnet/evm/host_admin.ts";
import type { ConsensusChanges } from "../../devnet/programs/consensus_config.ts";
import { sectionOf } from "../../devnet/programs/relayer_config.ts";
import { waitUntil } from "../../devnet/waiting.ts";
import { ChainSigner } from "./support/chain_signer.ts";
import { type HostDelivery, readDeliveries, readHeads } from "./support/consensus_hosts.ts";
import { type ConsensusScene, playConsensus } from "./support/consensus_scene.ts";
import type { RelayerProcess } from "./support/relayer_process.ts";

/** A relayer that tells EVM hosts of the hub. */
const TELLING: ConsensusChanges = { hubType: "beefy", enablesHubConsensus: true };

/** Lets the relay chain begin so many sessions. @param isAccepted the hub accepts a proof of each of them. */
async function beginSessions(devnet: Devnet, count: number, isAccepted: boolean): Promise<void> {
  // The hub accepts no proof of a relay chain block without a head of it.
  await waitUntil("the hub has a final block that can be proved", () => devnet.hub.finalized.number > 1);
  devnet.coverHub();
  for (let begun = 0; begun < count; begun++) devnet.relay.rotate();
  devnet.coverHub();
  if (!isAccepted) return;
  const newest = devnet.hub.best.number;
  await waitUntil(`block ${newest} of the hub is final`, () => devnet.hub.finalized.number >= newest);
  await devnet.prover?.prove(0n, true);
}

/** Waits until hosts trust the relay chain's newest set of authorities. @returns it. */
async function untilHostsKnow(
  { relay }: Devnet,
  chains: readonly DevnetChain[],
): Promise<BeefyAuthoritySet> {
  const newest = relay.beefyState().current;
  await waitUntil(`hosts know set ${newest.id}`, async () => {
    const states = await Promise.all(chains.map(({ host }) => readHubConsensus(host)));
    return states.every(({ current }) => current.id === newest.id && current.root === newest.root);
  });
  return newest;
}

/** What reaches hosts while `play` is running, in the order of the chains. */
async function deliveredDuring(
  chains: readonly DevnetChain[],
  play: () => Promise<void>,
): Promise<readonly (readonly HostDelivery[])[]> {
  const before = await readHeads(chains);
  await play();
  return await Promise.all(
    chains.map((chain) => readDeliveries(chain, before.get(chain.stateMachine) ?? 0n)),
  );
}

/**
 * Waits until a relayer has looked at each of these hosts and found nothing to deliver, from now on.
 * @param reason part of why it says so; default any.
 */
async function untilIdle(
  scene: Pick<ConsensusScene, "now">,
  process: RelayerProcess,
  chains: readonly DevnetChain[],
  reason = "",
): Promise<void> {
  const since = scene.now(process);
  for (const { stateMachine } of chains) {
    await process.waitForLine(
      ({ record }) =>
        record?.event === "proofs_not_needed" && record.chain === stateMachine &&
        String(record.reason).includes(reason),
      { since },
    );
  }
}

/** How the relayer works that is started after sessions. */
interface SessionChanges extends ConsensusChanges {
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
  }));
