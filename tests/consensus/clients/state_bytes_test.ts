/** Bytes of the states of clients: the layout of the hub, what older states lose, and what is no state. */
import { deepStrictEqual as equal, throws } from "node:assert/strict";
import { gameTypes, opStackState } from "./op_stack/spec/vectors.ts";
import * as arbitrum from "./arbitrum/spec/vectors.ts";
import * as bsc from "./bsc/spec/vectors.ts";
import { l1Id, rollupId } from "../rollup/spec/vectors.ts";
import { arbitrumConsensusStateCodec } from "../../../src/consensus/clients/arbitrum/spec/update.ts";
import { decodeArbitrumState } from "../../../src/consensus/clients/arbitrum/spec/verify_update.ts";
import { bscConsensusStateCodec } from "../../../src/consensus/clients/bsc/spec/update.ts";
import { decodeBscState } from "../../../src/consensus/clients/bsc/spec/verify_update.ts";
import { opStackConsensusStateCodec } from "../../../src/consensus/clients/op_stack/spec/update.ts";
import { decodeOpStackState } from "../../../src/consensus/clients/op_stack/spec/verify_update.ts";
import { ClientError } from "../../../src/consensus/spec/client_error.ts";
import { concatBytes, fromHex, toHex } from "../../../src/core/encoding/bytes.ts";
import { ScaleError } from "../../../src/core/encoding/scale.ts";

function refuses(decode: (bytes: Uint8Array) => unknown, bytes: Uint8Array): void {
  throws(() => decode(bytes), (error) => error instanceof ClientError && error.code === "undecodable_state");
}

/** Fails unless every beginning of the bytes up to `end` is refused. */
function refusesBeginnings(
  decode: (bytes: Uint8Array) => unknown,
  bytes: Uint8Array,
  end = bytes.length,
): void {
  for (let length = 0; length < end; length++) refuses(decode, bytes.subarray(0, length));
}

Deno.test("bytes of a BSC state: beginnings, further bytes and keys that have not 48 bytes are refused", () => {
  for (const bytes of bsc.states) {
    refusesBeginnings(decodeBscState, bytes);
    refuses(decodeBscState, concatBytes(bytes, Uint8Array.of(0)));
  }
  const short = { ...bsc.stateAt(0), currentValidators: [new Uint8Array(47)] };
  throws(() => bscConsensusStateCodec.enc(short), ScaleError);
  refuses(decodeBscState, bsc.states[0]?.with(1, 47 << 2) ?? new Uint8Array(0));
});

/** A height, the ids of rollup and L1, and a kind of claims with what follows it. */
const rollupBytes = (height: string, end: string): Uint8Array =>
  fromHex(`${height}00000000000000` + "000a0000004f505430" + "000100000045544830" + end);

Deno.test("bytes of an Arbitrum state: a client starts for BoLD, further bytes are ignored, an unknown generation is named", () => {
  const { trusted } = arbitrum;
  const bytes = rollupBytes("01", "01");
  equal(toHex(arbitrumConsensusStateCodec.enc(trusted)), toHex(bytes));
  equal(decodeArbitrumState(bytes), trusted);
  equal(decodeArbitrumState(rollupBytes("01", "01ffff")), trusted);
  equal(decodeArbitrumState(rollupBytes("01", "00")), { ...trusted, consensusType: "ArbitrumOrbit" });
  equal(decodeArbitrumState(rollupBytes("01", "02")).consensusType, "unknown");
  refusesBeginnings(decodeArbitrumState, bytes);
});

const opStack = opStackState({ finalizedHeight: 77n, stateMachineId: rollupId, l1StateMachineId: l1Id });

Deno.test("bytes of an OP stack state: the layout of the hub, without or with types of games", () => {
  equal(toHex(opStackConsensusStateCodec.enc(opStack)), toHex(rollupBytes("4d", "010100")));
  const state = { ...opStack, gameTypeConfigs: gameTypes };
  const [first, second] = gameTypes.map(({ expectedImplementation }) => expectedImplementation.slice(2));
  const bytes = rollupBytes("4d", `01010108${"00000000"}${first}01${"6d020000"}${second}02`);
  equal(toHex(opStackConsensusStateCodec.enc(state)), toHex(bytes));
  equal(decodeOpStackState(bytes), state);
  refusesBeginnings(decodeOpStackState, bytes, 28);
  for (let length = 28; length < bytes.length; length++) {
    equal(decodeOpStackState(bytes.subarray(0, length)), opStack);
  }
  // A way of proposing that is newer than the program.
  equal(decodeOpStackState(bytes.with(27, 2)), { ...state, consensusType: "unknown" });
});

Deno.test("bytes of an OP stack state: older ones lose their unreadable end, as on the hub", () => {
  const older = {
    "configurations without implementation": "0108" + "0000000001" + "6d02000002",
    "respected types of 2025": "010400000000",
    "many respected types of 2025": "0118" + "00000000".repeat(6),
    "no last field": "",
    "an unknown kind": "0104" + "00000000" + "11".repeat(20) + "09",
    "none": "00",
    "bytes left over": "00ffff",
  };
  for (const [what, end] of Object.entries(older)) {
    equal(decodeOpStackState(rollupBytes("4d", `0101${end}`)), opStack, what);
  }
});
