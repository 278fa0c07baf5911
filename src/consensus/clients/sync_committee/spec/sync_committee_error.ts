/**
 * Refusals of the sync committee client, one code per rule, and contradictions between data of beacon nodes.
 */
import { ClientError } from "../../../spec/client_error.ts";

/**
 * Rule that an update breaks, in the order of checks. Source: polytope-labs/hyperbridge:
 * modules/consensus/sync-committee/verifier/src/lib.rs (the hub has fewer, coarser errors and reports none of them to a
 * submitter).
 */
export type SyncCommitteeErrorCode =
  /** The consensus proof is not the SCALE form of an update. */
  | "undecodable_update"
  /** The stored consensus state is not the SCALE form of a state. */
  | "undecodable_state"
  /** The number of nodes of the finality branch differs from the depth of the state tree. */
  | "finality_branch_length"
  /** The same of the branch of the next sync committee. */
  | "committee_branch_length"
  /** Not: signature slot after attested slot after finalized slot. */
  | "slot_order"
  /** The signature is neither of the trusted period nor of the one after it. */
  | "signature_period"
  /** The signature is of the next period and the attested header is not. */
  | "attested_period"
  /** The attested header is not newer than the trusted finalized header. */
  | "stale_slot"
  /** The finalized epoch is not newer than the trusted one. */
  | "stale_epoch"
  /** Fewer than two thirds (plus one member) of the committee signed. */
  | "too_few_participants"
  /** A key of the trusted committee is not a point of the group. */
  | "public_key"
  /** The aggregate signature is not of the participants over the attested header in this fork and network. */
  | "signature"
  /** The finalized checkpoint is not in the attested state. */
  | "finality_branch"
  /** The proof inside of the execution payload header has a wrong number of nodes. */
  | "multi_proof_length"
  /** The execution block is proved by the variant of another fork than the finalized header's. */
  | "execution_variant"
  /** The branch of the execution payload header, or of the block's hash, has a wrong number of nodes. */
  | "execution_branch_length"
  /** State root, block number and time are not those of the execution payload in the finalized state. */
  | "execution_branch"
  /** The execution header is not RLP, or has another state root, number or time than claimed. */
  | "execution_header"
  /** The next sync committee is not in the attested state. */
  | "committee_branch"
  /** The update enters the next period without its committee. */
  | "missing_committee";

/** An update that the hub would refuse. */
export class SyncCommitteeError extends ClientError<SyncCommitteeErrorCode> {
  override readonly name = "SyncCommitteeError";
}

/** Relation that does not hold. */
export type DerivationErrorCode =
  /** A branch has a wrong number of nodes for the fork of its state. */
  | "branch_length"
  /** The first node of a finality branch is no number, or another branch than that of a checkpoint root was given. */
  | "not_an_epoch"
  /** The execution header, or the hash of it, is not the one in the body of the beacon block. */
  | "execution_header"
  /** Two committees are not those under the branch of the finalized checkpoint. */
  | "committee_pair"
  /** The nodes beside the payload header do not lead to the state's root. */
  | "state_root"
  /** The bytes are not those of a whole state of the fork expected. */
  | "state_bytes"
  /** The node has another date or version of a fork than this program. */
  | "fork_schedule"
  /** The answer is of a fork that this program does not know; its node is not at fault. */
  | "unknown_fork";

/** Contradictory data of beacon nodes: the node is faulty or dishonest, or serves another fork. */
export class DerivationError extends ClientError<DerivationErrorCode> {
  override readonly name = "DerivationError";
}
