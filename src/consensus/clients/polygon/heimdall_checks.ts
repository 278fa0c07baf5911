/** Check of the Heimdall node of a chain: that it answers, which chain it serves, and whether it is in sync. */
import type { CheckRow } from "../../../core/checks/check_row.ts";
import { adviseOnFault, type CheckJob, describeFault } from "../../../core/checks/run_checks.ts";
import type { StateMachine } from "../../../core/ismp/state_machine.ts";
import { RpcFault } from "../../../core/rpc/fault.ts";
import type { Clock } from "../../../core/runtime/clock.ts";
import type { HeimdallNode } from "./heimdall_node.ts";

/** Creates the check; the result lists those of one round. */
export function checkHeimdallNode(
  clock: Clock,
  chain: StateMachine,
  node: Pick<HeimdallNode, "host" | "fetchStatus">,
): () => readonly CheckJob[] {
  const run = async (signal: AbortSignal): Promise<readonly CheckRow[]> => {
    const row = { chain, endpoint: node.host, check: "endpoint" } as const;
    const startMs = clock.now();
    try {
      const { chainId, latestHeight, isCatchingUp } = await node.fetchStatus(signal);
      const tookMs = Math.round(clock.now() - startMs);
      const found = `answers in ${tookMs} ms, serves ${chainId} up to block ${latestHeight}`;
      return [
        isCatchingUp
          ? {
            ...row,
            result: "warning",
            found: `${found}, and is still syncing`,
            advice: "wait until the node is in sync",
          }
          : { ...row, result: "ok", found },
      ];
    } catch (fault) {
      if (!(fault instanceof RpcFault)) throw fault;
      const found = `does not answer: ${describeFault(fault)}`;
      return [{ ...row, result: "failed", found, advice: adviseOnFault(fault) }];
    }
  };
  return () => [{ chain, check: "endpoint", run }];
}
