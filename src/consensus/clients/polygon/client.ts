/** Light client of Polygon, as the registry lists it. */
import { boolean, cappedSeconds, httpUrl } from "../../../core/config/values.ts";
import { required, type SectionValues, withDefault } from "../../../core/config/schema.ts";
import { evmChainId, type StateMachine } from "../../../core/ismp/state_machine.ts";
import { checkEvmEndpoints } from "../../checks/evm_endpoints.ts";
import type { ChainClient } from "../../client.ts";
import { hostForeign, updateFrequency } from "../../config/shared_keys.ts";
import { openEvmReader } from "../../evm_reader.ts";
import { checkHeimdallNode, openHeimdallNode } from "./heimdall_node.ts";
import { createPolygonProver } from "./polygon_prover.ts";
import { findPolygonNetwork, type PolygonNetwork } from "./spec/consensus_state.ts";

/** polytope-labs/hyperbridge: tesseract/consensus/polygon/src/lib.rs, `HostConfig`. */
const hostKeys = {
  heimdallRpcUrl: required(httpUrl, {
    name: "heimdall_rpc_url",
    description:
      "A node of Heimdall v2 (CometBFT's JSON-RPC). One that keeps old blocks can catch up on days.",
    example: "https://heimdall.example.org",
  }),
  consensusUpdateFrequencySec: withDefault(cappedSeconds, 30, updateFrequency),
  disable: withDefault(boolean, false, {
    name: "disable",
    description: "Proves nothing of the chain, which then only receives.",
  }),
};

/** `type = "polygon"`: milestones in the state of Heimdall. */
export const polygonClient: ChainClient<SectionValues<typeof hostKeys>> = {
  knownChains: [137, 80002],
  networks: {},
  host: {
    description: "Of type `polygon`: milestones of Heimdall, which make blocks of the chain final.",
    keys: hostKeys,
    foreign: hostForeign,
  },
  nodeKeys: ["heimdall_rpc_url"],
  example: {
    section: "polygon",
    comment: "Polygon. Optional keys as above.",
    stateMachine: "EVM-137",
    consensusStateId: "POLY",
    switchedOn: ["consensus_update_frequency"],
  },
  isSwitchedOff: ({ disable }) => disable,
  checkSection: ({ location, stateMachine }) => {
    if (stateMachine === undefined || findPolygonNetwork(evmChainId(stateMachine)) !== undefined) return;
    location.child("state_machine").problem(
      `"${stateMachine}", which the hub has no Polygon client for`,
      '"EVM-137" or "EVM-80002"',
    );
  },
  createChecks: (deps, { stateMachine: chain, rpcUrls: urls, host }) => {
    const bor = checkEvmEndpoints(deps, { chain, serves: chain, urls, key: "rpc_urls" });
    const { heimdallChain } = networkOf(chain);
    const node = openHeimdallNode(deps, { stateMachine: chain, heimdallChain, url: host.heimdallRpcUrl });
    const heimdall = checkHeimdallNode(deps.clock, chain, node);
    return () => [...bor(), ...heimdall()];
  },
  createProver: (context, { stateMachine, rpcUrls, consensusStateId, host }) => {
    const { heimdallChain } = networkOf(stateMachine);
    const node = openHeimdallNode(context, { stateMachine, heimdallChain, url: host.heimdallRpcUrl });
    const bor = openEvmReader(context, { stateMachine, urls: rpcUrls });
    return createPolygonProver({ hub: context.hub, node, bor }, {
      stateMachine,
      consensusStateId,
      intervalMs: host.consensusUpdateFrequencySec * 1_000,
    });
  },
};

function networkOf(chain: StateMachine): PolygonNetwork {
  const network = findPolygonNetwork(evmChainId(chain));
  if (network === undefined) throw new Error(`${chain} is not a Polygon chain`);
  return network;
}
