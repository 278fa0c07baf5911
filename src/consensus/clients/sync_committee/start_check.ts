/** Start-up checks: networks of the nodes, and the client on the hub. */
import type { CheckFinding } from "../../../core/chains/check_finding.ts";
import { RpcFault } from "../../../core/rpc/fault.ts";
import type { RpcEndpointSet } from "../../../core/rpc/endpoint_set.ts";
import { BeaconNode } from "./beacon_node.ts";
import type { BeaconContext } from "./update_attempt.ts";
import { adviseOnNodes, type ProbedNode } from "./node_advice.ts";
import { probeBeaconNode } from "./probe_node.ts";

/** Checks the beacon nodes, each independently of the others. */
export async function checkBeaconNodes(
  { network, endpoints }: BeaconContext,
  signal: AbortSignal,
): Promise<readonly CheckFinding[]> {
  const probed: ProbedNode[] = [];
  const findings = await Promise.all(
    endpoints.rest.endpoints.map(async (endpoint): Promise<CheckFinding[]> => {
      const where = `${endpoints.chain}: beacon node ${endpoint.host}`;
      try {
        const root = await new BeaconNode(endpoint, signal).fetchGenesisValidatorsRoot();
        if (root === network.genesisValidatorsRoot) {
          probed.push({ host: endpoint.host, routes: await probeBeaconNode(endpoint, signal) });
          return [];
        }
        const text = `${where} is of another network; correct or remove its URL in beacon_http_urls`;
        return [{ severity: "fatal", event: "endpoint_wrong_chain", text }];
      } catch (fault) {
        if (!(fault instanceof RpcFault)) throw fault;
        const text = `${where} could not be checked: ${fault.code}`;
        return [{ severity: "warning", event: "endpoint_unreachable", text }];
      }
    }),
  );
  return [...findings.flat(), ...adviseOnNodes(endpoints.chain, probed)];
}

/** Checks the nodes of the execution chain. */
export async function checkExecutionNodes(
  { network, endpoints }: BeaconContext,
  execution: RpcEndpointSet,
  signal: AbortSignal,
): Promise<readonly CheckFinding[]> {
  const reports = await execution.callEach([{ method: "eth_chainId", params: [] }], { signal });
  return reports.flatMap((report): CheckFinding[] => {
    const where = `${endpoints.chain}: execution node ${report.host}`;
    const answer = report.kind === "answers" ? report.answers[0] : undefined;
    if (answer?.kind !== "result" || !/^0x[0-9a-fA-F]{1,16}$/.test(String(answer.result))) {
      return [{
        severity: "warning",
        event: "endpoint_unreachable",
        text: `${where} could not be checked`,
      }];
    }
    if (BigInt(String(answer.result)) === BigInt(network.chainId)) return [];
    return [{
      severity: "fatal",
      event: "endpoint_wrong_chain",
      text: `${where} is of another chain; correct or remove its URL in rpc_urls`,
    }];
  });
}
