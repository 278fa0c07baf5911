/**
 * Answers of `debug_traceCall` with the callTracer: which messages a transaction would deliver, and its gas.
 * The host swallows failing callbacks, so only the host's own event says that a delivery happens.
 * Source: ethereum/go-ethereum: eth/tracers/native/call.go; polytope-labs/hyperbridge: evm/src/core/EvmHost.sol.
 */
import { z } from "zod";
import { fromHex, type Hash256, type Hex, toHash256, toHex } from "../bytes.ts";
import type { Address } from "./address.ts";
import { hostEventTopics } from "./host_abi.ts";

/** A trace without the shape of the callTracer. */
export class TraceError extends Error {
  override readonly name = "TraceError";
  readonly code = "malformed_trace";
  constructor(
    /** Path of the first part that does not fit, e.g. `calls.0.gasUsed`. */
    readonly field: string,
    options?: ErrorOptions,
  ) {
    super(`Trace: malformed at ${field}`, options);
  }
}

/** What a traced transaction would do on one host. */
export interface TraceOutcome {
  /** Commitments of post requests that the host would report as delivered. */
  readonly posts: ReadonlySet<Hash256>;
  /** Commitments of get REQUESTS whose responses the host would report as delivered. */
  readonly gets: ReadonlySet<Hash256>;
  /** Gas used by the whole transaction. On Arbitrum it lacks the L1 part. */
  readonly gasUsed: bigint;
  /** Revert data when the transaction itself would fail (`0x` when the tracer gave none). */
  readonly revertData: Hex | undefined;
}

/** Options of `debug_traceCall` whose answers {@link readTrace} understands. */
export const callTracerOptions = {
  tracer: "callTracer",
  tracerConfig: { onlyTopCall: false, withLog: true },
  disableStorage: true,
  enableMemory: false,
} as const;

const hexText = z.string().regex(/^0x([0-9a-fA-F]{2})*$/);

const frameSchema = z.object({
  gasUsed: z.string().regex(/^0x[0-9a-fA-F]{1,64}$/),
  error: z.string().optional(),
  output: hexText.optional(),
  logs: z.array(z.object({ address: hexText, topics: z.array(hexText) })).optional(),
  calls: z.array(z.unknown()).optional(),
});

interface Visit {
  readonly frame: unknown;
  readonly path: string;
}

/**
 * Reads a callTracer answer. Only logs of the host itself count, and only in frames of which neither they nor any
 * caller failed: their effects would be undone.
 * @throws {TraceError} when the answer has another shape.
 */
export function readTrace(trace: unknown, host: Address): TraceOutcome {
  const posts = new Set<Hash256>();
  const gets = new Set<Hash256>();
  const top = parseFrame(trace, "");
  const pending: Visit[] = [{ frame: trace, path: "" }];
  for (let visit = pending.pop(); visit !== undefined; visit = pending.pop()) {
    const { path } = visit;
    const frame = parseFrame(visit.frame, path);
    if (frame.error !== undefined) continue;
    for (const log of frame.logs ?? []) {
      const [topic, commitment] = log.topics;
      if (log.address.toLowerCase() !== host || topic === undefined || commitment === undefined) continue;
      if (commitment.length !== 66) continue;
      if (topic.toLowerCase() === hostEventTopics.PostRequestHandled) posts.add(toHash256(commitment));
      if (topic.toLowerCase() === hostEventTopics.GetRequestHandled) gets.add(toHash256(commitment));
    }
    frame.calls?.forEach((call, index) => pending.push({ frame: call, path: `${path}calls.${index}.` }));
  }
  const revertData = top.error === undefined ? undefined : toHex(fromHex(top.output ?? "0x"));
  return { posts, gets, gasUsed: BigInt(top.gasUsed), revertData };
}

function parseFrame(frame: unknown, path: string): z.infer<typeof frameSchema> {
  const parsed = frameSchema.safeParse(frame);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new TraceError(`${path}${issue?.path.join(".") ?? ""}`, { cause: parsed.error });
}
