/** The code of a bundle of contract reads, run by a real machine. */
import assert from "node:assert/strict";
import { createPublicClient, createTestClient, http } from "viem";
import { startAnvil } from "../../../../devnet/evm/anvil.ts";
import type { Hex } from "../../../../src/core/encoding/bytes.ts";
import type { Address } from "../../../../src/core/evm/address.ts";
import { type BundledRead, decodeBundleResult, encodeBundle } from "../../../../src/core/evm/call_bundle.ts";
import { bundleResult } from "../../../support/bundle_runner.ts";

const at = (last: number): Address => `0x${last.toString(16).padStart(40, "0")}`;
const ECHO = at(0xa1);
const REVERTING = at(0xb1);
const BURNING = at(0xc1);
const WRITING = at(0xd1);
const COUNTING = at(0xe1);
const EMPTY = at(0xf1);

const codes: ReadonlyMap<Address, Hex> = new Map<Address, Hex>([
  // Returns its calldata.
  [ECHO, "0x366000600037366000f3"],
  // Reverts with its calldata.
  [REVERTING, "0x366000600037366000fd"],
  // Uses up all gas that it gets.
  [BURNING, "0xfe"],
  // Stores a 1.
  [WRITING, "0x600160005500"],
  // Returns the number of its block.
  [COUNTING, "0x4360005260206000f3"],
]);

/** What a machine answers to each read of a bundle. */
async function run(reads: readonly BundledRead[]): Promise<readonly (Hex | undefined)[] | undefined> {
  await using anvil = await startAnvil({ chainId: 31_337 });
  const client = createTestClient({ mode: "anvil", transport: http(anvil.rpcUrl) });
  for (const [address, bytecode] of codes) await client.setCode({ address, bytecode });
  await client.mine({ blocks: 7 });
  const data = encodeBundle(reads);
  const { data: result = "0x" } = await createPublicClient({ transport: http(anvil.rpcUrl) }).call({ data });
  return decodeBundleResult(result, reads.length);
}

Deno.test("call bundle: a real machine answers each read by itself, whatever the others do", async () => {
  const long: Hex = `0x${"ab".repeat(200)}`;
  const answers = await run([
    { to: ECHO, data: "0x010203" },
    { to: REVERTING, data: "0xbeef" },
    { to: ECHO, data: "0x" },
    { to: EMPTY, data: "0x11" },
    { to: BURNING, data: "0x" },
    { to: COUNTING, data: "0x" },
    { to: ECHO, data: long },
  ]);
  const seven: Hex = `0x${"7".padStart(64, "0")}`;
  assert.deepEqual(answers, ["0x010203", undefined, "0x", "0x", undefined, seven, long]);
});

Deno.test("call bundle: what contracts are asked in a bundle changes nothing", async () => {
  assert.deepEqual(await run([{ to: WRITING, data: "0x" }, { to: ECHO, data: "0x07" }]), [undefined, "0x07"]);
});

Deno.test("call bundle: a hundred of the longest reads go together", async () => {
  const reads = Array.from({ length: 100 }, (_, index): BundledRead => ({
    to: ECHO,
    data: `0x${index.toString(16).padStart(2, "0").repeat(200)}`,
  }));
  assert.deepEqual(await run(reads), reads.map(({ data }) => data));
});

Deno.test("call bundle: only an answer to as many reads is one", () => {
  const result = bundleResult(["0x0102", undefined, "0x"]);
  assert.deepEqual(decodeBundleResult(result, 3), ["0x0102", undefined, "0x"]);
  assert.equal(decodeBundleResult(result, 2), undefined);
  assert.equal(decodeBundleResult(`${result}01`, 3), undefined);
  for (let length = 2; length < result.length; length += 2) {
    assert.equal(decodeBundleResult(result.slice(0, length) as Hex, 3), undefined);
  }
  assert.equal(decodeBundleResult(`0x02${result.slice(4)}`, 3), undefined);
  assert.equal(decodeBundleResult("0x", 1), undefined);
});
