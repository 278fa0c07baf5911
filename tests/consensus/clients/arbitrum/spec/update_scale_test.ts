import { deepStrictEqual as equal, throws } from "node:assert/strict";
import { concatBytes, fromHex, toHex } from "../../../../../src/core/encoding/bytes.ts";
import { RollupUpdateError } from "../../../../../src/consensus/rollup/spec/rollup_client.ts";
import {
  type ArbitrumConsensusState,
  arbitrumConsensusStateCodec,
  arbitrumUpdateCodec,
} from "../../../../../src/consensus/clients/arbitrum/spec/update.ts";
import {
  decodeArbitrumState,
  decodeArbitrumUpdate,
} from "../../../../../src/consensus/clients/arbitrum/spec/verify_update.ts";
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
