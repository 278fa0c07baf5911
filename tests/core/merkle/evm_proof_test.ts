import assert from "node:assert/strict";
import { createMerkleProof, createMPT } from "@ethereumjs/mpt";
import { RLP } from "@ethereumjs/rlp";
import fc from "fast-check";
import type { Hash256, Hex } from "../../../src/core/encoding/bytes.ts";
import { concatBytes, fromHex, keccak256, toHash256, toHex } from "../../../src/core/encoding/bytes.ts";
import { type EvmStateProof, evmStateProofCodec } from "../../../src/core/ismp/proof.ts";
import {
  buildEvmStateProof,
  EvmProofError,
  type EvmProofErrorCode,
  readAccountRoot,
  readEvmState,
} from "../../../src/core/merkle/evm_proof.ts";
import { TrieError, type TrieErrorCode, TrieNodes } from "../../../src/core/merkle/trie_nodes.ts";
import { EMPTY_NODE, EMPTY_ROOT, readPatricia } from "../../../src/core/merkle/patricia.ts";
import vectors from "../../vectors/evm-storage-proofs.json" with { type: "json" };

type Vector = (typeof vectors.proofs)[number];

function answerOf(vector: Vector): Parameters<typeof buildEvmStateProof>[0][number] {
  return { address: vector.host, ...vector.eth_getProof };
}

function proofOf(vector: Vector): EvmStateProof {
  return buildEvmStateProof([answerOf(vector)]);
}

function readAll(vector: Vector, proof: EvmStateProof, stateRoot = vector.state_root): (Hex | null)[] {
  const keys = vector.keys.map(({ slot_key }) => fromHex(slot_key));
  const host = fromHex(vector.host);
  const values = readEvmState({ stateRoot: toHash256(stateRoot), host, proof, keys });
  return keys.map((key) => {
    const value = values.get(toHex(key));
    return value === undefined ? null : toHex(value);
  });
}

function refuses(code: EvmProofErrorCode, action: () => unknown, cause?: TrieErrorCode): void {
  assert.throws(action, (error) => {
    assert(error instanceof EvmProofError);
    assert.equal(error.code, code);
    if (cause !== undefined) {
      assert(error.cause instanceof TrieError);
      assert.equal(error.cause.code, cause);
    }
    return true;
  });
}

function refusesTrie(code: TrieErrorCode, action: () => unknown): void {
  assert.throws(action, (error) => error instanceof TrieError && error.code === code);
}

/** Each way to spoil one node of a list: last bit flipped, cut by a byte, dropped. */
function spoiled(nodes: readonly Uint8Array[]): Uint8Array[][] {
  return nodes.flatMap((node, at) => [
    nodes.with(at, node.with(node.length - 1, (node.at(-1) ?? 0) ^ 1)),
    nodes.with(at, node.subarray(0, -1)),
    nodes.toSpliced(at, 1),
  ]);
}

Deno.test("EVM proof: all 7 eth_getProof answers are packed into the expected state proof", () => {
  assert.equal(vectors.proofs.length, 7);
  for (const vector of vectors.proofs) {
    const proof = proofOf(vector);
    assert.deepEqual(proof.contractProof.map(toHex), vector.evm_state_proof.contract_proof);
    assert.deepEqual(
      Object.fromEntries([...proof.storageProof].map(([address, nodes]) => [address, nodes.map(toHex)])),
      vector.evm_state_proof.storage_proof,
    );
    assert.equal(toHex(evmStateProofCodec.enc(proof)), vector.evm_state_proof_scale);
  }
});

Deno.test("EVM proof: all 7 state proofs show the value or the absence of every key", () => {
  for (const vector of vectors.proofs) {
    assert.deepEqual(readAll(vector, proofOf(vector)), vector.keys.map(({ trie_value }) => trie_value));
  }
});

