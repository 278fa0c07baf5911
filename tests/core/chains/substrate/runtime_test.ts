import assert from "node:assert/strict";
import { callLayouts } from "../../../../src/core/chains/substrate/layout.ts";
import { loadRuntime, type Runtime, RuntimeFault } from "../../../../src/core/chains/substrate/runtime.ts";
import { concatBytes, fromHex, toHex } from "../../../../src/core/encoding/bytes.ts";
import { bytes } from "../../../../src/core/encoding/scale.ts";
import { hubMetadata, hubScale } from "../../../support/hub_vectors.ts";

function runtimeOf(name: Parameters<typeof hubMetadata>[0]): Runtime {
  const { specName, specVersion, metadata } = hubMetadata(name);
  return loadRuntime("KUSAMA-4009", { specName, specVersion }, metadata);
}

for (const hub of ["nexus", "gargantua"] as const) {
  for (
    const [vector, layout] of [
      ["Ismp.handle_unsigned.Consensus", callLayouts.consensus],
      ["Ismp.handle_unsigned.Request", callLayouts.requests],
      ["StateCoprocessor.handle_unsigned", callLayouts.getRequests],
      ["Relayer.accumulate_fees", callLayouts.accumulateFees],
      ["Relayer.accumulate_fees.beneficiary", callLayouts.accumulateFees],
      ["Relayer.withdraw_fees", callLayouts.withdrawFees],
      ["Relayer.withdraw_fees.beneficiary", callLayouts.withdrawFees],
    ] as const
  ) {
    Deno.test(`runtime: ${hub} ${vector} has the indexes and the layout of the metadata`, () => {
      const runtime = runtimeOf(`${hub}-head`);
      const expected = hubScale(`call.${hub}.${vector}`).scale;
      assert.equal(toHex(runtime.encodeCall(layout, fromHex(expected).slice(2))), expected);
    });
  }

  Deno.test(`runtime: ${hub} decodes events by name with the bytes of their fields`, () => {
    const runtime = runtimeOf(`${hub}-head`);
    for (const name of ["PostRequestHandled", "GetRequestHandled", "StateMachineUpdated", "Request"]) {
      const { scale } = hubScale(`event.${hub}.Ismp.${name}`);
      const { events: [event, ...more] } = runtime.decodeEvents(fromHex(scale));
      assert.deepEqual(more, []);
      assert.equal(event?.pallet, "Ismp");
      assert.equal(event?.name, name);
      assert.equal(event?.extrinsic, 2);
      // Count, phase, pallet and event index stand before the fields, the empty topics after them.
      assert.equal(toHex(event?.fields ?? new Uint8Array()), `0x${scale.slice(2 + 16, -2)}`);
    }
  });
}

Deno.test("runtime: module errors have their names, others the name of their kind", () => {
  const runtime = runtimeOf("nexus-head");
  assert.equal(runtime.dispatchErrorName(fromHex("0x032900000000")), "Ismp.InvalidMessage");
  assert.equal(runtime.dispatchErrorName(fromHex("0x032963000000")), "Ismp.99");
  assert.equal(runtime.dispatchErrorName(fromHex("0x03fd01000000")), "pallet 253.1");
  assert.equal(runtime.dispatchErrorName(fromHex("0x02")), "BadOrigin");
});

Deno.test("runtime: kinds of errors have the names that the metadata gives them", () => {
  for (const name of ["nexus-head", "gargantua-head"] as const) {
    const runtime = runtimeOf(name);
    assert.equal(runtime.dispatchErrorName(fromHex("0x0e05")), "Trie");
    assert.equal(runtime.dispatchErrorName(fromHex("0x0d")), "RootNotAllowed");
    assert.equal(runtime.dispatchErrorName(fromHex("0x0f")), "DispatchError 15");
    assert.equal(runtime.dispatchErrorName(fromHex("0x")), "DispatchError ?");
  }
});

Deno.test("runtime: the failed extrinsic of real metadata is decoded", () => {
  const runtime = runtimeOf("gargantua-genesis");
  // Vec of one: ApplyExtrinsic(3), System.ExtrinsicFailed(Module{41, 0}, weight(1, 2), Normal, Yes), no topics.
  const record = fromHex("0x04000300000000010329000000000408000000");
  const [event] = runtime.decodeEvents(record).events;
  assert.equal(`${event?.pallet}.${event?.name}`, "System.ExtrinsicFailed");
  assert.equal(runtime.dispatchErrorName(event?.fields ?? new Uint8Array()), "Ismp.InvalidMessage");
});

