import assert from "node:assert/strict";
import { fromHex, toHex } from "../../src/core/encoding/bytes.ts";
import { authoritiesRoot, Validators } from "./validators.ts";
import { decodeAuthorities, verifyNaiveProof } from "../../src/consensus/clients/beefy/spec/verify_proof.ts";
import { buildNaiveProof } from "../../src/consensus/clients/beefy/spec/build_proof.ts";
import {
  authoritySetCodec,
  BEEFY_ENGINE,
  decodeBeefyJustification,
  mmrLeafCodec,
} from "../../src/core/beefy/commitment.ts";
import { decodeNaiveProof, encodeNaiveProof } from "../../src/core/beefy/naive_proof.ts";
import { parachainHeadKey } from "../../src/core/substrate/parachain_heads.ts";
import { decodeSubstrateHeader } from "../../src/core/substrate/header.ts";
import {
  type BeefyClientState,
  decodeBeefyClientState,
  encodeBeefyClientState,
} from "../../src/core/evm/beefy_client_state.ts";
import { toParaId } from "../../src/core/ismp/state_machine.ts";
import { bytes, decodeStrict, hash256, list, Struct, u64 } from "../../src/core/encoding/scale.ts";
import { SubstrateTrie } from "../trie/substrate_trie.ts";
import type { RelayChain } from "../../src/consensus/relay_chain/relay_chain.ts";
import { readVectors, type VectorNode } from "../../tests/consensus/vector_node.ts";
import { decodeVerified, startBeefyRouter } from "../evm/beefy_router.ts";
import { encodeHeader } from "../hub/digest.ts";
import { type Hub, startHub } from "../hub/hub.ts";
import { resultHttp } from "../hub/json_rpc_client.ts";
import { type FactSource, readNaiveFacts } from "./naive_facts.ts";
import { startRelayChain } from "./relay_chain.ts";
import { connectRelay } from "./relay_reader.ts";
import { relayKeys, withSession } from "./relay_state.ts";
import { runAtOnce } from "./run_at_once.ts";

const { signal } = new AbortController();
const storageVectors = await readVectors("beefy-relay-storage.json");
const keyset = await readVectors("beefy-keyset.json");

/** The hub as the head of its para id. */
function headOf(hub: Hub): ReadonlyMap<number, Uint8Array> {
  return new Map([[toParaId(hub.identity.stateMachine), encodeHeader(hub.finalizedHeader)]]);
}

/** Storage as a relay chain runtime has written it. */
function recorded(vector: VectorNode): FactSource {
  const blocks = new Map(vector.list("chain").map((block) => [Number(block.integer("number")), block]));
  const at = (number: number): VectorNode => {
    const block = blocks.get(number);
    assert.ok(block, `no block ${number}`);
    return block;
  };
  return {
    header: (number) => Promise.resolve(decodeSubstrateHeader(at(number).bytes("header"))),
    storage: (key, number) => {
      const { json } = at(number);
      const stored = { ...Object(json).storage, ...Object(json).mmr_nodes }[toHex(key)];
      return Promise.resolve(stored === undefined || stored === null ? undefined : fromHex(String(stored)));
    },
  };
}

/** The simulator over its RPC. */
function served(relay: RelayChain): FactSource {
  return {
    header: async (number) => {
      const hash = await relay.fetchHash(number, signal);
      return (await relay.fetchBlock(hash, signal)).header;
    },
    storage: async (key, number) => {
      const hash = await relay.fetchHash(number, signal);
      return (await relay.fetchStorage([key], hash, signal))[0];
    },
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
    const facts = await readNaiveFacts(recorded(vector), {
      justification: vector.bytes("justification"),
      paraIds: vector.list("para_ids").map(({ json }) => Number(json)),
    });
    const built = runAtOnce(buildNaiveProof(trusted, facts));
    const { relay, parachain } = decodeNaiveProof(vector.bytes("proof"));
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

/** The proof of a block out of what the node serves. */
async function prove(
  relay: RelayChain,
  trusted: BeefyClientState,
  block: number,
  paraIds: readonly number[],
): Promise<Uint8Array> {
  const hash = await relay.fetchHash(block, signal);
  const justification = await relay.fetchJustification(hash, BEEFY_ENGINE, signal);
  assert.ok(justification, `block ${block} has no justification`);
  return encodeNaiveProof(
    runAtOnce(buildNaiveProof(trusted, await readNaiveFacts(served(relay), { justification, paraIds }))),
  );
}

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
    const proof = await prove(relay.chain, trusted, block, [hubPara]);
    const { state, intermediates } = runAtOnce(verifyNaiveProof(trusted, decodeNaiveProof(proof)));
    const outcome = await router.verify(toHex(encodeBeefyClientState(trusted)), toHex(proof));
    assert.equal(outcome.kind, "returned", outcome.data);
    const [newState, heights] = decodeVerified(outcome.data);
    assert.equal(newState, toHex(encodeBeefyClientState(state)));
    // The leaf of a block has the heads that its parent left.
    const stored = await served(relay.chain).storage(parachainHeadKey(hubPara), block - 1);
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

const leafProofCodec = Struct({ leafIndices: list(u64), leafCount: u64, items: list(hash256) });

Deno.test("mmr_generateProof gives the leaf and the items that storage gives", async () => {
  await using node = await startRelayChain({ blockTimeMs: "manual" });
  await using relay = connectRelay(node.wsUrl);
  const trusted = node.beefyState();
  node.produceBlocks(9);
  for (let block = node.beefyFinalized.number - 8; block <= node.beefyFinalized.number; block++) {
    const proof = decodeNaiveProof(await prove(relay.chain, trusted, block, [1002]));
    const answer = Object(
      await resultHttp(node.httpUrl, "mmr_generateProof", [[block], block, node.hash(block)]),
    );
    const [leaf] = decodeStrict(list(bytes), fromHex(String(answer.leaves)), "Leaves");
    assert.ok(leaf);
    assert.deepEqual(decodeStrict(mmrLeafCodec, leaf, "MmrLeaf"), proof.relay.leaf);
    const { leafIndices, leafCount, items } = decodeStrict(
      leafProofCodec,
      fromHex(String(answer.proof)),
      "LeafProof",
    );
    assert.deepEqual(leafIndices, [proof.relay.leafIndex]);
    assert.equal(leafCount, proof.relay.leafIndex + 1n);
    assert.deepEqual(items, proof.relay.mmrProof);
  }
});

Deno.test("a BEEFY justification has as many signatures as are needed", async () => {
  await using node = await startRelayChain({ blockTimeMs: "manual", validators: 10 });
  const justification = decodeBeefyJustification(node.beefyJustification(node.beefyFinalized.number));
  assert.equal(justification.signatures.length, 7);
});
