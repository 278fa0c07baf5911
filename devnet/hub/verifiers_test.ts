/**
 * The hub's own readers of proofs and its own count of votes: on vectors, and beside the relayer's on broken proofs. Two
 * programs that make the same mistake pass; what real chains said is in the vectors.
 */
import assert from "node:assert/strict";
import fc from "fast-check";
import { fromHex, type Hash256, toHash256, toHex } from "../../src/core/encoding/bytes.ts";
import {
  GrandpaError,
  type GrandpaFinalityProof,
  grandpaJustificationCodec,
} from "../../src/consensus/clients/grandpa/spec/message.ts";
import {
  decodeGrandpaMessage,
  decodeGrandpaState,
  verifyFinality,
} from "../../src/consensus/clients/grandpa/spec/verify_message.ts";
import { decodeGrandpaJustification } from "../../src/consensus/clients/grandpa/spec/verify_justification.ts";
import { evmStateProofCodec, type SubstrateEvmProof } from "../../src/core/ismp/proof.ts";
import { bytes, decodeStrict } from "../../src/core/encoding/scale.ts";
import { EvmProofError, readEvmState } from "../../src/core/merkle/evm_proof.ts";
import { readSubstrateEvmState } from "../../src/core/merkle/substrate_evm_proof.ts";
import { TrieError } from "../../src/core/merkle/trie_nodes.ts";
import { readVector, type VectorNode } from "../../tests/consensus/vector_node.ts";
import { EvmSource } from "./deliveries.ts";
import {
  childKey,
  ContractTries,
  eoaRecord,
  recordKey,
  slotKey,
  trieIdOf,
} from "../revive/mirrored_blocks.ts";
import { readContractState } from "./verifiers/substrate_state.ts";
import { readEthereumState } from "./verifiers/ethereum_state.ts";
import { checkFinality } from "./verifiers/grandpa_finality.ts";
import { ClientRefusal, ProofRefusal } from "./verifiers/refusals.ts";
import {
  decodeParachainProof,
  ParachainError,
  type ParachainView as HeadView,
  verifyParachainHead,
} from "../../src/consensus/clients/parachain/spec/parachain_proof.ts";
import { parseStateMachine, toConsensusStateId } from "../../src/core/ismp/state_machine.ts";
import { parachainHeadKey } from "../../src/core/substrate/parachain_heads.ts";
import { SubstrateTrie } from "../trie/substrate_trie.ts";
import { digestItem, encodeHeader } from "./digest.ts";
import { readFollowedHeads } from "./verifiers/parachain_heads.ts";
import { runAtOnce } from "../relay/run_at_once.ts";

