import assert, { deepStrictEqual as equal, throws } from "node:assert/strict";
import { concatHex, keccak256 as viemKeccak256 } from "viem";
import {
  concatBytes,
  fromHex,
  type Hash256,
  type Hex,
  toHash256,
  toHex,
} from "../../../../../src/core/encoding/bytes.ts";
import {
  blacklistedGameKey,
  decodeGameRules,
  type DisputeGameKind,
  disputeGameRulesKey,
  encodeGameRules,
  outputOracleKey,
} from "../../../../../src/consensus/clients/op_stack/spec/update.ts";
import { withdrawalRootOf } from "../../../../../src/consensus/clients/op_stack/spec/build_update.ts";
import {
  challengeStatus,
  challengeWord,
  disputeGameSlot,
  gameIdWord,
  gameImplementationSlot,
  gameUuid,
  OUTPUT_ROOT_VERSION,
  outputRoot,
  outputSlots,
} from "../../../../../src/consensus/clients/op_stack/spec/output_root.ts";
import { hashBlockHeader, parseBlockHeader } from "../../../../../src/core/evm/block_header.ts";
import { mapSlot, offset, word } from "../../../../../src/core/evm/host_storage.ts";
import { parseStateMachine, toConsensusStateId } from "../../../../../src/core/ismp/state_machine.ts";
import { ScaleError } from "../../../../../src/core/encoding/scale.ts";
import { brokenNodes, flipByte, flipHash } from "../../../rollup/spec/vectors.ts";
import { readVector, type VectorNode } from "../../../vector_node.ts";
import { gameTypes, realGames, synthetic } from "./vectors.ts";
import { provenWord } from "../../../../../src/consensus/rollup/spec/l1_storage.ts";
import { EvmProofError } from "../../../../../src/core/merkle/evm_proof.ts";

const idOf = (game: VectorNode): Parameters<typeof gameIdWord>[0] => ({
  gameType: Number(game.integer("expected.game_type")),
  timestampSec: game.integer("expected.created_at"),
  proxy: game.address("expected.proxy"),
});

Deno.test("output root: real claims of Base follow from their blocks, and the header alone has the message passer's root", () => {
  for (const game of realGames) {
    const proof = game.at("output_root_proof");
    const claim = game.hash("expected.output_root");
    equal(
      outputRoot({
        version: proof.hash("version"),
        stateRoot: proof.hash("state_root"),
        withdrawalStorageRoot: proof.hash("message_passer_storage_root"),
        blockHash: proof.hash("latest_block_hash"),
      }),
      claim,
    );
    const header = parseBlockHeader(game.at("l2_header").json);
    equal(withdrawalRootOf(header, claim), proof.hash("message_passer_storage_root"));
    equal(withdrawalRootOf(header, word(1n)), undefined);
    equal(withdrawalRootOf({ ...header, withdrawalsRoot: undefined }, claim), undefined);
  }
  equal(synthetic.hash("expected.root_claim"), realGames[0]?.hash("expected.output_root"));
});

Deno.test("output root: the empty withdrawals root of blocks before Isthmus is not taken for the message passer's", () => {
  const header = {
    ...parseBlockHeader(realGames[0]?.at("l2_header").json),
    withdrawalsRoot: toHash256("56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421"),
  };
  const claim = outputRoot({
    version: OUTPUT_ROOT_VERSION,
    stateRoot: header.stateRoot,
    withdrawalStorageRoot: header.withdrawalsRoot,
    blockHash: hashBlockHeader(header),
  });
  equal(withdrawalRootOf(header, claim), undefined);
});

Deno.test("dispute game: uuid, slots and id are those of real games", () => {
  for (const game of realGames) {
    const { gameType } = idOf(game);
    const uuid = gameUuid(gameType, game.hash("expected.output_root"), game.bytes("expected.extra_data"));
    equal(uuid, game.hash("expected.game_uuid"));
    equal(disputeGameSlot(uuid), game.hash("expected.dispute_games_slot_unhashed"));
    equal(gameImplementationSlot(gameType), game.hash("expected.game_impls_slot_unhashed"));
    equal(gameIdWord(idOf(game)), game.hash("expected.game_id"));
  }
  const claim = synthetic.hash("expected.root_claim");
  const extraData = (name: string): Uint8Array => synthetic.bytes(`${name}.proof.extra_data`);
  equal(gameUuid(0, claim, extraData("fault_dispute_game")), synthetic.hash("expected.uuid_type_0"));
  equal(gameUuid(621, claim, extraData("aggregate_verifier_game")), synthetic.hash("expected.uuid_type_621"));
});

