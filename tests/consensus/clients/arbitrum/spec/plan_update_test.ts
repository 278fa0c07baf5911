import { deepStrictEqual as equal } from "node:assert/strict";
import { nodeClaimHash } from "../../../../../src/consensus/clients/arbitrum/spec/claim_hashes.ts";
import {
  type FoundAssertion,
  type FoundNode,
  isWorthSubmitting,
  planAssertions,
  planNodes,
  type RollupClaimPlanInput,
} from "../../../../../src/consensus/clients/arbitrum/spec/plan_update.ts";
import { word } from "../../../../../src/core/evm/host_storage.ts";
import { boldUpdate, orbitUpdate } from "./vectors.ts";

const facts: RollupClaimPlanInput = { blacklistedClaims: new Set(), l1Height: 100n };
const unchallenged = word((1n << 128n) | 5n);

function assertion(name: bigint, change: Partial<FoundAssertion> = {}): FoundAssertion {
  const { previousAssertionHash, afterState, sequencerBatchAcc } = boldUpdate.proof.value;
  return {
    event: {
      assertionHash: word(name),
      previousAssertionHash,
      afterState,
      sequencerBatchAcc,
      beforeState: afterState,
      inboxMaxCount: 0n,
    },
    l1Height: 100n,
    parentWord: unchallenged,
    ...change,
  };
}

function node(nodeNumber: bigint, l1Height = 100n): FoundNode {
  return {
    event: { ...orbitUpdate.proof.value, nodeNumber, parentNodeHash: word(1n), nodeHash: word(2n) },
    l1Height,
  };
}

Deno.test("assertions: the newest comes first", () => {
  const [first, second] = [assertion(1n), assertion(2n)];
  equal(planAssertions([first, second], facts), { candidates: [second, first], passedOver: [] });
});

Deno.test("assertions: those ruled out, contested, without parent or beyond the hub's L1 height are skipped", () => {
  const bad: [FoundAssertion, string][] = [
    [assertion(1n, { l1Height: 101n }), "beyond_hub_l1_height"],
    [assertion(2n, { parentWord: undefined }), "parent_missing"],
    [assertion(3n, { parentWord: word(0n) }), "parent_missing"],
    [assertion(4n, { parentWord: word((9n << 64n) | 5n) }), "challenged"],
    [assertion(5n), "blacklisted"],
  ];
  const plan = planAssertions([...bad.map(([claim]) => claim), assertion(6n)], {
    ...facts,
    blacklistedClaims: new Set([word(5n)]),
  });
  equal(plan.candidates, [assertion(6n)]);
  equal(plan.passedOver, bad.map(([claim, reason]) => ({ claim, reason })).toReversed());
});

Deno.test("nodes: the highest number comes first, those ruled out or too new are skipped", () => {
  const [three, seven, five, nine] = [node(3n), node(7n), node(5n), node(9n, 101n)];
  equal(planNodes([three, seven, five], facts), { candidates: [seven, five, three], passedOver: [] });
  const plan = planNodes([three, seven, five, nine], {
    ...facts,
    blacklistedClaims: new Set([nodeClaimHash(seven.event)]),
  });
  equal(plan.candidates, [five, three]);
  equal(plan.passedOver, [
    { claim: nine, reason: "beyond_hub_l1_height" },
    { claim: seven, reason: "blacklisted" },
  ]);
});

Deno.test("claims: the hub gains only by a block above the one it has", () => {
  equal([isWorthSubmitting(5n, undefined), isWorthSubmitting(6n, 5n), isWorthSubmitting(5n, 5n)], [
    true,
    true,
    false,
  ]);
});
