/** Builds what tells the configured chains of the hub, with the network behind it. */
import { createEvmChain } from "../core/chains/evm/evm_chain.ts";
import { createHubChain } from "../core/chains/substrate/relayer_hub.ts";
import type { SubstrateChainDeps } from "../core/chains/substrate/substrate_chain.ts";
import type {
  BeefyProverValues,
  ConsensusConfig,
  ConsensusHubConfig,
} from "../core/config/consensus_config.ts";
import { paraIdOf } from "../core/protocol/ismp/state_machine.ts";
import { createAcceptedSource } from "./beefy/accepted_source.ts";
import { HubWork } from "./beefy/hub_work.ts";
import type { ProofSource } from "./beefy/proof_source.ts";
import { createRelaySource } from "./beefy/relay_source.ts";
import type { HubConsensus } from "./hub_consensus.ts";
import { RelayChain } from "./relay_chain/relay_chain.ts";

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
  const { prover } = hub.consensus;
  const made = prover === undefined ? [] : [connectRelaySource(network, work, hub, prover)];
  return {
    hosts: chains.map((chain) => createEvmChain(network, chain)),
    sources: [accepted, ...made],
    told: [],
    skipped: [],
  };
}

/** Proofs made from the relay chain, where the hub has accepted none that serve. */
function connectRelaySource(
  network: SubstrateChainDeps,
  work: HubWork,
  { substrate }: ConsensusHubConfig,
  prover: BeefyProverValues,
): ProofSource {
  const relay = new RelayChain(network, `relay chain of ${substrate.stateMachine}`, {
    rpcWs: prover.relayRpcWs,
    maxPayloadBytes: prover.maxRpcPayloadSizeBytes,
  });
  const hubParaId = paraIdOf(substrate.stateMachine);
  return createRelaySource({ relay, work, log: network.log }, {
    hub: substrate.stateMachine,
    hubParaId,
    paraIds: [...new Set([...prover.paraIds, hubParaId])],
    batchSize: prover.queryBatchSize,
  });
}
