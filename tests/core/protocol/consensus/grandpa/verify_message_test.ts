import assert from "node:assert/strict";
import { concatBytes, fromHex, toHex } from "../../../../../src/core/protocol/bytes.ts";
import { GrandpaError } from "../../../../../src/core/protocol/consensus/grandpa/grandpa_error.ts";
import {
  grandpaConsensusStateCodec,
  grandpaJustificationCodec,
  type GrandpaMessage,
  grandpaMessageCodec,
} from "../../../../../src/core/protocol/consensus/grandpa/message.ts";
import { u64 } from "../../../../../src/core/protocol/scale.ts";
import {
  commitmentOf,
  decodeGrandpaMessage,
  decodeGrandpaState,
  type GrandpaView,
  type VerifiedGrandpaMessage,
  verifyGrandpaMessage,
} from "../../../../../src/core/protocol/consensus/grandpa/verify_message.ts";
import { decodeGrandpaJustification } from "../../../../../src/core/protocol/consensus/grandpa/verify_justification.ts";
import {
  decodeSubstrateHeader,
  hashSubstrateHeader,
  substrateHeaderCodec,
} from "../../../../../src/core/protocol/consensus/substrate_header.ts";
import {
  parseStateMachine,
  type StateMachine,
  stateMachineParts,
  toConsensusStateId,
} from "../../../../../src/core/protocol/ismp/state_machine.ts";
import { readVectors, VectorNode } from "../vector_node.ts";

const accepted = (await readVectors("grandpa-accepted.json")).list("cases");
const rejected = (await readVectors("grandpa-rejected.json")).list("cases");

/** A chain that follows every parachain that the vectors know, and has the tracked one as its hub. */
function viewFor(tracked: StateMachine): GrandpaView {
  const { tag } = stateMachineParts(tracked);
  const others = ["POLKADOT-2000", "POLKADOT-3367", "KUSAMA-4009", "KUSAMA-2000", "RELAY-rely-2000"];
  return {
    consensusStateId: toConsensusStateId(tag === "Relay" ? "rely" : "PAS0"),
    coprocessor: tag === "Polkadot" || tag === "Kusama" ? tracked : undefined,
    supported: new Map([tracked, ...others.map(parseStateMachine)].map((chain) => [chain, 6_000n])),
  };
}

function verify(
  vector: VectorNode,
  change = (message: GrandpaMessage): GrandpaMessage => message,
): VerifiedGrandpaMessage {
  const trusted = decodeGrandpaState(vector.bytes("trusted_state.scale"));
  const message = change(decodeGrandpaMessage(vector.bytes("consensus_message_scale")));
  return verifyGrandpaMessage(trusted, message, viewFor(trusted.stateMachine));
}

function codeOf(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    assert.ok(error instanceof GrandpaError, String(error));
    return error.code;
  }
  return "accepted";
}

for (const vector of accepted) {
  const name = vector.text("name");
  Deno.test(`GRANDPA vector ${name}: accepted, and the new state is the expected one`, () => {
    const { consensusState, commitments } = verify(vector);
    assert.equal(
      toHex(grandpaConsensusStateCodec.enc(consensusState)),
      vector.text("expected.new_state.scale"),
    );
    assert.ok(commitments.length > 0);
  });

  Deno.test(`GRANDPA vector ${name}: message, justification and headers keep their bytes`, () => {
    const bytes = vector.text("consensus_message_scale");
    assert.equal(toHex(grandpaMessageCodec.enc(decodeGrandpaMessage(fromHex(bytes)))), bytes);
    const justification = vector.text("inputs.justification");
    const decoded = decodeGrandpaJustification(fromHex(justification));
    assert.equal(toHex(grandpaJustificationCodec.enc(decoded)), justification);
    const target = decodeSubstrateHeader(vector.bytes("inputs.target_header"));
    assert.equal(hashSubstrateHeader(target), vector.text("inputs.target_hash"));
    assert.equal(toHex(substrateHeaderCodec.enc(target)), vector.text("inputs.target_header"));
  });
}

const codes: Readonly<Record<string, string>> = {
  "too-few-votes": "too_few_votes",
  "signed-for-another-set-id": "signature",
  "round-changed": "signature",
  "vote-of-a-stranger": "unknown_voter",
  "vote-twice": "duplicate_vote",
  "header-missing": "ancestry",
  "target-not-highest": "target_mismatch",
  "no-headers": "headers_empty",
  "trailing-bytes": "undecodable_justification",
  "other-branch": "ancestry",
  "votes-on-descendants": "unused_headers",
};

