/** What nodes say instead of an answer (`tests/vectors/rpc-errors.json`, a row for each phrasing), and what that means. */
import assert from "node:assert/strict";
import type { RpcFaultCode, TranslateError } from "../../../src/core/rpc/call.ts";
import { translateCometError } from "../../../src/core/rpc/cometbft_errors.ts";
import { translateEvmError } from "../../../src/core/rpc/evm_errors.ts";
import { translateSubstrateError } from "../../../src/core/rpc/substrate_errors.ts";
import vectors from "../../vectors/rpc-errors.json" with { type: "json" };

interface Row {
  readonly expected: string;
  readonly method: string;
  readonly by?: string;
  readonly code: number | null;
  readonly message: string;
  readonly data?: string;
}

function check(translate: TranslateError, { expected, method, code, message, data }: Row): void {
  const found = translate({ code: code ?? undefined, message, data }, method);
  assert.deepEqual([found.code, found.data], [expected as RpcFaultCode, undefined]);
}

function told({ by = "a node", code, message, method }: Row): string {
  return `${by} says "${message.slice(0, 60)}" (${code}) to ${method}`;
}

for (const row of vectors.evm) {
  Deno.test(`evm errors: ${told(row)}: ${row.expected}`, () => check(translateEvmError, row));
}

for (const row of vectors.substrate) {
  Deno.test(`substrate errors: ${told(row)}: ${row.expected} (F20)`, () =>
    check(translateSubstrateError, row));
}

for (const row of vectors.cometbft) {
  Deno.test(`CometBFT errors: ${told(row)}: ${row.expected}`, () => check(translateCometError, row));
}

Deno.test("evm errors: revert data is found in each of the shapes nodes use", () => {
  const dataOf = (data: Parameters<TranslateError>[0]["data"]): string | undefined =>
    translateEvmError({ code: 3, message: "execution reverted", data }, "eth_call").data;
  const reverted = { message: "reverted", data: "0x2ad4ae2e" };
  for (const data of ["0x2AD4ae2e", "Reverted 0x2ad4ae2e", reverted, { data: { data: "0x2ad4ae2e" } }]) {
    assert.equal(dataOf(data), "0x2ad4ae2e");
  }
  assert.equal(dataOf("0x"), "0x");
  for (const none of [undefined, null, "0x2ad", "because", 5, ["0x2ad4ae2e"]]) {
    assert.equal(dataOf(none), undefined);
  }
});
