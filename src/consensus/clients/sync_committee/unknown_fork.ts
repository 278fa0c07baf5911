/**
 * Detection of answers of a fork that neither the hub nor this program knows: the data is valid, and no other endpoint
 * helps. Source: ethereum/beacon-APIs: apis/beacon/light_client (`version` beside `data`); ethereum/consensus-specs:
 * specs/gloas/light-client (headers without the `execution` header of their block).
 */
import * as z from "zod";
import { forkNames } from "./spec/beacon_network.ts";
import { RpcFault } from "../../../core/rpc/fault.ts";

/** An answer of such a fork. */
export class UnknownForkError extends Error {
  override readonly name = "UnknownForkError";

  constructor(readonly fork: UnknownFork) {
    super(`the answer is of ${fork}, which the hub's client does not know`);
  }
}

/** Description: with its name as nodes write it, where they do. */
export type UnknownFork = `fork ${string}` | "a fork without the execution header in light client answers";

const known: ReadonlySet<string> = new Set(forkNames);

/** Name of a fork, which is logged. */
const versioned = z.object({ version: z.string().regex(/^[a-z0-9]{1,32}$/) });

/** A light client header without its execution header. */
const headerWithoutPayload = z.object({ beacon: z.object({}), execution: z.undefined().optional() });
const unversioned = z.object({
  version: z.undefined().optional(),
  data: z.object({ finalized_header: headerWithoutPayload }),
});

/**
 * Finds the fork of an answer, or of the first of a list, when it is unknown. @returns `undefined` for answers of known
 * forks, and for those without a version.
 */
export function findUnknownFork(json: unknown): UnknownFork | undefined {
  const first: unknown = Array.isArray(json) ? json[0] : json;
  const reported = versioned.safeParse(first);
  if (reported.success) return known.has(reported.data.version) ? undefined : `fork ${reported.data.version}`;
  return unversioned.safeParse(first).success
    ? "a fork without the execution header in light client answers"
    : undefined;
}

/** Returns the unknown fork behind a fault; `undefined`: the fault has another cause. */
export function unknownForkOf(fault: RpcFault): UnknownForkError | undefined {
  const { cause } = fault;
  if (cause instanceof UnknownForkError) return cause;
  return cause instanceof RpcFault ? unknownForkOf(cause) : undefined;
}
