/** What a host would make of proofs of either kind, against the answers of contracts. */
import assert from "node:assert/strict";
import fc from "fast-check";
import { toHex } from "../../../../../src/core/encoding/bytes.ts";
import { BeefyError } from "../../../../../src/core/beefy/commitment.ts";
import { checkProof } from "../../../../../src/consensus/clients/beefy/spec/verify_proof.ts";
import {
  type BeefyClientState,
  decodeBeefyClientState,
  encodeBeefyClientState,
} from "../../../../../src/core/evm/beefy_client_state.ts";
import { readVector } from "../../../vector_node.ts";
import { runAtOnce } from "../../../../../devnet/relay/run_at_once.ts";
import { verdictOf } from "../../../../support/verdict.ts";

const sp1 = readVector("beefy-sp1");
const accepted = readVector("beefy-ecdsa-accepted").list("cases");

function stateOf(abi: Uint8Array): BeefyClientState {
  const state = decodeBeefyClientState(abi);
  assert.ok(state);
  return state;
}

const codeOf = (trusted: BeefyClientState, proof: Uint8Array): string =>
  verdictOf(BeefyError, () => runAtOnce(checkProof(trusted, proof)));

Deno.test("a zero-knowledge proof leads to the state and the height that the contract returned", () => {
  const trusted = stateOf(sp1.bytes("trusted_state_abi"));
  const checked = runAtOnce(checkProof(trusted, sp1.bytes("proof")));
  assert.equal(toHex(encodeBeefyClientState(checked.state)), sp1.text("expected.new_state_abi"));
  assert.equal(checked.kind, "sp1");
  assert.equal(checked.isStale, false);
  assert.equal(checked.rotates, checked.state.current.id !== trusted.current.id);
  const [height] = sp1.list("expected.intermediates");
  assert.deepEqual(checked.heights.map((each) => [each.paraId, each.height]), [
    [Number(height?.integer("stateMachineId")), height?.integer("height")],
  ]);
});

Deno.test("what a client knows already, or signed by a set that it does not know, is found without a request", () => {
  const trusted = stateOf(sp1.bytes("trusted_state_abi"));
  const proof = sp1.bytes("proof");
  const { state } = runAtOnce(checkProof(trusted, proof));
  assert.equal(runAtOnce(checkProof(state, proof)).isStale, true);
  assert.deepEqual(runAtOnce(checkProof(state, proof)).heights, []);
  const stranger = {
    ...trusted,
    current: { ...trusted.current, id: 1n },
    next: { ...trusted.next, id: 2n },
  };
  assert.equal(codeOf(stranger, proof), "unknown_authority_set");
  // Block number of the commitment: the last byte of the first word.
  const other = proof.with(32, (proof[32] ?? 0) + 1);
  assert.equal(codeOf(trusted, other), "stale_mmr_leaf");
});

Deno.test("cut or empty proofs and unknown kinds are refused", () => {
  const trusted = stateOf(sp1.bytes("trusted_state_abi"));
  const proof = sp1.bytes("proof");
  assert.equal(codeOf(trusted, new Uint8Array()), "empty_proof");
  assert.equal(codeOf(trusted, proof.with(0, 2)), "invalid_proof_type");
  fc.assert(fc.property(fc.integer({ min: 1, max: 600 }), (length) => {
    assert.equal(codeOf(trusted, proof.subarray(0, length)), "undecodable_proof");
  }));
});

Deno.test("a proof with a number beyond its Solidity type is refused as undecodable, as contracts do", () => {
  const [signed] = accepted;
  assert.ok(signed);
  for (const [vector, key] of [[sp1, "trusted_state_abi"], [signed, "trusted_state.abi"]] as const) {
    const trusted = stateOf(vector.bytes(key));
    const proof = vector.bytes("proof");
    // The byte of the kind, then words: the first byte of each is 0 where it is a number, a length or an offset.
    const starts = Array.from({ length: 24 }, (_, word) => 1 + 32 * word).filter((at) => proof[at] === 0);
    const codes = starts.map((at) => codeOf(trusted, proof.with(at, 1)));
    assert.ok(codes.filter((code) => code === "undecodable_proof").length > 6, codes.join(" "));
    assert.ok(!codes.includes("accepted"), codes.join(" "));
  }
});

for (const vector of accepted) {
  Deno.test(`a proof by signatures is checked as the contract does: ${vector.text("name")}`, () => {
    const trusted = stateOf(vector.bytes("trusted_state.abi"));
    const checked = runAtOnce(checkProof(trusted, vector.bytes("proof")));
    assert.equal(toHex(encodeBeefyClientState(checked.state)), vector.text("expected.new_state_abi"));
    assert.equal(checked.isStale, checked.state.latestHeight === trusted.latestHeight);
    assert.equal(checked.rotates, checked.state.current.id > trusted.current.id);
  });
}
