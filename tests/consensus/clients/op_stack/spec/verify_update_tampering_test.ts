import { throws } from "node:assert/strict";
import type { OpStackErrorCode } from "../../../../../src/consensus/clients/op_stack/spec/verify_update.ts";
import { RollupUpdateError } from "../../../../../src/consensus/rollup/spec/rollup_client.ts";
import type { DisputeGameProof } from "../../../../../src/consensus/clients/op_stack/spec/update.ts";
import {
  type OpStackHubView,
  verifyOpStackUpdate,
} from "../../../../../src/consensus/clients/op_stack/spec/verify_update.ts";
import {
  brokenNodes,
  changedHeaders,
  flipAddress,
  flipByte,
  flipHash,
  l1Id,
  rollupId,
} from "../../../rollup/spec/vectors.ts";
import { aggregateGame, faultGame, gameTypes, type GameUpdate, hubView, opStackState } from "./vectors.ts";

const trusted = opStackState({ finalizedHeight: 1n, stateMachineId: rollupId, l1StateMachineId: l1Id });
const games: readonly GameUpdate[] = [faultGame, aggregateGame];

/** Under another key the nodes may decide that nothing is there, or not decide. */
const otherGame: readonly OpStackErrorCode[] = ["game_missing", "game_proof"];

/** What is wrong, codes with which it may be refused, and what differs. */
type Case = readonly [what: string, codes: readonly OpStackErrorCode[], {
  readonly change?: Partial<DisputeGameProof>;
  readonly hub?: Partial<OpStackHubView>;
}];

function refuses(game: GameUpdate, [what, codes, { change, hub }]: Case): void {
  const value = { ...game.proof.value, ...change };
  throws(
    () => verifyOpStackUpdate(trusted, { ...game, proof: { ...game.proof, value } }, { ...hubView, ...hub }),
    (error) => error instanceof RollupUpdateError && codes.includes(error.code),
    `${what} should be refused as ${codes}`,
  );
}

function check(title: string, casesOf: (proof: DisputeGameProof) => readonly Case[]): void {
  Deno.test(`OP stack: ${title}`, () => {
    for (const game of games) for (const each of casesOf(game.proof.value)) refuses(game, each);
  });
}

check("no field of the block's header can be changed", ({ header }) => [
  ...changedHeaders(header).map(({ what, header }): Case => [what, otherGame, { change: { header } }]),
  ...(["baseFeePerGas", "withdrawalsRoot", "parentBeaconBlockRoot", "requestsHash"] as const).map((
    field,
  ): Case => [`no ${field}`, otherGame, { change: { header: { ...header, [field]: undefined } } }]),
]);

check("no part of the claim can be changed", (proof) => [
  ["message passer root", otherGame, {
    change: { withdrawalStorageRoot: flipHash(proof.withdrawalStorageRoot) },
  }],
  ["version", otherGame, { change: { version: flipHash(proof.version) } }],
  ...[...proof.extraData.keys()].map((at): Case => [`extra data, byte ${at}`, otherGame, {
    change: { extraData: flipByte(proof.extraData, at) },
  }]),
  ["shorter extra data", otherGame, { change: { extraData: proof.extraData.subarray(1) } }],
  ["longer extra data", otherGame, { change: { extraData: Uint8Array.from([...proof.extraData, 0]) } }],
  ["the other game type", otherGame, {
    change: { gameType: gameTypes.find(({ gameType }) => gameType !== proof.gameType)?.gameType ?? -1 },
  }],
  ["a game type without rules", ["unsupported_game_type"], { change: { gameType: 1 } }],
  ["another game", ["game_mismatch"], { change: { proxy: flipAddress(proof.proxy) } }],
  ["another time", ["game_mismatch"], { change: { timestampSec: proof.timestampSec + 1n } }],
]);

const proofFields = [
  ["disputeFactoryProof", "factory_proof"],
  ["disputeGameProof", "game_proof"],
  ["gameImplProof", "implementation_proof"],
  ["proxyAccountProof", "challenge_account_proof"],
  ["challengeProof", "challenge_proof"],
] as const;

for (const [field, code] of proofFields) {
  check(
    `no byte of ${field} can be changed, and no node cut or dropped`,
    (proof) =>
      brokenNodes(proof[field]).map((
        { what, nodes },
      ): Case => [`${field}, ${what}`, [code], { change: { [field]: nodes } }]),
  );
}

check("another L1 root, factory, implementation or rule does not verify", (proof) => {
  const rules = hubView.disputeGames;
  if (rules === undefined) throw new Error("No rules");
  const configs = (change: object): Partial<OpStackHubView> => ({
    disputeGames: { ...rules, gameTypes: gameTypes.map((config) => ({ ...config, ...change })) },
  });
  return [
    ["L1 root", ["factory_proof"], { hub: { l1StateRoot: flipHash(hubView.l1StateRoot ?? "0x") } }],
    ["factory", ["factory_proof"], {
      hub: { disputeGames: { ...rules, factory: flipAddress(rules.factory) } },
    }],
    ["the game as factory", ["factory_proof", "game_proof", "game_missing"], {
      hub: { disputeGames: { ...rules, factory: proof.proxy } },
    }],
    ["implementation", ["implementation_mismatch"], {
      hub: configs({ expectedImplementation: flipAddress(rules.factory) }),
    }],
  ];
});

Deno.test("OP stack: order, repetition and further nodes do not matter", () => {
  for (const game of games) {
    const proof = game.proof.value;
    const value = Object.fromEntries(proofFields.map(([field]) => {
      return [field, [...proof[field].toReversed(), ...proof[field], Uint8Array.of(1, 2, 3)]];
    }));
    verifyOpStackUpdate(
      trusted,
      { ...game, proof: { ...game.proof, value: { ...proof, ...value } } },
      hubView,
    );
  }
});

Deno.test("OP stack: a game that is read with the rules of another kind has no claim", () => {
  const rules = hubView.disputeGames;
  if (rules === undefined) throw new Error("No rules");
  const asFaultGames = gameTypes.map((config) => ({ ...config, kind: { tag: "FaultDisputeGame" } as const }));
  refuses(aggregateGame, ["aggregate verifier as fault dispute game", ["challenge_missing"], {
    hub: { disputeGames: { ...rules, gameTypes: asFaultGames } },
  }]);
});
