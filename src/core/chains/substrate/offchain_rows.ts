/**
 * Rows about what a node keeps in its offchain database: bodies of messages, and the hub's accepted consensus proofs.
 * Both are there only on nodes that imported the blocks with offchain indexing.
 */
import type { CheckRow } from "../../checks/check_row.ts";
import { RpcFault } from "../../rpc/call.ts";
import { calls } from "../../rpc/substrate_calls.ts";
import type { AcceptedProofs } from "../hub.ts";
import { counterOf, isDispatched } from "./dispatched.ts";
import { ismpCalls } from "./ismp_calls.ts";
import type { SubstrateNode } from "./node.ts";
import { storedCall } from "./stored.ts";

/** Blocks below the final one in which the newest message is looked for: some days. */
const SEARCHED_BLOCKS = 65_536n;

/** Heights that one step of the search asks for: four steps find a block among {@link SEARCHED_BLOCKS}. */
const HEIGHTS_AT_ONCE = 16n;

const ADVICE =
  "start the node with --enable-offchain-indexing=true before it imports the blocks, or use such a node";

/** Looks for the bodies of the chain's newest messages. Ten round trips at most. */
export async function checkMessageBodies(
  node: SubstrateNode,
  signal: AbortSignal,
): Promise<readonly CheckRow[]> {
  const { client } = node;
  const newest = await findNewestDispatch(node, signal);
  if (newest.kind === "none") return rowOf(node, newest.found);
  const { height } = newest;
  const [events] = await client.callAllSettled([ismpCalls.blockEvents(height)], signal);
  if (events instanceof RpcFault) {
    if (events.code === "missing_method") return []; // a row of its own tells it
    throw events;
  }
  const missing = newest.count - events.filter(isDispatched).length;
  return missing <= 0 ? rowOf(node, `has the newest messages (block ${height})`) : rowOf(
    node,
    `lacks ${missing} of the newest messages (block ${height}): they cannot be delivered`,
    ADVICE,
  );
}

/** One row; with advice it is a warning. */
function rowOf({ client, id }: SubstrateNode, found: string, advice?: string): readonly CheckRow[] {
  const row = { chain: id.stateMachine, endpoint: client.host, check: "offchain_index", found } as const;
  return [advice === undefined ? { ...row, result: "ok" } : { ...row, result: "warning", advice }];
}

/** The block in which the newest messages were dispatched, and their number; or why there is none to look at. */
type NewestDispatch =
  | { readonly kind: "block"; readonly height: bigint; readonly count: number }
  | { readonly kind: "none"; readonly found: string };

/** Finds the block in which the chain's counter of messages rose last; it never falls. */
async function findNewestDispatch(node: SubstrateNode, signal: AbortSignal): Promise<NewestDispatch> {
  const { header: final } = await node.finalBlocks.fetch(signal);
  const first = final.height > SEARCHED_BLOCKS ? final.height - SEARCHED_BLOCKS : 0n;
  const [last, oldest] = await readCounters(node, [final.height, first], signal);
  if (last === undefined || last === 0n) {
    return { kind: "none", found: "the chain has counted no message yet: nothing to read" };
  }
  // The counter is lower, or unknown, at `below`; it has its last value at `height`.
  let below = { height: first, counter: oldest };
  let { height } = final;
  while (below.counter !== last && height - below.height > 1n) {
    const step = (height - below.height + HEIGHTS_AT_ONCE - 1n) / HEIGHTS_AT_ONCE;
    const asked: bigint[] = [];
    for (let at = below.height + step; at < height; at += step) asked.push(at);
    const counters = await readCounters(node, asked, signal);
    const reached = counters.findIndex((counter) => counter === last);
    const before = reached < 0 ? asked.length - 1 : reached - 1;
    const lower = asked[before];
    if (lower !== undefined) below = { height: lower, counter: counters[before] };
    height = asked[reached] ?? height;
  }
  if (below.counter === last || below.counter === undefined) {
    const since = below.counter === undefined ? height : first;
    return { kind: "none", found: `the chain has sent no message since block ${since}: nothing to read` };
  }
  return { kind: "block", height, count: Number(last - below.counter) };
}

/** Counters at heights; `undefined`: none, or the node has discarded the state. */
async function readCounters(
  node: SubstrateNode,
  heights: readonly bigint[],
  signal: AbortSignal,
): Promise<readonly (bigint | undefined)[]> {
  const { client } = node;
  const hashes = await client.callAll(heights.map((height) => calls.blockHash(height)), signal);
  const asked = hashes.filter((hash) => hash !== undefined);
  if (asked.length < heights.length) {
    throw client.fault("lagging", "chain_getBlockHash", "blocks below the final one are missing");
  }
  const values = await client.callAllSettled(
    asked.map((hash) => storedCall(node, counterOf(node), hash)),
    signal,
  );
  return values.map((value) => {
    if (!(value instanceof RpcFault)) return value ?? 0n;
    if (value.code !== "pruned") throw value;
    return undefined;
  });
}

/** Looks for the bytes of the newest consensus proof that the hub has accepted. */
export async function checkAcceptedProofs(
  node: SubstrateNode,
  accepted: AcceptedProofs,
  signal: AbortSignal,
): Promise<readonly CheckRow[]> {
  const { messaging, rotations } = await accepted.fetchAcceptedIndex(signal);
  const rotation = [...rotations].at(-1);
  const height = messaging.at(-1) ?? rotation?.[1];
  if (height === undefined) {
    return rowOf(node, "the chain has accepted no consensus proof yet: nothing to read");
  }
  const newSetId = messaging.length > 0 ? undefined : rotation?.[0];
  try {
    const bytes = await accepted.fetchProofBytes({ height, newSetId }, signal);
    if (bytes !== undefined) {
      return rowOf(node, `has the newest accepted proof (height ${height}, ${bytes.length} bytes)`);
    }
  } catch (fault) {
    if (fault instanceof RpcFault && fault.code === "missing_method") return []; // a row of its own tells it
    throw fault;
  }
  const cost = "consensus proofs cannot travel with messages";
  return rowOf(node, `lacks the newest accepted proof (height ${height}): ${cost}`, ADVICE);
}