Deno.test("the hub's own client of parachains and the relayer's verifier say the same of heads, also of broken ones", () => {
  const vector = readVector("parachain-consensus");
  const { storageProof } = decodeParachainProof(vector.bytes("consensus_proof_scale"));
  const paraId = Number(vector.integer("para_id"));
  const view = {
    chain: parseStateMachine("KUSAMA-4009"),
    consensusStateId: toConsensusStateId("PAS0"),
    coprocessor: parseStateMachine("KUSAMA-4009"),
    relayStateRoot: vector.hash("relay_state_root"),
  };
  const agree = (
    id: number,
    nodes: readonly Uint8Array[],
    change: Partial<Pick<HeadView, "relayStateRoot" | "slotMs">> = {},
  ): unknown => {
    const seen = { ...view, slotMs: 24_000n, ...change };
    const mine = outcomeOf(() => verifyParachainHead({ storageProof: nodes }, id, seen) ?? "refused");
    const hubs = outcomeOf(() => {
      const { slotMs, ...rest } = seen;
      return readFollowedHeads(nodes, { ...rest, paraIds: [id], slotMs: () => slotMs })[0] ?? "refused";
    });
    assert.deepEqual(hubs, mine);
    return hubs;
  };
  assert.notEqual(agree(paraId, storageProof), "refused");
  for (const at of storageProof.keys()) {
    agree(paraId, storageProof.filter((_, index) => index !== at));
    const turned = storageProof.map((node, index) => index === at ? node.map((byte) => byte ^ 1) : node);
    assert.equal(agree(paraId, turned), "refused");
  }
  const key = parachainHeadKey(1000);
  const logs = fc.array(
    fc.record({
      kind: fc.constantFrom("preRuntime", "consensus", "seal"),
      engine: fc.constantFrom("aura", "BABE", "ISTM", "ISMP", "BEEF"),
      data: fc.oneof(fc.uint8Array({ maxLength: 12 }), fc.uint8Array({ minLength: 64, maxLength: 120 })),
    }),
    { maxLength: 4 },
  );
  const slots = fc.option(fc.bigInt(0n, 2n ** 64n - 1n), { nil: undefined });
  fc.assert(fc.property(logs, slots, fc.nat(0xffff_ffff), (items, slotMs, number) => {
    const root = toHash256(new Uint8Array(32).fill(3));
    const digest = items.map(({ kind, engine, data }) => digestItem(kind, engine, data));
    const header = encodeHeader({ parentHash: root, number, stateRoot: root, extrinsicsRoot: root, digest });
    for (const [id, head] of [[1000, header], [1000, header.slice(0, -1)], [paraId, header]] as const) {
      const where = id === 1000 ? key : parachainHeadKey(id);
      const state = SubstrateTrie.empty({ layout: "V1", hasher: "Blake2" }).set(where, bytes.enc(head));
      agree(id, state.prove([where]), { relayStateRoot: state.root(), slotMs });
    }
  }));
});

/** What a reader makes of something; refusals are alike, whatever their names. */
function outcomeOf(read: () => unknown): unknown {
  try {
    return read();
  } catch (error) {
    const isRefusal = error instanceof ProofRefusal || error instanceof ClientRefusal ||
      error instanceof GrandpaError || error instanceof EvmProofError || error instanceof TrieError ||
      error instanceof ParachainError;
    if (!isRefusal) throw error;
    return "refused";
  }
}

const accepted = readVector("grandpa-accepted").list("cases");

function finalityIn(vector: VectorNode): GrandpaFinalityProof {
  return decodeGrandpaMessage(vector.bytes("consensus_message_scale")).value.finalityProof;
}

Deno.test("the hub's own GRANDPA client and the relayer's verifier say the same of changed proofs", () => {
  const [vector] = accepted;
  assert.ok(vector);
  const trusted = decodeGrandpaState(vector.bytes("trusted_state.scale"));
  const proof = finalityIn(vector);
  const agree = (changed: GrandpaFinalityProof, state = trusted): void =>
    assert.deepEqual(
      outcomeOf(() => checkFinality(state, changed)),
      outcomeOf(() => runAtOnce(verifyFinality(state, changed))),
    );
  const decoded = decodeGrandpaJustification(proof.justification);
  for (const by of [-1, 0, 1]) {
    const commit = { ...decoded.commit, targetNumber: decoded.commit.targetNumber + by };
    const justification = grandpaJustificationCodec.enc({ ...decoded, commit });
    agree({ ...proof, justification });
    assert.equal(
      outcomeOf(() => checkFinality(trusted, { ...proof, justification })) === "refused",
      by !== 0,
    );
  }
  const { currentAuthorities } = trusted;
  agree(proof, {
    ...trusted,
    currentAuthorities: currentAuthorities.map((each) => ({ ...each, weight: 0n })),
  });
  agree(proof, { ...trusted, currentAuthorities: [...currentAuthorities, ...currentAuthorities] });
  agree(proof, { ...trusted, currentAuthorities: currentAuthorities.slice(2) });
  fc.assert(
    fc.property(fc.nat(proof.justification.length - 1), fc.integer({ min: 1, max: 255 }), (at, bits) => {
      const justification = proof.justification.slice();
      justification[at] = (justification[at] ?? 0) ^ bits;
      agree({ ...proof, justification });
    }),
    { seed: 11, numRuns: 60 },
  );
});

const host = new Uint8Array(20).fill(5);
const slot = (at: number): Hash256 => toHash256(new Uint8Array(32).fill(at));

