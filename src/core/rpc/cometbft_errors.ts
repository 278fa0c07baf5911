/**
 * Maps errors of CometBFT nodes to fault codes; nothing else reads such texts. Nodes say "Internal error" and put the
 * reason into the data. Source: cometbft/cometbft: rpc/core/env.go, rpc/jsonrpc/types/types.go, state/errors.go.
 */
import type { NodeError, RpcFaultCode, TranslateError } from "./call.ts";

// In order: the first that matches decides.
const texts: readonly (readonly [RegExp, RpcFaultCode])[] = [
  [/must be less than or equal to the current blockchain height/i, "lagging"],
  [/is not available, lowest height is|could not find (?:validator set|results) for/i, "pruned"],
  [/rate limit|too many requests/i, "throttled"],
  [/method not found|not allowed|forbidden/i, "missing_method"],
  [/response is too large|request body too large/i, "too_large"],
];

const codes: ReadonlyMap<number, RpcFaultCode> = new Map([
  [429, "throttled"],
  [-32601, "missing_method"],
  [-32603, "server_error"],
  [-32000, "server_error"],
]);

/** Translates an error of a CometBFT node. */
export const translateCometError: TranslateError = ({ code, message, data }: NodeError) => {
  const said = typeof data === "string" ? `${message} ${data}` : message;
  const known = texts.find(([text]) => text.test(said))?.[1];
  const byNumber = code === undefined ? undefined : codes.get(code);
  return { code: known ?? byNumber ?? "refused", data: undefined };
};
