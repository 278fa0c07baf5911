import assert from "node:assert/strict";
import { loadRuntime } from "../../../../src/core/chains/substrate/runtime.ts";
import { type DryRun, readDryRun, readValidation } from "../../../../src/core/chains/substrate/dry_run.ts";
import { fromHex } from "../../../../src/core/encoding/bytes.ts";
import { hubMetadata } from "../../../support/hub_vectors.ts";

const validations = [
  ["0x00640000000000000000000019000000000000000001", "valid"],
  ["0x010004", "Invalid.BadProof"],
  ["0x010000", "Invalid.Call"],
  ["0x010003", "Invalid.Stale"],
  ["0x010006", "Invalid.ExhaustsResources"],
  ["0x01000707", "Invalid.Custom(7)"],
  ["0x0100ff", "Invalid.255"],
  ["0x010100", "Unknown.CannotLookup"],
  ["0x010101", "Unknown.NoUnsignedValidator"],
  ["0x", "unreadable"],
  ["0x02", "unreadable"],
  ["0x0100", "unreadable"],
  ["0x010200", "unreadable"],
] as const;

function describe(run: DryRun | undefined): string {
  return run?.kind === "invalid" ? run.reason : run?.kind ?? "unreadable";
}

for (const [answer, expected] of validations) {
  Deno.test(`validity: ${answer} of the pool is ${expected}`, () => {
    assert.equal(describe(readValidation(fromHex(answer))), expected);
  });
}

Deno.test("validity: dry runs return the module's error", () => {
  const { specName, specVersion, metadata } = hubMetadata("nexus-head");
  const runtime = loadRuntime("POLKADOT-3367", { specName, specVersion }, metadata);
  const read = (answer: string): string => describe(readDryRun(runtime, fromHex(answer)));
  assert.equal(read("0x0000"), "valid");
  assert.equal(read("0x0001032900000000"), "Ismp.InvalidMessage");
  assert.equal(read("0x000102"), "BadOrigin");
  assert.equal(read("0x010004"), "Invalid.BadProof");
  assert.equal(read("0x00"), "unreadable");
  assert.equal(read("0x"), "unreadable");
});