Deno.test("dispute game: where each kind shows a challenge, and what the word says", () => {
  const proxy = "0x1111111111111111111111111111111111111111";
  const anchorStateRegistry = "0x2222222222222222222222222222222222222222";
  const readings = [undefined, word(0n), word(1n), word(2n), word(1n << 255n)];
  const counts = ["missing", "missing", "unchallenged", "challenged", "challenged"];
  const flags = ["unchallenged", "unchallenged", "challenged", "challenged", "challenged"];
  // mapping(address => bool) in slot 5: Keccak-256 of the two words, by viem.
  const entry = keccak256OfWords(`0x${proxy.slice(2).padStart(64, "0")}`, word(5n));
  const kinds: [DisputeGameKind, string, Hash256, string[]][] = [
    [{ tag: "FaultDisputeGame" }, proxy, word(2n), counts],
    [{ tag: "AggregateVerifier" }, proxy, word(5n), flags],
    [{ tag: "SuperFaultDisputeGame" }, proxy, word(1n), counts],
    [
      { tag: "SuperPermissionedDisputeGame", value: { anchorStateRegistry } },
      anchorStateRegistry,
      entry,
      flags,
    ],
  ];
  for (const [kind, account, slot, statuses] of kinds) {
    const place = challengeWord(kind, proxy);
    assert.ok(place);
    equal([place.account, place.slot], [account, slot], kind.tag);
    equal(readings.map((value) => challengeStatus(place, value)), statuses, kind.tag);
  }
  equal(challengeWord({ tag: "OPSuccinct" }, proxy), undefined);
});

function keccak256OfWords(...words: readonly Hex[]): Hash256 {
  return toHash256(viemKeccak256(concatHex(words)));
}

Deno.test("output oracle: items of two words stand one after another behind the hash of the array's slot", () => {
  const first = "0xc2575a0e9e593c00f959f8c92f12db2869c3395a3b0502d05e2516446f71f85b";
  equal(outputSlots(0n), { root: first, block: offset(first, 1n) });
  equal(outputSlots(7n), { root: offset(first, 14n), block: offset(first, 15n) });
});

Deno.test("hub storage: keys of factory, oracle and blacklist are those of the vector", () => {
  const keys = readVector("evm-consensus-hub-storage-keys").list("keys");
  const find = (item: string, key: string): string =>
    keys.find((node) => node.text("item") === item && String(node.at("key").json).includes(key))
      ?.text("storage_key") ?? "none";
  const id = (chain: string, name: string): Parameters<typeof outputOracleKey>[0] => ({
    stateMachine: parseStateMachine(chain),
    consensusStateId: toConsensusStateId(name),
  });
  const optimism = id("EVM-10", "OPT0");
  const rules = "StateMachinesDisputeGameFactoriesTypes";
  equal(toHex(disputeGameRulesKey(optimism)), find(rules, "OPT0"));
  equal(toHex(disputeGameRulesKey(id("EVM-8453", "BASE"))), find(rules, "BASE"));
  equal(toHex(outputOracleKey(optimism)), find("StateMachinesOracleAddresses", "OPT0"));
  const proxy = "0x1111111111111111111111111111111111111111";
  equal(toHex(blacklistedGameKey(optimism, proxy)), find("BlacklistedDisputeGames", "OPT0"));
});

Deno.test("hub storage: the rules of a chain are read and written as the vector has them", () => {
  const bytes = synthetic.bytes("game_type_configs_scale");
  const rules = { factory: synthetic.address("dispute_game_factory"), gameTypes };
  equal(toHex(encodeGameRules(rules)), toHex(bytes));
  equal(decodeGameRules(bytes), { ...rules, unread: 0 });
  equal(
    gameTypes.map((
      { gameType, expectedImplementation, kind },
    ) => [gameType, expectedImplementation, kind.tag]),
    synthetic.list("game_type_configs").map((config) => [
      Number(config.integer("game_type")),
      config.address("expected_impl"),
      config.text("kind"),
    ]),
  );
});

/** Rules written by hand: docs/protocol/evm-consensus.md section 7.1. */
const rulesOf = (...items: readonly string[]): Uint8Array =>
  fromHex(`0x${"fa".repeat(20)}${(4 * items.length).toString(16).padStart(2, "0")}${items.join("")}`);
const itemOf = (gameType: number, kind: string): string =>
  `${gameType.toString(16).padStart(2, "0")}000000${"ee".repeat(20)}${kind}`;

