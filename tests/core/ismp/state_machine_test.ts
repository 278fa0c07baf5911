import { deepStrictEqual as equal, throws } from "node:assert/strict";
import vectors from "../../vectors/evm-ismp-scale.json" with { type: "json" };
import { fromHex, toHex } from "../../../src/core/encoding/bytes.ts";
import { decodeStrict, ScaleError } from "../../../src/core/encoding/scale.ts";
import {
  compareStateMachines,
  evmChainId,
  evmStateMachine,
  formatStateMachine,
  IdentifierError,
  type IdentifierErrorCode,
  isEvm,
  parseStateMachine,
  stateMachineCodec,
  stateMachineFromBytes,
  stateMachineIdCodec,
  stateMachineIdKey,
  stateMachineParts,
  stateMachineToBytes,
  toConsensusStateId,
  toParaId,
} from "../../../src/core/ismp/state_machine.ts";
import { isSubstrate } from "../../../devnet/hub/pallets/state_machines.ts";

function refuses(run: () => unknown, code: IdentifierErrorCode): void {
  throws(run, (error) => error instanceof IdentifierError && error.code === code);
}

for (const vector of vectors.state_machines) {
  Deno.test(`state machine: ${vector.text} has its SCALE and Solidity bytes, both ways`, () => {
    const machine = parseStateMachine(vector.text);
    equal(machine, vector.text);
    equal(toHex(stateMachineCodec.enc(machine)), vector.scale);
    equal(decodeStrict(stateMachineCodec, fromHex(vector.scale), "StateMachine"), machine);
    equal(toHex(stateMachineToBytes(machine)), vector.solidity_bytes);
    equal(stateMachineFromBytes(fromHex(vector.solidity_bytes)), machine);
  });
}

for (const { input, canonical } of vectors.parsing.accepted) {
  Deno.test(`state machine: text ${input} is accepted as ${canonical}`, () => {
    equal(parseStateMachine(input), canonical);
  });
}

for (const input of vectors.parsing.rejected) {
  Deno.test(`state machine: text ${JSON.stringify(input)} is refused`, () => {
    throws(() => parseStateMachine(input), IdentifierError);
  });
}

Deno.test("state machine: each reason of a refusal has its code", () => {
  refuses(() => parseStateMachine("evm-1"), "unknown_prefix");
  refuses(() => parseStateMachine("EVM-4294967296"), "bad_number");
  refuses(() => parseStateMachine("EVM-+"), "bad_number");
  refuses(() => parseStateMachine("SUBSTRATE-ABCDE"), "bad_length");
  refuses(() => stateMachineFromBytes(Uint8Array.of(0x45, 0xff)), "not_utf8");
  refuses(() => toParaId(parseStateMachine("EVM-1")), "no_para_id");
  refuses(() => evmChainId(parseStateMachine("KUSAMA-4009")), "bad_number");
});

Deno.test("state machine: ids with a hyphen survive text and SCALE", () => {
  for (
    const [scale, text] of [["0x03612d6263", "SUBSTRATE-a-bc"], ["0x05612d626305000000", "RELAY-a-bc-5"]]
  ) {
    equal(decodeStrict(stateMachineCodec, fromHex(scale ?? ""), "StateMachine"), text);
  }
});

Deno.test("state machine: four bytes that are not UTF-8 are refused by name", () => {
  throws(
    () => decodeStrict(stateMachineCodec, fromHex("0x03ff656e65"), "StateMachine"),
    (error) =>
      error instanceof ScaleError && error.code === "invalid" &&
      error.cause instanceof IdentifierError && error.cause.code === "not_utf8",
  );
});

Deno.test("state machine: families and numbers", () => {
  equal(
    ["EVM-1", "POLKADOT-1", "KUSAMA-1", "SUBSTRATE-cere", "RELAY-CENJ-1", "TNDRMINT-osmo"]
      .map(parseStateMachine).map((machine) => [isEvm(machine), isSubstrate(machine)]),
    [
      [true, false],
      [false, true],
      [false, true],
      [false, true],
      [false, true],
      [false, false],
    ],
  );
  equal(toParaId(parseStateMachine("KUSAMA-4009")), 4009);
  equal(evmChainId(evmStateMachine(8453)), 8453);
});

Deno.test("state machine: ids may contain what separates the parts of a name", () => {
  const own = { tag: "Substrate", value: "-a-b" } as const;
  const relayed = { tag: "Relay", value: { relay: "-a-b", paraId: 7 } } as const;
  equal([own, relayed].map((parts) => stateMachineParts(formatStateMachine(parts))), [own, relayed]);
});

Deno.test("state machine: the order is by variant, then by value as Rust orders it", () => {
  const sorted = ["EVM-2", "EVM-10", "EVM-256", "POLKADOT-1", "KUSAMA-1", "SUBSTRATE-aaaa", "RELAY-CENJ-1"];
  equal([...sorted].reverse().map(parseStateMachine).sort(compareStateMachines), sorted);
});

Deno.test("consensus state id: exactly four ASCII bytes", () => {
  equal(toConsensusStateId("ETH0"), "ETH0");
  refuses(() => toConsensusStateId("ETH"), "bad_length");
  refuses(() => toConsensusStateId("ETH00"), "bad_length");
  refuses(() => toConsensusStateId("é00"), "not_ascii");
  const id = { stateMachine: parseStateMachine("EVM-1"), consensusStateId: toConsensusStateId("ETH0") };
  equal(stateMachineIdKey(id), "EVM-1/ETH0");
  equal(decodeStrict(stateMachineIdCodec, stateMachineIdCodec.enc(id), "StateMachineId"), id);
});
