import { readVector } from "../../../vector_node.ts";
import { deepStrictEqual as equal, throws } from "node:assert/strict";
import { concatBytes, fromHex, keccak256, toHash256, toHex } from "../../../../../src/core/encoding/bytes.ts";
import {
  assertionHash,
  assertionSlot,
  assertionStateHash,
  globalStateHash,
  nodeClaimHash,
  nodeSlot,
  nodeStateHash,
  parseAssertionWord,
} from "../../../../../src/consensus/clients/arbitrum/spec/claim_hashes.ts";
import {
  blacklistedClaimKey,
  rollupCoreKey,
} from "../../../../../src/consensus/clients/arbitrum/spec/update.ts";
import { claimOf } from "../../../../../src/consensus/clients/arbitrum/spec/verify_update.ts";
import { provenStorageRoot, provenWord } from "../../../../../src/consensus/rollup/spec/l1_storage.ts";
import { offset, word } from "../../../../../src/core/evm/host_storage.ts";
import { evmStateMachine, toConsensusStateId } from "../../../../../src/core/ismp/state_machine.ts";
import { EvmProofError } from "../../../../../src/core/merkle/evm_proof.ts";
import { brokenNodes } from "../../../rollup/spec/vectors.ts";
import {
  boldUpdate,
  flatStateOf,
  orbitUpdate,
  realAssertion,
  realEvent,
  realNode,
  realUpdate,
  synthetic,
} from "./vectors.ts";

Deno.test("claim hashes: the real assertion of Arbitrum Sepolia has its hash and its slot", () => {
  const { value } = realUpdate.proof;
  equal(assertionStateHash(value.afterState), realAssertion.hash("expected.after_state_hash"));
  equal(assertionHash(value), realAssertion.hash("expected.assertion_hash"));
  equal(assertionSlot(assertionHash(value)), realAssertion.hash("expected.assertion_slot_unhashed"));
  equal(claimOf(realUpdate.proof), realAssertion.hash("expected.assertion_hash"));
  equal(claimOf(boldUpdate.proof), synthetic.hash("bold.expected.assertion_hash"));
});

Deno.test("claim hashes: the children of an assertion stand in the low half of its word", () => {
  equal(parseAssertionWord(synthetic.hash("bold.parent_word")), {
    firstChildBlock: 0x9035e6n,
    secondChildBlock: 0n,
  });
  const competitor = word((9n << 128n) | (7n << 64n) | 5n);
  equal(parseAssertionWord(competitor), { firstChildBlock: 5n, secondChildBlock: 7n });
});

Deno.test("claim hashes: a real parent is stored by its hash in slot 117, confirmed and with one child", () => {
  const recorded = readVector("real/arbitrum-sepolia");
  const slot = assertionSlot(recorded.hash("latest_confirmed"));
  equal(slot, recorded.hash("assertion_key"));
  const nodes = recorded.nodes("assertion_proof");
  const root = toHash256(keccak256(nodes[0] ?? new Uint8Array(0)));
  const packed = provenWord(nodes, root, slot);
  equal(packed, recorded.hash("assertion_word"));
  equal(parseAssertionWord(packed ?? word(0n)), {
    firstChildBlock: 11_818_924n,
    secondChildBlock: 0n,
  });
  // Created in block 11,818,764, a first child, confirmed (2).
  equal(BigInt(packed ?? word(0n)) >> 128n, (2n << 72n) | (1n << 64n) | 11_818_764n);
  for (const { what, nodes: broken } of brokenNodes(nodes)) {
    throws(() => provenWord(broken, root, slot), EvmProofError, what);
  }
});

Deno.test("claim hashes: the real event of Arbitrum One hashes to parent and assertion", () => {
  const decoded = realEvent.at("decoded");
  const before = flatStateOf(decoded.at("before_state"));
  const after = flatStateOf(decoded.at("after_state"));
  equal(assertionStateHash(before), realEvent.hash("derived.before_state_hash"));
  equal(assertionStateHash(after), realEvent.hash("derived.after_state_hash"));
  const parent = assertionHash({
    previousAssertionHash: decoded.hash("before_state_data.prev_prev_assertion_hash"),
    afterState: before,
    sequencerBatchAcc: decoded.hash("before_state_data.sequencer_batch_acc"),
  });
  equal(parent, realEvent.hash("derived.parent_assertion_hash"));
  const sequencerBatchAcc = decoded.hash("after_inbox_batch_acc");
  equal(
    assertionHash({ previousAssertionHash: parent, afterState: after, sequencerBatchAcc }),
    realEvent.hash("derived.assertion_hash"),
  );
});

Deno.test("claim hashes: states of nodes have the hashes of the synthetic vector", () => {
  const { value } = orbitUpdate.proof;
  equal(globalStateHash(value.globalState), synthetic.hash("orbit.expected.global_state_hash"));
  equal(nodeStateHash(value), synthetic.hash("orbit.expected.state_hash"));
  equal(claimOf(orbitUpdate.proof), nodeClaimHash(value));
  const number = fromHex(value.nodeNumber.toString(16).padStart(16, "0"));
  const packed = concatBytes(fromHex(synthetic.hash("orbit.expected.state_hash")), number);
  equal(nodeClaimHash(value), toHash256(keccak256(packed)));
});

Deno.test("claim hashes: a real Orbit rollup keeps its nodes by number in slot 118", () => {
  const root = provenStorageRoot(
    realNode.nodes("account_proof"),
    realNode.hash("l1_state_root"),
    realNode.address("rollup_core"),
  );
  const counters = provenWord(realNode.nodes("latest_nodes_storage_proof.proof"), root, word(117n));
  equal(counters, word(realNode.integer("latest_nodes_storage_proof.value")));
  const latestConfirmed = BigInt.asUintN(64, BigInt(counters ?? 0n));
  const slot = offset(nodeSlot(latestConfirmed), 2n);
  equal(slot, word(realNode.integer("nodes_storage_proof.key")));
  const confirmData = word(realNode.integer("nodes_storage_proof.value"));
  equal(provenWord(realNode.nodes("nodes_storage_proof.proof"), root, slot), confirmData);
});

Deno.test("hub storage: keys of rollup and blacklist are those of the vector", () => {
  const keys = readVector("evm-consensus-hub-storage-keys").list("keys");
  const find = (item: string): string =>
    keys.find((node) => node.text("item") === item)?.text("storage_key") ?? "none";
  const id = { stateMachine: evmStateMachine(42161), consensusStateId: toConsensusStateId("ARB0") };
  equal(toHex(rollupCoreKey(id)), find("StateMachinesRollupCoreAddresses"));
  equal(toHex(blacklistedClaimKey(id, `0x${"22".repeat(32)}`)), find("BlacklistedArbitrumClaims"));
});
