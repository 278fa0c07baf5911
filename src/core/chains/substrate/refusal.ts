/**
 * Reasons why a host refuses messages. The pool reports `BadProof` for any of them, so rules that depend on storage
 * only are checked here, in the order of the host's own checks. Source: polytope-labs/hyperbridge:
 * modules/ismp/core/src/handlers/request.rs.
 */
import { type Hash256, toHex } from "../../encoding/bytes.ts";
import { commitmentOfGet } from "../../ismp/message.ts";
import type { GetRequestsWithProof } from "../../ismp/ismp_message.ts";
import type { StateMachine, StateMachineHeight } from "../../ismp/state_machine.ts";
import type { Delivery, DeliveryStep, Refusal, RefusalCode } from "../submission.ts";
import { acceptedLists, describeUnlisted, findAcceptedChains } from "../../ismp/consensus_clients.ts";
import { ismpKeys, otherKeys } from "../../ismp/storage_keys.ts";
import { calls } from "../../rpc/substrate_calls.ts";
import type { SubstrateNode } from "./node.ts";
import { updateTimeOf } from "./reads.ts";
import { keysOf, pickStored, toSeconds } from "./stored.ts";

/** State of the host about the chain that a proof is about. */
export interface ProofContext {
  readonly isFrozen: boolean;
  /** Undefined: none configured, and then the host accepts no proofs. */
  readonly challengePeriodSec: bigint | undefined;
  /** Time at which the commitment at the proof's height was stored; undefined: there is none. */
  readonly updateTimeSec: bigint | undefined;
  readonly nowSec: bigint;
  /**
   * Reason why the chain's light client accepts no proofs of it at all, whatever the height; completes "the hub ...".
   */
  readonly unlisted?: string | undefined;
}

/** {@link ProofContext} of a step's proof, and the receipts of its messages. */
export interface StepContext extends ProofContext {
  /** Per message the relayer that delivered it already. */
  readonly receipts: readonly (Uint8Array | undefined)[];
}

/**
 * First rule that a delivery breaks; `undefined` when the facts show none (then it is the proof, the receiving
 * module, or bandwidth).
 * @param facts per step, `undefined` for steps without messages.
 */
export function findRefusal(
  host: { readonly stateMachine: StateMachine; readonly isHub: boolean },
  delivery: Delivery,
  facts: readonly (StepContext | undefined)[],
): Refusal | undefined {
  let before = 0;
  for (const [index, step] of delivery.steps.entries()) {
    const known = facts[index];
    if (step.kind !== "messages" || known === undefined) continue;
    const refusal = findProofRefusal(known) ?? refusalOfMessages(host, step, known);
    if (refusal !== undefined) {
      const messages = refusal.messages?.map((each) => each + before);
      return { ...refusal, step: index, ...(messages === undefined ? {} : { messages }) };
    }
    before += step.messages.length;
  }
  return undefined;
}

/** First rule that a proof breaks by its height alone. */
export function findProofRefusal(facts: ProofContext): Refusal | undefined {
  if (facts.isFrozen) return { code: "host_frozen", detail: "the consensus client is frozen" };
  if (facts.updateTimeSec === undefined) {
    return { code: "not_ready", detail: "no commitment is stored for the proof's height" };
  }
  if (facts.challengePeriodSec === undefined) {
    return { code: "not_ready", detail: "no challenge period is configured" };
  }
  const ageSec = facts.nowSec - facts.updateTimeSec;
  // Strictly more than the period must have passed; without a period there is no wait.
  if (facts.challengePeriodSec > 0n && ageSec <= facts.challengePeriodSec) {
    return {
      code: "not_ready",
      detail: `challenge period: ${ageSec} of ${facts.challengePeriodSec} seconds are over`,
    };
  }
  return facts.unlisted === undefined
    ? undefined
    : { code: "not_ready", detail: `the hub ${facts.unlisted}` };
}

/**
 * First rule that an answer to get requests breaks, besides those of its proofs. Source: polytope-labs/hyperbridge:
 * modules/pallets/state-coprocessor/src/impls.rs.
 * @param facts per request the relayer that answered it already.
 */
