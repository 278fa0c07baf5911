// Logs of claims: by topics that are the hashes of the signatures, of the contract in question alone, and strictly.
import { deepStrictEqual as equal, throws } from "node:assert/strict";
import { encodeAbiParameters, parseAbiParameters, toEventSelector } from "viem";
import * as arbitrum from "../../clients/arbitrum/spec/vectors.ts";
import * as opStack from "../../clients/op_stack/spec/vectors.ts";
import {
  ASSERTION_CREATED,
  decodeAssertionCreated,
  decodeNodeCreated,
  NODE_CREATED,
} from "../../../../src/consensus/clients/arbitrum/spec/claim_events.ts";
import { assertionHash } from "../../../../src/consensus/clients/arbitrum/spec/claim_hashes.ts";
import { machineStatuses } from "../../../../src/consensus/clients/arbitrum/spec/update.ts";
import {
  decodeDetails,
  decodeDisputeGameCreated,
  decodeOutputProposed,
  DISPUTE_GAME_CREATED,
  disputeGameCalls,
  OUTPUT_PROPOSED,
} from "../../../../src/consensus/clients/op_stack/spec/claim_events.ts";
import { type Hash256, type Hex, toHex } from "../../../../src/core/encoding/bytes.ts";
import type { Address } from "../../../../src/core/evm/address.ts";
import type { RawLog } from "../../../../src/core/evm/host_events.ts";
import { word } from "../../../../src/core/evm/host_storage.ts";

const { realEvent } = arbitrum;
const contract = "0x4dceb440657f21083db8add07665f8ddbe1dcfc0";
const zero = word(0n);

function logOf(topic0: Hex, indexed: readonly Hex[], data: Hex): RawLog {
  return { address: "0x4DCeB440657f21083db8aDd07665f8ddBe1DCfc0", topics: [topic0, ...indexed], data };
}

/** The data with one of its words replaced. */
function withWord(log: RawLog, at: number, value: bigint): RawLog {
  const start = 2 + 64 * at;
  return {
    ...log,
    data: `0x${log.data.slice(2, start)}${word(value).slice(2)}${log.data.slice(start + 64)}`,
  };
}

const [game] = opStack.realGames;
if (game === undefined) throw new Error("No game");
const proxy = game.address("expected.proxy");
const rootClaim = game.hash("expected.output_root");
const gameType = Number(game.integer("expected.game_type"));
const gameLog = logOf(DISPUTE_GAME_CREATED, [word(BigInt(proxy)), word(BigInt(gameType)), rootClaim], "0x");
const outputLog = logOf(OUTPUT_PROPOSED, [word(9n), word(4n), word(1800n)], word(1_700_000_000n));

const assertionLog = logOf(
  ASSERTION_CREATED,
  [realEvent.hash("derived.assertion_hash"), realEvent.hash("derived.parent_assertion_hash")],
  `0x${realEvent.text("data").slice(2)}`,
);
const decodedAssertion = realEvent.at("decoded");

