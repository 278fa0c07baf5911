import { deepStrictEqual as equal, throws } from "node:assert/strict";
import { fromHex, toHex } from "../../../../../src/core/encoding/bytes.ts";
import {
  type ArbitrumConsensusState,
  arbitrumConsensusStateCodec,
  arbitrumUpdateCodec,
} from "../../../../../src/consensus/clients/arbitrum/spec/update.ts";
import {
  decodeArbitrumState,
  decodeArbitrumUpdate,
} from "../../../../../src/consensus/clients/arbitrum/spec/verify_update.ts";
import { orbitUpdate, trusted } from "./vectors.ts";

Deno.test("Arbitrum SCALE: an unknown machine status is refused", () => {
  const whole = arbitrumUpdateCodec.enc(orbitUpdate);
  const before = toHex(whole).indexOf(
    toHex(fromHex(orbitUpdate.proof.value.globalState.sendRoot)).slice(2) + "5345",
  );
  const at = (before - 2) / 2 + 48;
  equal(whole[at], 1);
  equal(decodeArbitrumUpdate(whole.with(at, 2)).proof.tag, "ArbitrumOrbit");
  throws(() => decodeArbitrumUpdate(whole.with(at, 3)), { code: "undecodable_update" });
});

const layout = "0x0100000000000000" + "000a0000004f505430" + "000100000045544830";

Deno.test("Arbitrum SCALE: a client starts at the newest block, for BoLD, in the layout of the hub", () => {
  equal(toHex(arbitrumConsensusStateCodec.enc(trusted)), `${layout}01`);
  equal(decodeArbitrumState(fromHex(`${layout}01`)), trusted);
  const orbit: ArbitrumConsensusState = { ...trusted, consensusType: "ArbitrumOrbit" };
  equal(decodeArbitrumState(arbitrumConsensusStateCodec.enc(orbit)), orbit);
  equal(decodeArbitrumState(fromHex(`${layout}01ffff`)), trusted);
});

Deno.test("Arbitrum SCALE: a truncated state is refused, an unknown generation named", () => {
  const whole = fromHex(`${layout}01`);
  for (let length = 0; length < whole.length; length++) {
    throws(() => decodeArbitrumState(whole.subarray(0, length)), { code: "undecodable_state" });
  }
  equal(decodeArbitrumState(fromHex(`${layout}02`)).consensusType, "unknown");
});
