import { ClientRefusal } from "../../../../../devnet/hub/verifiers/refusals.ts";
import { deepStrictEqual as equal, throws } from "node:assert/strict";
import { concatHex, hexToBytes, keccak256, numberToHex } from "viem";
import { type Hash256, toHash256 } from "../../../../../src/core/encoding/bytes.ts";
import {
  buildDisputeGameProof,
  buildOutputOracleProof,
  factoryProofSlots,
  oracleProofSlots,
} from "../../../../../src/consensus/clients/op_stack/spec/build_update.ts";
import type { OutputProposed } from "../../../../../src/consensus/clients/op_stack/spec/claim_events.ts";
import {
  type DisputeGameKind,
  opStackConsensusStateCodec,
  type OpStackUpdate,
  opStackUpdateCodec,
} from "../../../../../src/consensus/clients/op_stack/spec/update.ts";
import type { OpStackErrorCode } from "../../../../../src/consensus/clients/op_stack/spec/verify_update.ts";
import {
  RollupDataError,
  RollupUpdateError,
} from "../../../../../src/consensus/rollup/spec/rollup_client.ts";
import { challengeWord, gameIdWord } from "../../../../../src/consensus/clients/op_stack/spec/output_root.ts";
import { checkOpStackUpdate } from "../../../../../devnet/hub/verifiers/op_stack/op_stack_client.ts";
import {
  type OpStackHubView,
  verifyOpStackUpdate,
} from "../../../../../src/consensus/clients/op_stack/spec/verify_update.ts";
import { accountNodesOf } from "../../../../../src/consensus/rollup/spec/l1_storage.ts";
import { EvmProofError } from "../../../../../src/core/merkle/evm_proof.ts";
import { stateMachineIdKey } from "../../../../../src/core/ismp/state_machine.ts";
import { buildL1, type L1Fixture } from "../../../rollup/spec/l1_fixture.ts";
import { flipHash, l1Id, rollupId } from "../../../rollup/spec/vectors.ts";
import { refusesChanges } from "../../changed_once.ts";
import { aggregateGame, faultGame, hubView, opStackState, synthetic } from "./vectors.ts";

const trusted = opStackState({ finalizedHeight: 1n, stateMachineId: rollupId, l1StateMachineId: l1Id });
const claimed = faultGame.proof.value;
const rootClaim = synthetic.hash("expected.root_claim");
const height = synthetic.integer("expected.height");

function refuses(update: OpStackUpdate, hub: OpStackHubView, code: OpStackErrorCode): void {
  throws(
    () => verifyOpStackUpdate(trusted, update, hub),
    (error) => error instanceof RollupUpdateError && error.code === code,
    `should be refused as ${code}`,
  );
  throws(() => hubAnswer(update, hub), ClientRefusal, `the simulated hub should refuse as ${code}`);
}

/** What the simulated hub makes of an update, with code of its own. */
function hubAnswer(update: OpStackUpdate, hub: OpStackHubView): ReturnType<typeof checkOpStackUpdate> {
  return checkOpStackUpdate(opStackConsensusStateCodec.enc(trusted), opStackUpdateCodec.enc(update), {
    stateRoot: () => hub.l1StateRoot,
    rules: () => hub.disputeGames,
    oracle: () => hub.outputOracle,
    isBlacklisted: (_, proxy) => hub.blacklistedGames.has(proxy),
  });
}

Deno.test("OP stack: both synthetic games are accepted, and give the commitment under the id of the L1", () => {
  for (const update of [faultGame, aggregateGame]) {
    const { consensusState, commitment } = verifyOpStackUpdate(trusted, update, hubView);
    equal(consensusState, { ...trusted, finalizedHeight: height });
    equal(commitment, {
      height: { id: { ...rollupId, consensusStateId: l1Id.consensusStateId }, height },
      commitment: {
        timestampSec: synthetic.integer("expected.timestamp"),
        overlayRoot: undefined,
        stateRoot: synthetic.hash("expected.state_root"),
      },
    });
    equal(commitment === undefined ? "" : stateMachineIdKey(commitment.height.id), "EVM-10/ETH0");
  }
});

