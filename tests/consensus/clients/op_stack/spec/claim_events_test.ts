import { deepStrictEqual as equal, throws } from "node:assert/strict";
import { encodeAbiParameters, encodeEventTopics, parseAbi, toEventSelector } from "viem";
import { type Hex, toHex } from "../../../../../src/core/encoding/bytes.ts";
import {
  decodeDetails,
  decodeDisputeGameCreated,
  decodeOutputProposed,
  DISPUTE_GAME_CREATED,
  disputeGameCalls,
  OUTPUT_PROPOSED,
} from "../../../../../src/consensus/clients/op_stack/spec/claim_events.ts";
import { type RollupDataErrorCode } from "../../../../../src/consensus/rollup/spec/rollup_client.ts";
import { word } from "../../../../../src/core/evm/host_storage.ts";
import type { RawLog } from "../../../../../src/core/evm/host_events.ts";
import { faultGame, realGames } from "./vectors.ts";

const abi = parseAbi([
  "event DisputeGameCreated(address indexed disputeProxy, uint32 indexed gameType, bytes32 indexed rootClaim)",
  "event OutputProposed(bytes32 indexed outputRoot, uint256 indexed l2OutputIndex, uint256 indexed l2BlockNumber, uint256 l1Timestamp)",
]);
const contract = "0xd6e6dbf4f7ea0ac412fd8b65ed297e64bb7a06e1";

function topicsOf(topics: readonly (Hex | readonly Hex[] | null)[]): Hex[] {
  return topics.map((topic) => typeof topic === "string" ? topic : "0x");
}

function gameLog(proxy: Hex, gameType: number, rootClaim: Hex): RawLog {
  const args = { disputeProxy: proxy, gameType, rootClaim };
  const topics = encodeEventTopics({ abi, eventName: "DisputeGameCreated", args });
  return { address: contract, topics: topicsOf(topics), data: "0x" };
}

const outputLog: RawLog = {
  address: contract,
  topics: topicsOf(encodeEventTopics({
    abi,
    eventName: "OutputProposed",
    args: { outputRoot: word(9n), l2OutputIndex: 4n, l2BlockNumber: 1800n },
  })),
  data: encodeAbiParameters([{ type: "uint256" }], [1700000000n]),
};

function refuses(code: RollupDataErrorCode, read: () => unknown): void {
  throws(read, { name: "RollupDataError", code });
}

Deno.test("claim events: topics and selectors are the hashes of the signatures", () => {
  equal(toEventSelector(abi[0]), DISPUTE_GAME_CREATED);
  equal(toEventSelector(abi[1]), OUTPUT_PROPOSED);
  equal(disputeGameCalls, { extraData: "0x609d3334", createdAt: "0xcf09e0d0" });
});

Deno.test("claim events: games of the vectors are read out of their logs", () => {
  for (const game of realGames) {
    const proxy = game.address("expected.proxy");
    const rootClaim = game.hash("expected.output_root");
    const gameType = Number(game.integer("expected.game_type"));
    equal(decodeDisputeGameCreated(gameLog(proxy, gameType, rootClaim), contract), {
      proxy,
      gameType,
      rootClaim,
    });
  }
});

Deno.test("claim events: an output is read out of its log", () => {
  equal(decodeOutputProposed(outputLog, contract), {
    outputRoot: word(9n),
    index: 4n,
    l2Height: 1800n,
    l1TimestampSec: 1700000000n,
  });
});

Deno.test("claim events: logs of other contracts and other events are not read", () => {
  const log = gameLog(faultGame.proof.value.proxy, 0, word(1n));
  const other = "0x0000000000000000000000000000000000000001";
  equal(decodeDisputeGameCreated(log, other), undefined);
  equal(decodeDisputeGameCreated(outputLog, contract), undefined);
  equal(decodeOutputProposed(log, contract), undefined);
  equal(decodeDisputeGameCreated({ ...log, topics: [] }, contract), undefined);
});

Deno.test("claim events: a log that has not the shape of its event is refused", () => {
  const log = gameLog(faultGame.proof.value.proxy, 0, word(1n));
  const { topics } = log;
  const broken: RawLog[] = [
    { ...log, topics: topics.slice(0, 3) },
    { ...log, topics: [...topics, word(1n)] },
    { ...log, data: word(1n) },
    { ...log, topics: topics.with(1, `0x01${topics[1]?.slice(4)}`) },
    { ...log, topics: topics.with(2, word(2n ** 32n)) },
    { ...log, topics: topics.with(3, "0x12") },
    { ...log, topics: topics.with(3, `0x${"zz".repeat(32)}`) },
    { ...log, topics: topics.slice(0, 3), data: topics[3] ?? "0x" },
  ];
  for (const bad of broken) refuses("malformed_event", () => decodeDisputeGameCreated(bad, contract));
  for (const data of ["0x", "0x00", `${outputLog.data}00`] as const) {
    refuses("malformed_event", () => decodeOutputProposed({ ...outputLog, data }, contract));
  }
});

Deno.test("claim events: answers of a game are read, and refused when they have another shape", () => {
  const { extraData, timestampSec } = faultGame.proof.value;
  const encoded = encodeAbiParameters([{ type: "bytes" }], [toHex(extraData)]);
  equal(decodeDetails(encoded, word(timestampSec)), { extraData, createdAtSec: timestampSec });
  for (const bad of ["0x", `${encoded}00`, encoded.slice(0, -2), word(2n ** 200n)]) {
    refuses("malformed_result", () => decodeDetails(`0x${bad.slice(2)}`, word(timestampSec)));
  }
  for (const bad of ["0x", word(2n ** 64n), `${word(1n)}00`] as const) {
    refuses("malformed_result", () => decodeDetails(encoded, bad));
  }
});
