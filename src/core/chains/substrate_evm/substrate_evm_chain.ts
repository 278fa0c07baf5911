/**
 * Substrate chain with EVM contracts (pallet-revive) and an ISMP host among them, behind the interface of port.ts. It is
 * read, and messages are delivered to it, by Ethereum's RPC; its state is proved by its Substrate node, since it is not
 * in Ethereum's trie. Start reading at {@link createSubstrateEvmChain}.
 */
import { DEFAULT_MAX_CONCURRENT_QUERIES, type SubstrateEvmValues } from "../../config/chains.ts";
import type { OpenSocket } from "../../rpc/socket_link.ts";
import type { ChainCheckContext, ChainChecks } from "../chain_checks.ts";
import {
  assembleEvmChain,
  createEvmContext,
  type EvmChain,
  type EvmChainDeps,
  type EvmChainOptions,
} from "../evm/evm_chain.ts";
import { planSubstrateChecks } from "../substrate/chain_checks.ts";
import { checkContractNode } from "../substrate/checks.ts";
import { createChainContext } from "../substrate/substrate_chain.ts";
import { ContractProver } from "./contract_prover.ts";
import { ContractProofProbe } from "./contract_proof_probe.ts";
import { checkSameChain } from "./node_identity.ts";

/** Dependencies of the adapter. */
export interface SubstrateEvmChainDeps extends EvmChainDeps {
  readonly openSocket: OpenSocket;
}

/** Part of a chain's configuration that the adapter needs. */
export interface SubstrateEvmChainOptions extends EvmChainOptions, Pick<SubstrateEvmValues, "wsUrl"> {}

/** Largest answer of the Substrate node, bytes: proofs and metadata are far smaller. */
const MAX_PAYLOAD_BYTES = 150_000_000;

/** Creates the configured chain; connects at the first call. */
export function createSubstrateEvmChain(
  deps: SubstrateEvmChainDeps,
  options: SubstrateEvmChainOptions,
): EvmChain {
  const context = createEvmContext(deps, options);
  const { id } = context.at;
  const chain = id.stateMachine;
  const { endpoint, node } = createChainContext(deps, {
    id,
    hashing: "Blake2",
    rpcWs: options.wsUrl,
    maxRpcPayloadSizeBytes: MAX_PAYLOAD_BYTES,
    maxConcurrentQueries: DEFAULT_MAX_CONCURRENT_QUERIES,
    signer: undefined,
  }, { isHub: false, use: "contracts" });
  const { client } = node;
  const prover = new ContractProver(context, client);
  const probe = new ContractProofProbe({ clock: deps.clock, chain, endpointHost: client.host, prover });
  const evm = assembleEvmChain(context, options, { prover, probe });
  const planChecks = (checks: ChainCheckContext): ChainChecks => {
    const planned = evm.planChecks(checks);
    const ofNode = planSubstrateChecks(node, {
      check: async (signal) => [
        ...await checkContractNode(node, signal),
        ...await checkSameChain(context, node, signal),
      ],
      fetchNeededHeight: checks.fetchKnownHeight,
      key: "ws_url",
    });
    return { ...planned, jobs: [...planned.jobs, ...ofNode.jobs] };
  };
  return {
    ...evm,
    planChecks,
    check: async (hub, signal) => {
      const [ofEvm, ofNode] = await Promise.all([evm.check(hub, signal), checkContractNode(node, signal)]);
      const findings = [...ofEvm, ...ofNode];
      if (findings.some(({ severity }) => severity === "fatal")) return findings;
      return [...findings, ...await checkSameChain(context, node, signal)];
    },
    close: () => endpoint.close(),
  };
}
