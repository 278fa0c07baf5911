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
  const { stateMachine: chain } = options;
  const [l1, l2] = await Promise.all([
    checkReader(deps.l1, { chain, role: "beacon_rpc_url", serves: options.l1.stateMachine }, signal),
    checkReader(deps.l2, { chain, role: "rpc_urls", serves: chain }, signal),
  ]);
  return [...l1, ...l2];
}

/** Endpoints of a rollup's section. */
interface ConfiguredReader {
  /** The rollup. */
  readonly chain: StateMachine;
  /** Key of the configuration. */
  readonly role: string;
  readonly serves: StateMachine;
}

async function checkReader(
  reader: EvmReader,
  { chain, role, serves }: ConfiguredReader,
  signal: AbortSignal,
): Promise<readonly CheckFinding[]> {
  const wanted = BigInt(evmChainId(serves));
  const reports = await reader.fetchChainIds(signal);
  return reports.flatMap((report): CheckFinding[] => {
    const place = `${chain}: endpoint ${report.host} of ${role}`;
    if (report.kind === "fault") {
      const text = `${place} does not answer (${report.fault.code})`;
      return [{ severity: "warning", event: "endpoint_unreachable", text }];
    }
    if (report.chainId === wanted) return [];
    const text = `${place} serves chain ${report.chainId}, and ${serves} is configured`;
    return [{ severity: "fatal", event: "endpoint_wrong_chain", text }];
  });
}
