/** Start-up checks: networks of the nodes, and advice on their capabilities. */
import { type CheckRow, eventRow, silenceRow } from "../../../core/checks/check_row.ts";
import type { FindingCode } from "../../../core/checks/findings.ts";
import { RpcFault } from "../../../core/rpc/call.ts";
import type { RpcEndpointSet } from "../../../core/rpc/endpoint_set.ts";
import { BeaconNode } from "./beacon_node.ts";
import type { BeaconContext } from "./update_attempt.ts";
import { probeBeaconNode, type ServedRoutes } from "./probe_node.ts";

/** Checks the beacon nodes, each independently of the others. */
export async function checkBeaconNodes(
  { network, endpoints, noteHead }: BeaconContext,
  signal: AbortSignal,
): Promise<readonly CheckRow[]> {
  const { chain } = endpoints;
  const probed: ProbedNode[] = [];
  const rows = await Promise.all(
    endpoints.rest.endpoints.map(async (endpoint): Promise<CheckRow[]> => {
      try {
        const root = await new BeaconNode(endpoint, { network, signal }).fetchGenesisValidatorsRoot();
        if (root !== network.genesisValidatorsRoot) return [strangerRow(chain, endpoint.host)];
        const routes = await probeBeaconNode(endpoint, { network, signal });
        const { slot, network: scheduled } = routes;
        if (slot !== undefined && scheduled !== undefined) noteHead(scheduled, slot);
        probed.push({ host: endpoint.host, routes });
        return [];
      } catch (fault) {
        if (!(fault instanceof RpcFault)) throw fault;
        return [silenceRow(chain, fault, true)];
      }
    }),
  );
  return [...rows.flat(), ...adviseOnNodes(chain, probed)];
}

/** Row about a beacon node of another network. */
export function strangerRow(chain: string, endpoint: string): CheckRow {
  const advice = "correct or remove its URL in beacon_http_urls";
  return { chain, endpoint, check: "chain_id", result: "failed", found: "is of another network", advice };
}

/** Checks the nodes of the execution chain. */
export async function checkExecutionNodes(
  { network, endpoints }: BeaconContext,
  execution: RpcEndpointSet,
  signal: AbortSignal,
): Promise<readonly CheckRow[]> {
  const reports = await execution.callEach([{ method: "eth_chainId", params: [] }], { signal });
  const { chain } = endpoints;
  return reports.flatMap((report): CheckRow[] => {
    const row = { chain, endpoint: report.host } as const;
    const answer = report.kind === "answers" ? report.answers[0] : undefined;
    if (answer?.kind !== "result" || !/^0x[0-9a-fA-F]{1,16}$/.test(String(answer.result))) {
      const found = "the execution node could not be checked";
      return [{
        ...row,
        check: "endpoint",
        result: "warning",
        found,
        advice: "check the URL and that the node runs",
      }];
    }
    if (BigInt(String(answer.result)) === BigInt(network.chainId)) return [];
    const found = "the execution node is of another chain";
    const advice = "correct or remove its URL in rpc_urls";
    return [{ ...row, check: "chain_id", result: "failed", found, advice }];
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
 * Rows about the cost of an update of `chain` with these nodes, and its feasibility. Capabilities that no node
 * reported are not mentioned.
 */
export function adviseOnNodes(chain: string, nodes: readonly ProbedNode[]): readonly CheckRow[] {
  if (nodes.length === 0) return [];
  const hosts = nodes.map(({ host }) => host).join(", ");
  const where = `beacon node${nodes.length === 1 ? "" : "s"} ${hosts}`;
  const row = (event: FindingCode, result: CheckRow["result"], found: string): CheckRow =>
    eventRow(chain, event, { result, found });
  const may = (test: (routes: ServedRoutes) => boolean): boolean => nodes.some(({ routes }) => test(routes));
  const hasLightClient = may(({ lightClient }) => lightClient !== "no");
  const hasProofs = may(({ stateProofs }) => stateProofs !== "no");
  const hasStates = may(({ states }) => states !== "no");
  const isGloas = may((routes) => routes.isGloas);
  if (hasProofs || (hasLightClient && isGloas)) {
    if (!hasLightClient) {
      return [
        row("light_client_unavailable", "ok", `${where} serve no light client routes. ${LIGHT_CLIENTS}`),
      ];
    }
    return may(({ updates }) => updates !== "no") ? [] : [
      row(
        "light_client_updates_missing",
        "ok",
        `${where} serve no light_client/updates: a change of the period is read from a state`,
      ),
    ];
  }
  if (!hasStates) {
    const text =
      `${where} serve neither states nor proofs of them, so that no update can be made. Add a node that ` +
      `does: ${SMALL_SOURCES}; the debug routes of any other node serve whole states`;
    return [row("beacon_states_unavailable", "warning", text)];
  }
  const isBytes = may(({ states }) => states !== "no" && states !== "json");
  if (hasLightClient && isBytes) {
    const slow = may(({ states }) => states === "bytes" || states === "unknown")
      ? ""
      : ", and the first byte may come only after ten minutes";
    return [
      row("partial_states_read", "ok", `${where}: an update reads 3 MB of a state${slow}. ${SMALL_SOURCES}`),
    ];
  }
  const form = isBytes
    ? ""
    : " in JSON, which is more than twice as long; a node that serves bytes is better";
  const text = `${where}: an update reads whole states (300 MB on Ethereum)${form}. ${SMALL_SOURCES}` +
    (hasLightClient ? "" : `. ${LIGHT_CLIENTS}`);
  return [row("whole_states_read", "warning", text)];
}
