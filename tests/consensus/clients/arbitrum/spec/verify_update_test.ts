import { deepStrictEqual as equal, throws } from "node:assert/strict";
import { type Hash256, toHex } from "../../../../../src/core/encoding/bytes.ts";
import { assertionClaim, nodeClaim } from "../../../../../src/consensus/clients/arbitrum/arbitrum_claims.ts";
import type {
  AssertionCreated,
  NodeCreated,
} from "../../../../../src/consensus/clients/arbitrum/spec/claim_events.ts";
import {
  assertionHash,
  nodeStateHash,
} from "../../../../../src/consensus/clients/arbitrum/spec/claim_hashes.ts";
import {
  type ArbitrumUpdate,
  arbitrumUpdateCodec,
} from "../../../../../src/consensus/clients/arbitrum/spec/update.ts";
import {
  type ArbitrumErrorCode,
  type ArbitrumHubView,
  claimOf,
  decodeArbitrumUpdate,
  verifyArbitrumUpdate,
} from "../../../../../src/consensus/clients/arbitrum/spec/verify_update.ts";
import { buildL1 } from "../../../rollup/spec/l1_fixture.ts";
import { l1Id, rollupId } from "../../../rollup/spec/vectors.ts";
import {
  boldUpdate,
  hubView,
  orbitUpdate,
  realAssertion,
  realUpdate,
  synthetic,
  trusted,
} from "./vectors.ts";

const height = realAssertion.integer("expected.height");

function refuses(update: ArbitrumUpdate, hub: ArbitrumHubView, code: ArbitrumErrorCode): void {
  throws(
    () => verifyArbitrumUpdate(trusted, update, hub),
    { name: "RollupUpdateError", code },
    `should be refused as ${code}`,
  );
}

Deno.test("Arbitrum: assertion and node are accepted, and give the commitment under the id of the L1", () => {
  for (const update of [boldUpdate, orbitUpdate]) {
    equal(verifyArbitrumUpdate(trusted, update, hubView), {
      consensusState: { ...trusted, finalizedHeight: height },
      commitment: {
        height: { id: { ...rollupId, consensusStateId: l1Id.consensusStateId }, height },
        commitment: {
          timestampSec: realAssertion.integer("expected.timestamp"),
          overlayRoot: undefined,
          stateRoot: realAssertion.hash("expected.state_root"),
        },
      },
    });
  }
});

Deno.test("Arbitrum: an unknown machine status is refused", () => {
  const whole = arbitrumUpdateCodec.enc(orbitUpdate);
  const before = toHex(whole).indexOf(
    orbitUpdate.proof.value.globalState.sendRoot.slice(2) + "5345",
  );
  const at = (before - 2) / 2 + 48;
  equal(whole[at], 1);
  equal(decodeArbitrumUpdate(whole.with(at, 2)).proof.tag, "ArbitrumOrbit");
  throws(() => decodeArbitrumUpdate(whole.with(at, 3)), { code: "undecodable_update" });
});

Deno.test("Arbitrum: the generation in the client's state does not decide over the kind of proof", () => {
  const orbit = { ...trusted, consensusType: "ArbitrumOrbit" as const };
  equal(verifyArbitrumUpdate(orbit, boldUpdate, hubView).consensusState, {
    ...orbit,
    finalizedHeight: height,
  });
});

Deno.test("Arbitrum: the real assertion passes every rule but the one whose proof the source lacks", () => {
  const hub: ArbitrumHubView = {
    l1StateRoot: realAssertion.hash("l1_state_root"),
    rollupCore: realAssertion.address("rollup_core"),
    blacklistedClaims: new Set(),
  };
  refuses(realUpdate, hub, "parent_proof");
  const value = { ...realUpdate.proof.value, storageProof: realUpdate.proof.value.storageProof.slice(1) };
  refuses({ ...realUpdate, proof: { tag: "ArbitrumBold", value } }, hub, "assertion_proof");
});

Deno.test("Arbitrum: without a rollup contract for the chain the hub accepts everything and does nothing", () => {
  const hub = { ...hubView, rollupCore: undefined, blacklistedClaims: new Set([claimOf(boldUpdate.proof)]) };
  equal(verifyArbitrumUpdate(trusted, boldUpdate, hub), { consensusState: trusted, commitment: undefined });
});

Deno.test("Arbitrum: the first rules are L1 commitment and blacklist", () => {
  for (const update of [boldUpdate, orbitUpdate]) {
    const blacklistedClaims = new Set([claimOf(update.proof)]);
    refuses(update, { ...hubView, l1StateRoot: undefined, blacklistedClaims }, "l1_commitment_missing");
    refuses(
      update,
      { ...hubView, l1StateRoot: claimOf(update.proof), blacklistedClaims },
      "claim_blacklisted",
    );
  }
});

