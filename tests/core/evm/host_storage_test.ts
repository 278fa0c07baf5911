import { deepStrictEqual as equal, ok, throws } from "node:assert/strict";
import vectors from "../../vectors/evm-storage-proofs.json" with { type: "json" };
import { fromHex, toHash256 } from "../../../src/core/encoding/bytes.ts";
import {
  contractSlotKey,
  epochRelayerSlot,
  hostSlots,
  latestHeightSlot,
  requestFeeSlot,
  requestReceiptSlot,
  requestSenderSlot,
  responseReceiptSlots,
  stateCommitmentSlots,
  stateCommitmentUpdateTimeSlot,
  toTrieKey,
  vetoSlot,
  word,
} from "../../../src/core/evm/host_storage.ts";

const state = stateCommitmentSlots(4009, 100n);

/** Slot of each entry of the vectors by its description and the commitments named in the note. */
function slotOf(what: string, commitments: readonly string[]): string | undefined {
  const [first, second] = commitments.map(toHash256);
  ok(first !== undefined || /^(state|latest|epochs|current)/.test(what));
  const c = first ?? toHash256(new Uint8Array(32));
  const slots: Record<string, string | undefined> = {
    "requestCommitments[c].fee (base slot)": requestFeeSlot(c),
    "requestCommitments[c].sender (base slot + 1)": requestSenderSlot(c),
    "requestCommitments[c].sender": requestSenderSlot(c),
    "requestCommitments[c1].sender": requestSenderSlot(c),
    "requestCommitments[c2].sender": second && requestSenderSlot(second),
    "requestReceipts[c0]": requestReceiptSlot(c),
    "requestReceipts[c1]": second && requestReceiptSlot(second),
    "requestReceipts[c]": requestReceiptSlot(c),
    "responseReceipts[c].responseCommitment": responseReceiptSlots(c).responseCommitment,
    "responseReceipts[c].relayer": responseReceiptSlots(c).relayer,
    "stateCommitments[4009][100].timestamp": state.timestamp,
    "stateCommitments[4009][100].overlayRoot": state.overlayRoot,
    "stateCommitments[4009][100].stateRoot": state.stateRoot,
    "stateCommitmentsUpdateTime[4009][100]": stateCommitmentUpdateTimeSlot(4009, 100n),
    "latestStateMachineHeight[4009]": latestHeightSlot(4009),
    "epochs[2]": epochRelayerSlot(2n),
    currentEpoch: word(hostSlots.currentEpoch),
  };
  return slots[what];
}

for (const proof of vectors.proofs) {
  const commitments = proof.note?.match(/0x[0-9a-f]{64}/g) ?? [];
  for (const key of proof.keys) {
    Deno.test(`host slot vector: ${key.what} of ${proof.name}`, () => {
      const slot = slotOf(key.what, commitments);
      equal(slot, key.slot_key);
      equal(toTrieKey(toHash256(key.slot_key)), key.trie_key);
    });
  }
}

Deno.test("host slot: vetoes differ from commitments of the same height", () => {
  ok(vetoSlot(4009, 100n) !== state.timestamp);
  ok(vetoSlot(4009, 100n) !== vetoSlot(4009, 101n));
});

Deno.test("host slot: keys of other contracts have 52 bytes", () => {
  const key = contractSlotKey(fromHex("11".repeat(20)), epochRelayerSlot(2n));
  equal(key.length, 52);
  throws(() => contractSlotKey(new Uint8Array(19), epochRelayerSlot(2n)), RangeError);
  throws(() => word(1n << 256n), RangeError);
});
