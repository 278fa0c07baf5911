import assert from "node:assert/strict";
import { runtimeCalls } from "../../../../src/core/chains/substrate/assumptions.ts";
import { loadRuntime, type Runtime, RuntimeFault } from "../../../../src/core/chains/substrate/runtime.ts";
import { fromHex, toHex } from "../../../../src/core/encoding/bytes.ts";
import { decodeStrict } from "../../../../src/core/encoding/scale.ts";
import { toConsensusStateId } from "../../../../src/core/ismp/state_machine.ts";
import { ismpKeys } from "../../../../src/core/ismp/storage_keys.ts";
import { hubMetadata, hubScale } from "../../../support/hub_vectors.ts";

function runtimeOf(name: Parameters<typeof hubMetadata>[0]): Runtime {
  const { specName, specVersion, metadata } = hubMetadata(name);
  return loadRuntime("KUSAMA-4009", { specName, specVersion }, metadata);
}

for (const hub of ["nexus", "gargantua"] as const) {
  Deno.test(`runtime: a consensus message of ${hub} has the indexes and the layout of the metadata`, () => {
    const { consensus } = runtimeCalls;
    const expected = hubScale(`call.${hub}.Ismp.handle_unsigned.Consensus`).scale;
    const messages = decodeStrict(consensus.codec, fromHex(expected).slice(2), consensus.call);
    assert.equal(toHex(runtimeOf(`${hub}-head`).encodeCall(consensus, messages)), expected);
  });

  Deno.test(`runtime: ${hub} decodes events by name with the bytes of their fields`, () => {
    const runtime = runtimeOf(`${hub}-head`);
    for (const name of ["PostRequestHandled", "GetRequestHandled", "StateMachineUpdated", "Request"]) {
      const { scale } = hubScale(`event.${hub}.Ismp.${name}`);
      const [event, ...more] = runtime.decodeEvents(fromHex(scale));
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
  const [event] = runtime.decodeEvents(record);
  assert.equal(`${event?.pallet}.${event?.name}`, "System.ExtrinsicFailed");
  assert.equal(runtime.dispatchErrorName(event?.fields ?? new Uint8Array()), "Ismp.InvalidMessage");
});

function refusedWith(code: string, detail: RegExp): (error: unknown) => boolean {
  return (error) => error instanceof RuntimeFault && error.code === code && detail.test(error.detail);
}

Deno.test("runtime: the genesis runtimes are refused where their layout differs, and named", () => {
  const gargantua = runtimeOf("gargantua-genesis");
  assert.throws(
    () => gargantua.encodeCall(runtimeCalls.requests, []),
    refusedWith("layout_mismatch", /Ismp\.handle_unsigned: .*expected u32, found variants/),
  );
  const nexus = runtimeOf("nexus-genesis");
  assert.throws(
    () => nexus.encodeCall(runtimeCalls.requests, []),
    refusedWith("missing_call", /no call Ismp\.handle_unsigned/),
  );
});

Deno.test("runtime: a consensus message of gargantua's genesis has the same layout and is encoded", () => {
  const runtime = runtimeOf("gargantua-genesis");
  const consensusStateId = toConsensusStateId("ETH0");
  const value = { consensusProof: Uint8Array.of(1), consensusStateId, signer: new Uint8Array() };
  const call = runtime.encodeCall(runtimeCalls.consensus, [{ tag: "Consensus", value }]);
  assert.equal(toHex(call), "0x2900040004014554483000");
});

Deno.test("runtime: presence of pallets and storage items is known", () => {
  const head = runtimeOf("nexus-head");
  const genesis = runtimeOf("gargantua-genesis");
  assert.equal(head.hasPallet("Relayer"), true);
  assert.equal(head.hasPallet("Sudo"), false);
  assert.equal(head.has(ismpKeys.boundedStateMachineUpdateTime), true);
  assert.equal(genesis.has(ismpKeys.boundedStateMachineUpdateTime), false);
  assert.equal(genesis.has(ismpKeys.stateMachineUpdateTime), true);
});

Deno.test("runtime: bytes that are no metadata and events that do not decode are named faults", () => {
  assert.throws(
    () => loadRuntime("KUSAMA-4009", { specName: "x", specVersion: 1 }, Uint8Array.of(1, 2, 3)),
    refusedWith("bad_metadata", /3 bytes/),
  );
  for (
    const [runtime, events] of [
      ["nexus-head", "0400020000002907"],
      // Of a pallet, and of a kind, that the metadata does not have; a list in it would be longer than the block.
      ["gargantua-genesis", "040001000000fe0302aabb00"],
      ["gargantua-genesis", "0400010000004d02aabb00"],
      ["gargantua-genesis", "04000100000029080bffffffffff00"],
    ] as const
  ) {
    assert.throws(
      () => runtimeOf(runtime).decodeEvents(fromHex(events)),
      refusedWith("bad_events", new RegExp(`^${events.length / 2} bytes`)),
    );
  }
});