function refusedWith(code: string, detail: RegExp): (error: unknown) => boolean {
  return (error) => error instanceof RuntimeFault && error.code === code && detail.test(error.detail);
}

Deno.test("runtime: the genesis runtimes are refused where their layout differs, and named", () => {
  const gargantua = runtimeOf("gargantua-genesis");
  assert.throws(
    () => gargantua.encodeCall(callLayouts.requests, new Uint8Array()),
    refusedWith("layout_mismatch", /Ismp\.handle_unsigned: .*expected u32, found variants/),
  );
  const nexus = runtimeOf("nexus-genesis");
  assert.throws(
    () => nexus.encodeCall(callLayouts.requests, new Uint8Array()),
    refusedWith("missing_call", /no call Ismp\.handle_unsigned/),
  );
});

Deno.test("runtime: a consensus message of gargantua's genesis has the same layout and is encoded", () => {
  const runtime = runtimeOf("gargantua-genesis");
  const message = concatBytes(Uint8Array.of(4, 0), bytes.enc(Uint8Array.of(1)), fromHex("0x45544830"));
  const call = runtime.encodeCall(callLayouts.consensus, message);
  assert.equal(toHex(call.slice(0, 2)), "0x2900");
});

Deno.test("runtime: presence of pallets and storage items is known", () => {
  const head = runtimeOf("nexus-head");
  const genesis = runtimeOf("gargantua-genesis");
  assert.equal(head.hasPallet("Relayer"), true);
  assert.equal(head.hasPallet("Sudo"), false);
  assert.equal(head.hasStorage("Ismp.BoundedStateMachineUpdateTime"), true);
  assert.equal(genesis.hasStorage("Ismp.BoundedStateMachineUpdateTime"), false);
  assert.equal(genesis.hasStorage("Ismp.StateMachineUpdateTime"), true);
});

Deno.test("runtime: bytes that are no metadata and events that do not decode are named faults", () => {
  assert.throws(
    () => loadRuntime("KUSAMA-4009", { specName: "x", specVersion: 1 }, Uint8Array.of(1, 2, 3)),
    refusedWith("bad_metadata", /3 bytes/),
  );
  const runtime = runtimeOf("nexus-head");
  assert.throws(
    () => runtime.decodeEvents(fromHex("0x0400020000002907")),
    refusedWith("bad_events", /8 bytes/),
  );
});

/** `System.ExtrinsicSuccess` and `System.ExtrinsicFailed` of an extrinsic, with its topics. */
function succeeded(extrinsic: number): string {
  return `00${extrinsic.toString(16).padStart(2, "0")}00000000000000000000`;
}

function failedRecord(extrinsic: number): string {
  return `00${extrinsic.toString(16).padStart(2, "0")}00000000010329000000000408000000`;
}

for (
  const [what, foreign, name] of [
    ["of a pallet that the metadata does not have", "0001000000fe0302aabb00", "pallet 254.event 3"],
    ["of a kind that the metadata does not have", "0001000000004d02aabb00", "System.event 77"],
    // The list in it would be longer than the block.
    [
      "whose fields are not those of the metadata",
      "000100000029080bffffffffff00",
      "Ismp.PostResponseHandled",
    ],
  ] as const
) {
  Deno.test(`runtime: an event ${what} is skipped, the others are read`, () => {
    const runtime = runtimeOf("gargantua-genesis");
    const value = fromHex(`0x0c${succeeded(0)}${foreign}${failedRecord(2)}`);
    const { events, skipped } = runtime.decodeEvents(value);
    assert.deepEqual(events.map(({ pallet, name, extrinsic }) => [`${pallet}.${name}`, extrinsic]), [
      ["System.ExtrinsicSuccess", 0],
      ["System.ExtrinsicFailed", 2],
    ]);
    assert.deepEqual(skipped.map((event) => [`${event.pallet}.${event.name}`, event.extrinsic]), [[name, 1]]);
  });
}
