/**
 * Why the hub's message handlers refuse a message. A live runtime shows none of this on the wire (the pool says
 * `BadProof`, a dry run `Ismp.InvalidMessage`); it is what a node would log.
 * Source: polytope-labs/hyperbridge: modules/ismp/core/src/error.rs.
 */

/** Names of upstream's errors in snake case. */
export type IsmpErrorCode =
  | "empty_batch"
  | "consensus_state_id_not_recognized"
  /** The runtime has no such consensus client. */
  | "consensus_client_id_not_recognized"
  | "consensus_state_not_found"
  | "frozen_consensus_client"
  | "unbonding_period_not_configured"
  | "consensus_update_time_not_found"
  /** The light client was not updated in time and takes no updates any more. */
  | "unbonding_period_elapsed"
  /** A light client refuses an update; upstream has errors of each client instead, here the `cause`. */
  | "consensus_proof_verification_failed"
  /** No commitment is stored for the proof height, so there is no update time either. */
  | "state_commitment_not_found"
  | "challenge_period_not_configured"
  | "challenge_period_not_elapsed"
  /** The consensus client has no verifier for this kind of chain. */
  | "unsupported_state_machine"
  | "duplicate_request"
  | "request_timeout"
  /** The request is for another chain, and this one is no router. */
  | "invalid_request_destination"
  | "request_proxy_prohibited"
  /** `EvmHosts` has no address for the proven chain. */
  | "ismp_contract_not_found"
  /** The bytes of the proof do not decode or do not prove every commitment; `cause` tells more. */
  | "membership_proof_verification_failed"
  /** The bytes of the proof do not decode or do not decide a key; `cause` tells more. */
  | "state_proof_verification_failed"
  /** A GET request's source or destination is not the chain that the proof is of. */
  | "request_proof_metadata_not_valid"
  /** A GET request asks for another height than the one proven. */
  | "insufficient_proof_height"
  /** A GET request was answered before. */
  | "duplicate_response"
  | "signature_decoding_failed"
  | "module_not_found"
  /** The receiving module failed, or the bandwidth gate or the list of retired senders stopped the request. */
  | "module_dispatch_error"
  /** This simulator has no verifier or handler for the message yet. */
  | "cannot_handle_message";

/** A message that the hub refuses. */
export class IsmpError extends Error {
  override readonly name = "IsmpError";
  constructor(readonly code: IsmpErrorCode, readonly detail: string = "", options?: ErrorOptions) {
    super(detail === "" ? code : `${code}: ${detail}`, options);
  }
}
