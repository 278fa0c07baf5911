/**
 * Maps error texts and codes of EVM nodes and providers to fault codes; nothing else reads them. Sources: the error
 * tables of geth, erigon, nethermind, besu, reth, anvil and of big providers (every phrasing has its row in the
 * test); EIP-1474 for the numbers.
 */
import { fromHex, type Hex, toHex } from "../encoding/bytes.ts";
import { type NodeError, type RpcFaultCode, SENDING_METHOD } from "./call.ts";
import { isJsonObject, type Json } from "./json.ts";

/** One row of the table: the first row of which a text matches decides. */
type Rule = readonly [code: RpcFaultCode, ...texts: readonly RegExp[]];

/** Checked first for `eth_getLogs`: providers phrase these limits in many ways, some like rate limits. */
const logRules: readonly Rule[] = [
  [
    "lagging",
    /beyond (the )?current head/,
    /after last accepted block/,
    /(specified in filter|block).*(cannot|could not) be found/,
    /invalid block range params|end \(\d+\) < begin|block is out of range/,
  ],
  [
    "range_too_wide",
    /block ?range|range (is |was )?(too|limit|exceed)|max(imum)? (block )?range|exceeds? the range/,
    /range [\d,.]+k? exceeds|blocks? distance|consider reducing|limited to (a |an )?[\d,.]+k? blocks?/,
    /limited to (a |an )?[\d,.]+k? ?(-|block|range)|limited to 0/,
    /ranges? over [\d,.]+k? blocks/,
    /(more than|exceeds?|larger than|up to|at most|maximum is set to|maximum allowed|no more than).*(block|results|logs)/,
    /too many (blocks|logs|results|events)|many (blocks|logs) requested/,
    /(results?|logs|response size|log response|max results|backend response).*(exceed|too large|too many|limit|should not)/,
    /only query|too wide|must be within|limit of [\d,]+ results|result set is too|exceeds limit/,
    /query (timeout|timed out)|exceeds? max|response.*(too large|too big|larger than)/,
    /^limit exceeded$/,
  ],
];