Deno.test("hub storage: items of all kinds are read, of a permissioned one with its registry", () => {
  const { gameTypes: read, unknown } = decodeGameRules(
    rulesOf(
      itemOf(8, "01"),
      itemOf(5, `04${"77".repeat(20)}`),
      itemOf(9, "03"),
      itemOf(6, "00"),
      itemOf(7, "02"),
    ),
  );
  equal(read.map(({ gameType, kind }) => [gameType, kind.tag, kind.value]), [
    [8, "FaultDisputeGame", undefined],
    [5, "SuperPermissionedDisputeGame", { anchorStateRegistry: `0x${"77".repeat(20)}` }],
    [9, "SuperFaultDisputeGame", undefined],
    [6, "OPSuccinct", undefined],
    [7, "AggregateVerifier", undefined],
  ]);
  equal(unknown, undefined);
});

Deno.test("hub storage: a kind that is newer than the program is named, and what comes before it is kept", () => {
  const [fault, newer, permissioned] = [
    itemOf(8, "01"),
    itemOf(11, "07ab"),
    itemOf(5, `04${"77".repeat(20)}`),
  ];
  const summary = (...items: readonly string[]): unknown => {
    const { gameTypes: known, unknown, unread } = decodeGameRules(rulesOf(...items));
    return [known.map(({ gameType }) => gameType), unknown?.gameType, unknown?.kind, unread];
  };
  equal(summary(fault, newer), [[8], 11, 7, 0]);
  equal(summary(newer, fault, permissioned), [[], 11, 7, 2]);
  equal(summary(fault, permissioned, newer, fault), [[8, 5], 11, 7, 1]);
  const { gameTypes: known } = decodeGameRules(concatBytes(rulesOf(fault), Uint8Array.of(1, 2, 3)));
  equal(known.length, 1, "a newer runtime adds to the list");
  throws(() => decodeGameRules(rulesOf(fault).subarray(0, 40)), ScaleError);
});

const recorded = readVector("real/opstack-base-sepolia");
const game = recorded.at("game");
const proxy = game.address("proxy");
const gameType = Number(game.integer("game_type"));
const claim = game.hash("root_claim");
const extraData = game.bytes("extra_data");

Deno.test("Base Sepolia, 2026: the claim is that of the block, and the factory stores the game in slot 103", () => {
  const block = {
    version: OUTPUT_ROOT_VERSION,
    stateRoot: game.hash("l2_state_root"),
    withdrawalStorageRoot: game.hash("l2_withdrawals_root"),
    blockHash: game.hash("l2_block_hash"),
  };
  equal(outputRoot(block), claim);
  equal(BigInt(`0x${game.text("extra_data").slice(2, 66)}`), game.integer("l2_block_number"));
  const nodes = recorded.nodes("factory.game_proof");
  const root = recorded.hash("factory.storage_root");
  const slot = disputeGameSlot(gameUuid(gameType, claim, extraData));
  const id = { gameType, timestampSec: game.integer("created_at"), proxy };
  equal(provenWord(nodes, root, slot), gameIdWord(id));
  for (
    const other of [
      gameUuid(gameType + 1, claim, extraData),
      gameUuid(gameType, flipHash(claim), extraData),
      gameUuid(gameType, claim, flipByte(extraData, extraData.length - 1)),
    ]
  ) throws(() => provenWord(nodes, root, disputeGameSlot(other)), EvmProofError);
  for (const { what, nodes: broken } of brokenNodes(nodes)) {
    throws(() => provenWord(broken, root, slot), EvmProofError, what);
  }
});

Deno.test("Base Sepolia: upgrades changed implementations by game type in slot 101", () => {
  equal([0, 1].map(gameImplementationSlot), recorded.hashes("game_implementation_slots.slots"));
});

Deno.test("Base Sepolia, 2026: the registry blacklists games in slot 5, and has not this one", () => {
  const root = recorded.hash("registry.storage_root");
  const [node, factory, respected] = ["root_node", "factory_leaf", "respected_game_type_leaf"].map((name) =>
    recorded.bytes(`registry.${name}`)
  );
  if (node === undefined || factory === undefined || respected === undefined) throw new Error("No nodes");
  equal(provenWord([node, factory], root, word(1n)), word(BigInt(recorded.address("factory.address"))));
  equal(Number(BigInt(provenWord([node, respected], root, word(6n)) ?? 0) & 0xffff_ffffn), gameType);
  const entry = mapSlot(word(BigInt(proxy)), word(5n));
  equal(provenWord([node, respected], root, entry), undefined);
  // Without the node on the way to it nothing is proved of an entry.
  throws(() => provenWord([node, factory], root, entry), EvmProofError);
  throws(() => provenWord([flipByte(node, 9), respected], root, entry), EvmProofError);
});