const { globalState, machineStatus, inboxMaxCount, nodeNumber } = arbitrum.orbitUpdate.proof.value;
const nodeLog = logOf(
  NODE_CREATED,
  [word(nodeNumber), word(1n), word(2n)],
  encodeAbiParameters(
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
);

/** An event with a log of it, and logs that do not have its shape. */
interface Claimed {
  readonly signature: string;
  readonly topic0: Hex;
  readonly log: RawLog;
  readonly decode: (log: RawLog, contract: Address) => unknown;
  readonly expected: unknown;
  readonly broken: readonly RawLog[];
}

const state = "((bytes32[2],uint64[2]),uint8";
const [firstTopic = zero, ...laterTopics] = gameLog.topics;

const events: Readonly<Record<string, Claimed>> = {
  "a dispute game": {
    signature: "DisputeGameCreated(address indexed a, uint32 indexed b, bytes32 indexed c)",
    topic0: DISPUTE_GAME_CREATED,
    log: gameLog,
    decode: decodeDisputeGameCreated,
    expected: { proxy, gameType, rootClaim },
    broken: [
      { ...gameLog, data: word(1n) },
      { ...gameLog, topics: [...gameLog.topics, word(1n)] },
      { ...gameLog, topics: [firstTopic, `0x01${laterTopics[0]?.slice(4)}`, ...laterTopics.slice(1)] },
      { ...gameLog, topics: gameLog.topics.with(2, word(2n ** 32n)) },
      { ...gameLog, topics: gameLog.topics.with(3, "0x12") },
      { ...gameLog, topics: gameLog.topics.with(3, `0x${"zz".repeat(32)}`) },
      { ...gameLog, topics: gameLog.topics.slice(0, 3), data: gameLog.topics[3] ?? "0x" },
    ],
  },
  "an output": {
    signature: "OutputProposed(bytes32 indexed a, uint256 indexed b, uint256 indexed c, uint256 d)",
    topic0: OUTPUT_PROPOSED,
    log: outputLog,
    decode: decodeOutputProposed,
    expected: { outputRoot: word(9n), index: 4n, l2Height: 1800n, l1TimestampSec: 1_700_000_000n },
    broken: [{ ...outputLog, data: "0x" }, { ...outputLog, data: "0x00" }],
  },
  "the real assertion of Arbitrum One": {
    signature:
      `AssertionCreated(bytes32 indexed a, bytes32 indexed b, ((bytes32,bytes32,(bytes32,uint256,address,uint64,uint64)),${state},bytes32),${state},bytes32)) c, bytes32 d, uint256 e, bytes32 f, uint256 g, address h, uint64 i)`,
    topic0: ASSERTION_CREATED,
    log: assertionLog,
    decode: decodeAssertionCreated,
    expected: {
      assertionHash: realEvent.hash("derived.assertion_hash"),
      previousAssertionHash: realEvent.hash("derived.parent_assertion_hash"),
      afterState: arbitrum.flatStateOf(decodedAssertion.at("after_state")),
      sequencerBatchAcc: decodedAssertion.hash("after_inbox_batch_acc"),
    },
    // Status, position in the inbox and challenge manager beyond their types.
    broken: [
      { ...assertionLog, data: "0x" },
      ...([[17, 3n], [17, 257n], [15, 2n ** 64n], [23, 2n ** 160n]] as const).map(([at, value]) =>
        withWord(assertionLog, at, value)
      ),
    ],
  },
  "a node": {
    signature:
      `NodeCreated(uint64 indexed a, bytes32 indexed b, bytes32 indexed c, bytes32 d, (${state}),${state}),uint64) e, bytes32 f, bytes32 g, uint256 h)`,
    topic0: NODE_CREATED,
    log: nodeLog,
    decode: decodeNodeCreated,
    expected: { nodeNumber, globalState, machineStatus, inboxMaxCount },
    broken: [
      { ...nodeLog, topics: nodeLog.topics.with(1, word(2n ** 64n)) },
      withWord(nodeLog, 10, 3n),
    ],
  },
};

for (const [what, { signature, topic0, log, decode, expected, broken }] of Object.entries(events)) {
  Deno.test(`claim events: ${what} is read out of its log, of this contract and this event alone`, () => {
    equal(toEventSelector(`event ${signature}`), topic0);
    equal(decode(log, contract), expected);
    equal(decode(log, "0x0000000000000000000000000000000000000001"), undefined);
    equal(decode({ ...log, topics: [] }, contract), undefined);
    for (const other of Object.values(events)) {
      if (other.topic0 !== topic0) equal(decode(other.log, contract), undefined);
    }
  });

  Deno.test(`claim events: what does not have the shape of ${what} is refused`, () => {
    const common: readonly RawLog[] = [
      { ...log, topics: log.topics.slice(0, -1) },
      { ...log, data: `${log.data}00` },
      { ...log, data: `${log.data}${zero.slice(2)}` },
      ...log.data === "0x" ? [] : [{ ...log, data: `0x${log.data.slice(2, -2)}` as const }],
    ];
    for (const bad of [...common, ...broken]) {
      throws(() => decode(bad, contract), { name: "RollupDataError", code: "malformed_event" });
    }
  });
}

Deno.test("claim events: the real assertion hashes to its name, and of its words those of an update alone are read", () => {
  const whole = decodeAssertionCreated(assertionLog, contract);
  equal(whole && assertionHash(whole), whole?.assertionHash);
  const shown = Array.from({ length: 25 }, (_, at) => at).filter((at) => {
    const changed = decodeAssertionCreated(withWord(assertionLog, at, 1n), contract);
    const textOf = (event: unknown): string =>
      JSON.stringify(event, (_key, value) => typeof value === "bigint" ? String(value) : value);
    return textOf(changed) !== textOf(whole);
  });
  equal(shown, [13, 14, 15, 16, 18, 19]);
});

Deno.test("claim events: answers of a game are read, and refused when they have another shape", () => {
  equal(disputeGameCalls, { extraData: "0x609d3334", createdAt: "0xcf09e0d0" });
  const { extraData, timestampSec } = opStack.faultGame.proof.value;
  const encoded = encodeAbiParameters([{ type: "bytes" }], [toHex(extraData)]);
  equal(decodeDetails(encoded, word(timestampSec)), { extraData, createdAtSec: timestampSec });
  const refuses = (data: string, time: Hash256 | Hex): void =>
    equal(decodeDetails(`0x${data.slice(2)}`, time), undefined);
  for (const bad of ["0x", `${encoded}00`, encoded.slice(0, -2), word(2n ** 200n)]) {
    refuses(bad, word(timestampSec));
  }
  for (const bad of ["0x", word(2n ** 64n), `${word(1n)}00`] as const) refuses(encoded, bad);
});