Deno.test("EVM proof: every changed, cut or dropped node and every wrong root is refused", () => {
  for (const vector of vectors.proofs) {
    const proof = proofOf(vector);
    for (const contractProof of spoiled(proof.contractProof)) {
      refuses("invalid_account_proof", () => readAll(vector, { ...proof, contractProof }));
    }
    for (const [address, nodes] of proof.storageProof) {
      for (const storage of spoiled(nodes)) {
        const storageProof = new Map([[address, storage]]);
        refuses("storage_unreadable", () => readAll(vector, { ...proof, storageProof }));
      }
    }
    const root = toHash256(keccak256(fromHex(vector.state_root)));
    refuses("invalid_account_proof", () => readAll(vector, proof, root), "missing_root");
    refuses("incomplete_storage_proof", () => readAll(vector, { ...proof, storageProof: new Map() }));
  }
});

Deno.test("EVM proof: node order, repetitions and unused nodes do not matter", () => {
  for (const vector of vectors.proofs) {
    const { contractProof, storageProof } = proofOf(vector);
    const shuffle = (nodes: readonly Uint8Array[]): Uint8Array[] => [
      ...nodes.toReversed(),
      ...nodes,
      Uint8Array.of(1, 2, 3),
    ];
    const proof = {
      contractProof: shuffle(contractProof),
      storageProof: new Map([...storageProof].map(([address, nodes]) => [address, shuffle(nodes)])),
    };
    assert.deepEqual(readAll(vector, proof), readAll(vector, proofOf(vector)));
  }
});

/** A state trie with these contracts, made by @ethereumjs/mpt, and its eth_getProof answers. */
async function makeChain(
  contracts: readonly { address: Uint8Array; slots: readonly (readonly [Uint8Array, Uint8Array])[] }[],
): Promise<{
  stateRoot: Hash256;
  answer: (
    address: Uint8Array,
    keys: readonly Uint8Array[],
  ) => Promise<Parameters<typeof buildEvmStateProof>[0][number]>;
}> {
  const state = await createMPT({ useKeyHashing: true });
  const storages = new Map<string, Awaited<ReturnType<typeof createMPT>>>();
  for (const { address, slots } of contracts) {
    const storage = await createMPT({ useKeyHashing: true });
    for (const [slot, value] of slots) await storage.put(slot, RLP.encode(value));
    storages.set(toHex(address), storage);
    await state.put(address, RLP.encode([1n, 2n ** 70n, storage.root(), keccak256(address)]));
  }
  return {
    stateRoot: toHash256(state.root()),
    answer: async (address, keys) => {
      const storage = storages.get(toHex(address)) ?? await createMPT({ useKeyHashing: true });
      const storageProof = [];
      for (const key of keys) {
        storageProof.push({ proof: (await createMerkleProof(storage, key)).map(toHex) });
      }
      return {
        address: toHex(address),
        accountProof: (await createMerkleProof(state, address)).map(toHex),
        storageHash: toHex(storage.root()),
        storageProof,
      };
    },
  };
}

const addressOf = (index: number): Uint8Array => keccak256(Uint8Array.of(index)).subarray(0, 20);
const slotOf = (index: number): Uint8Array => keccak256(Uint8Array.of(index, index));

