/**
 * Creates extrinsics with the current runtime, and dry-runs them by the transaction pool's own check, or by
 * `system_dryRun` if a gateway does not offer that.
 */
import { resultOf, RpcFault } from "../../rpc/call.ts";
import type { ChildSet } from "../../rpc/substrate_client.ts";
import { calls, type RuntimeVersion, type TypedCall } from "../../rpc/substrate_calls.ts";
import type { Refusal, SignedSubmission } from "../submission.ts";
import { type BareExtrinsic, toSubmission, VALIDATE_METHOD, validationCall } from "./extrinsics.ts";
import type { SubstrateNode } from "./node.ts";
import type { Runtime } from "./runtime.ts";

/** Recipe of an extrinsic. */
export interface ExtrinsicRecipe {
  readonly build: (runtime: Runtime) => BareExtrinsic;
  /** Maximum size of an extrinsic, bytes. */
  readonly maxCallBytes: number;
  /** Values to be read in the same round trip; absent: none. */
  readonly set?: ChildSet;
}

/** Result of a dry run. */
export type DryRun = { readonly kind: "valid" } | { readonly kind: "invalid" } & DryRunFailure;

/** Reason why an extrinsic fails, by the runtime's names, e.g. `Invalid.BadProof` or `Ismp.InvalidMessage`. */
export interface DryRunFailure {
  readonly reason: string;
  /** `Pallet.Error`; the pool's check does not report one. */
  readonly error: string | undefined;
}

/** An extrinsic made with the runtime of the best block, and what was read in the same round trip. */
export interface MadeExtrinsic {
  readonly submission: SignedSubmission;
  /** Values of the recipe's set, in the order of its keys. */
  readonly values: readonly (Uint8Array | undefined)[];
}

/** A dry run of an extrinsic. */
export interface DryRunExtrinsic {
  readonly result: DryRun;
  /** Gets more detail from `system_dryRun`; `undefined` when that was the source already. */
  readonly fetchDetail: (() => Promise<DryRun | undefined>) | undefined;
}

/** Creates an extrinsic. One round trip. @throws {RpcFault} `too_large`. */
export async function makeExtrinsic(
  node: SubstrateNode,
  recipe: ExtrinsicRecipe,
  signal: AbortSignal,
): Promise<MadeExtrinsic> {
  return await makeAndAsk(node, { ...recipe, ask: () => [] }, signal);
}

/**
 * Creates an extrinsic and dry-runs it by the pool's check, or by `system_dryRun` if that is not offered. One round trip
 * where it is. @throws {RpcFault} `too_large`; `missing_method` when neither is offered.
 */
export async function dryRunExtrinsic(
  node: SubstrateNode,
  recipe: Omit<ExtrinsicRecipe, "set">,
  signal: AbortSignal,
): Promise<DryRunExtrinsic> {
  const asking = { ...recipe, ask: (extrinsic: BareExtrinsic) => [validationCall(extrinsic)] };
  const { runtime, submission, answer } = await makeAndAsk(node, asking, signal);
  const fetchDetail = (): Promise<DryRun | undefined> => callDryRun(node, runtime, submission.raw, signal);
  if (answer instanceof RpcFault) {
    const result = answer.code === "missing_method" ? await fetchDetail() : undefined;
    if (result === undefined) throw answer;
    return { result, fetchDetail: undefined };
  }
  const result = answer && readValidation(answer);
  if (result === undefined) throw node.client.fault("malformed", VALIDATE_METHOD, "no verdict");
  return { result, fetchDetail };
}

/** Creates an extrinsic, with the answer to a call about it. One round trip. */
async function makeAndAsk(
  node: SubstrateNode,
  { build, maxCallBytes, set = { trie: new Uint8Array(), keys: [] }, ask }: ExtrinsicRecipe & {
    readonly ask: (extrinsic: BareExtrinsic) => readonly TypedCall<Uint8Array>[];
  },
  signal: AbortSignal,
): Promise<
  MadeExtrinsic & { readonly runtime: Runtime; readonly answer: Uint8Array | RpcFault | undefined }
> {
  return await withCurrentRuntime(node, async (runtime) => {
    const extrinsic = build(runtime);
    const size = extrinsic.bytes.length;
    if (size > maxCallBytes) {
      throw node.client.fault(
        "too_large",
        "author_submitExtrinsic",
        `${size} of at most ${maxCallBytes} bytes`,
      );
    }
    const asked = [calls.runtimeVersion(), calls.header(), ...ask(extrinsic)] as const;
    const { values, outcomes: [version, header, answer] } = await node.client.readChildWith(
      set,
      asked,
      signal,
    );
    const best = resultOf(header);
    if (best === undefined) throw node.client.fault("malformed", "chain_getHeader", "no best block");
    const submission = toSubmission(node, extrinsic, best.height);
    return { version: resultOf(version), runtime, submission, values, answer };
  }, signal);
}

/** Calls `system_dryRun`, which only nodes with unsafe methods offer. `undefined`: not offered, or no verdict. */
async function callDryRun(
  node: SubstrateNode,
  runtime: Runtime,
  extrinsic: Uint8Array,
  signal: AbortSignal,
): Promise<DryRun | undefined> {
  const [answer] = await node.client.callAllSettled([calls.dryRun(extrinsic)], signal);
  if (!(answer instanceof RpcFault)) return readDryRun(runtime, answer);
  if (answer.code === "missing_method") return undefined;
  throw answer;
}