Deno.test("OP stack: without rules for the chain the hub accepts everything and does nothing", () => {
  const ignored = { consensusState: trusted, commitment: undefined };
  equal(verifyOpStackUpdate(trusted, faultGame, { ...hubView, disputeGames: undefined }), ignored);
  const blacklisted = new Set([claimed.proxy]);
  const hub = { ...hubView, disputeGames: undefined, blacklistedGames: blacklisted };
  equal(verifyOpStackUpdate(trusted, faultGame, hub), ignored);
});

Deno.test("OP stack: the first rules are L1 commitment, blacklist, game type, in this order", () => {
  const nothing: OpStackHubView = {
    l1StateRoot: undefined,
    disputeGames: { factory: claimed.proxy, gameTypes: [] },
    outputOracle: undefined,
    blacklistedGames: new Set([claimed.proxy]),
  };
  refuses(faultGame, nothing, "l1_commitment_missing");
  const withRoot = { ...nothing, l1StateRoot: rootClaim };
  refuses(faultGame, withRoot, "game_blacklisted");
  refuses(faultGame, { ...withRoot, blacklistedGames: new Set() }, "unsupported_game_type");
});

Deno.test("OP stack: an older block than the last one is accepted as well", () => {
  const { consensusState } = verifyOpStackUpdate(
    { ...trusted, finalizedHeight: 2n ** 60n },
    faultGame,
    hubView,
  );
  equal(consensusState.finalizedHeight, height);
});

const factory = "0x00000000000000000000000000000000000fac70";
const oracle = "0x0000000000000000000000000000000000007ac1";
const implementation = "0x0000000000000000000000000000000000001390";

const registry = "0x00000000000000000000000000000000000a5780";

/** Every kind of games. */
const kinds = {
  fault: { tag: "FaultDisputeGame", value: undefined },
  aggregate: { tag: "AggregateVerifier", value: undefined },
  succinct: { tag: "OPSuccinct", value: undefined },
  superFault: { tag: "SuperFaultDisputeGame", value: undefined },
  superPermissioned: {
    tag: "SuperPermissionedDisputeGame",
    value: { anchorStateRegistry: registry },
  },
} as const satisfies Record<string, DisputeGameKind>;

/** The super root of some chains, made with another library. */
function superExtra(entries: readonly (readonly [bigint, Hash256])[]): Uint8Array {
  const words = entries.flatMap(([chainId, output]) => [numberToHex(chainId, { size: 32 }), output]);
  return hexToBytes(concatHex(["0x01", numberToHex(1_790_000_000, { size: 8 }), ...words]));
}

const other = numberToHex(0xabn, { size: 32 });
const superExtraData = superExtra([[1n, other], [10n, rootClaim], [130n, other]]);

/** What differs from an L1 on which the game stands unchallenged; 0 is an empty slot. */
interface Scene {
  readonly kind?: DisputeGameKind;
  readonly extraData?: Uint8Array;
  readonly gameWord?: bigint;
  readonly implementationWord?: bigint;
  readonly challengeWord?: bigint;
}

interface BuiltScene {
  readonly l1: L1Fixture;
  readonly update: OpStackUpdate;
  readonly hub: OpStackHubView;
}

