import assert from "node:assert/strict";
import { concatBytes, type Hash256, toHex } from "../../../../src/core/encoding/bytes.ts";
import { consensusDigestCodec, requestMetadataCodec } from "../../../../src/core/ismp/host_state.ts";
import { type HashAlgorithm, stateMachineProofCodec } from "../../../../src/core/ismp/proof.ts";
import { sr25519PublicKey } from "../../../../src/core/ismp/signed_messages.ts";
import { childTrieKey, childTrieKeys } from "../../../../src/core/ismp/storage_keys.ts";
import { bytes, decodeStrict, list } from "../../../../src/core/encoding/scale.ts";
import { readSubstrateProof } from "../../../../src/core/merkle/substrate_proof.ts";
import { SubstrateTrie } from "../../../../devnet/trie/substrate_trie.ts";
import { Secret } from "../../../../src/core/config/redact.ts";
import { blockHashes, hashOf, headerJson, type Script, scriptChain } from "./scripted_hub.ts";
import { verifySignature } from "../../../../devnet/hub/signatures.ts";
import { faultWith } from "../../../support/rpc_faults.ts";

const { signal } = new AbortController();
const relayer = new Uint8Array(32).fill(7);
const paid = hashOf("paid");
const delivered = hashOf("delivered");
const absent = hashOf("absent");

const metadata = requestMetadataCodec.enc({
  offchain: { leafIndex: 4n, pos: 7n },
  fee: { payer: hashOf("payer"), fee: 1_500_000n },
  claimed: false,
});

/** An ISMP child trie with one fee and one receipt of `signer`. */
function trieOf(hasher: HashAlgorithm, signer: Uint8Array): SubstrateTrie {
  return SubstrateTrie.from({ layout: "V1", hasher }, [
    [childTrieKeys.requestCommitment(paid), metadata],
    [childTrieKeys.requestReceipt(delivered), bytes.enc(signer)],
    [childTrieKeys.requestReceipt(paid), bytes.enc(new Uint8Array(20).fill(1))],
  ]);
}

function ismpDigest(childTrieRoot: Hash256): Uint8Array {
  const data = consensusDigestCodec.enc({ mmrRoot: hashOf("mmr"), childTrieRoot });
  return concatBytes(Uint8Array.of(4), new TextEncoder().encode("ISMP"), bytes.enc(data));
}

function proofAnswer(trie: SubstrateTrie, keys: unknown): unknown {
  assert.ok(Array.isArray(keys));
  const proof = list(bytes).enc(trie.prove(keys.map((key) => Uint8Array.from(key))));
  return { proof: [...proof], height: 9 };
}

/** A node at block 9 with this trie, whose header announces `root`. */
function nodeOf(trie: SubstrateTrie, root: Hash256 = trie.root()): Script {
  const other = concatBytes(Uint8Array.of(6), new TextEncoder().encode("aura"), bytes.enc(new Uint8Array(8)));
  return {
    chain_getBlockHash: blockHashes(9),
    chain_getHeader: () => headerJson(9, [other, ismpDigest(root)]),
    ismp_queryChildTrieProof: (height, keys) => {
      assert.equal(height, 9);
      return proofAnswer(trie, keys);
    },
  };
}

Deno.test("fees: fees are what the child trie says, in one message", async () => {
  const { chain, run, trips } = scriptChain({
    state_getStorage: (key) => key === toHex(childTrieKey("ISMPv2")) ? hashOf("root") : null,
    childstate_getStorageEntries: (trie, keys) => {
      assert.equal(trie, toHex(childTrieKey("ISMPv2")));
      assert.deepEqual(keys, [paid, absent].map((each) => toHex(childTrieKeys.requestCommitment(each))));
      return [toHex(metadata), null];
    },
  }, { hashing: "Blake2" });
  assert.deepEqual(await run(chain.fees.fetchFees([paid, absent], signal)), {
    units: [1_500_000n, undefined],
    decimals: 6,
  });
  trips();
  await run(chain.fees.fetchFees([paid, absent], signal));
  assert.equal(trips(), 1);
  assert.deepEqual((await run(chain.fees.fetchFees([], signal))).units, []);
  assert.equal(trips(), 0);
});

