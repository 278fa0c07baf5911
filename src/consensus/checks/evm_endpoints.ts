/** Checks of the EVM endpoints of a chain's section, with an endpoint set of their own: its health is nobody else's. */
import type { TargetReads } from "../../core/chains/consensus_target.ts";
import { checkEndpoints } from "../../core/chains/evm/endpoint_checks.ts";
import { createEvmEndpointSet, type EvmEndpointSetDeps } from "../../core/chains/evm/evm_endpoint_set.ts";
import { createTrieProbe } from "../../core/chains/evm/proofs.ts";
import type { CheckJob } from "../../core/checks/check_row.ts";
import type { EndpointUrl } from "../../core/config/redact.ts";
import type { Address } from "../../core/evm/address.ts";
import { evmChainId, type StateMachine, type StateMachineId } from "../../core/ismp/state_machine.ts";

/** Finds a contract when a check is made; `undefined`: there is none now. */
export type FindContract = (signal: AbortSignal) => Promise<Address | undefined>;

/** Endpoints of a section. */
export interface SectionEndpoints {
  /** Chain of the section. */
  readonly chain: StateMachine;
  /** Chain that the endpoints serve where it is another one: the L1 of a rollup. */
  readonly serves?: StateMachine;
  readonly urls: readonly EndpointUrl[];
  /** Key of the configuration. Default `rpc_urls`. */
  readonly key?: string;
  /** Contract whose logs are read there; absent: none are. */
  readonly logsOf?: Address | FindContract | undefined;
  /** Contract whose state is proved there, and the chain as the hub knows it; absent: nothing is proved. */
  readonly proofs?: {
    readonly account: Address | FindContract;
    readonly of: StateMachineId;
    readonly hub: { readonly reads: Pick<TargetReads, "fetchLatestHeight"> };
  } | undefined;
}

/** Creates the checks. */
export function checkEvmEndpoints(
  deps: EvmEndpointSetDeps,
  { chain, serves = chain, urls, key = "rpc_urls", logsOf, proofs }: SectionEndpoints,
): readonly CheckJob[] {
  const { clock } = deps;
  const endpoints = createEvmEndpointSet(deps, { stateMachine: serves, urls });
  const endpointJob: CheckJob = {
    chain,
    check: "endpoint",
    run: async (signal) => {
      const contract = typeof logsOf === "function" ? await logsOf(signal) : logsOf;
      const options = { clock, chain, serves, chainId: BigInt(evmChainId(serves)), key, logsOf: contract };
      return await checkEndpoints(endpoints, options, signal);
    },
  };
  if (proofs === undefined) return [endpointJob];
  const proofJob: CheckJob = {
    chain,
    check: "state_proof",
    run: async (signal) => {
      const height = await proofs.hub.reads.fetchLatestHeight(proofs.of, signal);
      const host = typeof proofs.account === "function" ? await proofs.account(signal) : proofs.account;
      if (height === undefined || height === 0n || host === undefined) return [];
      return await createTrieProbe({ clock, chain, endpoints, host })(height, signal);
    },
  };
  return [endpointJob, proofJob];
}
