/**
 * Answers of `debug_traceCall` with the callTracer: the messages a transaction would deliver, and its gas. The host
 * swallows failing callbacks, so only the host's own event shows that a delivery happens. Source:
 * ethereum/go-ethereum: eth/tracers/native/call.go; polytope-labs/hyperbridge: evm/src/core/EvmHost.sol.
 */
import { type Abi, toFunctionSelector } from "viem";
import { type Hex, isHexBytes, toLowerHex } from "../encoding/bytes.ts";
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

const quantityText = /^0x[0-9a-fA-F]{1,64}$/;

/** Fields of a frame that are used. */
interface Frame {
  readonly gasUsed: string;
  readonly type: string | undefined;
  readonly to: string | undefined;
  readonly input: string | undefined;
  readonly error: string | undefined;
  readonly output: Hex | undefined;
  readonly logs: readonly { readonly address: Hex; readonly topics: readonly Hex[] }[];
  readonly calls: readonly unknown[];
}

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
  readonly frame: Frame;
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
  const pending: Visit[] = [{ frame: top, path: "", within: { kind: "nothing" } }];
  for (let visit = pending.pop(); visit !== undefined; visit = pending.pop()) {
    const { frame, path } = visit;
    if (frame.error !== undefined) continue;
    frame.logs.forEach((log) => handled.add(log));
    const within = placeFrame(frame, visit.within, { host, steps });
    const calls = frame.calls.map((call, index): Visit => {
      const place = `${path}calls.${index}.`;
      return { frame: parseFrame(call, place), path: place, within };
    });
    // The first one is to be popped first.
    pending.push(...calls.reverse());
  }
  const revertData = top.error === undefined ? undefined : toLowerHex(top.output ?? "0x");
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

/** Checks a frame; by hand, since the trace of one batch has thousands of them. */
function parseFrame(frame: unknown, path: string): Frame {
  if (!isObject(frame)) throw new TraceError(path);
  const { gasUsed, type, to, input, error, output, logs = [], calls = [] } = frame;
  if (typeof gasUsed !== "string" || !quantityText.test(gasUsed)) throw new TraceError(`${path}gasUsed`);
  if (output !== undefined && !isHexBytes(output)) throw new TraceError(`${path}output`);
  if (!Array.isArray(logs)) throw new TraceError(`${path}logs`);
  if (!Array.isArray(calls)) throw new TraceError(`${path}calls`);
  return {
    gasUsed,
    type: readText(type, path, "type"),
    to: to === null ? undefined : readText(to, path, "to"),
    input: readText(input, path, "input"),
    error: readText(error, path, "error"),
    output,
    logs: logs.map((log: unknown, index) => parseLog(log, `${path}logs.${index}`)),
    calls,
  };
}

function readText(value: unknown, path: string, field: string): string | undefined {
  if (value !== undefined && typeof value !== "string") throw new TraceError(`${path}${field}`);
  return value;
}

function parseLog(log: unknown, path: string): Frame["logs"][number] {
  if (!isObject(log)) throw new TraceError(path);
  const { address, topics } = log;
  if (!isHexBytes(address)) throw new TraceError(`${path}.address`);
  if (!Array.isArray(topics)) throw new TraceError(`${path}.topics`);
  return {
    address,
    topics: topics.map((topic: unknown, index) => {
      if (!isHexBytes(topic)) throw new TraceError(`${path}.topics.${index}`);
      return topic;
    }),
  };
}

function isObject(value: unknown): value is { readonly [name: string]: unknown } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
