/**
 * Answers GET requests on the leg to the hub: proves the request on its source and the values on the chain that is
 * read, at exactly the block that was asked for, and submits both to the hub, which creates the response.
 * Source: docs/protocol/messaging.md section 12.1; polytope-labs/hyperbridge: modules/pallets/state-coprocessor.
 */
import { onError } from "../../../core/encoding/coded_error.ts";
import type { RelayerHubCall } from "../../../core/chains/hub.ts";
import { type MessageProof, UnprovableKeyError } from "../../../core/chains/proofs.ts";
import type { MessageRow } from "../../ledger/ledger.ts";
import type { GetRequest, Message } from "../../../core/ismp/message.ts";
import { toHex } from "../../../core/encoding/bytes.ts";
import { isEvm } from "../../../core/ismp/state_machine.ts";
import { onFault } from "../../../core/rpc/call.ts";
import { ABOUT_THE_CHAIN, type Finding } from "../decisions/retry_schedule.ts";
import { isMatured } from "../../../core/chains/matured_heights.ts";
import { hasMoreDue, listAdmitted } from "../due_messages.ts";
import { type DeliveryInput, packGroups, type PackingGroup } from "./deliver.ts";
import { type GetAnswering, legName, type LegRun, type StateProver } from "../leg.ts";
import { type Candidate, screen } from "../messages.ts";
import { endDelivered } from "../receipts.ts";
import { sendHubCall } from "./send.ts";
import { ABOUT_A_MESSAGE } from "./bisect_batch.ts";

/** Input for answering one group. */
interface GetGroupInput {
  readonly leg: LegRun;
  readonly answering: GetAnswering;
  readonly group: readonly Candidate[];
  /** Height of the source at which the requests are proved. */
  readonly sourceHeight: bigint;
}

/** Maximum number of requests per answer. */
const MAX_AT_ONCE = 50;

/** Answers the GET requests that are due on a leg to the hub, nothing on other legs; true when more are due. */
export async function answerGets(
  leg: LegRun,
  facts: DeliveryInput,
): Promise<boolean> {
  const { answering } = leg;
  if (answering === undefined) return false;
  const due = { ...facts, isWanted: (kind: MessageRow["kind"]): boolean => kind === "get" };
  const { fresh, refused, rows } = await listAdmitted(leg, due);
  const open = await endDelivered(leg, [...fresh, ...refused]);
  for (const group of groupGets(open, ({ message }) => requireGet(message), MAX_AT_ONCE)) {
    const work = {
      leg,
      answering,
      group,
      sourceHeight: facts.proofHeight,
    };
    await answerGroup(work).catch(onFault((error) => {
      leg.log.debug("read_failed.get_values", { leg: legName(leg), error });
      holdAll(work, { reason: "proof_unavailable", retryClass: "transient", detail: error.code });
    }));
  }
  return hasMoreDue(leg, due, rows);
}

function requireGet(message: Message): GetRequest {
  if (message.kind !== "get") throw new Error(`${message.commitment} is not a GET request`);
  return message.request;
}

async function answerGroup(work: GetGroupInput): Promise<void> {
  const { leg, answering, group } = work;
  const { signal } = leg;
  const requests = group.map(({ message }) => requireGet(message));
  const [first] = requests;
  const dest = first === undefined ? undefined : answering.chains.get(first.dest);
  if (first === undefined || dest === undefined) {
    return holdAll(work, { reason: "unconfigured_chain", retryClass: "hub_waiting" });
  }
  const waits = await heightIsNotReady(work, dest, first.height);
  if (waits !== undefined) return holdAll(work, waits);
  const { height } = first;
  const values = await leg.target.reads.fetchStateRoot({ id: dest.id, height }, signal)
    .then((stateRoot) => dest.proofs.proveState(collectKeys(requests), { height, stateRoot }, signal))
    .catch(onError(UnprovableKeyError, (error) => error));
  if (values instanceof UnprovableKeyError) {
    const { message: detail } = values;
    return await answerSeparately(work, { reason: "proof_unavailable", detail, end: "held" });
  }
  const proof = await proveRequests(work);
  if (proof === undefined) {
    const detail = "the source cannot prove the request";
    return await answerSeparately(work, { reason: "proof_unavailable", detail, retryClass: "hub_waiting" });
  }
  if (proof.kind !== "state") throw new Error("The hub accepts state proofs only");
  const call: RelayerHubCall = {
    kind: "answerGets",
    answer: {
      requests,
      source: { height: proof.height, proof: proof.proof },
      response: { height: { id: dest.id, height }, proof: values },
      address: leg.target.relayer ?? new Uint8Array(),
    },
  };
  const refusal = await answering.hub.dryRunCall(call, signal);
  if (refusal !== undefined) {
    const { code, detail } = refusal;
    if (ABOUT_THE_CHAIN.has(code)) {
      return holdAll(work, { reason: "hub_refused", detail, retryClass: "hub_waiting" });
    }
    // An invalid proof is an endpoint's fault, which another proof fixes.
    return code === "bad_proof"
      ? await answerSeparately(work, { reason: "proof_unavailable", detail, retryClass: "transient" })
      : await answerSeparately(work, { reason: "hub_refused", detail, retryClass: "hub_refused" });
  }
  await sendHubCall(leg, { hub: answering.hub, call, candidates: group });
}

