/**
 * SCALE of Polygon's updates and state, named as the hub names them. Source: polytope-labs/hyperbridge:
 * modules/ismp/clients/polygon/src/lib.rs, modules/consensus/tendermint/primitives/src/verifier.rs.
 */
import {
  bytes,
  type Codec,
  Enum,
  fixedBytes,
  list,
  nothing,
  Option,
  Struct,
  u32,
  u64,
  utf8Text,
} from "../../../../src/core/encoding/scale.ts";
import { evmBlockHeaderCodec } from "../../../../src/core/evm/block_header.ts";

type Of<T> = T extends Codec<infer Value> ? Value : never;

const blockId = Struct({ hash: bytes, parts: Struct({ total: u32, hash: bytes }) });

const header = Struct({
  version: Struct({ block: u64, app: u64 }),
  chainId: utf8Text,
  height: u64,
  time: utf8Text,
  lastBlockId: Option(blockId),
  lastCommitHash: Option(bytes),
  dataHash: Option(bytes),
  validatorsHash: bytes,
  nextValidatorsHash: bytes,
  consensusHash: bytes,
  appHash: bytes,
  lastResultsHash: Option(bytes),
  evidenceHash: Option(bytes),
  proposerAddress: bytes,
});

const vote = Struct({ address: bytes, timestamp: utf8Text, signature: Option(bytes) });

const commit = Struct({
  height: u64,
  round: u32,
  blockId,
  signatures: list(Enum({ absent: nothing, forBlock: vote, forNil: vote })),
});

const validator = Struct({
  address: bytes,
  key: Enum({ ed25519: bytes, secp256k1: bytes }),
  power: u64,
  name: Option(utf8Text),
});

const milestone = Struct({
  proposer: utf8Text,
  startBlock: u64,
  endBlock: u64,
  hash: bytes,
  borChainId: utf8Text,
  milestoneId: utf8Text,
  timestamp: u64,
  totalDifficulty: u64,
});

/** `PolygonConsensusUpdate`. */
export const updateLayout = Struct({
  header,
  commit,
  nextValidators: Option(list(validator)),
  milestone: Option(
    Struct({ evmHeader: evmBlockHeaderCodec, number: u64, proof: bytes, milestone }),
  ),
});

const tendermint = Struct({
  chainId: utf8Text,
  height: u64,
  timestamp: u64,
  finalizedHeaderHash: fixedBytes(32),
  validators: list(validator),
  nextValidators: list(validator),
  nextValidatorsHash: fixedBytes(32),
  trustingPeriod: u64,
  options: Struct({ numerator: u64, denominator: u64, clockDrift: u64 }),
});

/** `ConsensusState`. */
export const stateLayout = Struct({
  tendermint,
  lastFinalizedBlock: u64,
  lastFinalizedHash: bytes,
  chainId: u32,
});

export type ScaleBlockId = Of<typeof blockId>;
export type ScaleHeader = Of<typeof header>;
export type ScaleCommit = Of<typeof commit>;
export type ScaleVote = Of<typeof vote>;
export type ScaleValidator = Of<typeof validator>;
export type ScaleMilestone = Of<typeof milestone>;
export type ScaleUpdate = Of<typeof updateLayout>;
export type ScaleTendermint = Of<typeof tendermint>;
