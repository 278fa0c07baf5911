/** What the program assumes of runtimes, against the metadata of real ones and against changed ones. */
import assert from "node:assert/strict";
import {
  type Assumptions,
  assumptions,
  findDifferences,
} from "../../../../src/core/chains/substrate/assumptions.ts";
import { type Assumed, loadRuntime, type Runtime } from "../../../../src/core/chains/substrate/runtime.ts";
import { bytes, layoutOf, list, nothing, pair, u128, u64 } from "../../../../src/core/encoding/scale.ts";
import { withdrawalInputDataCodec } from "../../../../src/core/ismp/fees.ts";
import {
  stateMachineCodec,
  stateMachineHeightCodec,
  stateMachineIdCodec,
} from "../../../../src/core/ismp/state_machine.ts";
import { blake, hostAddressCodec, stored, twox } from "../../../../src/core/ismp/storage_keys.ts";
import { hubMetadata } from "../../../support/hub_vectors.ts";

function runtimeOf(name: Parameters<typeof hubMetadata>[0]): Runtime {
  const { specName, specVersion, metadata } = hubMetadata(name);
  return loadRuntime("KUSAMA-4009", { specName, specVersion }, metadata);
}

const all = [...new Set([...assumptions.hub, ...assumptions.relayed, ...assumptions.updated])];

for (const hub of ["nexus", "gargantua"] as const) {
  Deno.test(`assumptions: the newest runtime of ${hub} has every call, storage item and event`, () => {
    const runtime = runtimeOf(`${hub}-head`);
    for (const each of all) assert.deepEqual(findDifferences(runtime, { ...each, mayLack: false }), []);
  });

  Deno.test(`assumptions: the first runtime of ${hub} is refused with the differences by name`, () => {
    const runtime = runtimeOf(`${hub}-genesis`);
    const found = (each: Assumptions): readonly string[] => findDifferences(runtime, each);
    const essential = assumptions.hub.filter(({ isOptional }) => !isOptional).flatMap(found);
    for (
      const expected of [
        "Ismp.LatestStateMachineHeight: key.0.0: expected u32, found variants",
        "Ismp.ChallengePeriod: key.0: expected variants, found array",
        "Ismp.StateMachineUpdated: .0.0: expected u32, found variants",
        hub === "nexus"
          ? "no call Ismp.handle_unsigned"
          : "Ismp.handle_unsigned: [].2.0[].0.0: expected u32, found variants",
        hub === "nexus"
          ? "no storage Mmr.NumberOfLeaves"
          : "Relayer.Fees: expected Blake2128Concat and Blake2128Concat, found Twox64Concat and Twox64Concat",
      ]
    ) assert.ok(essential.includes(expected), essential.join("\n"));
    const optional = assumptions.hub.filter(({ isOptional }) => isOptional);
    assert.deepEqual(optional.flatMap(found), [], "what is not there is not used");
  });
}

/** Differences from what is assumed, each of one thing that changed; empty: it fits. */
const changed: readonly (readonly [what: string, assumed: Assumed, difference: string])[] = [
  [
    "another value",
    stored("Relayer.Fees", u128, blake(stateMachineCodec), blake(bytes)),
    "Relayer.Fees: value: expected u128, found array",
  ],
  [
    "another hasher",
    stored("Relayer.Nonce", u64, twox(bytes), blake(stateMachineCodec)),
    "Relayer.Nonce: expected Twox64Concat and Blake2128Concat, found Blake2128Concat and Blake2128Concat",
  ],
  [
    "another key",
    stored("Ismp.ChallengePeriod", u64, blake(hostAddressCodec)),
    "Ismp.ChallengePeriod: key: expected array, found variants",
  ],
  ["another name", stored("Ismp.Nonsense", u64), "no storage Ismp.Nonsense"],
  [
    "no value where there is one",
    stored("Ismp.Nonce", nothing),
    "Ismp.Nonce: value: expected 0 fields, found 1",
  ],
  [
    "other fields of an event",
    { event: "Ismp.StateMachineUpdated", codec: u64 },
    "Ismp.StateMachineUpdated: argument: expected u64, found variants",
  ],
  [
    "more fields than an event has",
    { event: "Ismp.StateMachineUpdated", codec: pair(stateMachineHeightCodec, u64) },
    "Ismp.StateMachineUpdated: argument: expected 4 fields, found 3",
  ],
  [
    "other arguments of a call",
    { call: "Ismp.handle_unsigned", layout: [{ list: [{ variants: { 0: ["u64"] } }] }] },
    "Ismp.handle_unsigned: [].0: expected u64, found list",
  ],
  // As if the runtime had appended the second field of an event, and the last two of a stored value.
  ["more at the end of an event", { event: "Ismp.StateMachineUpdated", codec: stateMachineIdCodec }, ""],
  [
    "more at the end of a value",
    stored("Ismp.BoundedStateCommitments", u64, blake(stateMachineIdCodec), blake(u64)),
    "",
  ],
  // Items of a list follow each other: one field more would move all that come behind.
  [
    "more in the items of a list",
    stored("BeefyConsensusProofs.RotationProofs", list(u64)),
    "BeefyConsensusProofs.RotationProofs: value[]: expected 1 fields, found 2",
  ],
  // What is written must be complete.
  [
    "more at the end of a call",
    { call: "Relayer.withdraw_fees", layout: layoutOf(withdrawalInputDataCodec).slice(0, 2) },
    "Relayer.withdraw_fees: argument: expected 2 fields, found 3",
  ],
];

for (const [what, assumed, difference] of changed) {
  Deno.test(`assumptions: ${what} is ${difference === "" ? "no difference" : "found"}`, () => {
    assert.equal(runtimeOf("nexus-head").findDifference(assumed) ?? "", difference);
  });
}
