/**
 * Runtime of a chain's best block: followed through upgrades, and refused where this program would build or read something
 * else than the chain means.
 */
import { calls, type RuntimeVersion } from "../../rpc/substrate_calls.ts";
import type { SubstrateNode } from "./node.ts";
import type { Runtime } from "./runtime.ts";

/**
 * Runs `work` with the latest known runtime; if the chain has another version by now, again with that one, so that
 * nothing is built with stale metadata. @throws {RpcFault} `runtime_unsupported` when the runtime does not fit.
 */
export async function withCurrentRuntime<T extends { readonly version: RuntimeVersion }>(
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
  if (isUpgrade) node.log.info("runtime_upgraded", { from, to: version.specVersion });
  const runtime = await node.runtimes.ofVersion(version, signal);
  if (!isUpgrade) return runtime;
  for (const { text } of node.runtimes.listUnmet(runtime)) {
    node.log.warn("runtime_differs", { explanation: text });
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
