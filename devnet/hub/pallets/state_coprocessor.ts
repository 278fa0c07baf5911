/**
 * Pallet StateCoprocessor: answers GET requests of other chains from proofs of the state that they ask for.
 * Source: polytope-labs/hyperbridge: modules/pallets/state-coprocessor/src/{lib,impls}.rs.
 */
import { fromHex, type Hash256 } from "../../../src/core/encoding/bytes.ts";
import type { GetRequest, GetResponse } from "../../../src/core/ismp/message.ts";
import { abiEncodeResponse, commitmentOfGet, commitmentOfResponse } from "../../../src/core/ismp/message.ts";
import { requestMetadataCodec, responseReceiptCodec } from "../../../src/core/ismp/host_state.ts";
import { type GetRequestsWithProof, getRequestsWithProofCodec } from "../../../src/core/ismp/ismp_message.ts";
import { getRequestsTag } from "../pool_tags.ts";
import { childTrieKeys } from "../../../src/core/ismp/storage_keys.ts";
import { bool, hash256 } from "../../../src/core/encoding/scale.ts";
import {
  DispatchError,
  type Execution,
  orInvalid,
  type SimulatedRuntime,
  type ValidTransaction,
} from "../runtime.ts";
import type { RuntimeMetadata } from "../runtime_metadata.ts";
import { PalletStorage } from "../storage.ts";
import type { IsmpPallet } from "./ismp.ts";
import { converted } from "../verifiers/refusals.ts";
import { readSigner } from "./ismp_request.ts";
import { IsmpError } from "./ismp_error.ts";
import { readState, verifyMembership } from "./state_machines.ts";
import { requireCommitment, validateStateMachine } from "./ismp_storage.ts";

/** Charges a sender for bytes. @throws {IsmpError} module_dispatch_error when it has too little. */
export type ResponseCharge = (execution: Execution, get: GetRequest, bytes: number) => void;

const nobody: Hash256 = `0x${"00".repeat(32)}`;

/** The pallet. */
export class StateCoprocessorPallet extends PalletStorage {
  readonly #ismp: IsmpPallet;
  readonly #charge: ResponseCharge | undefined;
  readonly #responded = this.item("Responded", [hash256], bool);

  constructor(
    metadata: RuntimeMetadata,
    parts: { readonly ismp: IsmpPallet; readonly charge: ResponseCharge | undefined },
  ) {
    super(metadata, "Ismp");
    this.#ismp = parts.ismp;
    this.#charge = parts.charge;
  }

  /** Adds `StateCoprocessor.handle_unsigned` to the table. */
  register(runtime: SimulatedRuntime): void {
    runtime.register(
      "StateCoprocessor",
      "handle_unsigned",
      getRequestsWithProofCodec,
      {
        validate: (execution, message): ValidTransaction => {
          orInvalid("Call", () => this.#run(execution, message));
          return { priority: 100n, provides: [fromHex(getRequestsTag(message.requests))], longevity: 25n };
        },
        dispatch: (execution, message): void => this.#run(execution, message),
      },
    );
  }

  #run(execution: Execution, message: GetRequestsWithProof): void {
    const failure = (cause: IsmpError): Error =>
      new DispatchError("StateCoprocessor", "HandlingError", { cause });
    converted(IsmpError, failure, () => {
      const responses = this.#answer(execution, message);
      for (const response of responses) this.#store(execution, response, message.address);
    });
  }

  #answer(execution: Execution, message: GetRequestsWithProof): GetResponse[] {
    const { requests, source, response } = message;
    const commitments = requests.map(commitmentOfGet);
    if (new Set(commitments).size !== commitments.length) {
      throw new IsmpError("duplicate_request", "twice in the batch");
    }
    for (const get of requests) checkGet(execution, get, message);
    if (!requests.every(({ height }) => height === response.height.height)) {
      throw new IsmpError("insufficient_proof_height", String(response.height.height));
    }
    const host = this.#ismp.host(execution);
    const asking = validateStateMachine(host, execution, source.height);
    const state = requireCommitment(host, execution, source.height);
    verifyMembership(asking, host, { commitments, state, proof: source });
    const asked = validateStateMachine(host, execution, response.height);
    const { stateRoot } = requireCommitment(host, execution, response.height);
    return requests.map((get) => {
      const values = readState(asked, host, { keys: get.keys, root: stateRoot, proof: response });
      // A map of byte strings: ascending by key.
      const ascending = [...values].sort(([a], [b]) => (a < b ? -1 : 1));
      const answer = { get, values: ascending.map(([key, value]) => ({ key: fromHex(key), value })) };
      this.#charge?.(execution, get, abiEncodeResponse(answer).length);
      return answer;
    });
  }

  #store(execution: Execution, response: GetResponse, address: Uint8Array): void {
    const { overlay } = execution;
    const { get } = response;
    const [commitment, reqCommitment] = [commitmentOfResponse(response), commitmentOfGet(get)];
    const receipt = { response: commitment, relayer: readSigner(address) };
    overlay.putChild(childTrieKeys.responseReceipt(reqCommitment), responseReceiptCodec.enc(receipt));
    const offchain = this.#ismp.pushLeaf(execution, { tag: "GetResponse", value: response });
    const metadata = { offchain, fee: { payer: nobody, fee: 0n }, claimed: true };
    overlay.putChild(childTrieKeys.responseCommitment(commitment), requestMetadataCodec.enc(metadata));
    this.#responded.put(overlay, true, reqCommitment);
    execution.emitIsmp({
      tag: "Response",
      value: {
        destChain: get.source,
        sourceChain: get.dest,
        requestNonce: get.nonce,
        commitment,
        reqCommitment,
      },
    });
    execution.emitIsmp({
      tag: "GetRequestHandled",
      value: { commitment: reqCommitment, relayer: address },
    });
  }
}

function checkGet(execution: Execution, get: GetRequest, message: GetRequestsWithProof): void {
  const timeoutSec = get.timeoutTimestampSec;
  if (timeoutSec !== 0n && execution.nowMs >= timeoutSec * 1000n) {
    throw new IsmpError("request_timeout", commitmentOfGet(get));
  }
  if (get.source !== message.source.height.id.stateMachine) {
    throw new IsmpError("request_proof_metadata_not_valid", `source ${get.source}`);
  }
  if (get.dest !== message.response.height.id.stateMachine) {
    throw new IsmpError("request_proof_metadata_not_valid", `dest ${get.dest}`);
  }
  const receipt = childTrieKeys.responseReceipt(commitmentOfGet(get));
  if (execution.overlay.getChild(receipt) !== undefined) {
    throw new IsmpError("duplicate_response", commitmentOfGet(get));
  }
}
