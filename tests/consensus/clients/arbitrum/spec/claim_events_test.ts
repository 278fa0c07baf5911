import { deepStrictEqual as equal, throws } from "node:assert/strict";
import { encodeAbiParameters, parseAbi, parseAbiParameters, toEventSelector } from "viem";
import type { Hex } from "../../../../../src/core/encoding/bytes.ts";
import {
  ASSERTION_CREATED,
  decodeAssertionCreated,
  decodeNodeCreated,
  NODE_CREATED,
} from "../../../../../src/consensus/clients/arbitrum/spec/claim_events.ts";
import { assertionHash } from "../../../../../src/consensus/clients/arbitrum/spec/claim_hashes.ts";
import { machineStatuses } from "../../../../../src/consensus/clients/arbitrum/spec/update.ts";
import type { RawLog } from "../../../../../src/core/evm/host_events.ts";
import { word } from "../../../../../src/core/evm/host_storage.ts";
import { flatStateOf, orbitUpdate, realEvent } from "./vectors.ts";

const rollup = "0x4dceb440657f21083db8add07665f8ddbe1dcfc0";

function hexOf(text: string): Hex {
  return `0x${text.slice(2)}`;
}

const assertionLog: RawLog = {
  address: "0x4DCeB440657f21083db8aDd07665f8ddBe1DCfc0",
  topics: [
    hexOf(realEvent.text("topic0")),
    realEvent.hash("derived.assertion_hash"),
    realEvent.hash("derived.parent_assertion_hash"),
  ],
  data: hexOf(realEvent.text("data")),
};

const { globalState, machineStatus, inboxMaxCount, nodeNumber } = orbitUpdate.proof.value;
const zero = word(0n);

const nodeLog: RawLog = {
  address: rollup,
  topics: [NODE_CREATED, word(nodeNumber), word(1n), word(2n)],
  data: encodeAbiParameters(
    parseAbiParameters([
      "bytes32 executionHash, Assertion assertion, bytes32 afterInboxBatchAcc, bytes32 wasmModuleRoot, uint256 inboxMaxCount",
      "struct GlobalState { bytes32[2] bytes32Vals; uint64[2] u64Vals; }",
      "struct ExecutionState { GlobalState globalState; uint8 machineStatus; }",
      "struct Assertion { ExecutionState beforeState; ExecutionState afterState; uint64 numBlocks; }",
    ]),
    [
      word(7n),
      {
        beforeState: { globalState: { bytes32Vals: [zero, zero], u64Vals: [0n, 0n] }, machineStatus: 2 },
        afterState: {
          globalState: {
            bytes32Vals: [globalState.blockHash, globalState.sendRoot],
            u64Vals: [globalState.inboxPosition, globalState.positionInMessage],
          },
          machineStatus: machineStatuses.indexOf(machineStatus),
        },
        numBlocks: 12n,
      },
      word(8n),
      word(9n),
      inboxMaxCount,
    ],
  ),
};

Deno.test("claim events: topics are the hashes of the signatures", () => {
  const state = "((bytes32[2],uint64[2]),uint8";
  const [assertion, node] = parseAbi([
    `event AssertionCreated(bytes32 indexed a, bytes32 indexed b, ((bytes32,bytes32,(bytes32,uint256,address,uint64,uint64)),${state},bytes32),${state},bytes32)) c, bytes32 d, uint256 e, bytes32 f, uint256 g, address h, uint64 i)`,
    `event NodeCreated(uint64 indexed a, bytes32 indexed b, bytes32 indexed c, bytes32 d, (${state}),${state}),uint64) e, bytes32 f, bytes32 g, uint256 h)`,
  ]);
  equal(toEventSelector(assertion), ASSERTION_CREATED);
  equal(toEventSelector(node), NODE_CREATED);
  equal(realEvent.text("topic0"), ASSERTION_CREATED);
});

Deno.test("claim events: the real assertion of Arbitrum One is read, and hashes to its name", () => {
  const decoded = realEvent.at("decoded");
  const event = decodeAssertionCreated(assertionLog, rollup);
  equal(event, {
    assertionHash: realEvent.hash("derived.assertion_hash"),
    previousAssertionHash: realEvent.hash("derived.parent_assertion_hash"),
    afterState: flatStateOf(decoded.at("after_state")),
    sequencerBatchAcc: decoded.hash("after_inbox_batch_acc"),
  });
  equal(event && assertionHash(event), event?.assertionHash);
});

Deno.test("claim events: a node is read out of its log", () => {
  equal(decodeNodeCreated(nodeLog, rollup), {
    nodeNumber,
    globalState,
    machineStatus,
    inboxMaxCount,
  });
});

Deno.test("claim events: logs of other contracts and other events are not read", () => {
  const other = "0x0000000000000000000000000000000000000001";
  equal(decodeAssertionCreated(assertionLog, other), undefined);
  equal(decodeAssertionCreated(nodeLog, rollup), undefined);
  equal(decodeNodeCreated(assertionLog, rollup), undefined);
  equal(decodeNodeCreated({ ...nodeLog, topics: [] }, rollup), undefined);
});

/** The data with one of its words replaced. */
function withWord(log: RawLog, at: number, value: bigint): RawLog {
  const start = 2 + 64 * at;
  return {
    ...log,
    data: `0x${log.data.slice(2, start)}${word(value).slice(2)}${log.data.slice(start + 64)}`,
  };
}

Deno.test("claim events: a log that has not the shape of its event is refused", () => {
  const refuses = (read: () => unknown, what: string): void =>
    throws(read, { name: "RollupDataError", code: "malformed_event" }, what);
  const broken: [string, RawLog][] = [
    ["a topic less", { ...assertionLog, topics: assertionLog.topics.slice(0, 2) }],
    ["a byte less", { ...assertionLog, data: hexOf(assertionLog.data.slice(0, -2)) }],
    ["a word more", { ...assertionLog, data: `${assertionLog.data}${zero.slice(2)}` }],
    ["no data", { ...assertionLog, data: "0x" }],
    ["after status", withWord(assertionLog, 17, 3n)],
    ["after status beyond a byte", withWord(assertionLog, 17, 257n)],
    ["inbox position beyond 64 bits", withWord(assertionLog, 15, 2n ** 64n)],
    ["challenge manager beyond 20 bytes", withWord(assertionLog, 23, 2n ** 160n)],
  ];
  for (const [what, log] of broken) refuses(() => decodeAssertionCreated(log, rollup), what);
  const brokenNodes: [string, RawLog][] = [
    ["node number", { ...nodeLog, topics: nodeLog.topics.with(1, word(2n ** 64n)) }],
    ["status", withWord(nodeLog, 10, 3n)],
    ["a byte less", { ...nodeLog, data: hexOf(nodeLog.data.slice(0, -2)) }],
  ];
  for (const [what, log] of brokenNodes) refuses(() => decodeNodeCreated(log, rollup), what);
});

Deno.test("claim events: every other word of the real data shows in the event or not at all", () => {
  const whole = decodeAssertionCreated(assertionLog, rollup);
  // What an update is made of.
  const shown = Array.from({ length: 25 }, (_, at) => at).filter((at) => {
    const changed = decodeAssertionCreated(withWord(assertionLog, at, 1n), rollup);
    return JSON.stringify(changed, replacer) !== JSON.stringify(whole, replacer);
  });
  equal(shown, [13, 14, 15, 16, 18, 19]);
});

function replacer(_key: string, value: unknown): unknown {
  return typeof value === "bigint" ? String(value) : value;
}
