/**
 * A real node's answers as a node would give them that is some blocks behind: what it has not seen yet it does not
 * know. Ranges of logs that end above its head are cut silently, as go-ethereum does. Source of the calls:
 * ethereum/execution-apis; of the texts: ethereum/go-ethereum: internal/ethapi.
 */
import { type Answer, type Ask, type Call, headOf, STATE_METHODS } from "./rpc_behaviour.ts";
import { readCalls, writeAnswers } from "./wire.ts";

/** Sends a JSON-RPC body to the real node and gives its answer. */
export type Forward = (body: string) => Promise<string>;

/** Position of the block among the parameters. */
const BLOCK_AT: Readonly<Record<string, number>> = { ...STATE_METHODS, eth_getBlockByNumber: 0 };

/** Blocks between head and `finalized` on the devnet's nodes. */
const FINALITY_LAG = 2n;

/** Answers a body as a node that is `blocks` behind. */
export async function answerLagging(body: string, blocks: bigint, forward: Forward): Promise<string> {
  const { calls, isBatch } = readCalls(body);
  const ask: Ask = async (call) => {
    const answer: unknown = JSON.parse(await forward(JSON.stringify({ jsonrpc: "2.0", ...call })));
    return { ...Object(answer), id: call.id };
  };
  const head = await laggingHead(blocks, ask);
  return writeAnswers(await Promise.all(calls.map((call) => answerAtHead(call, head, ask))), isBatch);
}

/** Head of a node that is `blocks` behind. */
export async function laggingHead(blocks: bigint, ask: Ask): Promise<bigint> {
  const best = await headOf(ask);
  return best > blocks ? best - blocks : 0n;
}

/** Answers a call as a node whose newest block is `head`. */
export async function answerAtHead(call: Call, head: bigint, ask: Ask): Promise<Answer> {
  const { id, method } = call;
  if (method === "eth_blockNumber") return { id, result: toHex(head) };
  if (method === "eth_getLogs") return await logs(call, head, ask);
  const at = BLOCK_AT[method];
  if (at === undefined) {
    const answer = await ask(call);
    return isAbove(answer.result, head) ? { id, result: null } : answer;
  }
  const block = resolveTag(call.params[at] ?? "latest", head);
  if (block !== undefined && block > head) {
    if (method === "eth_getBlockByNumber") return { id, result: null };
    return { id, error: { code: -32000, message: "header not found" } };
  }
  const params = block === undefined ? call.params : call.params.with(at, toHex(block));
  return await ask({ ...call, params });
}

async function logs(call: Call, head: bigint, ask: Ask): Promise<Answer> {
  const filter = call.params[0];
  if (typeof filter !== "object" || filter === null) throw new TypeError("eth_getLogs without a filter");
  const { fromBlock, toBlock } = { fromBlock: "latest", toBlock: "latest", ...filter };
  const from = resolveTag(fromBlock, head) ?? head;
  const to = resolveTag(toBlock, head) ?? head;
  if (from > head) return { id: call.id, result: [] };
  const cut = { ...filter, fromBlock: toHex(from), toBlock: toHex(to > head ? head : to) };
  return await ask({ ...call, params: [cut] });
}

/** Height of a block parameter; `undefined` for a hash. */
function resolveTag(tag: unknown, head: bigint): bigint | undefined {
  if (tag === "latest" || tag === "pending") return head;
  if (tag === "finalized" || tag === "safe") return head > FINALITY_LAG ? head - FINALITY_LAG : 0n;
  return typeof tag === "string" && tag.length < 66 ? BigInt(tag) : undefined;
}

/** True for a receipt or transaction in a block that the node has not seen. */
function isAbove(result: unknown, head: bigint): boolean {
  if (typeof result !== "object" || result === null || !("blockNumber" in result)) return false;
  return typeof result.blockNumber === "string" && BigInt(result.blockNumber) > head;
}

function toHex(height: bigint): string {
  return `0x${height.toString(16)}`;
}
