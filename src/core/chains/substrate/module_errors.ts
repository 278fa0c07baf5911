/** Meaning of errors of the hub's pallets for a relayer. */
import type { RefusalCode } from "../submission.ts";

/** Source: polytope-labs/hyperbridge: modules/pallets/relayer/src/{accumulate,outbound_consensus,outbound_request}.rs. */
const codes: ReadonlyMap<string, RefusalCode> = new Map([
  ["Relayer.ProofValidationError", "bad_proof"],
  ["Relayer.IncompleteProof", "bad_proof"],
  ["Relayer.OutboundDeliveryNotProven", "bad_proof"],
  ["Relayer.MissingCommitments", "unknown_message"],
  ["Relayer.OutboundRequestNotKnown", "unknown_message"],
  ["Relayer.DuplicateCommitment", "duplicate"],
  ["Relayer.OutboundRotationAlreadyClaimed", "duplicate"],
  ["Relayer.OutboundRequestAlreadyClaimed", "duplicate"],
  ["Relayer.OutboundDestinationStateNotKnown", "not_ready"],
]);

/** Refusal code of an error named `Pallet.Error`; `unspecified` for all without a more specific meaning. */
export function toRefusalCode(error: string | undefined): RefusalCode {
  return codes.get(error ?? "") ?? "unspecified";
}