export function findGetRefusal(
  { requests, source, response }: GetRequestsWithProof,
  facts: { readonly nowSec: bigint; readonly receipts: readonly (Uint8Array | undefined)[] },
): Refusal | undefined {
  return findRequestRefusal(
    requests.map((request) => {
      const commitment = commitmentOfGet(request);
      const isOfProofs = request.source === source.height.id.stateMachine &&
        request.dest === response.height.id.stateMachine;
      const wrong: Refusal | undefined = !isOfProofs
        ? { code: "bad_proof", detail: `${commitment} is from ${request.source} about ${request.dest}` }
        : request.height === response.height.height
        ? undefined
        : { code: "bad_proof", detail: `${commitment} asks for height ${request.height}` };
      return { commitment, request, wrong };
    }),
    facts,
  );
}

function refusalOfMessages(
  host: { readonly stateMachine: StateMachine; readonly isHub: boolean },
  step: Extract<DeliveryStep, { kind: "messages" }>,
  facts: StepContext,
): Refusal | undefined {
  return findRequestRefusal(
    step.messages.map((message) => {
      const { commitment } = message;
      if (message.kind !== "post") return { commitment };
      const { request } = message;
      const isHere = host.isHub || request.dest === host.stateMachine;
      if (isHere) return { commitment, request };
      const detail = `${commitment} is for ${request.dest}`;
      return { commitment, request, wrong: { code: "bad_destination", detail } };
    }),
    facts,
  );
}

/** A message of a delivery or answer. */
interface JudgedRequest {
  readonly commitment: Hash256;
  /** Absent: it has no timeout. */
  readonly request?: { readonly timeoutTimestampSec: bigint };
  /** Refusal of a request that does not belong there. */
  readonly wrong?: Refusal | undefined;
}

/** First refusal of messages, with the indexes of all that are refused by the same code. */
function findRequestRefusal(
  judged: readonly JudgedRequest[],
  { nowSec, receipts }: Pick<StepContext, "nowSec" | "receipts">,
): Refusal | undefined {
  const seen = new Set<Hash256>();
  const refusals = judged.map(({ commitment, request, wrong }, index): Refusal | undefined => {
    const isRepeated = seen.has(commitment);
    seen.add(commitment);
    if (isRepeated) return { code: "duplicate", detail: `${commitment} is there twice` };
    if (receipts[index] !== undefined) {
      return { code: "duplicate", detail: `${commitment} was delivered already` };
    }
    const { timeoutTimestampSec: endSec = 0n } = request ?? {};
    const isOver = endSec !== 0n && nowSec >= endSec;
    return isOver ? { code: "timed_out", detail: `${commitment} timed out` } : wrong;
  });
  const first = refusals.find((refusal) => refusal !== undefined);
  if (first === undefined) return undefined;
  const messages = refusals.flatMap((refusal, index) => refusal?.code === first.code ? [index] : []);
  return { ...first, messages };
}

/** Source: polytope-labs/hyperbridge: modules/pallets/relayer/src/{accumulate,outbound_consensus,outbound_request}.rs. */
const refusalCodes: ReadonlyMap<string, RefusalCode> = new Map([
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
  return refusalCodes.get(error ?? "") ?? "unspecified";
}

/** Fetches the state at the best block; one round trip. */
export async function fetchProofContext(
  node: SubstrateNode,
  height: StateMachineHeight,
  signal: AbortSignal,
): Promise<ProofContext> {
  const { id: { stateMachine, consensusStateId } } = height;
  const wanted = {
    now: otherKeys.timestampNow.of(),
    frozen: ismpKeys.frozenConsensusClients.of(consensusStateId),
    period: ismpKeys.challengePeriod.of(height.id),
    updated: await updateTimeOf(node, height, signal),
    client: ismpKeys.consensusStateClient.of(consensusStateId),
  };
  const lists = [...acceptedLists.values()].map(({ entry }) => entry(stateMachine));
  const values = await node.client.call(calls.storageAt([...keysOf(wanted), ...lists], undefined), signal);
  const found = pickStored(node, wanted, values);
  const list = found.client && findAcceptedChains(found.client);
  const isUnlisted = list !== undefined && values.get(toHex(list.entry(stateMachine))) === undefined;
  return {
    isFrozen: found.frozen ?? false,
    challengePeriodSec: found.period,
    updateTimeSec: found.updated,
    nowSec: toSeconds(found.now),
    ...isUnlisted && { unlisted: describeUnlisted(stateMachine, list) },
  };
}
