/**
 * Maps error codes and texts of Substrate nodes to fault codes; nothing else reads such texts. Codes:
 * paritytech/polkadot-sdk: substrate/client/rpc-api/src/{author,state,chain}/error.rs; paritytech/jsonrpsee:
 * types/src/error.rs; 9876: polytope-labs/hyperbridge: modules/pallets/ismp/rpc/src/lib.rs.
 */
import type { NodeError, RpcFaultCode, TranslateError } from "./call.ts";

/** Code of a custom ISMP method for any failure, including "not found". */
const ISMP_ERROR = 9876;

const codes: ReadonlyMap<number, RpcFaultCode> = new Map([
  [1010, "pool_invalid"],
  [1011, "pool_dropped"],
  [1012, "pool_dropped"],
  [1013, "already_known"],
  [1014, "pool_conflict"],
  // Cycle in the dependencies, immediately dropped, unactionable, no tags, invalid block id: not in the pool.
  [1015, "pool_dropped"],
  [1016, "pool_dropped"],
  [1018, "pool_dropped"],
  [1019, "pool_dropped"],
  [1020, "pool_dropped"],
  [-32601, "missing_method"],
  // "RPC call is unsafe to be called externally".
  [-32053, "missing_method"],
  // A batch, or its answer, is too long.
  [-32010, "too_large"],
  [-32011, "too_large"],
  [-32007, "too_large"],
  [-32008, "too_large"],
  // The server is busy; too many subscriptions.
  [-32009, "throttled"],
  [-32006, "throttled"],
  [-32004, "throttled"],
  [-32700, "refused"],
  [-32600, "refused"],
  [429, "throttled"],
]);

// In order: the first that matches decides.
const texts: readonly (readonly [RegExp, RpcFaultCode])[] = [
  [/batch(?:ed)? requests are not supported/i, "refused"],
  // The number only as a status: hashes and heights in texts may have the same digits.
  [
    /rate limit|too many requests|limit exceeded|(?:status|http|error|code)\W{1,3}(?:code\W{1,2})?429\b|^429\b/i,
    "throttled",
  ],
  [/unsafe to be called|method not found|not allowed|forbidden/i, "missing_method"],
  [/state already discarded|state (?:is )?(?:not available|pruned)|discarded for/i, "pruned"],
  [/unknown\s?block|header was not found|header not found|block .* not found/i, "pruned"],
  // The block number is not on the node's chain (yet).
  [/invalid block number|could not find valid blockhash/i, "lagging"],
  // `beefy_getFinalizedHead` right after the node's start (substrate/client/consensus/beefy/rpc).
  [/rpc endpoint not ready/i, "lagging"],
  [/leaf\s?not\s?found|not found|returned none/i, "not_found"],
  [/error fetching latest state machine height/i, "not_found"],
  [/error fetching (?:consensus state|consensus update time|challenge period)/i, "not_found"],
  [/transaction is (?:temporarily )?banned/i, "pool_dropped"],
  [/already imported/i, "already_known"],
  [/priority is too low/i, "pool_conflict"],
  [/immediately dropped|pool.*full/i, "pool_dropped"],
  [/response is too big|request is too big|too large/i, "too_large"],
  [/timed? ?out/i, "timeout"],
  [/internal error/i, "server_error"],
];

/** Translates an error of a Substrate node. A code decides if it is unambiguous, else the text. */
export const translateSubstrateError: TranslateError = (error) => ({ code: codeOf(error), data: undefined });

function codeOf(error: NodeError): RpcFaultCode {
  const byCode = error.code === undefined ? undefined : codes.get(error.code);
  if (byCode !== undefined) return byCode;
  const words = typeof error.data === "string" ? `${error.message} ${error.data}` : error.message;
  const byText = texts.find(([pattern]) => pattern.test(words))?.[1];
  if (byText !== undefined) return byText;
  if (error.code === -32603 || error.code === ISMP_ERROR) return "server_error";
  // Without a code it is no error of a node: nobody has refused anything.
  return error.code === undefined ? "malformed" : "refused";
}