/** Checked first for traces and simulations: a timeout is caused by the call, not by the node. */
const traceRules: readonly Rule[] = [
  [
    "too_large",
    /execution timeout|execution aborted \(timeout/,
    /trac(e|ing).*(timed? ?out|took too long|too (large|big|many))/,
  ],
];

/**
 * Checked for `eth_getLogs` after the rules for rate limits: a narrower range helps when a query takes too long or is
 * not included in a plan.
 */
const lateLogRules: readonly Rule[] = [
  [
    "range_too_wide",
    /time ?d? ?-?out|deadline exceeded|took too long|context cancell?ed|query.*(aborted|cancell?ed)/,
    /upgrade (to|your)|(free|current|your|this|paid|higher|growth) ?-?(tier|plan)|freetier|free trial/,
  ],
];

/** What a pool says of a transaction. Said in answer to anything else it means nothing. */
const poolRules: readonly Rule[] = [
  [
    "nonce_too_low",
    /nonce (is )?too low/,
    /oldnonce/,
    /invalid nonce; expected/,
    /nonce.*already (been )?used/,
    /::stale|is outdated/,
  ],
  ["nonce_too_high", /nonce (is )?too high/, /nonce ?gap/, /futurenonce/, /nonce is (too )?distant/],
  [
    "already_known",
    /already ?known/,
    /known transaction/,
    /already imported/,
    /already (exists )?in (the )?(mempool|cache|pool)/,
    /same hash was already/,
  ],
];

/** What pools say of a transaction, and simulations of the call: its account cannot pay, its price is too low. */
const fundsRules: readonly Rule[] = [
  [
    "insufficient_funds",
    /insufficient ?funds/,
    /upfront cost exceeds/,
    /insufficient (account )?balance/,
    /not have enough (funds|balance)|inability to pay/,
  ],
  [
    "underpriced",
    /underpriced/,
    /fee ?too ?low|tip too low|gas ?price.*too low|feecap too low/,
    /gas price below|less than gas price minimum|too ?low ?priority|priority is too low/,
    /(less than|below|lower than).*base ?fee/,
    /replacement ?not ?allowed|could not replace existing/,
    /insufficientmaxfeepergas/,
  ],
];

const rules: readonly Rule[] = [
  [
    "reverted",
    /execution reverted|vm execution error|^revert(ed)?\b|exception.*revert|transaction reverted/,
    /invalid opcode|stack (limit|underflow|overflow)|^out of ?gas|(error|exception|execution).*out of ?gas/,
    /gas required exceeds allowance|always failing transaction/,
  ],
  [
    "pruned",
    /missing trie node|state already discarded|pruned|pruning/,
    /(historical )?state .*(not available|unavailable)|no state available|historical state/,
    /world state unavailable|state unavailable|state is not available/,
    /header( for hash)? not found|unknown block|block .*(not|could not be) found|blockoutofrange|unfinalized data/,
    /archive/,
    /proof window|outside the window|block is too old|too far in the past|old data not available|than the oldest/,
    /state ?root .*(unknown|not found)|layer .*(stale|not available)|state (histories|recreation|is not ready)/,
    /in path mode|metadata is not found|not executed/,
    // Erigon without the history of commitments proves every block by the newest tree.
    /root hash mismatch/,
  ],
  [
    "too_large",
    /batch (size )?(is )?(too large|limit|exceed)|(maximum|max) batch|batch of more than|too many requests in batch/,
    /(request|response|content|body|entity|payload).*(too large|too big|size exceeded|limit exceeded)/,
    /response size.*(exceed|larger)|oversized data/,
  ],
  [
    "throttled",
    /rate.?limit|over rate|rate exceeded|call rate/,
    /too many requests?|too many request/,
    /request (count|limit) (exceeded|reached)|requests? limit|daily (request|limit)/,
    /compute units|throughput|capacity|quota|credits|usage limit|rps limit|slow down/,
    /request allowance|out of compute|too many open connections/,
    /^limit exceeded$/,
  ],
  [
    "unauthorized",
    /unauthori[sz]ed|(must be|not) authenticated|authentication (is )?(required|failed)|^forbidden|payment required/,
    /(invalid|missing|unknown|expired|revoked|wrong) (api|access|project|app|auth)[ -]?(key|token|id)/,
    /(api|access|project|app)[ -]?(key|token|id) (is )?(required|invalid|missing|not|expired|disabled|inactive|revoked)/,
    /access (is )?denied|(app|account|project|subscription) (is )?(inactive|disabled|suspended|expired|not active)/,
  ],
  [
    "missing_method",
    /method.*(not found|not exist|not supported|not available|not allowed|disabled|not whitelisted|unsupported)/,
    /unsupported method|unknown method|not (available|supported) (on|in|for) .*(tier|plan|node)/,
    /upgrade your (plan|tier)|tracer not found|unsupported tracer|tracing.*(disabled|not (enabled|supported))/,
  ],
  // Geth while it looks for transactions in blocks that it has imported.
  ["lagging", /transaction indexing is in progress|after last accepted block|block is out of range/],
  [
    "server_error",
    /internal (server )?error|temporar(y|ily)|try again later|service unavailable|no healthy upstream/,
    /timed? ?out|deadline exceeded|upstream|bad gateway|no (available )?(backend|node)s?/,
    /unable to complete request|(cannot|can't) (fulfill|route)|handler crashed|refused$|broken pipe/,
    /backend (offline|returned)|no group consensus|econnrefused|^eof$|failed to get logs/,
  ],
];

const afterRates = rules.findIndex(([code]) => code === "throttled") + 1;
const logTable: readonly Rule[] = [
  ...logRules,
  ...rules.slice(0, afterRates),
  ...lateLogRules,
  ...rules.slice(afterRates),
];

const sendTable: readonly Rule[] = [...poolRules, ...fundsRules, ...rules];
const callTable: readonly Rule[] = [...fundsRules, ...rules];
const traceTable: readonly Rule[] = [...traceRules, ...callTable];

/** Meaning of the codes when no text matches (EIP-1474 and habits of providers). */
const numbers: ReadonlyMap<number, RpcFaultCode> = new Map<number, RpcFaultCode>([
  [3, "reverted"],
  [429, "throttled"],
  [-32002, "server_error"],
  [-32004, "missing_method"],
  [-32005, "throttled"],
  [-32015, "reverted"],
  [-32029, "throttled"],
  [-32053, "missing_method"],
  [-32097, "throttled"],
  [-32601, "missing_method"],
  [-32603, "server_error"],
]);

/**
 * Translates an error object of an EVM node.
 * @returns `refused` if no rule matches; `data` is the revert data, `undefined` if there is none.
 */
export function translateEvmError(
  error: NodeError,
  method: string,
): { readonly code: RpcFaultCode; readonly data: Hex | undefined } {
  return { code: codeOf(error, method), data: findRevertData(error.data) };
}

function codeOf(error: NodeError, method: string): RpcFaultCode {
  // The relevant part is at the beginning; nodes may append whole traces.
  const text = error.message.slice(0, 1000).trim().toLowerCase();
  if (error.code === 3 || error.code === -32015) return "reverted";
  if (error.code === 429) return "throttled";
  if (error.code === -32601) return "missing_method";
  const rule = tableOf(method).find(([, ...texts]) => texts.some((pattern) => pattern.test(text)));
  if (rule !== undefined) return rule[0];
  // Geth's number for a request that took too long (ethereum/go-ethereum: rpc/errors.go).
  if (error.code === -32002 && method.includes("eth_getLogs")) return "range_too_wide";
  return (error.code === undefined ? undefined : numbers.get(error.code)) ?? "refused";
}

function tableOf(method: string): readonly Rule[] {
  if (method.includes("eth_getLogs")) return logTable;
  if (method === SENDING_METHOD) return sendTable;
  if (/debug_traceCall|eth_simulateV1/.test(method)) return traceTable;
  return /eth_call|eth_estimateGas/.test(method) ? callTable : rules;
}

/**
 * Revert data in `error.data`: a hex string (geth and most), `Reverted 0x…` (OpenEthereum, Nethermind), or an
 * object that holds one (Hardhat, Ganache).
 */
function findRevertData(data: Json | undefined): Hex | undefined {
  if (typeof data === "string") {
    const found = /^(?:reverted\s+)?(0x(?:[0-9a-f]{2})*)$/i.exec(data.trim());
    return found?.[1] === undefined ? undefined : toHex(fromHex(found[1]));
  }
  return isJsonObject(data) ? findRevertData(data.data ?? data.result) : undefined;
}
