import { deepStrictEqual as equal, ok, throws } from "node:assert/strict";
import vectors from "../../vectors/evm-storage-proofs.json" with { type: "json" };
import { fromHex, toHash256 } from "../../../src/core/encoding/bytes.ts";
import {
  contractSlotKey,
  epochRelayerSlot,
  requestFeeSlot,
  requestReceiptSlot,
  requestSenderSlot,
  word,
} from "../../../src/core/evm/host_storage.ts";

/** Slot of each entry of the vectors by its description and the commitments named in the note. */
function slotOf(what: string, commitments: readonly string[]): string | undefined {
  const [first, second] = commitments.map(toHash256);
  ok(first !== undefined || /^(epochs|current)/.test(what));
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
    "epochs[2]": epochRelayerSlot(2n),
    currentEpoch: word(22n),
  };
  return slots[what];
}

for (const proof of vectors.proofs) {
  const commitments = proof.note?.match(/0x[0-9a-f]{64}/g) ?? [];
  for (const key of proof.keys) {
    // Receipts of responses and what the host knows of the hub are read by calls, not from storage.
    if (/^(responseReceipts|stateCommitments|latestState)/.test(key.what)) continue;
    Deno.test(`host slot vector: ${key.what} of ${proof.name}`, () => {
      const slot = slotOf(key.what, commitments);
      equal(slot, key.slot_key);
    });
  }
}

Deno.test("host slot: keys of other contracts have 52 bytes", () => {
  const key = contractSlotKey(fromHex("11".repeat(20)), epochRelayerSlot(2n));
  equal(key.length, 52);
  throws(() => contractSlotKey(new Uint8Array(19), epochRelayerSlot(2n)), RangeError);
  throws(() => word(1n << 256n), RangeError);
});
