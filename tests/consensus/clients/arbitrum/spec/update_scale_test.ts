import { deepStrictEqual as equal, throws } from "node:assert/strict";
import fc from "fast-check";
import { concatBytes, fromHex, toHash256, toHex } from "../../../../../src/core/encoding/bytes.ts";
import { RollupUpdateError } from "../../../../../src/consensus/rollup/spec/rollup_client.ts";
import {
  type ArbitrumConsensusState,
  arbitrumConsensusStateCodec,
  type ArbitrumUpdate,
  arbitrumUpdateCodec,
  machineStatuses,
} from "../../../../../src/consensus/clients/arbitrum/spec/update.ts";
import {
  decodeArbitrumState,
  decodeArbitrumUpdate,
} from "../../../../../src/consensus/clients/arbitrum/spec/verify_update.ts";
import { ScaleError } from "../../../../../src/core/encoding/scale.ts";
import { boldUpdate, orbitUpdate, realAssertion, realUpdate, synthetic, trusted } from "./vectors.ts";

const undecodable = (code: string) => (error: unknown): boolean =>
  error instanceof RollupUpdateError && error.code === code && error.cause instanceof Error;

Deno.test("Arbitrum SCALE: both updates have the bytes of the synthetic vector, both ways", () => {
  for (const [name, update] of [["bold", boldUpdate], ["orbit", orbitUpdate]] as const) {
    const bytes = synthetic.bytes(`${name}.scale_arbitrum_update`);
    equal(toHex(arbitrumUpdateCodec.enc(update)), toHex(bytes));
    equal(decodeArbitrumUpdate(bytes), update);
  }
});

Deno.test("Arbitrum SCALE: the real assertion has the bytes of its vector, both ways", () => {
  const bytes = realAssertion.bytes("scale_arbitrum_update_with_empty_challenge_proof");
  equal(BigInt(bytes.length), realAssertion.integer("scale_len"));
  equal(toHex(arbitrumUpdateCodec.enc(realUpdate)), toHex(bytes));
  equal(decodeArbitrumUpdate(bytes), realUpdate);
});

Deno.test("Arbitrum SCALE: each truncated prefix, further bytes and unknown variants are refused", () => {
  for (const update of [boldUpdate, orbitUpdate]) {
    const whole = arbitrumUpdateCodec.enc(update);
    for (let length = 0; length < whole.length; length++) {
      throws(() => decodeArbitrumUpdate(whole.subarray(0, length)), undecodable("undecodable_update"));
    }
    throws(
      () => decodeArbitrumUpdate(concatBytes(whole, Uint8Array.of(0))),
      undecodable("undecodable_update"),
    );
    throws(() => decodeArbitrumUpdate(whole.with(8, 2)), undecodable("undecodable_update"));
  }
});

Deno.test("Arbitrum SCALE: an unknown machine status is refused", () => {
  const whole = arbitrumUpdateCodec.enc(orbitUpdate);
  const before = toHex(whole).indexOf(
    toHex(fromHex(orbitUpdate.proof.value.globalState.sendRoot)).slice(2) + "5345",
  );
  const at = (before - 2) / 2 + 48;
  equal(whole[at], 1);
  equal(decodeArbitrumUpdate(whole.with(at, 2)).proof.tag, "ArbitrumOrbit");
  throws(() => decodeArbitrumUpdate(whole.with(at, 3)), undecodable("undecodable_update"));
});

Deno.test("Arbitrum SCALE: values that a field cannot hold are not written", () => {
  for (const change of [{ nodeNumber: 2n ** 64n }, { inboxMaxCount: 2n ** 256n }, { nodeNumber: -1n }]) {
    const value = { ...orbitUpdate.proof.value, ...change };
    throws(
      () => arbitrumUpdateCodec.enc({ ...orbitUpdate, proof: { ...orbitUpdate.proof, value } }),
      ScaleError,
    );
  }
});

const layout = "0x0100000000000000" + "000a0000004f505430" + "000100000045544830";

Deno.test("Arbitrum SCALE: a client starts at the newest block, for BoLD, in the layout of the hub", () => {
  equal(toHex(arbitrumConsensusStateCodec.enc(trusted)), `${layout}01`);
  equal(decodeArbitrumState(fromHex(`${layout}01`)), trusted);
  const orbit: ArbitrumConsensusState = { ...trusted, consensusType: "ArbitrumOrbit" };
  equal(decodeArbitrumState(arbitrumConsensusStateCodec.enc(orbit)), orbit);
  equal(decodeArbitrumState(fromHex(`${layout}01ffff`)), trusted);
  equal(decodeArbitrumState(fromHex(`ff${layout.slice(2)}01`).subarray(1)), trusted);
});

Deno.test("Arbitrum SCALE: a truncated state is refused, an unknown generation named", () => {
  const whole = fromHex(`${layout}01`);
  for (let length = 0; length < whole.length; length++) {
    throws(() => decodeArbitrumState(whole.subarray(0, length)), undecodable("undecodable_state"));
  }
  equal(decodeArbitrumState(fromHex(`${layout}02`)).consensusType, "unknown");
});

Deno.test("Arbitrum SCALE: any claim survives", () => {
  const hash = fc.uint8Array({ minLength: 32, maxLength: 32 }).map(toHash256);
  const u64 = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n });
  const nodes = fc.array(fc.uint8Array({ maxLength: 70 }), { maxLength: 5 });
  const status = fc.constantFrom(...machineStatuses);
  fc.assert(fc.property(hash, u64, nodes, status, (root, number, proof, machineStatus) => {
    const { value } = boldUpdate.proof;
    const afterState = { ...value.afterState, machineStatus, endHistoryRoot: root };
    const bold: ArbitrumUpdate = {
      l1Height: number,
      proof: { tag: "ArbitrumBold", value: { ...value, afterState, challengeProof: proof } },
    };
    equal(decodeArbitrumUpdate(arbitrumUpdateCodec.enc(bold)), bold);
    const node = { ...orbitUpdate.proof.value, nodeNumber: number, machineStatus, storageProof: proof };
    const orbit: ArbitrumUpdate = { l1Height: 0n, proof: { tag: "ArbitrumOrbit", value: node } };
    equal(decodeArbitrumUpdate(arbitrumUpdateCodec.enc(orbit)), orbit);
  }));
});
