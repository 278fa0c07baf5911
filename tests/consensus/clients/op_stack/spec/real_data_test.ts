/** A game of Base Sepolia of September 2026 in the storage of its factory and its registry. */
import { deepStrictEqual as equal, throws } from "node:assert/strict";
import {
  disputeGameSlot,
  gameIdWord,
  gameImplementationSlot,
  gameUuid,
  OUTPUT_ROOT_VERSION,
  outputRoot,
} from "../../../../../src/consensus/clients/op_stack/spec/output_root.ts";
import { provenWord } from "../../../../../src/consensus/rollup/spec/l1_storage.ts";
import { mapSlot, word } from "../../../../../src/core/evm/host_storage.ts";
import { EvmProofError } from "../../../../../src/core/merkle/evm_proof.ts";
import { brokenNodes, flipByte, flipHash, readVector } from "../../../rollup/spec/vectors.ts";

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
