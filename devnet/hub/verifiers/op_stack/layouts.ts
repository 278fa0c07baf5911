/**
 * SCALE of what the hub's client of OP stack chains stores and accepts, named as the hub names it. Source:
 * polytope-labs/hyperbridge: modules/ismp/clients/optimism/src/lib.rs, modules/ismp/clients/ismp-optimism/src/lib.rs.
 */
import { enhanceCodec } from "scale-ts";
import { type Address, addressCodec } from "../../../../src/core/evm/address.ts";
import { evmBlockHeaderCodec } from "../../../../src/core/evm/block_header.ts";
import { stateMachineIdCodec } from "../../../../src/core/ismp/state_machine.ts";
import {
  bytes,
  type Codec,
  Enum,
  hash256,
  list,
  nothing,
  Option,
  Struct,
  Tuple,
  u32,
  u64,
  u8,
} from "../../../../src/core/encoding/scale.ts";

type Of<T> = T extends Codec<infer Value> ? Value : never;

/** What decides whether a game counts, beside its factory: the variants in the hub's order. */
export type GameKind =
  | {
    readonly tag: "OPSuccinct" | "FaultDisputeGame" | "AggregateVerifier" | "SuperFaultDisputeGame";
    readonly value?: undefined;
  }
  | {
    readonly tag: "SuperPermissionedDisputeGame";
    readonly value: { readonly anchorStateRegistry: Address };
  };

/** A type of games that governance has listed. */
export interface ListedGameType {
  readonly gameType: number;
  readonly expectedImplementation: Address;
  readonly kind: GameKind;
}

/** The contract in which games are created, and the types that count. */
export interface GameFactoryRules {
  readonly factory: Address;
  readonly gameTypes: readonly ListedGameType[];
}

const kind = Enum({
  OPSuccinct: nothing,
  FaultDisputeGame: nothing,
  AggregateVerifier: nothing,
  SuperFaultDisputeGame: nothing,
  SuperPermissionedDisputeGame: Struct({ anchorStateRegistry: addressCodec }),
}) as Codec<GameKind>;

const rules = Tuple(
  addressCodec,
  list(Struct({ gameType: u32, expectedImplementation: addressCodec, kind })),
);

/** Of {@link GameFactoryRules}. */
export const rulesLayout: Codec<GameFactoryRules> = enhanceCodec(
  rules,
  ({ factory, gameTypes }: GameFactoryRules): Of<typeof rules> => [factory, gameTypes],
  ([factory, gameTypes]) => ({ factory, gameTypes }),
);

/** Begin of the client's state; what follows is for information. */
export const opStackStateLayout = Struct({
  finalizedHeight: u64,
  stateMachineId: stateMachineIdCodec,
  l1StateMachineId: stateMachineIdCodec,
  consensusType: Option(u8),
});

const nodes = list(bytes);

const gameProof = Struct({
  header: evmBlockHeaderCodec,
  withdrawalStorageRoot: hash256,
  version: hash256,
  disputeFactoryProof: nodes,
  disputeGameProof: nodes,
  gameImplProof: nodes,
  proxyAccountProof: nodes,
  challengeProof: nodes,
  proxy: addressCodec,
  extraData: bytes,
  gameType: u32,
  timestamp: u64,
});

const outputProof = Struct({
  stateRoot: hash256,
  withdrawalStorageRoot: hash256,
  l2BlockHash: hash256,
  version: hash256,
  l2OracleProof: nodes,
  outputRootProof: nodes,
  multiProof: nodes,
  outputRootIndex: u64,
  blockNumber: u64,
  timestamp: u64,
});

/** Of an update. */
export const opStackUpdateLayout = Struct({
  l1Height: u64,
  proof: Enum({ output: outputProof, game: gameProof }),
});

/** A claim made by a game. */
export type GameProof = Of<typeof gameProof>;

/** A claim in an oracle. */
export type OutputProof = Of<typeof outputProof>;
