import assert from "node:assert/strict";
import { concatBytes, fromHex, toHash256, toHex } from "../../../../../src/core/encoding/bytes.ts";
import {
  forcesChange,
  grandpaAuthoritiesCodec,
  type GrandpaConsensusState,
  grandpaConsensusStateCodec,
  GrandpaError,
  type GrandpaFinalityProof,
  grandpaJustificationCodec,
  type GrandpaMessage,
  grandpaMessageCodec,
  scheduledAuthorities,
} from "../../../../../src/consensus/clients/grandpa/spec/message.ts";
import { decodeStrict, u32, u64 } from "../../../../../src/core/encoding/scale.ts";
import {
  commitmentOf,
  decodeGrandpaMessage,
  decodeGrandpaState,
  type GrandpaView,
  type VerifiedGrandpaMessage,
  verifyCommitments,
  verifyFinality,
} from "../../../../../src/consensus/clients/grandpa/spec/verify_message.ts";
import { decodeGrandpaJustification } from "../../../../../src/consensus/clients/grandpa/spec/verify_justification.ts";
import {
  decodeSubstrateHeader,
  type DigestItem,
  hashSubstrateHeader,
  substrateHeaderCodec,
} from "../../../../../src/core/substrate/header.ts";
import {
  parseStateMachine,
  type StateCommitment,
  type StateMachine,
  stateMachineParts,
  toConsensusStateId,
} from "../../../../../src/core/ismp/state_machine.ts";
import { readVector, type VectorNode } from "../../../vector_node.ts";
import { runAtOnce } from "../../../../../devnet/relay/run_at_once.ts";
import { verdictOf } from "../../../../support/verdict.ts";

const accepted = readVector("grandpa-accepted").list("cases");
const rejected = readVector("grandpa-rejected").list("cases");

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

function verifyMessage(trusted: GrandpaConsensusState, message: GrandpaMessage): VerifiedGrandpaMessage {
  const finality = runAtOnce(verifyFinality(trusted, message.value.finalityProof));
  return verifyCommitments(trusted, { message, finality: finality }, viewFor(trusted.stateMachine));
}

function verify(
  vector: VectorNode,
  change = (message: GrandpaMessage): GrandpaMessage => message,
): VerifiedGrandpaMessage {
  const trusted = decodeGrandpaState(vector.bytes("trusted_state.scale"));
  const message = change(decodeGrandpaMessage(vector.bytes("consensus_message_scale")));
  return verifyMessage(trusted, message);
}

const codeOf = (run: () => unknown): string => verdictOf(GrandpaError, run);

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
  "votes-on-descendants": "votes_differ",
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

type HeadsProof = Extract<GrandpaMessage, { tag: "Polkadot" }>["value"]["parachainHeaders"] extends
  ReadonlyMap<unknown, infer Proof> ? Proof : never;

/** The verdict about the hub's message with other proofs of heads. */
const headsCode = (change: (proof: HeadsProof) => Partial<HeadsProof>): string =>
  codeOf(() =>
    verify(hubVector(), (message) => {
      assert.ok(message.tag === "Polkadot");
      const changed = [...message.value.parachainHeaders].map(([hash, proof]) =>
        [hash, { ...proof, ...change(proof) }] as const
      );
      return { ...message, value: { ...message.value, parachainHeaders: new Map(changed) } };
    })
  );

Deno.test("heads that the state root does not prove, or that the relay chain does not have, are refused", () => {
  assert.equal(headsCode(() => ({})), "accepted");
  assert.equal(headsCode(({ stateProof }) => ({ stateProof: stateProof.slice(0, 1) })), "heads_proof");
  assert.match(headsCode(() => ({ paraIds: [3367 + 65_536] })), /^(parachain_missing|heads_proof)$/);
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
      const verified = verifyMessage(trusted, decodeGrandpaMessage(changed));
      assert.deepEqual(verified, expected, `byte ${at}`);
    } catch (error) {
      if (!(error instanceof GrandpaError)) throw error;
    }
  }
});

