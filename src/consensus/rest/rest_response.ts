/** Answers of REST endpoints: bodies in pieces, types, and the meaning of statuses. */
import type { RpcFaultCode } from "../../core/rpc/call.ts";
import { JSON_TYPE } from "../../core/rpc/http_exchange.ts";
import { isJsonObject, parseJson } from "../../core/rpc/json.ts";

/** Type of answers in bytes. */
export const OCTETS_TYPE = "application/octet-stream";

/** The body ended prematurely. */
export class ConnectionEnded extends Error {
  override readonly name = "ConnectionEnded";
  readonly code = "connection_ended";
}

/** Yields the bytes of a body as they arrive. @throws {ConnectionEnded} when they end too early. */
export async function* readPieces(response: Response): AsyncGenerator<Uint8Array, void, void> {
  if (response.body === null) return;
  try {
    yield* response.body;
  } catch (cause) {
    throw connectionEnded(cause);
  }
}

/** What a broken body throws, without the runtime's text, which holds the URL; an abort as it is. */
export function connectionEnded(cause: unknown): unknown {
  return cause instanceof DOMException ? cause : new ConnectionEnded("The connection ended");
}

/** True for an answer in bytes. */
export function isOctets(response: Response): boolean {
  return isOfType(response, OCTETS_TYPE);
}

/** True for an answer in JSON. */
export function isJson(response: Response): boolean {
  return isOfType(response, JSON_TYPE);
}

function isOfType(response: Response, type: string): boolean {
  return (response.headers.get("content-type") ?? "").toLowerCase().startsWith(type);
}

/** Reads the `message` of a JSON error body, as beacon nodes and similar servers send it. */
export function readMessage(text: string): string | undefined {
  try {
    const json = parseJson(text);
    return isJsonObject(json) && typeof json.message === "string" ? json.message : undefined;
  } catch {
    return undefined; // a proxy's page, not the node's own answer
  }
}

/**
 * Maps a status to a fault code. A syncing node answers 503 in JSON (ethereum/beacon-APIs: types/http.yaml,
 * CurrentlySyncing), a proxy without a node does not. What may be about a key, a plan or a check in front of the node is
 * about the route where the endpoint has served others a moment ago.
 */
export function toFaultCode(
  status: number,
  { isNodesOwn, mayBeOfAll }: { readonly isNodesOwn: boolean; readonly mayBeOfAll: boolean },
): RpcFaultCode {
  if (status === 429) return "throttled";
  if (status === 503 && isNodesOwn) return "lagging";
  if (status === 404) return "not_found";
  if (status === 413) return "too_large";
  if (status === 401 || status === 402) return "unauthorized";
  if ([405, 406, 415, 501].includes(status)) return "missing_method";
  if (status >= 500 || status === 408) return "server_error";
  if (status !== 400 && mayBeOfAll) return "unauthorized";
  return status === 403 ? "missing_method" : "refused";
}
