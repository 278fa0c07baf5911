/**
 * Start-up check of a rollup's endpoints: each must serve the chain that it is configured for.
 */
import type { CheckFinding } from "../../core/chains/check_finding.ts";
import { evmChainId, type StateMachine } from "../../core/ismp/state_machine.ts";
import type { EvmReader } from "../evm_reader.ts";
import type { RollupDeps, RollupOptions } from "./rollup_options.ts";

/** Compares the chain id of every endpoint of the L1 and of the rollup. */
export async function checkEndpoints(
  deps: Pick<RollupDeps, "l1" | "l2">,
  options: Pick<RollupOptions, "stateMachine" | "l1">,
  signal: AbortSignal,
): Promise<readonly CheckFinding[]> {
  const [l1, l2] = await Promise.all([
    checkReader(
      options.stateMachine,
      deps.l1,
      { role: "beacon_rpc_url", serves: options.l1.stateMachine },
      signal,
    ),
    checkReader(options.stateMachine, deps.l2, { role: "rpc_urls", serves: options.stateMachine }, signal),
  ]);
  return [...l1, ...l2];
}

async function checkReader(
  chain: StateMachine,
  reader: EvmReader,
  expected: { readonly role: string; readonly serves: StateMachine },
  signal: AbortSignal,
): Promise<readonly CheckFinding[]> {
  const wanted = BigInt(evmChainId(expected.serves));
  const reports = await reader.fetchChainIds(signal);
  return reports.flatMap((report): CheckFinding[] => {
    const place = `${chain}: endpoint ${report.host} of ${expected.role}`;
    if (report.kind === "fault") {
      const text = `${place} does not answer (${report.fault.code})`;
      return [{ severity: "warning", event: "endpoint_unreachable", text }];
    }
    if (report.chainId === wanted) return [];
    const text = `${place} serves chain ${report.chainId}, and ${expected.serves} is configured`;
    return [{ severity: "fatal", event: "endpoint_wrong_chain", text }];
  });
}
