/**
 * Handling of `Message::Request`: the checks in upstream's order, then the module callbacks.
 * Source: polytope-labs/hyperbridge: modules/ismp/core/src/handlers.rs, handlers/request.rs.
 */
import type { Hash256 } from "../../../src/core/encoding/bytes.ts";
import { commitmentOfPost, type PostRequest } from "../../../src/core/ismp/message.ts";
import { requestReceiptCodec } from "../../../src/core/ismp/host_state.ts";
import type { requestMessageCodec } from "../../../src/core/ismp/ismp_message.ts";
import { storedSigner } from "../../../src/core/ismp/signed_messages.ts";
import type { StateMachineHeight } from "../../../src/core/ismp/state_machine.ts";
import { childTrieKeys } from "../../../src/core/ismp/storage_keys.ts";
import { ScaleError } from "../../../src/core/encoding/scale.ts";
import type { Execution } from "../runtime.ts";
import { consensusClients } from "./consensus_clients.ts";
import { converted } from "../verifiers/refusals.ts";
import { IsmpError } from "./ismp_error.ts";
import { verifyMembership } from "./state_machines.ts";
import { type ProofHost, requireCommitment, validateStateMachine } from "./ismp_storage.ts";
import type { IsmpPalletEvent } from "./ismp_events.ts";
import type { CodecType } from "scale-ts";

/** Receives a request whose proof holds. @throws {IsmpError} to refuse it, and with it the whole extrinsic. */
export type RequestModule = (
  execution: Execution,
  request: PostRequest,
  commitment: Hash256,
) => void;

/** What the handler works with. */
export interface RequestHandlerHost extends ProofHost {
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
  view: RequestHandlerHost,
  execution: Execution,
  message: CodecType<typeof requestMessageCodec>,
): IsmpPalletEvent[] {
  if (message.requests.length === 0) throw new IsmpError("empty_batch");
  const { height } = message.proof;
  const client = validateStateMachine(view, execution, height);
  const named = message.requests.map((request) => ({ request, commitment: commitmentOfPost(request) }));
  const distinct = new Set(named.map(({ commitment }) => commitment));
  if (distinct.size !== named.length) throw new IsmpError("duplicate_request", "twice in the batch");
  for (const entry of named) checkRequest(view, execution, entry, height);
  const state = requireCommitment(view, execution, height);
  const commitments = named.map(({ commitment }) => commitment);
  verifyMembership(client, view, { commitments, state, proof: message.proof });
  return named.map((entry) => deliver(view, execution, entry, message.signer));
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
  if (request.dest !== host.stateMachine && host.coprocessor !== host.stateMachine) {
    throw new IsmpError("invalid_request_destination", `${request.dest} on ${host.stateMachine}`);
  }
  const { stateMachine } = proofHeight.id;
  const isProxied = stateMachine === host.coprocessor &&
    ![...consensusClients.values()].some((client) => client.stateMachine(host, request.source) !== undefined);
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

/** The account that a receipt names. @throws {IsmpError} signature_decoding_failed. */
export function readSigner(signer: Uint8Array): Uint8Array {
  return converted(
    ScaleError,
    (cause) => new IsmpError("signature_decoding_failed", `${signer.length} bytes`, { cause }),
    () => storedSigner(signer),
  );
}
