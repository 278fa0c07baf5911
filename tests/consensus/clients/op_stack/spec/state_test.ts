import { deepStrictEqual as equal, throws } from "node:assert/strict";
import { fromHex, toHex } from "../../../../../src/core/encoding/bytes.ts";
import {
  type OpStackConsensusState,
  opStackConsensusStateCodec,
} from "../../../../../src/consensus/clients/op_stack/spec/update.ts";
import { decodeOpStackState } from "../../../../../src/consensus/clients/op_stack/spec/verify_update.ts";
import { gameTypes, opStackState } from "./vectors.ts";
import { l1Id, rollupId } from "../../../rollup/spec/vectors.ts";

const state: OpStackConsensusState = {
  finalizedHeight: 77n,
  stateMachineId: rollupId,
  l1StateMachineId: l1Id,
  consensusType: "OpFaultProofGames",
  gameTypeConfigs: gameTypes,
};

Deno.test("OP stack SCALE: a state survives, and has the layout of the hub", () => {
  const expected = "0x4d00000000000000" + "000a0000004f505430" + "000100000045544830" + "0101" + "0108" +
    gameTypes.map((config, at) =>
      at === 0
        ? `00000000${config.expectedImplementation.slice(2)}01`
        : `6d020000${config.expectedImplementation.slice(2)}02`
    ).join("");
  equal(toHex(opStackConsensusStateCodec.enc(state)), expected);
  equal(decodeOpStackState(fromHex(expected)), state);
});

Deno.test("OP stack SCALE: older states lose their unreadable end, as on the hub", () => {
  const leading = "4d00000000000000" + "000a0000004f505430" + "000100000045544830" + "0101";
  const expected = { ...state, gameTypeConfigs: undefined };
  const older = {
    "configurations without implementation": "0108" + "0000000001" + "6d02000002",
    "respected types of 2025": "010400000000",
    "many respected types of 2025": "0118" + "00000000".repeat(6),
    "no last field": "",
    "an unknown kind": "0104" + "00000000" + "11".repeat(20) + "09",
  };
  for (const [what, end] of Object.entries(older)) {
    equal(decodeOpStackState(fromHex(leading + end)), expected, what);
  }
  equal(decodeOpStackState(fromHex(leading + "00")), expected);
  equal(decodeOpStackState(fromHex(leading + "00" + "ffff")), expected, "bytes left over");
});

Deno.test("OP stack SCALE: a state that ends within its first four fields is refused", () => {
  const whole = opStackConsensusStateCodec.enc(state);
  for (let length = 0; length < 28; length++) {
    throws(() => decodeOpStackState(whole.subarray(0, length)), { code: "undecodable_state" });
  }
  for (let length = 28; length < whole.length; length++) {
    equal(decodeOpStackState(whole.subarray(0, length)), { ...state, gameTypeConfigs: undefined });
  }
  // A way of proposing that is newer than the program.
  equal(decodeOpStackState(whole.with(27, 2)), { ...state, consensusType: "unknown" });
});

Deno.test("OP stack: a client starts at the newest block, for dispute games", () => {
  const initial = opStackState({ finalizedHeight: 12n, stateMachineId: rollupId, l1StateMachineId: l1Id });
  equal(
    toHex(opStackConsensusStateCodec.enc(initial)),
    "0x0c00000000000000" + "000a0000004f505430" + "000100000045544830" + "0101" + "00",
  );
});
