/**
 * Proofs of EVM contracts on Substrate chains. The tries come from the devnet, whose keys are made by another library
 * and whose tries give the roots of a real runtime (`tests/vectors/hub-mmr-and-tries.json`).
 */
import assert from "node:assert/strict";
import { EvmProofError, type EvmProofErrorCode } from "../../../src/core/merkle/evm_proof.ts";
import {
  childKey,
  ContractTries,
  eoaRecord,
  recordKey,
  slotKey,
  trieIdOf,
} from "../../../devnet/revive/mirrored_blocks.ts";
import {
  concatBytes,
  fromHex,
  type Hash256,
  type Hex,
  toHash256,
  toHex,
} from "../../../src/core/encoding/bytes.ts";
import { decodeStrict } from "../../../src/core/encoding/scale.ts";
import { type SubstrateEvmProof, substrateEvmProofCodec } from "../../../src/core/ismp/proof.ts";
import { readSubstrateEvmState } from "../../../src/core/merkle/substrate_evm_proof.ts";
import { decodeTrieId } from "../../../src/core/substrate/contract_state.ts";

const HOST: Hex = `0x${"11".repeat(20)}`;
const OTHER: Hex = `0x${"22".repeat(20)}`;
/** A contract that stores nothing. */
const BARE: Hex = `0x${"33".repeat(20)}`;
const EOA: Hex = `0x${"44".repeat(20)}`;
const NOBODY: Hex = `0x${"55".repeat(20)}`;

const slotOf = (number: number): Hash256 => toHash256(number.toString(16).padStart(64, "0"));
const keyIn = (contract: Hex, slot: Hash256): Uint8Array => concatBytes(fromHex(contract), fromHex(slot));

/** Forty slots of the host, three of another contract; slot 99 is empty. */
const tries = ContractTries.empty()
  .put(recordKey(EOA), eoaRecord)
  .put(recordKey(`0x${"66".repeat(20)}`), Uint8Array.of(7))
  .change(
    new Map([
      [HOST, new Map(Array.from({ length: 40 }, (_, at) => [slotOf(at), BigInt(at + 1)]))],
      [OTHER, new Map([[slotOf(1), 7n], [slotOf(2), 2n ** 255n], [slotOf(3), 9n]])],
      [BARE, new Map([[slotOf(1), 0n]])],
    ]),
  );

function prove(contracts: ReadonlyMap<Hex, readonly Hash256[]>): SubstrateEvmProof {
  const main = [...contracts.keys()].flatMap((each) => [recordKey(each), childKey(trieIdOf(each))]);
  return {
    mainProof: tries.main.prove(main),
    storageProof: new Map([...contracts].map(([contract, slots]) => [
      contract,
      tries.proveChild(childKey(trieIdOf(contract)), slots.map(slotKey)),
    ])),
  };
}

function read(
  proof: SubstrateEvmProof,
  keys: readonly Uint8Array[],
  stateRoot = tries.root,
): readonly (Hex | undefined)[] {
  const values = readSubstrateEvmState({ stateRoot, host: fromHex(HOST), proof, keys });
  return keys.map((key) => values.get(toHex(key))).map((value) => value && toHex(value));
}

function refuses(code: EvmProofErrorCode, action: () => unknown): void {
  assert.throws(action, (error) => error instanceof EvmProofError && error.code === code);
}

const HOST_KEYS = [slotOf(0), slotOf(9), slotOf(99)].map(fromHex);
const HOST_PROOF = prove(new Map([[HOST, [slotOf(0), slotOf(9), slotOf(99)]]]));

Deno.test("substrate evm proof: words of slots of the host and of other contracts, empty slots", () => {
  assert.deepEqual(read(HOST_PROOF, HOST_KEYS), [slotOf(1), slotOf(10), undefined]);
  const both = prove(new Map([[HOST, [slotOf(3)]], [OTHER, [slotOf(2), slotOf(4)]]]));
  const keys = [keyIn(OTHER, slotOf(2)), fromHex(slotOf(3)), keyIn(OTHER, slotOf(4)), keyIn(HOST, slotOf(3))];
  assert.deepEqual(read(both, keys), [`0x80${"00".repeat(31)}`, slotOf(4), undefined, slotOf(4)]);
});

