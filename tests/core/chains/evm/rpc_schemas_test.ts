import assert from "node:assert/strict";
import {
  type Log,
  parseResponse,
  readLogs as readAsked,
  receipt,
} from "../../../../src/core/chains/evm/rpc_schemas.ts";
import { SchemaError } from "../../../../src/core/evm/schema.ts";

const hash = `0x${"aB".repeat(32)}`;
const log = {
  address: `0x${"Cd".repeat(20)}`,
  topics: [hash, hash.toLowerCase()],
  data: "0x00Ff",
  blockNumber: "0x10",
  transactionHash: hash,
  logIndex: "0x0",
  removed: false,
  other: "fields are left out",
};

const asked = {
  address: `0x${"cd".repeat(20)}`,
  topics: [`0x${"ab".repeat(32)}`],
  from: 16n,
  to: 17n,
} as const;
const readReceiptLogs = (found: unknown): unknown => parseResponse(receipt.shape.logs, found, "logs");
const readLogs = (found: unknown): readonly Log[] => readAsked(found, asked);

Deno.test("logs: hex in lower case, numbers as integers, and nothing else", () => {
  const read = {
    address: `0x${"cd".repeat(20)}`,
    topics: [hash.toLowerCase(), hash.toLowerCase()],
    data: "0x00ff",
    blockNumber: 16n,
    transactionHash: hash.toLowerCase(),
    logIndex: 0n,
  };
  assert.deepEqual(readLogs([log, { ...log, removed: null }, { ...log, removed: true }]), [read, read]);
  const { address, topics, data } = read;
  assert.deepEqual(readReceiptLogs([{ ...log, blockNumber: 1 }]), [{ address, topics, data }]);
});

const wrongFields: readonly (readonly [field: string, values: readonly unknown[]])[] = [
  ["address", [
    "0x",
    "0xabc",
    `${log.address}00`,
    log.address.slice(2),
    `0x${"ce".repeat(20)}`,
    "0X" + log.address.slice(2),
    1,
    null,
  ]],
  ["topics", [undefined, null, {}, [], hash, ["0x12", hash], [hash, "0x1"], [hash, null], [hash, "0xzz"]]],
  ["data", [undefined, null, "", "0x0", "00ff", "0x0g", "0x00ff\n", [0]]],
  ["blockNumber", [undefined, null, 16, "16", "0x", "0x1g", "0xf", "0x12", `0x${"1".repeat(17)}`]],
  ["transactionHash", [undefined, null, "0x", hash.slice(0, -2), `${hash}00`]],
  ["logIndex", [undefined, null, 0, "0", "0x", `0x${"1".repeat(17)}`]],
  ["removed", ["false", 0, {}]],
];

Deno.test("logs: what is not of the form is named by its place", () => {
  for (const [field, values] of wrongFields) {
    for (const value of values) {
      assert.throws(
        () => readLogs([log, { ...log, [field]: value }]),
        (error) => error instanceof SchemaError && `${error.place}.`.startsWith(`eth_getLogs.1.${field}.`),
        `${field} ${JSON.stringify(value)}`,
      );
    }
  }
  for (const value of [null, {}, "0x", log]) assert.throws(() => readLogs(value), SchemaError);
  for (const value of [null, [], "0x", 1]) {
    assert.throws(() => readLogs([value]), SchemaError);
    assert.throws(
      () => readReceiptLogs([log, value]),
      (error) => error instanceof SchemaError && error.place.startsWith("logs.1"),
    );
  }
});
