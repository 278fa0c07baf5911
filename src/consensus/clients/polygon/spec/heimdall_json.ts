/**
 * Answers of Heimdall nodes in JSON, as CometBFT's JSON-RPC writes them. Source: 0xPolygon/cometbft:
 * rpc/core/types/responses.go, libs/json; polytope-labs/hyperbridge: tesseract/consensus/polygon/src/client.rs.
 */
import { base64 } from "@scure/base";
import * as z from "zod";
import { type Hash256, toHash256 } from "../../../../core/encoding/bytes.ts";
import { toAddress } from "../../../../core/evm/address.ts";
import type { CometBlockId, CometCommitSig, HeimdallValidator } from "./comet_header.ts";
import type { SignedHeimdallHeader } from "./update.ts";

const int64 = z.string().regex(/^[0-9]{1,19}$/).transform(BigInt).refine((value) => value < 2n ** 63n);
const uint64 = z.string().regex(/^[0-9]{1,20}$/).transform(BigInt).refine((value) => value < 2n ** 64n);
/** Numbers that the hub keeps in 32 bits. */
const uint32 = z.number().int().min(0).max(2 ** 32 - 1);
const count = z.string().regex(/^[0-9]{1,9}$/).transform(Number);
const hash = z.string().regex(/^[0-9a-fA-F]{64}$/).transform((text) => toHash256(text));
const address = z.string().regex(/^[0-9a-fA-F]{40}$/).transform((text) => toAddress(text));
const laterHash = z.union([z.literal("").transform((): Hash256 | undefined => undefined), hash]);
const bytes = z.string().transform((text, context): Uint8Array => {
  try {
    return base64.decode(text);
  } catch {
    context.addIssue({ code: "custom", message: "not base64" });
    return z.NEVER;
  }
});

const blockId = z.object({ hash, parts: z.object({ total: uint32, hash }) })
  .transform(({ hash, parts }): CometBlockId => ({ hash, partSetHeader: parts }));
const noBlockId = z.object({ hash: z.literal("") }).transform((): CometBlockId | undefined => undefined);

const header = z.object({
  // Numbers that are zero are omitted.
  version: z.object({ block: uint64.default(0n), app: uint64.default(0n) }),
  chain_id: z.string(),
  height: int64,
  time: z.string(),
  last_block_id: z.union([blockId, noBlockId]),
  last_commit_hash: laterHash,
  data_hash: laterHash,
  validators_hash: hash,
  next_validators_hash: hash,
  consensus_hash: hash,
  app_hash: hash,
  last_results_hash: laterHash,
  evidence_hash: laterHash,
  proposer_address: address,
}).transform((json): SignedHeimdallHeader["header"] => ({
  version: json.version,
  chainId: json.chain_id,
  height: json.height,
  time: json.time,
  lastBlockId: json.last_block_id,
  lastCommitHash: json.last_commit_hash,
  dataHash: json.data_hash,
  validatorsHash: json.validators_hash,
  nextValidatorsHash: json.next_validators_hash,
  consensusHash: json.consensus_hash,
  appHash: json.app_hash,
  lastResultsHash: json.last_results_hash,
  evidenceHash: json.evidence_hash,
  proposerAddress: json.proposer_address,
}));

/** Bytes of r and s; Heimdall appends the recovery id, which the hub does not take. */
const SIGNATURE_LENGTH = 64;

/** Flags of votes in a commit. Source: 0xPolygon/cometbft: types/block.go (BlockIDFlag). */
const COMMIT_FLAG = 2;

const commitSig = z.discriminatedUnion("block_id_flag", [
  z.object({ block_id_flag: z.literal(1) }),
  z.object({
    block_id_flag: z.literal([COMMIT_FLAG, 3]),
    validator_address: address,
    timestamp: z.string(),
    signature: bytes.nullable(),
  }),
]).transform((json): CometCommitSig => {
  if (json.block_id_flag === 1) return { tag: "absent", value: undefined };
  const value = {
    validatorAddress: json.validator_address,
    timestamp: json.timestamp,
    signature: json.signature?.slice(0, SIGNATURE_LENGTH),
  };
  return { tag: json.block_id_flag === COMMIT_FLAG ? "commit" : "nil", value };
});

const signedHeader = z.object({
  signed_header: z.object({
    header,
    commit: z.object({
      height: int64,
      round: uint32,
      block_id: blockId,
      signatures: z.array(commitSig),
    }),
  }),
}).transform(({ signed_header: { header, commit: { block_id, ...commit } } }): SignedHeimdallHeader => ({
  header,
  commit: { ...commit, blockId: block_id },
}));

const validator = z.object({
  address,
  pub_key: z.object({ type: z.literal("cometbft/PubKeySecp256k1eth"), value: bytes }),
  voting_power: int64,
}).transform(({ address, pub_key, voting_power }): HeimdallValidator => ({
  address,
  publicKey: { tag: "secp256k1", value: pub_key.value },
  power: voting_power,
  name: undefined,
}));

const validatorsPage = z.object({
  validators: z.array(validator),
  /** Number of validators on all pages. */
  total: count,
});

const status = z.object({
  node_info: z.object({ network: z.string() }),
  sync_info: z.object({
    latest_block_height: int64,
    catching_up: z.boolean(),
  }),
}).transform(({ node_info, sync_info }) => ({
  /** Name of its chain. */
  chainId: node_info.network,
  latestHeight: sync_info.latest_block_height,
  isCatchingUp: sync_info.catching_up,
}));

const storeEntry = z.object({
  response: z.object({
    code: z.number().int().default(0),
    value: bytes.nullish(),
    proofOps: z.object({ ops: z.array(z.object({ data: bytes })) }).nullish(),
  }),
}).transform(({ response: { code, value, proofOps } }) => ({
  /** 0 when the node could answer. */
  code,
  /** Empty: there is no entry. */
  value: value ?? new Uint8Array(0),
  /** Protobuf of a commitment proof per tree, the store's first; empty without a proof. */
  proofs: (proofOps?.ops ?? []).map(({ data }) => data),
}));

/** What a node says about itself. */
export type HeimdallStatus = Readonly<z.infer<typeof status>>;

/** An entry of the state. */
export type StoreEntry = Readonly<z.infer<typeof storeEntry>>;

/** Answers by their methods. They throw `z.ZodError`. */
export const heimdallAnswers = {
  commit: signedHeader,
  validators: validatorsPage,
  status,
  abci_query: storeEntry,
};
