/** Start-up checks: networks of the nodes, and advice on their capabilities. */
import type { CheckFinding } from "../../../core/chains/check_finding.ts";
import type { EventCode } from "../../../core/telemetry/log.ts";
import { RpcFault } from "../../../core/rpc/call.ts";
import type { RpcEndpointSet } from "../../../core/rpc/endpoint_set.ts";
import { BeaconNode } from "./beacon_node.ts";
import type { BeaconContext } from "./update_attempt.ts";
import { probeBeaconNode, type ServedRoutes } from "./probe_node.ts";

/** Checks the beacon nodes, each independently of the others. */
export async function checkBeaconNodes(
  { network, endpoints, noteHead }: BeaconContext,
  signal: AbortSignal,
): Promise<readonly CheckFinding[]> {
  const probed: ProbedNode[] = [];
  const findings = await Promise.all(
    endpoints.rest.endpoints.map(async (endpoint): Promise<CheckFinding[]> => {
      const where = `${endpoints.chain}: beacon node ${endpoint.host}`;
      try {
        const root = await new BeaconNode(endpoint, { network, signal }).fetchGenesisValidatorsRoot();
        if (root === network.genesisValidatorsRoot) {
          const routes = await probeBeaconNode(endpoint, { network, signal });
          if (routes.slot !== undefined && routes.network !== undefined) {
            noteHead(routes.network, routes.slot);
          }
          probed.push({ host: endpoint.host, routes });
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

/** A node that was probed. */
export interface ProbedNode {
  readonly host: string;
  readonly routes: ServedRoutes;
}

/** Recommended nodes, as named in every advice (flags: docs of the six implementations). */
const SMALL_SOURCES = "Lodestar 1.30 or later with --rest.namespace '*' serves proofs (5 KB an update)";
const LIGHT_CLIENTS =
  "Lighthouse, Lodestar and Nimbus serve light clients by default, Prysm with --enable-light-client; Teku and " +
  "Grandine do not";

/**
 * Findings about the cost of an update of `chain` with these nodes, and its feasibility. Capabilities that no node
 * reported are not mentioned.
 */
export function adviseOnNodes(chain: string, nodes: readonly ProbedNode[]): readonly CheckFinding[] {
  if (nodes.length === 0) return [];
  const hosts = nodes.map(({ host }) => host).join(", ");
  const where = `${chain}: beacon node${nodes.length === 1 ? "" : "s"} ${hosts}`;
  const may = (test: (routes: ServedRoutes) => boolean): boolean => nodes.some(({ routes }) => test(routes));
  const hasLightClient = may(({ lightClient }) => lightClient !== "no");
  const hasProofs = may(({ stateProofs }) => stateProofs !== "no");
  const hasStates = may(({ states }) => states !== "no");
  const isGloas = may((routes) => routes.isGloas);
  if (hasProofs || (hasLightClient && isGloas)) {
    if (!hasLightClient) {
      return [note("light_client_unavailable", `${where} serve no light client routes. ${LIGHT_CLIENTS}`)];
    }
    return may(({ updates }) => updates !== "no") ? [] : [
      note(
        "light_client_updates_missing",
        `${where} serve no light_client/updates: a change of the period is read from a state`,
      ),
    ];
  }
  if (!hasStates) {
    const text =
      `${where} serve neither states nor proofs of them, so that no update can be made. Add a node that ` +
      `does: ${SMALL_SOURCES}; the debug routes of any other node serve whole states`;
    return [{ severity: "warning", event: "beacon_states_unavailable", text }];
  }
  const isBytes = may(({ states }) => states !== "no" && states !== "json");
  if (hasLightClient && isBytes) {
    const slow = may(({ states }) => states === "bytes" || states === "unknown")
      ? ""
      : ", and the first byte takes its time (up to ten minutes are waited)";
    return [
      note("partial_states_read", `${where}: an update reads 3 MB of a state${slow}. ${SMALL_SOURCES}`),
    ];
  }
  const form = isBytes
    ? ""
    : " in JSON, which is more than twice as long; a node that serves bytes is better";
  const text = `${where}: an update reads whole states (300 MB on Ethereum)${form}. ${SMALL_SOURCES}` +
    (hasLightClient ? "" : `. ${LIGHT_CLIENTS}`);
  return [{ severity: "warning", event: "whole_states_read", text }];
}

function note(event: EventCode, text: string): CheckFinding {
  return { severity: "note", event, text };
}