/** An L1 with one game, and the update that the nodes' answers make. */
async function buildScene(scene: Scene): Promise<BuiltScene> {
  const kind = scene.kind ?? kinds.fault;
  const isSuper = kind.tag.startsWith("Super");
  const extraData = scene.extraData ?? (isSuper ? superExtraData : claimed.extraData);
  const game = {
    proxy: claimed.proxy,
    gameType: claimed.gameType,
    rootClaim: isSuper ? toHash256(keccak256(extraData)) : rootClaim,
  };
  const [gameSlot, implementationSlot] = factoryProofSlots(game, extraData);
  if (gameSlot === undefined || implementationSlot === undefined) throw new Error("Two slots");
  const challenge = challengeWord(kind, claimed.proxy);
  const { account = claimed.proxy, slot } = challenge ?? {};
  const word = scene.challengeWord ?? (kind.tag.endsWith("FaultDisputeGame") ? 1n : 0n);
  const l1 = await buildL1(
    new Map([
      [
        factory,
        new Map([
          [gameSlot, scene.gameWord ?? BigInt(gameIdWord(claimed))],
          [implementationSlot, scene.implementationWord ?? BigInt(implementation)],
        ]),
      ],
      [account, new Map(slot === undefined ? [] : [[slot, word]])],
    ]),
  );
  const value = buildDisputeGameProof({
    header: claimed.header,
    withdrawalStorageRoot: claimed.withdrawalStorageRoot,
    game,
    claimed: { l2Height: height, outputRoot: rootClaim },
    extraData,
    createdAtSec: claimed.timestampSec,
    factory: await l1.prove(factory, [gameSlot, implementationSlot]),
    challenge: slot && await l1.prove(account, [slot]),
  });
  return {
    l1,
    update: { l1Height: 9n, proof: { tag: "OpFaultProofGames", value } },
    hub: {
      l1StateRoot: l1.stateRoot,
      disputeGames: {
        factory,
        gameTypes: [{ gameType: claimed.gameType, expectedImplementation: implementation, kind }],
      },
      outputOracle: undefined,
      blacklistedGames: new Set(),
    },
  };
}

Deno.test("OP stack: games of every kind are accepted as long as they are not challenged", async () => {
  for (const kind of Object.values(kinds)) {
    const { update, hub } = await buildScene({ kind });
    const { consensusState, commitment } = verifyOpStackUpdate(trusted, update, hub);
    equal(consensusState.finalizedHeight, height);
    equal(hubAnswer(update, hub), { state: opStackConsensusStateCodec.enc(consensusState), commitment });
  }
});

Deno.test("OP stack: a kind without challenges needs no proof of the game at all", async () => {
  const { update, hub } = await buildScene({ kind: kinds.succinct });
  if (update.proof.tag !== "OpFaultProofGames") throw new Error("A game");
  equal([update.proof.value.challengeProof, update.proof.value.proxyAccountProof], [[], []]);
  verifyOpStackUpdate(trusted, update, hub);
});

Deno.test("OP stack: a super root breaks one rule at a time, in the hub's order", async () => {
  const entries = [[1n, other], [10n, rootClaim], [130n, other]] as const;
  const whole = superExtra(entries);
  const cases: [OpStackErrorCode, Uint8Array][] = [
    ["super_root_too_short", new Uint8Array(0)],
    ["super_root_too_short", whole.subarray(0, 9)],
    ["super_root_version", whole.with(0, 0).subarray(0, 10)],
    ["super_root_version", whole.with(0, 2)],
    ["super_root_malformed", whole.subarray(0, -1)],
    ["super_root_malformed", whole.subarray(0, 10)],
    ["super_root_not_ascending", superExtra(entries.toReversed())],
    ["super_root_not_ascending", superExtra([[10n, rootClaim], [10n, rootClaim]])],
    ["super_root_not_ascending", superExtra([[130n, other], [1n, other]])],
    ["super_root_without_chain", superExtra([[1n, other], [130n, other]])],
    ["super_root_without_chain", superExtra([[10n + 2n ** 64n, rootClaim]])],
    ["super_root_mismatch", superExtra([[10n, other]])],
  ];
  for (const [code, extraData] of cases) {
    for (const kind of [kinds.superFault, kinds.superPermissioned]) {
      const { update, hub } = await buildScene({ kind, extraData });
      refuses(update, hub, code);
    }
  }
  for (const extraData of [superExtra([[10n, rootClaim]]), superExtra([[0n, other], [10n, rootClaim]])]) {
    const { update, hub } = await buildScene({ kind: kinds.superFault, extraData });
    verifyOpStackUpdate(trusted, update, hub);
  }
});