Deno.test("a justification that names another number than its votes' is refused", () => {
  const renumbered = (by: number) => (message: GrandpaMessage): GrandpaMessage => {
    assert.ok(message.tag === "Polkadot");
    const { finalityProof } = message.value;
    const told = decodeGrandpaJustification(finalityProof.justification);
    const commit = { ...told.commit, targetNumber: told.commit.targetNumber + by };
    const justification = grandpaJustificationCodec.enc({ ...told, commit });
    return { ...message, value: { ...message.value, finalityProof: { ...finalityProof, justification } } };
  };
  assert.equal(codeOf(() => verify(hubVector(), renumbered(1))), "target_not_final");
  assert.equal(codeOf(() => verify(hubVector(), renumbered(-1))), "target_not_final");
  assert.equal(codeOf(() => verify(hubVector(), renumbered(0))), "accepted");
});

Deno.test("a header without the hub's time takes that of its slot, Aura's or BABE's, and is refused without both", () => {
  const header = decodeSubstrateHeader(hubVector().bytes("inputs.target_header"));
  const time = (...digest: readonly DigestItem[]): bigint =>
    commitmentOf({ ...header, digest }, 6_000n, false).timestampSec;
  assert.equal(time(aura(300_000_000n)), 1_800_000_000n);
  assert.equal(time(babe(2, 300_000_001n)), 1_800_000_006n);
  assert.equal(time(babe(1, 300_000_001n, 96)), 1_800_000_006n);
  assert.equal(time(babe(3, 300_000_001n, 96)), 1_800_000_006n);
  assert.equal(time(aura(2n ** 64n - 1n)), (2n ** 64n - 1n) / 1000n);
  assert.equal(codeOf(() => time()), "timestamp_missing");
});

Deno.test("of announcements that stand twice in a header the last counts, and none may be unreadable", () => {
  const header = decodeSubstrateHeader(hubVector().bytes("inputs.target_header"));
  const commitment = (...digest: readonly DigestItem[]): StateCommitment =>
    commitmentOf({ ...header, digest }, 6_000n, true);
  const roots = (fill: number): DigestItem => consensus("ISMP", new Uint8Array(64).fill(fill));
  const told = (timestampSec: bigint): DigestItem => consensus("ISTM", u64.enc(timestampSec));
  assert.equal(commitment(told(5n), told(6n)).timestampSec, 6n);
  assert.equal(commitment(told(5n), roots(1), roots(2)).stateRoot, toHex(new Uint8Array(32).fill(2)));
  assert.equal(commitment(aura(300_000_000n), babe(2, 300_000_001n)).timestampSec, 1_800_000_006n);
  assert.equal(commitment(babe(2, 300_000_001n), aura(300_000_000n)).timestampSec, 1_800_000_000n);
  assert.equal(commitment(consensus("ISTM", concatBytes(u64.enc(7n), Uint8Array.of(1)))).timestampSec, 7n);
  const unreadable = [
    consensus("ISTM", Uint8Array.of(1)),
    consensus("ISMP", new Uint8Array(63)),
    babe(4, 1n),
  ];
  for (const item of [...unreadable, babe(1, 1n), babe(2, 1n, -1)]) {
    assert.equal(codeOf(() => commitment(item, told(5n), roots(1))), "undecodable_header");
  }
});

function consensus(engine: string, data: Uint8Array): DigestItem {
  return { kind: "consensus", engine, data };
}

function aura(slot: bigint): DigestItem {
  return { kind: "preRuntime", engine: "aura", data: u64.enc(slot) };
}

/** `PreDigest` of paritytech/polkadot-sdk: substrate/primitives/consensus/babe/src/digests.rs. @param more bytes after the slot. */
function babe(variant: number, slot: bigint, more = 0): DigestItem {
  const place = concatBytes(Uint8Array.of(variant, 7, 0, 0, 0), u64.enc(slot));
  const data = more < 0 ? place.slice(0, more) : concatBytes(place, new Uint8Array(more));
  return { kind: "preRuntime", engine: "BABE", data };
}

const recorded = readVector("real/grandpa-bittensor");
const lastOfSet = decodeSubstrateHeader(recorded.bytes("header"));
const handover: GrandpaFinalityProof = {
  block: recorded.hash("hash"),
  justification: recorded.bytes("justification"),
  unknownHeaders: [lastOfSet],
};
const before: GrandpaConsensusState = {
  currentAuthorities: decodeStrict(grandpaAuthoritiesCodec, recorded.bytes("authorities"), "authorities"),
  currentSetId: recorded.integer("set_id"),
  latestHeight: lastOfSet.number - 1,
  latestHash: lastOfSet.parentHash,
  slotDurationMs: 12_000n,
  stateMachine: parseStateMachine("SUBSTRATE-bitt"),
};

