/**
 * Rows about what a node keeps in its offchain database: bodies of messages, and the hub's accepted consensus proofs.
 * Both are there only on nodes that imported the blocks with offchain indexing.
 */
import { about, type CheckRow } from "../../checks/check_row.ts";
import { onFault, RpcFault } from "../../rpc/call.ts";
import type { AcceptedProofs } from "../hub.ts";
import { SubstrateEvents } from "./events.ts";
import type { SubstrateNode } from "./node.ts";

/** Newest final blocks whose messages are read: the check is made every ten minutes. */
const READ_BLOCKS = 20n;

const ADVICE =
  "start the node with --enable-offchain-indexing=true before it imports the blocks, or use such a node";

/** Reads the messages of the chain's newest final blocks, whose number the chain counts. Four round trips. */
export async function checkMessageBodies(
  node: SubstrateNode,
  signal: AbortSignal,
): Promise<readonly CheckRow[]> {
  const { height } = await node.finalBlocks.fetch(signal);
  const first = height > READ_BLOCKS ? height - READ_BLOCKS + 1n : 1n;
  const blocks = `blocks ${first} to ${height}`;
  const events = await new SubstrateEvents(node).fetchEvents(first, height, signal)
    .catch(onFault((fault) => fault, "missing_method", "pruned"));
  if (events instanceof RpcFault) {
    // A row of its own tells what is missing.
    return events.code === "pruned" ? rowOf(node, `${events.detail}: they cannot be delivered`, ADVICE) : [];
  }
  const hasMessages = events.some(({ kind }) => kind === "message");
  return rowOf(node, hasMessages ? `has the messages of ${blocks}` : `${blocks} hold no message to read`);
}

/** One row; with advice it is a warning. */
function rowOf({ client, id }: SubstrateNode, found: string, advice?: string): readonly CheckRow[] {
  const at = about(id.stateMachine, client.host);
  return [at[advice === undefined ? "ok" : "warning"]("offchain_index", found, advice)];
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
  const bytes = await accepted.fetchProofBytes({ height, newSetId }, signal)
    .catch(onFault((fault) => fault, "missing_method"));
  if (bytes instanceof RpcFault) return []; // a row of its own tells it
  if (bytes !== undefined) {
    return rowOf(node, `has the newest accepted proof (height ${height}, ${bytes.length} bytes)`);
  }
  const cost = "consensus proofs cannot travel with messages";
  return rowOf(node, `lacks the newest accepted proof (height ${height}): ${cost}`, ADVICE);
}