Deno.test("OP stack: of a permissioned game the registry is proved, never the game", async () => {
  const { l1, update, hub } = await buildScene({ kind: kinds.superPermissioned });
  if (update.proof.tag !== "OpFaultProofGames") throw new Error("A game");
  const ofFactory = accountNodesOf(await l1.prove(factory, []));
  const value = { ...update.proof.value, proxyAccountProof: ofFactory };
  refuses({ ...update, proof: { tag: "OpFaultProofGames", value } }, hub, "challenge_account_proof");
});

Deno.test("OP stack: what the L1 says against a game is found, each with its code", async () => {
  const scenes: [OpStackErrorCode, Scene][] = [
    ["game_missing", { gameWord: 0n }],
    ["game_mismatch", { gameWord: BigInt(gameIdWord({ ...claimed, timestampSec: 1n })) }],
    ["game_mismatch", { gameWord: BigInt(gameIdWord({ ...claimed, gameType: 1 })) }],
    ["game_mismatch", { gameWord: BigInt(gameIdWord({ ...claimed, proxy: factory })) }],
    ["implementation_missing", { implementationWord: 0n }],
    ["implementation_mismatch", { implementationWord: BigInt(oracle) }],
    ["challenge_missing", { challengeWord: 0n }],
    ["game_challenged", { challengeWord: 2n }],
    ["game_challenged", { kind: kinds.aggregate, challengeWord: 1n }],
    ["challenge_missing", { kind: kinds.superFault, challengeWord: 0n }],
    ["game_challenged", { kind: kinds.superFault, challengeWord: 2n }],
    ["game_blacklisted_on_l1", { kind: kinds.superPermissioned, challengeWord: 1n }],
    ["game_missing", { kind: kinds.superFault, gameWord: 0n }],
    ["implementation_mismatch", { kind: kinds.superPermissioned, implementationWord: 1n }],
  ];
  for (const [code, scene] of scenes) {
    const { update, hub } = await buildScene(scene);
    refuses(update, hub, code);
  }
});

/** An L1 whose oracle has an output at index 3, and the update that proves it. */
async function buildOutput(
  words: { readonly root?: bigint; readonly block?: bigint },
): Promise<{ update: OpStackUpdate; hub: OpStackHubView; value: ReturnType<typeof buildOutputOracleProof> }> {
  const output: OutputProposed = {
    outputRoot: rootClaim,
    index: 3n,
    l2Height: height,
    l1TimestampSec: 1751555000n,
  };
  const [rootSlot, blockSlot] = oracleProofSlots(output);
  if (rootSlot === undefined || blockSlot === undefined) throw new Error("Two slots");
  const block = (height << 128n) | output.l1TimestampSec;
  const slots = new Map<Hash256, bigint>([
    [rootSlot, words.root ?? BigInt(rootClaim)],
    [blockSlot, words.block ?? block],
  ]);
  const l1 = await buildL1(new Map([[oracle, slots]]));
  const value = buildOutputOracleProof({
    header: claimed.header,
    withdrawalStorageRoot: claimed.withdrawalStorageRoot,
    output,
    oracle: await l1.prove(oracle, [rootSlot, blockSlot]),
  });
  return {
    value,
    update: { l1Height: 9n, proof: { tag: "OpL2Oracle", value } },
    hub: {
      l1StateRoot: l1.stateRoot,
      disputeGames: undefined,
      outputOracle: oracle,
      blacklistedGames: new Set(),
    },
  };
}

