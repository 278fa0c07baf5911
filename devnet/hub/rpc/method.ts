/**
 * What an RPC method is, and how those that read the chain name their block.
 */
import { ChainError, type SimulatedBlock } from "../block_history.ts";
import type { ServedNode } from "../node.ts";
import { RpcError } from "./json_rpc.ts";
import { optionalHash } from "./params.ts";

/** What a method answers with when it opens a subscription. */
export class RpcSubscription {
  constructor(
    /** Method of the messages. */
    readonly notification: string,
    /** Begins; `send` gives one message, `end` closes. Returns what stops it. */
    readonly start: (send: (result: unknown) => void, end: () => void) => () => void,
  ) {}
}

/** A method: positional parameters in, a JSON value or a {@link RpcSubscription} out. @throws {RpcError} */
export type RpcMethod = (params: readonly unknown[]) => unknown;

/** Methods by name. */
export type RpcMethods = Readonly<Record<string, RpcMethod>>;

/** Runs `read` and turns errors of the chain into those of the node's client. */
export function clientErrors<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof ChainError) throw new RpcError(4003, `Client error: ${error.message}`);
    throw error;
  }
}

/** The block that an optional hash parameter names, the best one without it. @throws {RpcError} 4003. */
export function blockParam(node: Pick<ServedNode, "chain">, value: unknown): SimulatedBlock {
  const hash = optionalHash(value, "hash");
  return hash === undefined ? node.chain.best : clientErrors(() => node.chain.block(hash));
}
