/**
 * Answers of `debug_traceCall` with the callTracer: the messages a transaction would deliver, and its gas. The host
 * swallows failing callbacks, so only the host's own event shows that a delivery happens. Source:
 * ethereum/go-ethereum: eth/tracers/native/call.go; polytope-labs/hyperbridge: evm/src/core/EvmHost.sol.
 */
import { type Abi, toFunctionSelector } from "viem";
import { z } from "zod";
import { fromHex, type Hex, toHex } from "../encoding/bytes.ts";
import type { Address } from "./address.ts";
import { HandledLogs, type HandledMessages } from "./handled_logs.ts";
import { evmHostAbi, handlerV2Abi, hostManagerAbi } from "./host_abi.ts";

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

/** The host's part in the delivery of one message: its `dispatchIncoming`. */
export interface DispatchFrame {
  readonly gasUsed: bigint;
  /** True when the receiving module was called and did not fail: then the host reports the delivery. */
  readonly isModuleDone: boolean;
}

/** One inner call of a `batchCall`, or the whole transaction if there is none. */
export interface StepFrame {
  readonly gasUsed: bigint;
  /** In the order in which they happened: ascending by leaf index. */
  readonly dispatches: readonly DispatchFrame[];
}

/** Effects of a traced transaction on one host. */
export interface TraceOutcome extends HandledMessages {
  /** Gas used by the whole transaction. On Arbitrum it lacks the L1 part. */
  readonly gasUsed: bigint;
  /** Revert data when the transaction itself would fail (`0x` when the tracer returned none). */
  readonly revertData: Hex | undefined;
  /** Number of logs of any contract; 0 may also mean that the tracer omits them. */
  readonly logCount: number;
  /** Gas of each step, in order. Without dispatches if the tracer omits inner calls or inputs. */
  readonly steps: readonly StepFrame[];
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
  type: z.string().optional(),
  to: z.string().nullish(),
  input: z.string().optional(),
  error: z.string().optional(),
  output: hexText.optional(),
  logs: z.array(z.object({ address: hexText, topics: z.array(hexText) })).optional(),
  calls: z.array(z.unknown()).optional(),
});

type Frame = z.infer<typeof frameSchema>;

function selectorsOf(abi: Abi, names: readonly string[]): ReadonlySet<string> {
  const functions = abi.filter((item) => item.type === "function");
  return new Set(functions.filter(({ name }) => names.includes(name)).map(toFunctionSelector));
}

const batchSelectors = selectorsOf(handlerV2Abi, ["batchCall"]);
const dispatchSelectors = selectorsOf(evmHostAbi, ["dispatchIncoming"]);
const callbackSelectors = selectorsOf(hostManagerAbi, ["onAccept", "onGetResponse"]);

interface DispatchBuilder {
  readonly gasUsed: bigint;
  isModuleDone: boolean;
}

interface StepBuilder {
  readonly gasUsed: bigint;
  readonly dispatches: DispatchBuilder[];
}

/** Step and dispatch of a frame's callers. */
type Within =
  | { readonly kind: "nothing" | "batch" | "dispatched" }
  | { readonly kind: "step"; readonly step: StepBuilder }
  | { readonly kind: "dispatch"; readonly dispatch: DispatchBuilder };

/** What all frames of a trace share. */
interface TraceContext {
  readonly host: Address;
  /** Steps so far; frames add theirs. */
  readonly steps: StepBuilder[];
}

interface Visit {
  readonly frame: unknown;
  readonly path: string;
  readonly within: Within;
}

/**
 * Reads a callTracer answer. Only logs of the host itself count, and only in frames of which neither they nor any
 * caller failed: their effects would be undone.
 * @throws {TraceError} when the answer has another shape.
 */
export function readTrace(trace: unknown, host: Address): TraceOutcome {
  const handled = new HandledLogs(host);
  const steps: StepBuilder[] = [];
  const top = parseFrame(trace, "");
  const pending: Visit[] = [{ frame: trace, path: "", within: { kind: "nothing" } }];
  for (let visit = pending.pop(); visit !== undefined; visit = pending.pop()) {
    const { path } = visit;
    const frame = parseFrame(visit.frame, path);
    if (frame.error !== undefined) continue;
    frame.logs?.forEach((log) => handled.add(log));
    const within = placeFrame(frame, visit.within, { host, steps });
    const { calls = [] } = frame;
    // The first one is to be popped first.
    for (let index = calls.length - 1; index >= 0; index--) {
      pending.push({ frame: calls[index], path: `${path}calls.${index}.`, within });
    }
  }
  const revertData = top.error === undefined ? undefined : toHex(fromHex(top.output ?? "0x"));
  const { posts, gets, count: logCount } = handled;
  return { posts, gets, gasUsed: BigInt(top.gasUsed), revertData, logCount, steps };
}

/** Records a successful frame under its step and dispatch; returns the place of its own calls. */
function placeFrame(frame: Frame, within: Within, { host, steps }: TraceContext): Within {
  const selector = frame.input?.slice(0, 10).toLowerCase() ?? "";
  switch (within.kind) {
    case "nothing":
      return batchSelectors.has(selector) ? { kind: "batch" } : beginStep(frame, steps);
    case "batch":
      return frame.type === "DELEGATECALL" ? beginStep(frame, steps) : within;
    case "step": {
      if (!dispatchSelectors.has(selector) || frame.to?.toLowerCase() !== host) return within;
      const dispatch = { gasUsed: BigInt(frame.gasUsed), isModuleDone: false };
      within.step.dispatches.push(dispatch);
      return { kind: "dispatch", dispatch };
    }
    case "dispatch":
      if (callbackSelectors.has(selector)) within.dispatch.isModuleDone = true;
      return { kind: "dispatched" };
    case "dispatched":
      return within;
  }
}

function beginStep(frame: Frame, steps: StepBuilder[]): Within {
  const step = { gasUsed: BigInt(frame.gasUsed), dispatches: [] };
  steps.push(step);
  return { kind: "step", step };
}

function parseFrame(frame: unknown, path: string): Frame {
  const parsed = frameSchema.safeParse(frame);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new TraceError(`${path}${issue?.path.join(".") ?? ""}`, { cause: parsed.error });
}
