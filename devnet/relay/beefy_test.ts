import assert from "node:assert/strict";
import { fromHex, toHex } from "../../src/core/encoding/bytes.ts";
import { authoritiesRoot, Validators } from "./validators.ts";
import { decodeAuthorities, verifyNaiveProof } from "../../src/consensus/clients/beefy/spec/verify_proof.ts";
import { buildNaiveProof } from "../../src/consensus/clients/beefy/spec/build_proof.ts";
import {
  authoritySetCodec,
  decodeBeefyJustification,
  mmrLeafCodec,
} from "../../src/core/beefy/commitment.ts";
import { type ProofReads, readNaiveProofInput } from "../../src/consensus/clients/beefy/naive_proof_input.ts";
import { leafProofCodec } from "../../src/consensus/clients/beefy/spec/relay_storage.ts";
import { decodeNaiveProof, encodeNaiveProof } from "../../src/core/beefy/naive_proof.ts";
import { parachainHeadKey } from "../../src/core/substrate/parachain_heads.ts";
import { decodeSubstrateHeader } from "../../src/core/substrate/header.ts";
import {
  type BeefyClientState,
  decodeBeefyClientState,
  encodeBeefyClientState,
} from "../../src/core/evm/beefy_client_state.ts";
import { toParaId } from "../../src/core/ismp/state_machine.ts";
import { bytes, decodeStrict, list, u64 } from "../../src/core/encoding/scale.ts";
import { SubstrateTrie } from "../trie/substrate_trie.ts";
import { readVector, type VectorNode } from "../../tests/consensus/vector_node.ts";
import { decodeVerified, startBeefyRouter } from "../evm/beefy_router.ts";
import { encodeHeader } from "../hub/digest.ts";
import { type Hub, startHub } from "../hub/hub.ts";
import { startRelayChain } from "./relay_chain.ts";
import { connectRelay, readProofInput } from "./relay_reader.ts";
import { relayKeys, withSession } from "./relay_state.ts";
import { runAtOnce } from "./run_at_once.ts";

const { signal } = new AbortController();
const storageVectors = readVector("beefy-relay-storage");
const keyset = readVector("beefy-keyset");

/** The hub as the head of its para id. */
function headOf(hub: Hub): ReadonlyMap<number, Uint8Array> {
  return new Map([[toParaId(hub.identity.stateMachine), encodeHeader(hub.finalizedHeader)]]);
}

/** Storage as a relay chain runtime has written it, and a node that proves the leaf of the vector. */
function recorded(vector: VectorNode): ProofReads["relay"] {
  const { leaf, leafIndex, mmrProof: items } = decodeNaiveProof(vector.bytes("proof")).relay;
  return {
    fetchKeys: () => Promise.resolve([]),
    fetchStorage: (keys, hash) => {
      const block = vector.list("chain").find((each) => each.text("hash") === hash);
      assert.ok(block, `no block ${hash}`);
      const { storage } = Object(block.json);
      return Promise.resolve(keys.map((key) => storage[toHex(key)] && fromHex(storage[toHex(key)])));
    },
    fetchMmrProof: () =>
      Promise.resolve({
        leaves: list(bytes).enc([mmrLeafCodec.enc(leaf)]),
        proof: leafProofCodec.enc({ leafIndices: [leafIndex], leafCount: leafIndex + 1n, items }),
      }),
  };
}

Deno.test("the keys of the relay chain simulator are those of a runtime's storage", () => {
  const names = Object(storageVectors.at("storage_names").json);
  const found = {
    "Beefy.Authorities": relayKeys.beefyAuthorities,
    "Beefy.ValidatorSetId": relayKeys.beefySetId,
    "BeefyMmrLeaf.BeefyAuthorities": relayKeys.beefySet,
    "BeefyMmrLeaf.BeefyNextAuthorities": relayKeys.beefyNextSet,
    "Mmr.NumberOfLeaves": relayKeys.mmrLeafCount,
    "Mmr.RootHash": relayKeys.mmrRoot,
    "Mmr.Nodes prefix": relayKeys.mmrNode(0n).subarray(0, 32),
    "Paras.Parachains": relayKeys.parachains,
  };
  const keys = Object.entries(found).map(([name, key]) => [toHex(key), name]);
  assert.deepEqual(Object.fromEntries(keys), names);
});