Deno.test("substrate evm proof: the encoding is that of the hub, contracts in order", () => {
  const encoded = substrateEvmProofCodec.enc({
    mainProof: [Uint8Array.of(1, 2)],
    storageProof: new Map([[OTHER, [Uint8Array.of(3)]], [HOST, []]]),
  });
  assert.equal(toHex(encoded), `0x04080102` + `08` + `50${"11".repeat(20)}00` + `50${"22".repeat(20)}040403`);
  assert.deepEqual(decodeStrict(substrateEvmProofCodec, encoded, "proof").mainProof, [Uint8Array.of(1, 2)]);
});

Deno.test("substrate evm proof: what a record holds behind the id of the trie does not matter", () => {
  const id = trieIdOf(HOST);
  assert.deepEqual(decodeTrieId(concatBytes(Uint8Array.of(0, 128), id)), id);
  assert.deepEqual(decodeTrieId(concatBytes(Uint8Array.of(0, 128), id, new Uint8Array(99))), id);
});

Deno.test("substrate evm proof: every rule of the hub has its code", () => {
  const [first = new Uint8Array()] = HOST_KEYS;
  refuses("unsupported_key_length", () => read(HOST_PROOF, [fromHex(HOST)]));
  refuses("unsupported_key_length", () => read(HOST_PROOF, [new Uint8Array(33)]));
  refuses("duplicate_key", () => read(HOST_PROOF, [first, first]));
  refuses("main_trie_unreadable", () => read({ ...HOST_PROOF, mainProof: [] }, HOST_KEYS));
  refuses("main_trie_unreadable", () => read(HOST_PROOF, HOST_KEYS, slotOf(1)));
  refuses("incomplete_storage_proof", () => read({ ...HOST_PROOF, storageProof: new Map() }, HOST_KEYS));
  refuses(
    "storage_unreadable",
    () => read({ ...HOST_PROOF, storageProof: new Map([[HOST, []]]) }, HOST_KEYS),
  );
  const swapped = prove(new Map([[OTHER, [slotOf(1)]]])).storageProof.get(OTHER) ?? [];
  refuses(
    "storage_unreadable",
    () => read({ ...HOST_PROOF, storageProof: new Map([[HOST, swapped]]) }, [first]),
  );
  for (
    const [contract, code] of [
      [NOBODY, "account_not_present"],
      [EOA, "account_malformed"],
      [`0x${"66".repeat(20)}`, "account_malformed"],
      [BARE, "no_storage"],
    ] as const
  ) refuses(code, () => read(prove(new Map([[contract, [slotOf(1)]]])), [keyIn(contract, slotOf(1))]));
  const short = ContractTries.empty().change(new Map([[HOST, new Map([[slotOf(1), 1n]])]]))
    .put(childKey(trieIdOf(HOST)), new Uint8Array(31));
  const mainProof = short.main.prove([recordKey(HOST), childKey(trieIdOf(HOST))]);
  refuses("storage_root_malformed", () => read({ ...HOST_PROOF, mainProof }, HOST_KEYS, short.root));
});

/** Every way to leave out a node, or to change one byte of it. */
function* tampered(nodes: readonly Uint8Array[]): Generator<readonly Uint8Array[]> {
  for (const [at, node] of nodes.entries()) {
    yield nodes.toSpliced(at, 1);
    yield nodes.with(at, node.subarray(0, -1));
    for (let byte = 0; byte < node.length; byte++) {
      yield nodes.with(at, node.with(byte, (node[byte] ?? 0) ^ 1));
    }
  }
}

Deno.test("substrate evm proof: no changed byte and no missing node gives another value", () => {
  let count = 0;
  for (const mainProof of tampered(HOST_PROOF.mainProof)) {
    count++;
    refuses("main_trie_unreadable", () => read({ ...HOST_PROOF, mainProof }, HOST_KEYS));
  }
  for (const nodes of tampered(HOST_PROOF.storageProof.get(HOST) ?? [])) {
    count++;
    const storageProof = new Map([[HOST, nodes]]);
    refuses("storage_unreadable", () => read({ ...HOST_PROOF, storageProof }, HOST_KEYS));
  }
  assert.ok(count > 500, `${count} changes`);
});

Deno.test("substrate evm proof: the order of nodes, nodes of others and storage that nobody asks for do not matter", () => {
  const more = prove(new Map([[HOST, [slotOf(0), slotOf(9), slotOf(99)]], [OTHER, [slotOf(1)]]]));
  const storageProof = new Map([...more.storageProof].map(([each, nodes]) => [each, nodes.toReversed()]));
  const shuffled = { mainProof: more.mainProof.toReversed(), storageProof };
  assert.deepEqual(read(shuffled, HOST_KEYS), read(HOST_PROOF, HOST_KEYS));
});
