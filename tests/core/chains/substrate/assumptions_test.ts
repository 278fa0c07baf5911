/** What the program assumes of runtimes, against the metadata of real ones and against changed ones. */
import assert from "node:assert/strict";
import {
  type Assumptions,
  assumptions,
  findDifferences,
} from "../../../../src/core/chains/substrate/assumptions.ts";
import type {
  Layout,
  RuntimeEventLayout,
  StorageLayout,
} from "../../../../src/core/chains/substrate/layout.ts";
import { loadRuntime, type Runtime } from "../../../../src/core/chains/substrate/runtime.ts";
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
        "Ismp.LatestStateMachineHeight: key.0.0.0: expected u32, found variants",
        "Ismp.ChallengePeriod: key: expected fields, found array",
        "Ismp.StateMachineUpdated: .0.0.0.0: expected u32, found variants",
        hub === "nexus"
          ? "no call Ismp.handle_unsigned"
          : "Ismp.handle_unsigned: [].2.0.0[].0.0.0: expected u32, found variants",
        hub === "nexus"
          ? "no storage Mmr.NumberOfLeaves"
          : "Relayer.Fees: expected Blake2128Concat and Blake2128Concat, found Twox64Concat and Twox64Concat",
      ]
    ) assert.ok(essential.includes(expected), essential.join("\n"));
    const optional = assumptions.hub.filter(({ isOptional }) => isOptional);
    assert.deepEqual(optional.flatMap(found), [], "what is not there is not used");
  });
}

/** The first storage item of that name among all assumptions. */
function storageOf(name: string): StorageLayout {
  const items = all.flatMap(({ storage = [] }) => storage.flat());
  const found = items.find(({ item }) => item === name);
  assert.ok(found !== undefined);
  return found;
}

const changed: readonly (readonly [string, Partial<StorageLayout>, string])[] = [
  ["Relayer.Fees", { value: "u128" }, "Relayer.Fees: value: expected u128, found array"],
  ["Relayer.Nonce", { hashers: ["Twox64Concat", "Blake2128Concat"] }, ""],
  [
    "Ismp.ChallengePeriod",
    { key: { array: "u8", length: 4 } },
    "Ismp.ChallengePeriod: key: expected array, found fields",
  ],
  ["Ismp.Nonce", { item: "Ismp.Nonsense" }, "no storage Ismp.Nonsense"],
];

Deno.test("assumptions: another value, key, hasher or name of a storage item is found", () => {
  const runtime = runtimeOf("nexus-head");
  for (const [name, change, expected] of changed) {
    const found = runtime.findStorageMismatch({ ...storageOf(name), ...change });
    const hashers =
      "Relayer.Nonce: expected Twox64Concat and Blake2128Concat, found Blake2128Concat and Blake2128Concat";
    assert.equal(found, expected === "" ? hashers : expected);
  }
});

Deno.test("assumptions: an event with other fields is found", () => {
  const runtime = runtimeOf("nexus-head");
  const event = (fields: readonly Layout[]): RuntimeEventLayout => ({
    event: "Ismp.StateMachineUpdated",
    fields,
  });
  assert.equal(
    runtime.findEventMismatch(event(["u64"])),
    "Ismp.StateMachineUpdated: .0: expected u64, found fields",
  );
  assert.equal(
    runtime.findEventMismatch(event(["u64", "u64", "u64"])),
    "Ismp.StateMachineUpdated: argument: expected 3 fields, found 2",
  );
});

Deno.test("assumptions: what is read may have more at its end, what is written and what is counted may not", () => {
  const runtime = runtimeOf("nexus-head");
  const id4: Layout = { array: "u8", length: 4 };
  // As if the runtime had appended the second field of an event, and the last two of a stored value.
  const updated = all.flatMap(({ events = [] }) => events).find(({ event }) =>
    event === "Ismp.StateMachineUpdated"
  );
  assert.ok(updated?.fields !== undefined);
  assert.equal(runtime.findEventMismatch({ ...updated, fields: updated.fields.slice(0, 1) }), undefined);
  const commitment = storageOf("Ismp.BoundedStateCommitments");
  assert.equal(runtime.findStorageMismatch({ ...commitment, value: { fields: ["u64"] } }), undefined);
  assert.match(
    runtime.findStorageMismatch({ ...commitment, value: { fields: ["u32"] } }) ?? "",
    /value\.0: expected u32, found u64/,
  );
  // Items of a list follow each other: one field more would move all that come behind.
  const rotations = storageOf("BeefyConsensusProofs.RotationProofs");
  assert.match(
    runtime.findStorageMismatch({ ...rotations, value: { list: { fields: ["u64", "u64", "u64"] } } }) ?? "",
    /expected 3 fields, found 2/,
  );
  const consensus = { pallet: "Ismp", call: "handle_unsigned" };
  assert.match(
    runtime.findCallMismatch({ ...consensus, layout: [{ list: { variants: { 0: ["u64", id4] } } }] }) ?? "",
    /expected/,
  );
});
