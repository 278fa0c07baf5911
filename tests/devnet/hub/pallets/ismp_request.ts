/**
 * Handling of `Message::Request`: the checks in upstream's order, then the module callbacks.
 * Source: polytope-labs/hyperbridge: modules/ismp/core/src/handlers.rs, handlers/request.rs.
 */
import type { Hash256 } from "../../../../src/core/protocol/bytes.ts";
import { commitmentOfPost } from "../../../../src/core/protocol/ismp/commitment.ts";
import { requestReceiptCodec } from "../../../../src/core/protocol/ismp/host_state.ts";
import type { IsmpPalletEvent } from "../../../../src/core/protocol/ismp/hub_events.ts";
import type { RequestMessage } from "../../../../src/core/protocol/ismp/ismp_message.ts";
import type { PostRequest } from "../../../../src/core/protocol/ismp/message.ts";
import { storedSigner } from "../../../../src/core/protocol/ismp/signed_messages.ts";
import type { StateMachineHeight } from "../../../../src/core/protocol/ismp/state_machine.ts";
import { childTrieKeys } from "../../../../src/core/protocol/ismp/storage_keys.ts";
import { ScaleError } from "../../../../src/core/protocol/scale.ts";
import type { Execution } from "../runtime.ts";
import { consensusClients, type MembershipVerifier, type VerifierHost } from "./consensus_clients.ts";
import { IsmpError } from "./ismp_error.ts";
import type { IsmpStorage } from "./ismp_storage.ts";

/** Receives a request whose proof holds. @throws {IsmpError} to refuse it, and with it the whole extrinsic. */
export type RequestModule = (
  execution: Execution,
  request: PostRequest,
  commitment: Hash256,
) => void;

/** What the handler works with. */
export interface RequestHandlerHost extends VerifierHost {
  readonly storage: IsmpStorage;
  readonly module: RequestModule;
}

interface NamedRequest {
  readonly request: PostRequest;
  readonly commitment: Hash256;
}

/**
 * Checks and delivers one batch.
 * @returns the events to deposit once all messages of the extrinsic succeeded.
 * @throws {IsmpError}
 */
export function handleRequests(
  host: (execution: Execution) => RequestHandlerHost,
  execution: Execution,
  message: RequestMessage,
): IsmpPalletEvent[] {
  if (message.requests.length === 0) throw new IsmpError("empty_batch");
  const view = host(execution);
  const { height } = message.proof;
  const verify = validateStateMachine(view, execution, height);
  const named = message.requests.map((request) => ({ request, commitment: commitmentOfPost(request) }));
  const distinct = new Set(named.map(({ commitment }) => commitment));
  if (distinct.size !== named.length) throw new IsmpError("duplicate_request", "twice in the batch");
  for (const entry of named) checkRequest(view, execution, entry, height);
  const state = view.storage.stateCommitments.get(execution.overlay, height.id, height.height);
  if (state === undefined) throw new IsmpError("state_commitment_not_found");
  const commitments = named.map(({ commitment }) => commitment);
  verify(view, { commitments, state, proof: message.proof });
  return named.map((entry) => deliver(view, execution, entry, message.signer));
}

/** Client known and not frozen, commitment stored and old enough. */
function validateStateMachine(
  host: RequestHandlerHost,
  execution: Execution,
  at: StateMachineHeight,
): MembershipVerifier {
  const { storage } = host;
  const { overlay } = execution;
  const clientId = storage.consensusStateClient.get(overlay, at.id.consensusStateId);
  const client = clientId === undefined ? undefined : consensusClients.get(clientId);
  if (client === undefined) {
    throw new IsmpError("consensus_state_id_not_recognized", at.id.consensusStateId);
  }
  if (storage.frozenConsensusClients.get(overlay, at.id.consensusStateId) === true) {
    throw new IsmpError("frozen_consensus_client", at.id.consensusStateId);
  }
  const updatedSec = storage.updateTimesSec.get(overlay, at.id, at.height);
  if (updatedSec === undefined) {
    throw new IsmpError("state_commitment_not_found", `${at.id.stateMachine} at ${at.height}`);
  }
  const periodSec = storage.challengePeriodSec.get(overlay, at.id);
  if (periodSec === undefined) {
    throw new IsmpError("challenge_period_not_configured", at.id.stateMachine);
  }
  const ageMs = execution.nowMs - updatedSec * 1000n;
  if (periodSec !== 0n && ageMs <= periodSec * 1000n) {
    throw new IsmpError("challenge_period_not_elapsed", `${ageMs} ms of ${periodSec} s`);
  }
  const verifier = client.stateMachine(at.id.stateMachine);
  if (verifier === undefined) throw new IsmpError("unsupported_state_machine", at.id.stateMachine);
  return verifier;
}

function checkRequest(
  host: RequestHandlerHost,
  execution: Execution,
  { request, commitment }: NamedRequest,
  proofHeight: StateMachineHeight,
): void {
  if (execution.overlay.getChild(childTrieKeys.requestReceipt(commitment)) !== undefined) {
    throw new IsmpError("duplicate_request", commitment);
  }
  const timeoutSec = request.timeoutTimestampSec;
  if (timeoutSec !== 0n && execution.nowMs >= timeoutSec * 1000n) {
    throw new IsmpError("request_timeout", commitment);
  }
  const { stateMachine } = proofHeight.id;
  const isProxied = stateMachine === host.stateMachine &&
    ![...consensusClients.values()].some((client) => client.stateMachine(request.source) !== undefined);
  if (request.source !== stateMachine && !isProxied) {
    throw new IsmpError("request_proxy_prohibited", `${request.source} under ${stateMachine}`);
  }
}

function deliver(
  host: RequestHandlerHost,
  execution: Execution,
  { request, commitment }: NamedRequest,
  signer: Uint8Array,
): IsmpPalletEvent {
  const key = childTrieKeys.requestReceipt(commitment);
  if (execution.overlay.getChild(key) !== undefined) {
    throw new IsmpError("duplicate_request", commitment);
  }
  const relayer = readSigner(signer);
  execution.overlay.putChild(key, requestReceiptCodec.enc(relayer));
  host.module(execution, request, commitment);
  return { tag: "PostRequestHandled", value: { commitment, relayer } };
}

function readSigner(signer: Uint8Array): Uint8Array {
  try {
    return storedSigner(signer);
  } catch (cause) {
    if (!(cause instanceof ScaleError)) throw cause;
    throw new IsmpError("signature_decoding_failed", `${signer.length} bytes`, { cause });
  }
}