for (const vector of rejected) {
  const name = vector.text("name");
  Deno.test(`GRANDPA vector ${name}: refused as ${codes[name]}`, () => {
    assert.equal(codeOf(() => verify(vector)), codes[name]);
  });
}

/** The vector of the hub's parachain. */
function hubVector(): VectorNode {
  const found = accepted.find((vector) => vector.text("name") === "hub-parachain");
  assert.ok(found);
  return found;
}

Deno.test("the commitment of the hub has its two ISMP roots and its own time", () => {
  const [commitment, ...others] = verify(hubVector()).commitments;
  assert.equal(others.length, 0);
  assert.equal(commitment?.height.id.stateMachine, "POLKADOT-3367");
  assert.notEqual(commitment?.commitment.overlayRoot, undefined);
  assert.ok((commitment?.commitment.timestampSec ?? 0n) > 1_500_000_000n);
});

Deno.test("a message of another kind than the tracked chain's is refused", () => {
  const code = codeOf(() =>
    verify(hubVector(), (message) => {
      assert.ok(message.tag === "Polkadot");
      return { ...message, tag: "Relaychain" };
    })
  );
  assert.equal(code, "wrong_variant");
});

Deno.test("heads that the state root does not prove are refused", () => {
  const withoutLastNode = (message: GrandpaMessage): GrandpaMessage => {
    assert.ok(message.tag === "Polkadot");
    const parachainHeaders = new Map([...message.value.parachainHeaders].map(([hash, proof]) => [
      hash,
      { ...proof, stateProof: proof.stateProof.slice(0, 1) },
    ]));
    return { ...message, value: { ...message.value, parachainHeaders } };
  };
  assert.equal(codeOf(() => verify(hubVector(), withoutLastNode)), "heads_proof");
});

Deno.test("a parachain that the relay chain has no head of is refused", () => {
  const other = (message: GrandpaMessage): GrandpaMessage => {
    assert.ok(message.tag === "Polkadot");
    const parachainHeaders = new Map([...message.value.parachainHeaders].map(([hash, proof]) => [
      hash,
      { ...proof, paraIds: [3367 + 65_536] },
    ]));
    return { ...message, value: { ...message.value, parachainHeaders } };
  };
  assert.match(codeOf(() => verify(hubVector(), other)), /^(parachain_missing|heads_proof)$/);
});

Deno.test("a flipped bit anywhere in a message of GRANDPA is refused or changes nothing that is stored", () => {
  const vector = hubVector();
  const bytes = vector.bytes("consensus_message_scale");
  const trusted = decodeGrandpaState(vector.bytes("trusted_state.scale"));
  const expected = verify(vector);
  for (let at = 0; at < bytes.length; at += 97) {
    const changed = bytes.slice();
    changed[at] = (changed[at] ?? 0) ^ 4;
    try {
      const verified = verifyGrandpaMessage(
        trusted,
        decodeGrandpaMessage(changed),
        viewFor(trusted.stateMachine),
      );
      assert.deepEqual(verified, expected, `byte ${at}`);
    } catch (error) {
      if (!(error instanceof GrandpaError)) throw error;
    }
  }
});

Deno.test("a header without the hub's time takes that of its slot, Aura's or BABE's, and is refused without both", () => {
  const header = decodeSubstrateHeader(hubVector().bytes("inputs.target_header"));
  const aura = { kind: "preRuntime" as const, engine: "aura", data: u64.enc(300_000_000n) };
  const babe = {
    kind: "preRuntime" as const,
    engine: "BABE",
    data: concatBytes(Uint8Array.of(2, 7, 0, 0, 0), u64.enc(300_000_001n), new Uint8Array(96)),
  };
  assert.equal(commitmentOf({ ...header, digest: [aura] }, 6_000n, false).timestampSec, 1_800_000_000n);
  assert.equal(commitmentOf({ ...header, digest: [babe] }, 6_000n, false).timestampSec, 1_800_000_006n);
  assert.equal(codeOf(() => commitmentOf({ ...header, digest: [] }, 6_000n, false)), "timestamp_missing");
});