/** Finds the reason why the hub cannot verify values at that height now; `undefined`: it can. */
async function heightIsNotReady(
  { leg }: GetGroupInput,
  dest: StateProver,
  height: bigint,
): Promise<Finding | undefined> {
  const [view, updatedAtSec] = await Promise.all([
    leg.target.reads.fetchView(dest.id, leg.signal),
    leg.target.reads.fetchUpdateTime({ id: dest.id, height }, leg.signal),
  ]);
  if (updatedAtSec === undefined) {
    return view.height > height
      ? { reason: "height_unknown", detail: "the hub skipped or dropped that block", end: "held" }
      : { reason: "waiting_for_update", retryClass: "hub_waiting" };
  }
  const rule = {
    nowSec: view.nowSec,
    challengePeriodSec: view.challengePeriodSec,
    comparison: "strict",
  } as const;
  return isMatured(updatedAtSec, rule) ? undefined : { reason: "challenge_period", retryClass: "transient" };
}

/** Proves the requests on their source; `undefined`: it does not know one of them, or cannot prove as many at once. */
async function proveRequests(
  { leg, group, sourceHeight }: GetGroupInput,
): Promise<MessageProof | undefined> {
  return await leg.source.proofs.proveMessages(
    group.map(({ message }) => message),
    { height: sourceHeight, target: leg.target },
    leg.signal,
  ).catch(onFault(() => undefined, ...ABOUT_A_MESSAGE));
}

/** Splits a group that cannot be answered together into single requests; a single request is held. */
async function answerSeparately(work: GetGroupInput, why: Finding): Promise<void> {
  if (work.group.length === 1) return holdAll(work, why);
  for (const candidate of work.group) await answerGroup({ ...work, group: [candidate] });
}

function holdAll({ leg, group }: GetGroupInput, found: Finding): void {
  screen(leg, group, () => found);
}

/** Length of an EVM key of a contract's slot: 20 bytes of address and 32 of slot. */
const SLOT_KEY_BYTES = 52;

/** Groups requests that the hub accepts in one response, in the order of their first request. */
export function groupGets<Item>(
  items: readonly Item[],
  toRequest: (item: Item) => GetRequest,
  maxCount: number,
): readonly (readonly Item[])[] {
  const groupOf = (item: Item): PackingGroup => ({ name: groupKey(toRequest(item)), isLast: false });
  return packGroups(items, { bytesOf: () => 0, groupOf }, { maxCount, maxBytes: Infinity });
}

/** Key of a group: chain, block and the contracts whose slots are read. */
function groupKey(request: GetRequest): string {
  const contracts = isEvm(request.dest)
    ? request.keys.filter(({ length }) => length === SLOT_KEY_BYTES).map((key) => toHex(key.subarray(0, 20)))
    : [];
  return [request.dest, request.height, ...[...new Set(contracts)].toSorted()].join(" ");
}

/** Collects the keys of all requests of a group, each once, in order of first appearance. */
export function collectKeys(requests: readonly GetRequest[]): readonly Uint8Array[] {
  const seen = new Map<string, Uint8Array>();
  for (const key of requests.flatMap(({ keys }) => keys)) seen.set(toHex(key), key);
  return [...seen.values()];
}
