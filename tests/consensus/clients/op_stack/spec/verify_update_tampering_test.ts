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

interface Case {
  readonly what: string;
  readonly codes: readonly OpStackErrorCode[];
  readonly change?: Partial<DisputeGameProof>;
  readonly hub?: Partial<OpStackHubView>;
}

function refuses(game: GameUpdate, { what, codes, change, hub }: Case): void {
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
  ...changedHeaders(header).map(({ what, header }): Case => ({ what, codes: otherGame, change: { header } })),
  ...(["baseFeePerGas", "withdrawalsRoot", "parentBeaconBlockRoot", "requestsHash"] as const).map((
    field,
  ): Case => ({
    what: `no ${field}`,
    codes: otherGame,
    change: { header: { ...header, [field]: undefined } },
  })),
]);

check("no part of the claim can be changed", (proof) => [
  {
    what: "message passer root",
    codes: otherGame,
    change: { withdrawalStorageRoot: flipHash(proof.withdrawalStorageRoot) },
  },
  { what: "version", codes: otherGame, change: { version: flipHash(proof.version) } },
  ...Array.from(proof.extraData, (_, at): Case => ({
    what: `extra data, byte ${at}`,
    codes: otherGame,
    change: { extraData: flipByte(proof.extraData, at) },
  })),
  { what: "shorter extra data", codes: otherGame, change: { extraData: proof.extraData.subarray(1) } },
  {
    what: "longer extra data",
    codes: otherGame,
    change: { extraData: Uint8Array.from([...proof.extraData, 0]) },
  },
  {
    what: "the other game type",
    codes: otherGame,
    change: { gameType: gameTypes.find(({ gameType }) => gameType !== proof.gameType)?.gameType ?? -1 },
  },
  { what: "a game type without rules", codes: ["unsupported_game_type"], change: { gameType: 1 } },
  { what: "another game", codes: ["game_mismatch"], change: { proxy: flipAddress(proof.proxy) } },
  { what: "another time", codes: ["game_mismatch"], change: { timestampSec: proof.timestampSec + 1n } },
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
      brokenNodes(proof[field]).map(({ what, nodes }): Case => ({
        what: `${field}, ${what}`,
        codes: [code],
        change: { [field]: nodes },
      })),
  );
}

check("another L1 root, factory, implementation or rule does not verify", (proof) => {
  const rules = hubView.disputeGames;
  if (rules === undefined) throw new Error("No rules");
  const configs = (change: object): Partial<OpStackHubView> => ({
    disputeGames: { ...rules, gameTypes: gameTypes.map((config) => ({ ...config, ...change })) },
  });
  return [
    {
      what: "L1 root",
      codes: ["factory_proof"],
      hub: { l1StateRoot: flipHash(hubView.l1StateRoot ?? "0x") },
    },
    { what: "no L1 root", codes: ["l1_commitment_missing"], hub: { l1StateRoot: undefined } },
    {
      what: "factory",
      codes: ["factory_proof"],
      hub: { disputeGames: { ...rules, factory: flipAddress(rules.factory) } },
    },
    {
      what: "the game as factory",
      codes: ["factory_proof", "game_proof", "game_missing"],
      hub: { disputeGames: { ...rules, factory: proof.proxy } },
    },
    {
      what: "implementation",
      codes: ["implementation_mismatch"],
      hub: configs({ expectedImplementation: flipAddress(rules.factory) }),
    },
    { what: "blacklist", codes: ["game_blacklisted"], hub: { blacklistedGames: new Set([proof.proxy]) } },
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
  refuses(aggregateGame, {
    what: "aggregate verifier as fault dispute game",
    codes: ["challenge_missing"],
    hub: { disputeGames: { ...rules, gameTypes: asFaultGames } },
  });
});