Deno.test("fees: a proof that does not fit the header's root is no proof", async () => {
  const { chain, run } = scriptChain(nodeOf(trieOf("Keccak", relayer), hashOf("another root")));
  await assert.rejects(
    run(chain.proofs.proveReceipts([delivered], { height: 9n }, signal)),
    faultWith("malformed"),
  );
  await assert.rejects(run(chain.proofs.proveFees([paid], { height: 9n }, signal)), faultWith("malformed"));
});

Deno.test("fees: a signature of a later kind in a receipt counts as another relayer, and is named", async () => {
  const later = new Uint8Array(40).fill(9);
  const { chain, run, log } = scriptChain(nodeOf(trieOf("Keccak", later)));
  const { relayers } = await run(chain.proofs.proveReceipts([delivered], { height: 9n }, signal));
  assert.deepEqual(relayers, [later]);
  assert.deepEqual(log.linesOf("unknown_met").map(({ fields }) => fields.what), ["a signature in a receipt"]);
});

Deno.test("fees: a header without ISMP roots is malformed, a height beyond the head is lagging", async () => {
  const { node, chain, run } = scriptChain(nodeOf(trieOf("Keccak", relayer)));
  node.answer("chain_getHeader", () => headerJson(9));
  await assert.rejects(
    run(chain.proofs.proveReceipts([delivered], { height: 9n }, signal)),
    faultWith("malformed"),
  );
  node.answer("chain_getBlockHash", () => null);
  await assert.rejects(
    run(chain.proofs.proveReceipts([delivered], { height: 9n }, signal)),
    faultWith("lagging"),
  );
});

Deno.test("fees: state values are proven at the height asked for, also by the standard method", async () => {
  const key = new Uint8Array(32).fill(2);
  const trie = SubstrateTrie.from({ layout: "V1", hasher: "Keccak" }, [[key, new Uint8Array(40).fill(4)]]);
  const { chain, run, trips } = scriptChain({
    ismp_queryStateProof: (height, keys) => {
      assert.equal(height, 9);
      return proofAnswer(trie, keys);
    },
  });
  const prove = async (): Promise<unknown> => {
    const proof = await run(chain.proofs.proveState([key], { height: 9n }, signal));
    const { storageProof: nodes, hasher } = decodeStrict(stateMachineProofCodec, proof, "Proof");
    return readSubstrateProof({ root: trie.root(), hasher, nodes, keys: [key] }).get(toHex(key));
  };
  assert.deepEqual(await prove(), new Uint8Array(40).fill(4));
  assert.equal(trips(), 1);
  const standard = scriptChain({
    chain_getBlockHash: blockHashes(9),
    state_getReadProof: (keys, at) => {
      assert.equal(at, hashOf("b9"));
      assert.deepEqual(keys, [toHex(key)]);
      return { at, proof: trie.prove([key]).map(toHex) };
    },
  });
  const proof = await standard.run(standard.chain.proofs.proveState([key], { height: 9n }, signal));
  assert.equal(toHex(proof), toHex(await run(chain.proofs.proveState([key], { height: 9n }, signal))));
  await Promise.all([chain.close(), standard.chain.close()]);
});

Deno.test("fees: digests are signed by the key, and without a key there is nothing to sign with", async () => {
  const seed = new Uint8Array(32).fill(5);
  const { chain, run } = scriptChain({}, { signer: new Secret(toHex(seed)) });
  const digest = hashOf("digest");
  const message = { preimage: new Uint8Array(), digest };
  const signature = await run(chain.signMessage(message, signal));
  assert.equal(verifySignature(digest, signature), true);
  assert.ok(signature.tag === "Sr25519");
  assert.deepEqual(signature.value.publicKey, sr25519PublicKey(seed));
  const unsigned = scriptChain({});
  await assert.rejects(unsigned.run(unsigned.chain.signMessage(message, signal)), /no key/);
  await Promise.all([chain.close(), unsigned.chain.close()]);
});