Deno.test("OP stack: an output of an oracle is accepted with the time that the oracle has", async () => {
  const { update, hub } = await buildOutput({});
  const { consensusState, commitment } = verifyOpStackUpdate(trusted, update, hub);
  equal(consensusState.finalizedHeight, height);
  equal(commitment?.commitment, {
    timestampSec: 1751555000n,
    overlayRoot: undefined,
    stateRoot: claimed.header.stateRoot,
  });
  const ignored = verifyOpStackUpdate(trusted, update, { ...hub, outputOracle: undefined });
  equal(ignored, { consensusState: trusted, commitment: undefined });
});

Deno.test("OP stack: what the oracle says against an output is found, each with its code", async () => {
  const block = (height << 128n) | 1751555000n;
  const scenes: [OpStackErrorCode, Parameters<typeof buildOutput>[0]][] = [
    ["output_missing", { root: 0n }],
    ["output_mismatch", { root: BigInt(rootClaim) ^ 1n }],
    ["output_block_missing", { block: 0n }],
    ["output_block_mismatch", { block: block + 1n }],
    ["output_block_mismatch", { block: block + (1n << 128n) }],
  ];
  for (const [code, words] of scenes) {
    const { update, hub } = await buildOutput(words);
    refuses(update, hub, code);
  }
});

Deno.test("OP stack: no field of an output can be changed", async () => {
  const { hub, value } = await buildOutput({});
  const verify = (value: ReturnType<typeof buildOutputOracleProof>): unknown =>
    verifyOpStackUpdate(trusted, { l1Height: 9n, proof: { tag: "OpL2Oracle", value } }, hub);
  refusesChanges(value, verify, {
    ".stateRoot": "output_mismatch",
    ".withdrawalStorageRoot": "output_mismatch",
    ".l2BlockHash": "output_mismatch",
    ".version": "output_mismatch",
    ".outputRootIndex": "output_proof",
    ".blockNumber": "output_block_mismatch",
    ".timestampSec": "output_block_mismatch",
    ".l2OracleProof": "oracle_proof",
    ".outputRootProof": "output_proof",
    ".multiProof": "output_block_proof",
  });
});

Deno.test("OP stack: a claim that does not follow from the chain's block is not built", async () => {
  const { l1 } = await buildScene({});
  const answer = await l1.prove(factory, []);
  const parts: Parameters<typeof buildDisputeGameProof>[0] = {
    header: claimed.header,
    withdrawalStorageRoot: claimed.withdrawalStorageRoot,
    game: { proxy: claimed.proxy, gameType: 0, rootClaim },
    claimed: { l2Height: height, outputRoot: rootClaim },
    extraData: claimed.extraData,
    createdAtSec: 1n,
    factory: answer,
    challenge: undefined,
  };
  const { header } = claimed;
  const cases: [string, Partial<typeof parts>][] = [
    ["false_claim", { claimed: { ...parts.claimed, outputRoot: flipHash(rootClaim) } }],
    ["false_claim", { withdrawalStorageRoot: flipHash(parts.withdrawalStorageRoot) }],
    ["false_claim", { header: { ...header, gasUsed: 1n } }],
    ["wrong_block", { header: { ...header, number: header.number + 1n } }],
    ["wrong_block", { claimed: { ...parts.claimed, l2Height: height + 1n } }],
  ];
  for (const [code, change] of cases) {
    throws(
      () => buildDisputeGameProof({ ...parts, ...change }),
      (error) => error instanceof RollupDataError && error.code === code,
      code,
    );
  }
  // Nothing is wrong but that the answer has no slots.
  throws(
    () => buildDisputeGameProof(parts),
    (error) => error instanceof EvmProofError && error.code === "malformed_answer",
  );
  const output = { outputRoot: rootClaim, index: 0n, l2Height: height + 1n, l1TimestampSec: 1n };
  throws(
    () => buildOutputOracleProof({ ...parts, output, oracle: answer }),
    (error) => error instanceof RollupDataError && error.code === "wrong_block",
  );
});
