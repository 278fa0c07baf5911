import { deepStrictEqual as equal, throws } from "node:assert/strict";
import { concatBytes, fromHex, toHex } from "../../../../../src/core/encoding/bytes.ts";
import {
  type OpStackConsensusState,
  opStackConsensusStateCodec,
  type OpStackUpdate,
  opStackUpdateCodec,
} from "../../../../../src/consensus/clients/op_stack/spec/update.ts";
import { RollupUpdateError } from "../../../../../src/consensus/rollup/spec/rollup_client.ts";
import {
  decodeOpStackState,
  decodeOpStackUpdate,
} from "../../../../../src/consensus/clients/op_stack/spec/verify_update.ts";
import { aggregateGame, faultGame, gameTypes, opStackState, synthetic } from "./vectors.ts";
import { l1Id, rollupId } from "../../../rollup/spec/vectors.ts";

const state: OpStackConsensusState = {
  finalizedHeight: 77n,
  stateMachineId: rollupId,
  l1StateMachineId: l1Id,
  consensusType: "OpFaultProofGames",
  gameTypeConfigs: gameTypes,
};

const oracleUpdate: OpStackUpdate = {
  l1Height: 5n,
  proof: {
    tag: "OpL2Oracle",
    value: {
      stateRoot: faultGame.proof.value.header.stateRoot,
      withdrawalStorageRoot: faultGame.proof.value.withdrawalStorageRoot,
      l2BlockHash: faultGame.proof.value.header.parentHash,
      version: faultGame.proof.value.version,
      l2OracleProof: [Uint8Array.of(1)],
      outputRootProof: [Uint8Array.of(2), Uint8Array.of(3)],
      multiProof: [],
      outputRootIndex: 1n,
      blockNumber: 2n,
      timestampSec: 3n,
    },
  },
};

const undecodable = (code: string) => (error: unknown): boolean =>
  error instanceof RollupUpdateError && error.code === code && error.cause instanceof Error;

Deno.test("OP stack SCALE: both updates have the bytes of the synthetic vector, both ways", () => {
  for (
    const [name, update] of Object.entries({
      fault_dispute_game: faultGame,
      aggregate_verifier_game: aggregateGame,
    })
  ) {
    const bytes = synthetic.bytes(`${name}.scale_optimism_update`);
    equal(toHex(opStackUpdateCodec.enc(update)), toHex(bytes));
    equal(decodeOpStackUpdate(bytes), update);
  }
});

Deno.test("OP stack SCALE: an oracle update is variant 0, fields in the hub's order", () => {
  const { value } = oracleUpdate.proof;
  const head = faultGame.proof.value.header;
  const expected = concatBytes(
    fromHex("050000000000000000"),
    fromHex(head.stateRoot),
    fromHex(value.withdrawalStorageRoot),
    fromHex(head.parentHash),
    fromHex(value.version),
    fromHex("040401" + "0804020403" + "00" + "0100000000000000" + "0200000000000000" + "0300000000000000"),
  );
  equal(toHex(opStackUpdateCodec.enc(oracleUpdate)), toHex(expected));
  equal(decodeOpStackUpdate(expected), oracleUpdate);
});

Deno.test("OP stack SCALE: each truncated prefix, further bytes and unknown variants are refused", () => {
  for (const update of [oracleUpdate, faultGame]) {
    const whole = opStackUpdateCodec.enc(update);
    for (let length = 0; length < whole.length; length++) {
      throws(() => decodeOpStackUpdate(whole.subarray(0, length)), undecodable("undecodable_update"));
    }
    throws(
      () => decodeOpStackUpdate(concatBytes(whole, Uint8Array.of(0))),
      undecodable("undecodable_update"),
    );
    throws(() => decodeOpStackUpdate(whole.with(8, 2)), undecodable("undecodable_update"));
  }
});

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
    throws(() => decodeOpStackState(whole.subarray(0, length)), undecodable("undecodable_state"));
  }
  for (let length = 28; length < whole.length; length++) {
    equal(decodeOpStackState(whole.subarray(0, length)), { ...state, gameTypeConfigs: undefined });
  }
  // A way of proposing that is newer than the program.
  equal(decodeOpStackState(whole.with(27, 2)), { ...state, consensusType: "unknown" });
});

Deno.test("OP stack SCALE: a view into a larger buffer is read by its own bytes", () => {
  const whole = opStackConsensusStateCodec.enc(state);
  equal(decodeOpStackState(concatBytes(Uint8Array.of(9), whole).subarray(1)), state);
});

Deno.test("OP stack: a client starts at the newest block, for dispute games", () => {
  const initial = opStackState({ finalizedHeight: 12n, stateMachineId: rollupId, l1StateMachineId: l1Id });
  equal(
    toHex(opStackConsensusStateCodec.enc(initial)),
    "0x0c00000000000000" + "000a0000004f505430" + "000100000045544830" + "0101" + "00",
  );
});