Deno.test("Arbitrum: an older block than the last one is accepted as well", () => {
  const ahead = { ...trusted, finalizedHeight: 2n ** 60n };
  equal(verifyArbitrumUpdate(ahead, boldUpdate, hubView).consensusState.finalizedHeight, height);
});

const rollup = "0x0000000000000000000000000000000000700119";
const { value: assertion } = boldUpdate.proof;
const event: AssertionCreated = {
  assertionHash: assertionHash(assertion),
  previousAssertionHash: assertion.previousAssertionHash,
  afterState: assertion.afterState,
  sequencerBatchAcc: assertion.sequencerBatchAcc,
};
const pending = BigInt(realAssertion.hash("expected.assertion_word"));
const parentWord = BigInt(synthetic.hash("bold.parent_word"));

/** An L1 on which the rollup has these words, and the update that the nodes' answers make. */
async function buildBold(
  words: { readonly assertion?: bigint; readonly parent?: bigint },
): Promise<{ readonly update: ArbitrumUpdate; readonly hub: ArbitrumHubView }> {
  const { slots, build } = assertionClaim(event);
  const values = [words.assertion ?? pending, words.parent ?? parentWord];
  const l1 = await buildL1(
    new Map([[rollup, new Map<Hash256, bigint>(slots.map((slot, at) => [slot, values[at] ?? 0n]))]]),
  );
  const proof = build({ header: assertion.header, rollup: await l1.prove(rollup, slots) });
  return {
    update: { l1Height: 9n, proof },
    hub: { l1StateRoot: l1.stateRoot, rollupCore: rollup, blacklistedClaims: new Set() },
  };
}

Deno.test("Arbitrum: an assertion counts in any status, as long as it is there and has no competitor", async () => {
  for (
    const words of [{}, { assertion: 1n }, { assertion: 2n << 200n }, { parent: 1n }, { parent: 1n << 128n }]
  ) {
    const { update, hub } = await buildBold(words);
    equal(verifyArbitrumUpdate(trusted, update, hub).consensusState.finalizedHeight, height);
  }
});

Deno.test("Arbitrum: what the L1 says against an assertion is found, each with its code", async () => {
  const scenes: [ArbitrumErrorCode, Parameters<typeof buildBold>[0]][] = [
    ["assertion_missing", { assertion: 0n }],
    ["parent_missing", { parent: 0n }],
    ["assertion_challenged", { parent: parentWord | (1n << 64n) }],
    ["assertion_challenged", { parent: 1n << 127n }],
  ];
  for (const [code, words] of scenes) {
    const { update, hub } = await buildBold(words);
    refuses(update, hub, code);
  }
});

const { value: node } = orbitUpdate.proof;
const nodeEvent: NodeCreated = node;

async function buildOrbit(stateHash: bigint): Promise<{ update: ArbitrumUpdate; hub: ArbitrumHubView }> {
  const { slots, build } = nodeClaim(nodeEvent);
  const l1 = await buildL1(
    new Map([[rollup, new Map<Hash256, bigint>(slots.map((slot) => [slot, stateHash]))]]),
  );
  const proof = build({ header: node.header, rollup: await l1.prove(rollup, slots) });
  return {
    update: { l1Height: 9n, proof },
    hub: { l1StateRoot: l1.stateRoot, rollupCore: rollup, blacklistedClaims: new Set() },
  };
}

Deno.test("Arbitrum: a node counts when the rollup has its state hash", async () => {
  const stateHash = BigInt(nodeStateHash(node));
  const { update, hub } = await buildOrbit(stateHash);
  equal(verifyArbitrumUpdate(trusted, update, hub).consensusState.finalizedHeight, height);
  const other = await buildOrbit(stateHash ^ 1n);
  refuses(other.update, other.hub, "node_mismatch");
  const missing = await buildOrbit(0n);
  refuses(missing.update, missing.hub, "node_missing");
});

Deno.test("Arbitrum: pieces that contradict one another make no proof", async () => {
  const l1 = await buildL1(new Map([[rollup, new Map<Hash256, bigint>()]]));
  const answer = await l1.prove(rollup, []);
  for (const { build } of [assertionClaim(event), nodeClaim(nodeEvent)]) {
    const wrong = { header: { ...assertion.header, gasUsed: 1n }, rollup: answer };
    throws(() => build(wrong), { name: "RollupDataError", code: "wrong_block" });
    // Nothing is wrong but that the answer has no slots.
    throws(() => build({ header: assertion.header, rollup: answer }), {
      name: "EvmProofError",
      code: "malformed_answer",
    });
  }
});