/** The verdict about the recorded handover, or about a changed one. */
const finalityOf = (
  state: Partial<GrandpaConsensusState>,
  change: Partial<GrandpaFinalityProof> = {},
): string => codeOf(() => runAtOnce(verifyFinality({ ...before, ...state }, { ...handover, ...change })));

Deno.test("Bittensor, 2026: fourteen of twenty voters finalize the block that hands over to the next set", () => {
  assert.equal(hashSubstrateHeader(lastOfSet), recorded.text("hash"));
  const { commit, votesAncestries } = decodeGrandpaJustification(handover.justification);
  assert.deepEqual([before.currentAuthorities.length, commit.precommits.length], [20, 14]);
  assert.deepEqual(votesAncestries, []);
  const after = runAtOnce(verifyFinality(before, handover)).consensusState;
  const idsOf = (state: typeof after): Set<string> => new Set(state.currentAuthorities.map(({ id }) => id));
  assert.deepEqual([after.currentSetId, idsOf(after).size, idsOf(before).intersection(idsOf(after)).size], [
    6n,
    20,
    10,
  ]);
  assert.deepEqual([after.latestHeight, after.latestHash], [lastOfSet.number, handover.block]);
  assert.equal(finalityOf({ currentAuthorities: after.currentAuthorities }), "unknown_voter");
});

const authorities = [{ id: toHash256(new Uint8Array(32).fill(7)), weight: 1n }];
const change = concatBytes(grandpaAuthoritiesCodec.enc(authorities), u32.enc(0));

function item(index: number, data: Uint8Array, engine = "FRNK"): DigestItem {
  return { kind: "consensus", engine, data: concatBytes(Uint8Array.of(index), data) };
}

/** `ConsensusLog` of paritytech/polkadot-sdk: substrate/primitives/consensus/grandpa/src/lib.rs. */
const scheduled = item(1, change);
const forced = item(2, concatBytes(u32.enc(9), change));
const disabled = item(3, u64.enc(4n));

Deno.test("a scheduled change of the set is found behind what else GRANDPA announces in the same block", () => {
  assert.deepEqual(scheduledAuthorities({ digest: [scheduled] }), authorities);
  assert.deepEqual(scheduledAuthorities({ digest: [disabled, scheduled] }), authorities);
  assert.deepEqual(
    scheduledAuthorities({ digest: [item(1, change, "BABE"), forced, scheduled] }),
    authorities,
  );
});

Deno.test("forced changes, disabled voters and other engines change no set that clients follow", () => {
  const seal: DigestItem = { kind: "seal", engine: "FRNK", data: concatBytes(Uint8Array.of(1), change) };
  assert.equal(scheduledAuthorities({ digest: [] }), undefined);
  assert.equal(
    scheduledAuthorities({ digest: [disabled, forced, seal, item(1, change, "BEEF")] }),
    undefined,
  );
});

Deno.test("of changes that stand twice in a block the first counts; what GRANDPA does not write is skipped", () => {
  const others = [{ id: toHash256(new Uint8Array(32).fill(9)), weight: 4n }];
  const later = item(1, concatBytes(grandpaAuthoritiesCodec.enc(others), u32.enc(0)));
  const broken = item(1, Uint8Array.of(4));
  assert.deepEqual(scheduledAuthorities({ digest: [scheduled, later] }), authorities);
  assert.deepEqual(scheduledAuthorities({ digest: [broken, later, scheduled] }), others);
  assert.equal(scheduledAuthorities({ digest: [broken, item(1, new Uint8Array())] }), undefined);
  const longer = item(1, concatBytes(change, Uint8Array.of(1, 2, 3)));
  assert.deepEqual(scheduledAuthorities({ digest: [longer, later] }), authorities);
});

Deno.test("a forced change is found among what else stands in the digest, and nothing else is taken for one", () => {
  assert.equal(forcesChange({ digest: [disabled, forced] }), true);
  assert.equal(
    forcesChange({ digest: [scheduled, disabled, item(2, change, "BEEF"), item(2, change, "BABE")] }),
    false,
  );
  assert.equal(forcesChange({ digest: [item(2, Uint8Array.of(1, 2))] }), false);
  assert.equal(forcesChange({ digest: [{ kind: "seal", engine: "FRNK", data: Uint8Array.of(2) }] }), false);
});