Deno.test("EVM proof: several contracts and accounts share one proof, which must hold exactly their storage", async () => {
  const [host, other, plain] = [addressOf(1), addressOf(2), addressOf(3)];
  const chain = await makeChain([
    { address: host, slots: [[slotOf(1), Uint8Array.of(7)], [slotOf(2), Uint8Array.of(8, 9)]] },
    { address: other, slots: [[slotOf(3), slotOf(9)]] },
    { address: plain, slots: [] },
  ]);
  const { stateRoot } = chain;
  const proof = buildEvmStateProof([
    await chain.answer(other, [slotOf(3)]),
    await chain.answer(host, [slotOf(1)]),
    await chain.answer(host, [slotOf(2)]),
    await chain.answer(plain, []),
  ]);
  const addresses = [toHex(host), toHex(other)].sort();
  assert.deepEqual([...proof.storageProof.keys()], addresses);
  const keys = [slotOf(1), concatBytes(host, slotOf(2)), concatBytes(other, slotOf(3)), plain];
  const read = (of: EvmStateProof, asked: readonly Uint8Array[]): Map<Hex, Uint8Array | undefined> =>
    readEvmState({ stateRoot, host, proof: of, keys: asked });
  const values = read(proof, keys);
  assert.deepEqual(keys.slice(0, 3).map((key) => values.get(toHex(key))), [
    Uint8Array.of(7),
    Uint8Array.of(0x82, 8, 9),
    concatBytes(Uint8Array.of(0xa0), slotOf(9)),
  ]);
  assert.deepEqual(
    values.get(toHex(plain)),
    RLP.encode([1n, 2n ** 70n, EMPTY_ROOT, keccak256(plain)]),
  );
  refuses("unrequested_contract_proof", () => read(proof, [slotOf(1)]));
  refuses("unrequested_contract_proof", () => read(proof, [plain]));
  const hostNodes = proof.storageProof.get(toHex(host)) ?? [];
  const lacking = { ...proof, storageProof: new Map([[toHex(host), hostNodes]]) };
  refuses("incomplete_storage_proof", () => read(lacking, keys));
  refuses("duplicate_key", () => read(proof, [...keys, plain]));
  refuses("duplicate_key", () => read(proof, [...keys, slotOf(1)]));
  refuses("unsupported_key_length", () => read(proof, [...keys, new Uint8Array(31)]));
});

Deno.test("EVM proof: an account that does not exist is refused, by itself reads as absent", async () => {
  const host = addressOf(1);
  const chain = await makeChain([{ address: host, slots: [] }, { address: addressOf(2), slots: [] }]);
  const answer = await chain.answer(addressOf(9), []);
  const proof = buildEvmStateProof([answer]);
  const { stateRoot } = chain;
  assert.equal(readAccountRoot(proof.contractProof, stateRoot, addressOf(9)), undefined);
  refuses("account_not_present", () => readEvmState({ stateRoot, host, proof, keys: [addressOf(9)] }));
  const present = buildEvmStateProof([await chain.answer(host, [])]);
  assert.equal(readAccountRoot(present.contractProof, stateRoot, host), toHash256(EMPTY_ROOT));
});

Deno.test("EVM proof: the node of an empty storage trie is added, without it the slot is unreadable", async () => {
  const host = addressOf(1);
  const chain = await makeChain([{ address: host, slots: [] }]);
  const { stateRoot } = chain;
  const answer = await chain.answer(host, [slotOf(1)]);
  const proof = buildEvmStateProof([{ ...answer, storageProof: [{ proof: [] }] }]);
  assert.deepEqual(proof.storageProof.get(toHex(host)), [EMPTY_NODE]);
  const read = (of: EvmStateProof): unknown =>
    readEvmState({ stateRoot, host, proof: of, keys: [slotOf(1)] }).get(toHex(slotOf(1)));
  assert.equal(read(proof), undefined);
  const bare = { ...proof, storageProof: new Map([[toHex(host), []]]) };
  refuses("storage_unreadable", () => read(bare), "missing_root");
});

Deno.test("EVM proof: an account leaf of another shape is refused", () => {
  const host = addressOf(1);
  const hash = new Uint8Array(32);
  const leaves: Record<string, Uint8Array> = {
    "three fields": RLP.encode([1, 2, hash]),
    "nonce of nine bytes": RLP.encode([new Uint8Array(9).fill(1), 2, hash, hash]),
    "zero in front of the balance": RLP.encode([1, Uint8Array.of(0, 1), hash, hash]),
    "short root": RLP.encode([1, 2, hash.subarray(1), hash]),
    "short code hash": RLP.encode([1, 2, hash, hash.subarray(1)]),
    "list as nonce": RLP.encode([[], 2, hash, hash]),
    "list beside the fields": RLP.encode([[], 1, 2, hash, hash]),
    "no list": RLP.encode(hash),
    "no RLP": Uint8Array.of(0xf8),
  };
  for (const leaf of Object.values(leaves)) {
    const node = RLP.encode([concatBytes(Uint8Array.of(0x20), keccak256(host)), leaf]);
    const stateRoot = toHash256(keccak256(node));
    const proof = { contractProof: [node], storageProof: new Map() };
    refuses("account_malformed", () => readEvmState({ stateRoot, host, proof, keys: [host] }));
  }
});

