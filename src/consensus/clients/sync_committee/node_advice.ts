/** Advice on the beacon nodes of a chain from their capabilities. Pure. */
import type { CheckFinding } from "../../../core/chains/check_finding.ts";
import type { EventCode } from "../../../core/telemetry/events.ts";
import type { ServedRoutes } from "./probe_node.ts";

/** A node that was probed. */
export interface ProbedNode {
  readonly host: string;
  readonly routes: ServedRoutes;
}

/** Recommended nodes, as named in every advice (flags: docs of the six implementations). */
const SMALL_SOURCES =
  "Lodestar 1.30 or later with --rest.namespace '*' (5 KB an update), or Nimbus (60 to 160 KB) serves the rest";
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
  const hasSummaries = may(({ summaries }) => summaries !== "no");
  const hasStates = may(({ states }) => states !== "no");
  if (hasProofs || (hasLightClient && hasSummaries)) {
    return hasLightClient
      ? []
      : [note("light_client_unavailable", `${where} serve no light client routes. ${LIGHT_CLIENTS}`)];
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
