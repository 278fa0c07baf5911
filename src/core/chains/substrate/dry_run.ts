/**
 * Creates extrinsics with the current runtime, and dry-runs them by the transaction pool's own check, or by
 * `system_dryRun` if a gateway does not offer that.
 */
import { resultOf, RpcFault } from "../../rpc/fault.ts";
import type { ChildSet } from "../../rpc/substrate_client.ts";
import { calls } from "../../rpc/substrate_calls.ts";
import type { Refusal, SignedSubmission } from "../submission.ts";
import { withCurrentRuntime } from "./current_runtime.ts";
import { type BareExtrinsic, toSubmission, VALIDATE_METHOD, validationCall } from "./extrinsics.ts";
import type { SubstrateNode } from "./node.ts";
import type { Runtime } from "./runtime.ts";
import { findModuleError, readDryRun, readValidation } from "./validity.ts";

/** Recipe of an extrinsic. */
export interface ExtrinsicRecipe {
  readonly build: (runtime: Runtime) => BareExtrinsic;
  /** Maximum size of an extrinsic, bytes. */
  readonly maxCallBytes: number;
}

/** Result of a dry run. */
export type DryRun =
  | { readonly kind: "valid" }
  | ({ readonly kind: "invalid" } & DryRunFailure);

/** Reason why an extrinsic fails, by the runtime's names. */
export interface DryRunFailure {
  readonly reason: string;
  /** `Pallet.Error`; the pool's check does not report one. */
  readonly error: string | undefined;
}

/** Creates a submission. One round trip. @throws {RpcFault} `too_large`. */
export async function makeSubmission(
  node: SubstrateNode,
  recipe: ExtrinsicRecipe,
  signal: AbortSignal,
): Promise<SignedSubmission> {
  const { extrinsic, header } = await withCurrentRuntime(node, async (runtime) => {
    const built = build(node, recipe, runtime);
    const [version, best] = await node.client.callAll([calls.runtimeVersion(), calls.header()], signal);
    return { version, extrinsic: built, header: best };
  }, signal);
  if (header === undefined) throw node.client.fault("malformed", "chain_getHeader", "no best block");
  return toSubmission(node, extrinsic, header.height);
}

/** A dry run with its extrinsic. */
export interface DryRunExtrinsic {
  readonly extrinsic: BareExtrinsic;
  readonly result: DryRun;
  /** Gets more detail from `system_dryRun`; `undefined` when that was the source already. */
  readonly fetchDetail: (() => Promise<DryRun | undefined>) | undefined;
}

/** A dry run with what was read in the same round trip. */
export interface DryRunWithReads extends DryRunExtrinsic {
  /** Values of the set, in the order of its keys. */
  readonly values: readonly (Uint8Array | undefined)[];
  /** The best block. */
  readonly height: bigint;
}

/**
 * Dry-runs an extrinsic by the pool's check, or by `system_dryRun` if that is not offered.
 * @throws {RpcFault} `too_large`; `missing_method` when neither is offered.
 */
export async function dryRunExtrinsic(
  node: SubstrateNode,
  recipe: ExtrinsicRecipe,
  signal: AbortSignal,
): Promise<DryRunExtrinsic> {
  const ran = await withCurrentRuntime(node, async (runtime) => {
    const extrinsic = build(node, recipe, runtime);
    const asked = [calls.runtimeVersion(), validationCall(extrinsic)] as const;
    const [version, answer] = await node.client.callAllSettled(asked, signal);
    return { version: resultOf(version), runtime, extrinsic, answer };
  }, signal);
  return await readRun(node, ran, signal);
}

/** As {@link dryRunExtrinsic}, in one round trip with values of the child trie and the best block. */
export async function dryRunWithReads(
  node: SubstrateNode,
  recipe: ExtrinsicRecipe & { readonly set: ChildSet },
  signal: AbortSignal,
): Promise<DryRunWithReads> {
  const { values, header, ...ran } = await withCurrentRuntime(node, async (runtime) => {
    const extrinsic = build(node, recipe, runtime);
    const asked = [calls.runtimeVersion(), validationCall(extrinsic), calls.header()] as const;
    const found = await node.client.readChildWithSettled(recipe.set, asked, signal);
    const [version, answer, best] = found.outcomes;
    return {
      version: resultOf(version),
      runtime,
      extrinsic,
      answer,
      header: resultOf(best),
      values: found.values,
    };
  }, signal);
  if (header === undefined) throw node.client.fault("malformed", "chain_getHeader", "no best block");
  return { ...await readRun(node, ran, signal), values, height: header.height };
}

/** Reads what the pool's check answered; asks for a dry run where the check is not offered. */
async function readRun(
  node: SubstrateNode,
  { runtime, extrinsic, answer }: {
    readonly runtime: Runtime;
    readonly extrinsic: BareExtrinsic;
    readonly answer: Uint8Array | RpcFault;
  },
  signal: AbortSignal,
): Promise<DryRunExtrinsic> {
  const fetchDetail = (): Promise<DryRun | undefined> => callDryRun(node, runtime, extrinsic, signal);
  if (answer instanceof RpcFault) {
    const result = answer.code === "missing_method" ? await fetchDetail() : undefined;
    if (result === undefined) throw answer;
    return { extrinsic, result, fetchDetail: undefined };
  }
  const verdict = readValidation(answer);
  if (verdict.kind === "unreadable") throw node.client.fault("malformed", VALIDATE_METHOD, "no verdict");
  const result = verdict.kind === "valid" ? verdict : { ...verdict, error: undefined };
  return { extrinsic, result, fetchDetail };
}

/** Calls `system_dryRun`, which only nodes with unsafe methods offer. `undefined`: not offered, or no verdict. */
async function callDryRun(
  node: SubstrateNode,
  runtime: Runtime,
  extrinsic: BareExtrinsic,
  signal: AbortSignal,
): Promise<DryRun | undefined> {
  const [answer] = await node.client.callAllSettled([calls.dryRun(extrinsic.bytes)], signal);
  if (answer instanceof RpcFault) {
    if (answer.code === "missing_method") return undefined;
    throw answer;
  }
  const verdict = readDryRun(runtime, answer);
  if (verdict.kind === "unreadable") return undefined;
  return verdict.kind === "valid" ? verdict : { ...verdict, error: findModuleError(runtime, answer) };
}

/** Refusal for an extrinsic above a limit, ours or the transport's. @throws {unknown} other faults. */
export function toSizeRefusal(fault: unknown): Refusal {
  if (!(fault instanceof RpcFault) || fault.code !== "too_large") throw fault;
  return { code: "too_large", detail: fault.detail ?? fault.code };
}

/** @throws {RpcFault} `too_large`. */
export function requireSize(node: SubstrateNode, extrinsic: BareExtrinsic, maxCallBytes: number): void {
  const size = extrinsic.bytes.length;
  if (size <= maxCallBytes) return;
  throw node.client.fault("too_large", "author_submitExtrinsic", `${size} of at most ${maxCallBytes} bytes`);
}

function build(node: SubstrateNode, recipe: ExtrinsicRecipe, runtime: Runtime): BareExtrinsic {
  const extrinsic = recipe.build(runtime);
  requireSize(node, extrinsic, recipe.maxCallBytes);
  return extrinsic;
}