for (const [index, vector] of storageVectors.list("cases").entries()) {
  Deno.test(`a proof from the storage of a relay chain runtime, read as from the simulator: case ${index}`, async () => {
    const trusted = decodeBeefyClientState(vector.bytes("trusted_state_abi"));
    assert.ok(trusted);
    const { relay, parachain } = decodeNaiveProof(vector.bytes("proof"));
    const blocks = vector.list("chain").map((each) => ({
      header: decodeSubstrateHeader(each.bytes("header")),
      hash: each.hash("hash"),
    }));
    const block = blocks.find(({ header }) => header.number === relay.commitment.blockNumber);
    assert.ok(block);
    const facts = await readNaiveProofInput({
      relay: recorded(vector),
      paraIds: vector.list("para_ids").map(({ json }) => Number(json)),
      batchSize: 100,
    }, {
      block,
      justification: decodeBeefyJustification(vector.bytes("justification")),
      leafCount: relay.leafIndex + 1n,
    }, signal);
    const built = runAtOnce(buildNaiveProof(trusted, facts));
    assert.deepEqual(built.parachain, parachain);
    assert.deepEqual(built.relay.leaf, relay.leaf);
    assert.deepEqual(built.relay.mmrProof, relay.mmrProof);
    const { state } = runAtOnce(verifyNaiveProof(trusted, built));
    assert.equal(toHex(encodeBeefyClientState(state)), vector.text("expected.new_state_abi"));
  });
}

Deno.test("sets are stored as a relay chain's genesis stores them", () => {
  const validators = new Validators(4);
  const state = withSession(
    SubstrateTrie.empty({ layout: "V1", hasher: "Blake2" }),
    validators.set(0),
    validators.set(1),
  );
  const read = (key: Uint8Array): Uint8Array => {
    const value = state.get(key);
    assert.ok(value);
    return value;
  };
  const keys = decodeAuthorities(read(relayKeys.beefyAuthorities));
  assert.equal(read(relayKeys.beefyAuthorities).length, keyset.bytes("beefy_authorities").length);
  assert.equal(read(relayKeys.beefySet).length, keyset.bytes("beefy_authority_set").length);
  const set = decodeStrict(authoritySetCodec, read(relayKeys.beefySet), "AuthoritySet");
  assert.deepEqual(set, {
    id: decodeStrict(u64, read(relayKeys.beefySetId), "SetId"),
    length: 4,
    root: authoritiesRoot(keys),
  });
  const next = decodeStrict(authoritySetCodec, read(relayKeys.beefyNextSet), "AuthoritySet");
  assert.equal(next.id, set.id + 1n);
  assert.notEqual(next.root, set.root);
});

Deno.test("naive proofs of the simulator's blocks: our verifier and the contract follow three changes of the set", async () => {
  await using hub = await startHub({ blockTimeMs: "manual" });
  // Payloads with a second entry, and a member whose key is none: both are in what is signed and proved.
  await using node = await startRelayChain({
    blockTimeMs: "manual",
    validators: 7,
    brokenBeefyKeys: [2],
    beefyPayload: [{ id: "id", data: Uint8Array.of(1, 2, 3) }],
    heads: () => headOf(hub),
  });
  await using router = await startBeefyRouter();
  await using relay = connectRelay(node.wsUrl);
  const hubPara = toParaId(hub.identity.stateMachine);
  const follow = async (trusted: BeefyClientState, block: number): Promise<BeefyClientState> => {
    const facts = await readProofInput(node, relay.chain, block, [hubPara]);
    const proof = encodeNaiveProof(runAtOnce(buildNaiveProof(trusted, facts)));
    const { state, intermediates } = runAtOnce(verifyNaiveProof(trusted, decodeNaiveProof(proof)));
    const outcome = await router.verify(toHex(encodeBeefyClientState(trusted)), toHex(proof));
    assert.equal(outcome.kind, "returned", outcome.data);
    const [newState, heights] = decodeVerified(outcome.data);
    assert.equal(newState, toHex(encodeBeefyClientState(state)));
    // The leaf of a block has the heads that its parent left.
    const [stored] = await relay.chain.fetchStorage(
      [parachainHeadKey(hubPara)],
      node.hash(block - 1),
      signal,
    );
    assert.ok(stored);
    const head = decodeSubstrateHeader(decodeStrict(bytes, stored, "HeadData"));
    assert.deepEqual(intermediates.map(({ height }) => height), [BigInt(head.number)]);
    assert.deepEqual(heights.map(({ height }) => height), [BigInt(head.number)]);
    return state;
  };
  let trusted = node.beefyState();
  for (let change = 0; change < 3; change++) {
    hub.produceBlock();
    hub.produceBlock();
    node.produceBlocks(1 + change);
    const first = node.rotate().number;
    node.produceBlocks(4);
    trusted = await follow(trusted, first);
    assert.deepEqual(trusted, node.beefyState(first));
    trusted = await follow(trusted, node.beefyFinalized.number);
  }
  assert.deepEqual(trusted, node.beefyState());
  assert.equal(node.session.index, 3);
});

Deno.test("a BEEFY justification has as many signatures as are needed", async () => {
  await using node = await startRelayChain({ blockTimeMs: "manual", validators: 10 });
  const justification = decodeBeefyJustification(node.beefyJustification(node.beefyFinalized.number));
  assert.equal(justification.signatures.length, 7);
});
