/** The compiled consensus relayer on rollups of both kinds and their L1: claims, and those that were made meanwhile. */
import assert from "node:assert/strict";
import type { ArbitrumL1 } from "../../devnet/evm/rollup_assertions.ts";
import type { OpStackL1 } from "../../devnet/evm/rollup_games.ts";
import { type NodePlace, type Proposer, startProposer } from "../../devnet/evm/rollup_l1.ts";
import { resultHttp } from "../../devnet/hub/json_rpc_client.ts";
import { waitUntil } from "../../devnet/traffic/messages.ts";
import { type ConsensusScene, playConsensus } from "./support/consensus_scene.ts";
import type { RelayerProcess } from "./support/relayer_process.ts";

const KINDS = ["op_stack", "arbitrum"] as const;
type Kind = typeof KINDS[number];

/** Milliseconds between claims about a rollup. */
const CLAIM_EVERY_MS = 1_000;

/** A rollup with what claims are made of and in. */
function placeOf(scene: ConsensusScene, kind: Kind): NodePlace {
  const { rpcUrl, node } = scene.chain(kind);
  return { rpcUrl, chainId: node.chainId };
}

function opStackOf(scene: ConsensusScene): OpStackL1 {
  return scene.chain("op_stack").proven.opStack ?? assert.fail();
}

function arbitrumOf(scene: ConsensusScene): ArbitrumL1 {
  return scene.chain("arbitrum").proven.arbitrum ?? assert.fail();
}

/** A true claim about the newest block. */
async function propose(scene: ConsensusScene, kind: Kind): Promise<{ readonly l2Height: bigint }> {
  const place = placeOf(scene, kind);
  return kind === "op_stack"
    ? await opStackOf(scene).proposeOutput(place)
    : await arbitrumOf(scene).createAssertion(place);
}

function startProposers(scene: ConsensusScene): readonly Proposer[] {
  return KINDS.map((kind) =>
    startProposer({
      l2: placeOf(scene, kind),
      everyMs: CLAIM_EVERY_MS,
      propose: () => propose(scene, kind),
    })
  );
}

/** Everything on the L1 so far becomes final, and is signed by the sync committee. */
async function finalizeL1(scene: ConsensusScene): Promise<void> {
  const { beacon } = scene.chain("beacon").proven;
  await beacon?.finalize(Number(await scene.head("beacon")));
  // Blocks sign the one before them.
  await beacon?.mine(2);
}

async function mine(scene: ConsensusScene, kind: Kind, blocks = 1): Promise<void> {
  await resultHttp(scene.chain(kind).node.rpcUrl, "anvil_mine", [`0x${blocks.toString(16)}`]);
}

Deno.test("consensus of rollups", (t) =>
  playConsensus(t, {
    kinds: ["beacon", ...KINDS],
    proven: { proposes: false },
  }, async (scene) => {
    const { devnet } = scene;
    await using stack = new AsyncDisposableStack();
    let proposers: readonly Proposer[] = [];
    stack.defer(async () => {
      for (const proposer of proposers) await proposer.stop();
    });
    let relayer: RelayerProcess;
    await scene.step("heights on the hub grow with the claims, behind the L1", async () => {
      proposers = startProposers(scene);
      relayer = await scene.start();
      await scene.untilGrown(KINDS);
    });

    await scene.step(
      "after a crash the newest claim is delivered, whatever was claimed in between",
      async () => {
        await scene.kill(relayer);
        for (const proposer of proposers) await proposer.stop();
        proposers = [];
        const newest = new Map<Kind, bigint>();
        for (const kind of KINDS) {
          await mine(scene, kind, 3);
          newest.set(kind, (await propose(scene, kind)).l2Height);
        }
        await finalizeL1(scene);
        relayer = await scene.start();
        await Promise.all([...newest].map(([kind, height]) => scene.untilHubHas(kind, height)));
      },
    );

    await scene.step(
      "clients with the states that the program prints are such that the hub moves on from",
      async () => {
        await scene.stop(relayer);
        await Promise.all(KINDS.map((kind) => scene.renewClient(kind)));
        const printed = KINDS.map((kind) => scene.hubHeight(kind));
        proposers = startProposers(scene);
        relayer = await scene.start();
        await waitUntil("both heights have grown", () =>
          KINDS.every((kind, at) => scene.hubHeight(kind) > (printed[at] ?? 0n)));
        assert.equal(devnet.hub.rejections.length, 0);
      },
    );
  }));
