/**
 * A real node's answers as a node would give them that is some blocks behind: what it has not seen yet it does not
 * know. Ranges of logs that end above its head are cut silently, as go-ethereum does. Source of the calls:
 * ethereum/execution-apis; of the texts: ethereum/go-ethereum: internal/ethapi.
 */

/** Sends a JSON-RPC body to the real node and gives its answer. */
export type Forward = (body: string) => Promise<string>;

interface Call {
  readonly id: unknown;
  readonly method: string;
  readonly params: readonly unknown[];
}

/** Position of the block among the parameters. */
const BLOCK_AT: Readonly<Record<string, number>> = {
  eth_call: 1,
  eth_estimateGas: 1,
  eth_getBalance: 1,
  eth_getBlockByNumber: 0,
  eth_getCode: 1,
  eth_getProof: 2,
  eth_getStorageAt: 2,
  eth_getTransactionCount: 1,
  eth_simulateV1: 1,
  debug_traceCall: 1,
};

/** Blocks between head and `finalized` on the devnet's nodes. */
const FINALITY_LAG = 2n;

/** Answers a body as a node that is `blocks` behind. */
export async function answerLagging(body: string, blocks: bigint, forward: Forward): Promise<string> {
  const parsed: unknown = JSON.parse(body);
  const list: readonly unknown[] = Array.isArray(parsed) ? parsed : [parsed];
  const real = await askOne(forward, { id: 0, method: "eth_blockNumber", params: [] });
  const best = BigInt(String(real.result));
  const head = best > blocks ? best - blocks : 0n;
  const answers = await Promise.all(list.map((entry) => answerOne(readCall(entry), head, forward)));
  return JSON.stringify(Array.isArray(parsed) ? answers : answers[0]);
}

type Answer = { readonly id: unknown; readonly result?: unknown; readonly error?: unknown };

async function answerOne(call: Call, head: bigint, forward: Forward): Promise<Answer> {
  const { id, method } = call;
  const give = (result: unknown): Answer & { readonly jsonrpc: string } => ({ jsonrpc: "2.0", id, result });
  if (method === "eth_blockNumber") return give(toHex(head));
  if (method === "eth_getLogs") return await logs(call, head, forward);
  const at = BLOCK_AT[method];
  if (at === undefined) {
    const answer = await askOne(forward, call);
    return isAbove(answer.result, head) ? give(null) : answer;
  }
  const block = resolveTag(call.params[at] ?? "latest", head);
  if (block !== undefined && block > head) {
    if (method === "eth_getBlockByNumber") return give(null);
    return { ...give(undefined), error: { code: -32000, message: "header not found" } };
  }
  const params = block === undefined ? call.params : call.params.with(at, toHex(block));
  return await askOne(forward, { ...call, params });
}

async function logs(call: Call, head: bigint, forward: Forward): Promise<Answer> {
  const filter = call.params[0];
  if (typeof filter !== "object" || filter === null) throw new TypeError("eth_getLogs without a filter");
  const { fromBlock, toBlock } = { fromBlock: "latest", toBlock: "latest", ...filter };
  const from = resolveTag(fromBlock, head) ?? head;
  const to = resolveTag(toBlock, head) ?? head;
  if (from > head) return { id: call.id, result: [] };
  const cut = { ...filter, fromBlock: toHex(from), toBlock: toHex(to > head ? head : to) };
  return await askOne(forward, { ...call, params: [cut] });
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

async function askOne(forward: Forward, { id, method, params }: Call): Promise<Answer> {
  const answer: unknown = JSON.parse(await forward(JSON.stringify({ jsonrpc: "2.0", id, method, params })));
  if (typeof answer !== "object" || answer === null) throw new TypeError("The node gave no answer");
  return { ...answer, id };
}

function readCall(entry: unknown): Call {
  if (typeof entry !== "object" || entry === null || !("method" in entry)) throw new TypeError("Not a call");
  const { method } = entry;
  const params: readonly unknown[] = "params" in entry && Array.isArray(entry.params) ? entry.params : [];
  return { id: "id" in entry ? entry.id : null, method: String(method), params };
}

function toHex(height: bigint): string {
  return `0x${height.toString(16)}`;
}
