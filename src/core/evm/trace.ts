/**
 * Answers of `debug_traceCall` with the callTracer: the messages a transaction would deliver, and its gas. The host
 * swallows failing callbacks, so only the host's own event shows that a delivery happens. Source:
 * ethereum/go-ethereum: eth/tracers/native/call.go; polytope-labs/hyperbridge: evm/src/core/EvmHost.sol.
 */
import { type Abi, toFunctionSelector } from "viem";
import * as z from "zod";
import { type Hash256, type Hex, toHash256 } from "../encoding/bytes.ts";
import type { Address } from "./address.ts";
import { evmHostAbi, handlerV2Abi, hostEventTopics, hostManagerAbi } from "./host_abi.ts";
import { hexBytes, parseResponse } from "./schema.ts";

/** Messages that a host reports as delivered. */
export interface HandledMessages {
  /** Commitments of post requests. */
  readonly posts: ReadonlySet<Hash256>;
  /** Commitments of get REQUESTS whose responses were delivered. */
  readonly gets: ReadonlySet<Hash256>;
}

/** Fields of a log that matter here; hex in any case. */
export interface PlainLog {
  readonly address: string;
  readonly topics: readonly string[];
}

/** Collects the deliveries that one host reports in the logs of a simulated transaction. */
export class HandledLogs implements HandledMessages {
  readonly posts = new Set<Hash256>();
  readonly gets = new Set<Hash256>();
  /** Number of logs seen, of any contract. */
  count = 0;

  constructor(readonly host: Address) {}

  /** Adds a log; those of other contracts and other events are only counted. */
  add({ address, topics: [topic, commitment] }: PlainLog): void {
    this.count++;
    if (address.toLowerCase() !== this.host || topic === undefined || commitment?.length !== 66) return;
    if (topic.toLowerCase() === hostEventTopics.PostRequestHandled) this.posts.add(toHash256(commitment));
    if (topic.toLowerCase() === hostEventTopics.GetRequestHandled) this.gets.add(toHash256(commitment));
  }
}

/** The host's part in the delivery of one message: its `dispatchIncoming`. */
export interface DispatchFrame {
  readonly gasUsed: bigint;
  /** True when the receiving module was called and did not fail: then the host reports the delivery. */
  isModuleDone: boolean;
}

/** One inner call of a `batchCall`, or the whole transaction if there is none. */
export interface StepFrame {
  readonly gasUsed: bigint;
  /** In the order in which they happened: ascending by leaf index. */
  readonly dispatches: DispatchFrame[];
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

const text = z.string().nullish();

/** A member that some nodes give as null, or as an empty text, where it is absent. */
function orAbsent<T>(member: z.ZodType<T>): z.ZodType<T | null | undefined> {
  return z.preprocess((value) => value === "" ? undefined : value, member.nullish());
}

/** A frame, its inner calls apart, so that their depth is no matter. Some nodes tell absent members as null. */
const frameSchema = z.object({
  /** Gas that a transaction can have: 64 bits. */
  gasUsed: z.string().regex(/^0x0*[0-9a-fA-F]{1,16}$/).transform(BigInt),
  type: text,
  to: text,
  input: text,
  error: text,
  output: orAbsent(hexBytes),
  logs: orAbsent(z.array(z.object({ address: hexBytes, topics: z.array(hexBytes) }))),
  calls: orAbsent(z.array(z.unknown())),
});

type Frame = z.output<typeof frameSchema>;

function selectorsOf(abi: Abi, names: readonly string[]): ReadonlySet<string> {
  const functions = abi.filter((item) => item.type === "function");
  return new Set(functions.filter(({ name }) => names.includes(name)).map(toFunctionSelector));
}

const batchSelectors = selectorsOf(handlerV2Abi, ["batchCall"]);
const dispatchSelectors = selectorsOf(evmHostAbi, ["dispatchIncoming"]);
const callbackSelectors = selectorsOf(hostManagerAbi, ["onAccept", "onGetResponse"]);

/** Step and dispatch of a frame's callers. */
type Within =
  | { readonly kind: "nothing" | "batch" | "dispatched" }
  | { readonly kind: "step"; readonly step: StepFrame }
  | { readonly kind: "dispatch"; readonly dispatch: DispatchFrame };

/** What all frames of a trace share. */
interface TraceContext {
  readonly host: Address;
  /** Steps so far; frames add theirs. */
  readonly steps: StepFrame[];
}

const METHOD = "debug_traceCall";

interface Visit {
  readonly frame: Frame;
  readonly path: string;
  readonly within: Within;
}

/**
 * Reads a callTracer answer. Only logs of the host itself count, and only in frames of which neither they nor any
 * caller failed: their effects would be undone.
 * @throws {SchemaError} when the answer has another shape.
 */
export function readTrace(trace: unknown, host: Address): TraceOutcome {
  const handled = new HandledLogs(host);
  const steps: StepFrame[] = [];
  const top = parseResponse(frameSchema, trace, METHOD);
  const pending: Visit[] = [{ frame: top, path: METHOD, within: { kind: "nothing" } }];
  for (let visit = pending.pop(); visit !== undefined; visit = pending.pop()) {
    const { frame, path } = visit;
    if (isFailed(frame)) continue;
    frame.logs?.forEach((log) => handled.add(log));
    const within = placeFrame(frame, visit.within, { host, steps });
    const calls = (frame.calls ?? []).map((call, index): Visit => {
      const place = `${path}.calls.${index}`;
      return { frame: parseResponse(frameSchema, call, place), path: place, within };
    });
    // The first one is to be popped first.
    pending.push(...calls.reverse());
  }
  const revertData = isFailed(top) ? top.output ?? "0x" : undefined;
  const { posts, gets, count: logCount } = handled;
  return { posts, gets, gasUsed: top.gasUsed, revertData, logCount, steps };
}

function isFailed({ error }: Frame): boolean {
  return Boolean(error);
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
      const dispatch = { gasUsed: frame.gasUsed, isModuleDone: false };
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

function beginStep(frame: Frame, steps: StepFrame[]): Within {
  const step = { gasUsed: frame.gasUsed, dispatches: [] };
  steps.push(step);
  return { kind: "step", step };
}
