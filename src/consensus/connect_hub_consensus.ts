/** Builds what tells the configured chains of the hub, with the network behind it. */
import { createEvmChain } from "../core/chains/evm/evm_chain.ts";
import { createHubChain } from "../core/chains/substrate/relayer_hub.ts";
import type { SubstrateChainDeps } from "../core/chains/substrate/substrate_chain.ts";
import type { ConsensusConfig } from "../core/config/consensus_config.ts";
import { createAcceptedSource } from "./beefy/accepted_source.ts";
import { HubWork } from "./beefy/hub_work.ts";
import type { HubConsensus } from "./hub_consensus.ts";

/** Who is told of the hub, by the type of its consensus. Connections are made at the first request. */
export function connectHubConsensus(network: SubstrateChainDeps, config: ConsensusConfig): HubConsensus {
  const { hub, chains } = config;
  if (hub.consensus.type === "grandpa") {
    return { hosts: [], sources: [], told: [], skipped: chains.map(({ stateMachine }) => stateMachine) };
  }
  const { substrate } = hub;
  const hubChain = createHubChain(network, {
    id: { stateMachine: substrate.stateMachine, consensusStateId: substrate.consensusStateId },
    hashing: substrate.hashing,
    rpcWs: substrate.rpcWs,
    maxRpcPayloadSizeBytes: substrate.maxRpcPayloadSizeBytes,
    maxConcurrentQueries: substrate.maxConcurrentQueries,
    signer: substrate.signer,
  });
  const work = new HubWork(hubChain, chains.map(({ stateMachine }) => stateMachine));
  const accepted = createAcceptedSource({ hub: hubChain, work, endpoint: substrate.rpcWs.host });
  return {
    hosts: chains.map((chain) => createEvmChain(network, chain)),
    sources: [accepted],
    told: [],
    skipped: [],
  };
}