/** Refusal for an extrinsic above a limit, ours or the transport's. @throws {unknown} other faults. */
export function toSizeRefusal(fault: unknown): Refusal {
  if (!(fault instanceof RpcFault) || fault.code !== "too_large") throw fault;
  return { code: "too_large", detail: fault.detail ?? fault.code };
}

const invalid = [
  "Call",
  "Payment",
  "Future",
  "Stale",
  "BadProof",
  "AncientBirthBlock",
  "ExhaustsResources",
  "Custom",
  "BadMandatory",
  "MandatoryValidation",
  "BadSigner",
  "IndeterminateImplicit",
  "UnknownOrigin",
] as const;
const unknown = ["CannotLookup", "NoUnsignedValidator", "Custom"] as const;

/** Index of `DispatchError::Module`. */
const MODULE_ERROR = 3;

function readValidityError([kind, index, code]: Uint8Array): DryRun | undefined {
  if (index === undefined || (kind !== 0 && kind !== 1)) return undefined;
  const names: readonly string[] = kind === 0 ? invalid : unknown;
  const name = names[index] ?? String(index);
  const suffix = name === "Custom" ? `(${code ?? "?"})` : "";
  const reason = `${kind === 0 ? "Invalid" : "Unknown"}.${name}${suffix}`;
  return { kind: "invalid", reason, error: undefined };
}

/**
 * `Result<ValidTransaction, TransactionValidityError>`; what a valid one provides does not matter here. `undefined`:
 * bytes that are no answer of this API.
 */
export function readValidation(answer: Uint8Array): DryRun | undefined {
  if (answer[0] === 0) return { kind: "valid" };
  return answer[0] === 1 ? readValidityError(answer.subarray(1)) : undefined;
}

/** `Result<Result<(), DispatchError>, TransactionValidityError>`, the answer of `system_dryRun`; as {@link readValidation}. */
export function readDryRun(runtime: Runtime, answer: Uint8Array): DryRun | undefined {
  const [outer, inner, kind] = answer;
  if (outer === 1) return readValidityError(answer.subarray(1));
  if (outer !== 0 || (inner !== 0 && inner !== 1)) return undefined;
  if (inner === 0) return { kind: "valid" };
  const reason = runtime.dispatchErrorName(answer.subarray(2));
  return { kind: "invalid", reason, error: kind === MODULE_ERROR ? reason : undefined };
}

/**
 * Runs `work` with the latest known runtime; if the chain has another version by now, again with that one, so that
 * nothing is built with stale metadata. @throws {RpcFault} `runtime_unsupported` when the runtime does not fit.
 */
async function withCurrentRuntime<T extends { readonly version: RuntimeVersion }>(
  node: SubstrateNode,
  work: (runtime: Runtime) => Promise<T>,
  signal: AbortSignal,
): Promise<T> {
  const runtime = requireFit(node, await newestRuntime(node, signal));
  const result = await work(runtime);
  if (result.version.specVersion === runtime.version.specVersion) return result;
  return await work(requireFit(node, await adoptRuntime(node, result.version, signal)));
}

/** Implements `findUnsupported` of the chain's `RuntimeChecks`. */
export async function findUnsupported(node: SubstrateNode, signal: AbortSignal): Promise<string | undefined> {
  return findMismatch(node, await newestRuntime(node, signal));
}

/** Fetches the latest known runtime; one that does not fit may have been replaced by now. */
async function newestRuntime(node: SubstrateNode, signal: AbortSignal): Promise<Runtime> {
  const known = await node.runtimes.current(signal);
  if (findMismatch(node, known) === undefined) return known;
  return await adoptRuntime(node, await node.client.call(calls.runtimeVersion(), signal), signal);
}

/** Fetches the runtime that the node reports, and logs an upgrade with what it means, once. */
async function adoptRuntime(
  node: SubstrateNode,
  version: RuntimeVersion,
  signal: AbortSignal,
): Promise<Runtime> {
  const { newest: from } = node.runtimes;
  const isUpgrade = from !== version.specVersion;
  if (isUpgrade) node.log.info("runtime_changed.upgraded", { from, to: version.specVersion });
  const runtime = await node.runtimes.ofVersion(version, signal);
  if (!isUpgrade) return runtime;
  for (const { text } of node.runtimes.listUnmet(runtime)) {
    node.log.warn("runtime_changed.differs", { explanation: text });
  }
  return runtime;
}

/** @throws {RpcFault} `runtime_unsupported` */
function requireFit(node: SubstrateNode, runtime: Runtime): Runtime {
  const mismatch = findMismatch(node, runtime);
  if (mismatch === undefined) return runtime;
  throw node.client.fault("runtime_unsupported", "state_getMetadata", mismatch);
}

/** Explains what a runtime lacks that everything else needs. */
function findMismatch({ runtimes }: SubstrateNode, runtime: Runtime): string | undefined {
  const texts = runtimes.listUnmet(runtime).flatMap(({ isOptional, text }) => isOptional ? [] : [text]);
  return texts.length === 0 ? undefined : texts.join("; ");
}