Deno.test("the hub's own rules for state of Ethereum and the relayer's say the same of whole and of broken proofs", async () => {
  const filled = Array.from({ length: 40 }, (_, at) => [slot(at), BigInt(at * 1000)] as const);
  const source = await EvmSource.storing(host, filled);
  const asked = [slot(7), slot(39), slot(0), slot(200)];
  const proof = decodeStrict(evmStateProofCodec, await source.proveSlots(asked), "EvmStateProof");
  const { stateRoot } = source;
  const keys = asked.map(fromHex);
  const values = readEthereumState({ stateRoot, host, proof, keys });
  assert.deepEqual([...values.values()].map((value) => value === undefined), [false, false, true, true]);
  const agree = (changed: typeof proof): unknown => {
    const own = outcomeOf(() => [...readEthereumState({ stateRoot, host, proof: changed, keys })]);
    assert.deepEqual(own, outcomeOf(() => [...readEvmState({ stateRoot, host, proof: changed, keys })]));
    return own;
  };
  assert.notEqual(agree(proof), "refused");
  assert.equal(agree({ ...proof, storageProof: new Map() }), "refused");
  const storage = [...proof.storageProof.values()].flat();
  const withStorage = (nodes: readonly Uint8Array[]): typeof proof => ({
    ...proof,
    storageProof: new Map([[toHex(host), nodes]]),
  });
  for (const at of storage.keys()) assert.equal(agree(withStorage(storage.toSpliced(at, 1))), "refused");
  for (const at of proof.contractProof.keys()) {
    assert.equal(agree({ ...proof, contractProof: proof.contractProof.toSpliced(at, 1) }), "refused");
  }
});

Deno.test("the hub's own rules for contracts and the relayer's say the same of whole and of broken proofs", () => {
  const [contract, other] = [toHex(host), `0x${"06".repeat(20)}`] as const;
  const storage = new Map(Array.from({ length: 40 }, (_, at) => [slot(at), BigInt(at * 1000)] as const));
  const tries = ContractTries.empty().put(recordKey(`0x${"07".repeat(20)}`), eoaRecord)
    .change(new Map([[contract, storage], [other, new Map([[slot(1), 1n]])]]));
  const asked = [slot(7), slot(39), slot(0), slot(200)];
  const keys = asked.map(fromHex);
  const proof: SubstrateEvmProof = {
    mainProof: tries.main.prove([recordKey(contract), childKey(trieIdOf(contract))]),
    storageProof: new Map([[contract, tries.proveChild(childKey(trieIdOf(contract)), asked.map(slotKey))]]),
  };
  const question = { stateRoot: tries.root, host, proof };
  const values = readContractState(question, keys);
  assert.deepEqual([...values.values()].map((value) => value === undefined), [false, false, true, true]);
  const agree = (changed: SubstrateEvmProof, wanted = keys): unknown => {
    const own = outcomeOf(() => [...readContractState({ ...question, proof: changed }, wanted)]);
    const relayers = outcomeOf(() => [
      ...readSubstrateEvmState({ ...question, proof: changed, keys: wanted }),
    ]);
    assert.deepEqual(own, relayers);
    return own;
  };
  assert.notEqual(agree(proof), "refused");
  assert.equal(agree({ ...proof, storageProof: new Map() }), "refused");
  assert.equal(agree(proof, [host]), "refused");
  assert.equal(agree(proof, [...keys, ...keys]), "refused");
  for (const contracts of [other, `0x${"07".repeat(20)}`, `0x${"08".repeat(20)}`]) {
    assert.equal(agree(proof, [fromHex(`${contracts}${slot(1).slice(2)}`)]), "refused");
  }
  const nodes = [...proof.storageProof.values()].flat();
  for (const at of nodes.keys()) {
    const storageProof = new Map([[contract, nodes.toSpliced(at, 1)]]);
    assert.equal(agree({ ...proof, storageProof }), "refused");
  }
  for (const at of proof.mainProof.keys()) {
    assert.equal(agree({ ...proof, mainProof: proof.mainProof.toSpliced(at, 1) }), "refused");
  }
});