Deno.test("EVM proof: answers that are not hex of the right length are refused", () => {
  const answer = {
    address: toHex(addressOf(1)),
    accountProof: [],
    storageHash: toHex(slotOf(1)),
    storageProof: [],
  };
  const withSlot = { ...answer, storageProof: [{ proof: [] }] };
  refuses("malformed_answer", () => buildEvmStateProof([{ ...answer, accountProof: ["0x1"] }]));
  refuses("malformed_answer", () => buildEvmStateProof([{ ...withSlot, address: "0x12" }]));
  refuses("malformed_answer", () => buildEvmStateProof([{ ...withSlot, storageHash: "0x12" }]));
  refuses("malformed_answer", () => buildEvmStateProof([{ ...answer, storageProof: [{ proof: ["zz"] }] }]));
});

Deno.test("Patricia: nodes of another shape are refused although their hash fits", () => {
  const bad: Record<string, Uint8Array> = {
    "three items": RLP.encode([Uint8Array.of(0x20), Uint8Array.of(1), Uint8Array.of(2)]),
    "empty path": RLP.encode([new Uint8Array(), Uint8Array.of(1)]),
    "flag above 3": RLP.encode([Uint8Array.of(0x40), Uint8Array.of(1)]),
    "padding set": RLP.encode([Uint8Array.of(0x2f), Uint8Array.of(1)]),
    "extension of no nibble": RLP.encode([Uint8Array.of(0x00), new Uint8Array(32)]),
    "child of 31 bytes": RLP.encode([Uint8Array.of(0x16), new Uint8Array(31)]),
    "list as leaf value": RLP.encode([Uint8Array.of(0x20, 0x61), []]),
    "string": RLP.encode(Uint8Array.of(1, 2)),
    "not RLP": Uint8Array.of(0xc5, 1),
  };
  for (const node of Object.values(bad)) {
    const bag = new TrieNodes([node], keccak256);
    refusesTrie("malformed_node", () => readPatricia(bag, keccak256(node), Uint8Array.of(0x61)));
  }
});

/** Few different bytes, up to three of them: inline children, extensions, values in branches. */
const shortKey = fc.array(fc.constantFrom(0x00, 0x01, 0x10, 0x11, 0xff), { maxLength: 3 })
  .map((list) => Uint8Array.from(list));

Deno.test("Patricia: agrees with @ethereumjs/mpt on presence and absence in random tries", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.uniqueArray(fc.tuple(shortKey, fc.uint8Array({ minLength: 1, maxLength: 40 })), {
        minLength: 1,
        maxLength: 15,
        selector: ([key]) => toHex(key),
      }),
      fc.array(shortKey, { maxLength: 8 }),
      async (entries, questions) => {
        const trie = await createMPT();
        for (const [key, value] of entries) await trie.put(key, value);
        const model = new Map(entries.map(([key, value]) => [toHex(key), value]));
        const keys = [...questions, ...entries.map(([key]) => key)];
        const proofs = [];
        for (const key of keys) proofs.push(await createMerkleProof(trie, key));
        const bag = new TrieNodes(proofs.flat(), keccak256);
        for (const key of keys) assert.deepEqual(readPatricia(bag, trie.root(), key), model.get(toHex(key)));
      },
    ),
    { numRuns: 150 },
  );
});
