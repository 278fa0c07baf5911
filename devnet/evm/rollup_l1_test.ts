// The devnet's rollup contracts keep their state where light clients look, speak their events, and can be proposed to.
import assert from "node:assert/strict";
import { type Abi, type AbiEvent, createTestClient, http, toEventSelector } from "viem";
import { ASSERTION_CREATED, NODE_CREATED } from "../../src/consensus/clients/arbitrum/spec/claim_events.ts";
import { rollupSlots } from "../../src/consensus/clients/arbitrum/spec/claim_hashes.ts";
import {
  DISPUTE_GAME_CREATED,
  OUTPUT_PROPOSED,
} from "../../src/consensus/clients/op_stack/spec/claim_events.ts";
import { opStackSlots } from "../../src/consensus/clients/op_stack/spec/output_root.ts";
import { startAnvil } from "./anvil.ts";
import { type Artifact, compileContracts } from "./compile.ts";
import { startHeaderRewriter } from "./header_rewriter.ts";
import { deployArbitrumL1, withSendRoots } from "./rollup_assertions.ts";
import { deployOpStackL1, prepareOpStackL2 } from "./rollup_games.ts";
import { connectRollupL1, startProposer } from "./rollup_l1.ts";

function slotOf(artifact: Artifact, label: string): bigint {
  const variable = artifact.storage.find((each) => each.label === label);
  return BigInt(variable?.slot ?? assert.fail(`no variable ${label}`));
}

function topicsOf(abi: Abi): string[] {
  return abi.filter((item): item is AbiEvent => item.type === "event").map((item) => toEventSelector(item));
}

Deno.test("devnet rollups: slots and events are those of the live contracts", async () => {
  const contracts = await compileContracts();
  const { DisputeGameFactory, FaultDisputeGame, AggregateVerifier, L2OutputOracle } = contracts;
  assert.equal(slotOf(DisputeGameFactory, "gameImpls"), opStackSlots.gameImplementations);
  assert.equal(slotOf(DisputeGameFactory, "_disputeGames"), opStackSlots.disputeGames);
  assert.equal(slotOf(FaultDisputeGame, "claimData"), opStackSlots.claimData);
  const countered = "counteredByIntermediateRootIndexPlusOne";
  assert.equal(slotOf(AggregateVerifier, countered), opStackSlots.counteredBy);
  assert.equal(slotOf(L2OutputOracle, "l2Outputs"), opStackSlots.l2Outputs);
  assert.equal(slotOf(contracts.BoldRollup, "_assertions"), rollupSlots.assertions);
  assert.equal(slotOf(contracts.NodeRollup, "_nodes"), rollupSlots.nodes);
  assert.deepEqual(topicsOf(DisputeGameFactory.abi), [DISPUTE_GAME_CREATED]);
  assert.deepEqual(topicsOf(L2OutputOracle.abi), [OUTPUT_PROPOSED]);
  assert.deepEqual(topicsOf(contracts.BoldRollup.abi), [ASSERTION_CREATED]);
  assert.deepEqual(topicsOf(contracts.NodeRollup.abi), [NODE_CREATED]);
});

Deno.test("devnet rollups: proposers of both kinds work on one L1 until they are stopped", async () => {
  await using l1 = await startAnvil({ chainId: 11155111 });
  await using op = await startAnvil({ chainId: 11155420 });
  await using nitro = await startAnvil({ chainId: 421614 });
  await using shown = await startHeaderRewriter({ upstream: nitro.rpcUrl, rule: withSendRoots });
  await prepareOpStackL2(op);
  const connection = connectRollupL1(l1);
  const games = await deployOpStackL1(connection);
  const rollup = await deployArbitrumL1(connection);
  const node = createTestClient({ mode: "anvil", transport: http(op.rpcUrl) });
  const enough = Promise.withResolvers<void>();
  const outputs = startProposer({
    l2: op,
    everyMs: 1,
    propose: async (l2) => {
      const made = await games.proposeOutput(l2);
      if (outputs.proposed < 2) await node.mine({ blocks: 1 });
      else enough.resolve();
      return made;
    },
  });
  const assertions = startProposer({
    l2: { rpcUrl: shown.rpcUrl, chainId: 421614 },
    everyMs: 1,
    propose: (l2) => rollup.createAssertion(l2),
  });
  await enough.promise;
  await Promise.all([outputs.stop(), assertions.stop()]);
  assert.deepEqual([outputs.proposed, assertions.proposed], [3, 1]);
});

Deno.test("devnet rollups: a proposer tries again what failed, and says what still fails when it is stopped", async () => {
  await using l2 = await startAnvil({ chainId: 11155420 });
  const asked = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const propose = (): Promise<never> => {
    asked.shift()?.resolve();
    return Promise.reject(new Error("no L1"));
  };
  const proposer = startProposer({ l2, everyMs: 1, propose });
  await Promise.all(asked.map(({ promise }) => promise));
  await assert.rejects(proposer.stop(), /no L1/);
});
