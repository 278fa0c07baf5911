/** Light client of BSC-type chains, as the registry lists it. */
import { withDefault } from "../../../core/config/schema.ts";
import { integer, UINT32_MAX } from "../../../core/config/values.ts";
import { evmChainId } from "../../../core/ismp/state_machine.ts";
import { checkEvmEndpoints } from "../../checks/evm_endpoints.ts";
import type { ChainClient } from "../../client.ts";
import { frequencyKey, hostForeign } from "../../config/shared_keys.ts";
import { openEvmReader } from "../../evm_reader.ts";
import { createBscProver } from "./bsc_prover.ts";
import { findBscNetwork } from "./spec/bsc_network.ts";

/** Values of the host section. */
interface BscHost {
  readonly consensusUpdateFrequencySec: number;
  readonly epochLength: number;
}

/** `type = "bsc"`: votes in the chain's own headers. */
export const bscClient: ChainClient<BscHost> = {
  knownChains: [56, 97],
  networks: { bsc_testnet: 97 },
  host: {
    description: "Of type `bsc`: votes in the chain's own headers.",
    keys: {
      consensusUpdateFrequencySec: frequencyKey,
      /** polytope-labs/hyperbridge: tesseract/consensus/bsc, `epoch_length`. */
      epochLength: withDefault(integer(1, UINT32_MAX, "blocks"), 1_000, {
        name: "epoch_length",
        description: "Length of an epoch.",
      }),
    },
    foreign: hostForeign,
  },
  example: {
    section: "bsc",
    comment: "BSC. Optional keys as above.",
    stateMachine: "EVM-56",
    consensusStateId: "BSC0",
    etherscanApiKey: "YOUR-BSC-KEY",
    switchedOn: ["consensus_update_frequency", "epoch_length"],
  },
  checkSection: ({ location, stateMachine }) => {
    if (stateMachine === undefined || findBscNetwork(evmChainId(stateMachine)) !== undefined) return;
    location.child("state_machine").problem(
      `"${stateMachine}", which the hub has no BSC client for`,
      '"EVM-56" or "EVM-97"',
    );
  },
  createChecks: (deps, { stateMachine: chain, rpcUrls: urls }) =>
    checkEvmEndpoints(deps, { chain, serves: chain, urls, key: "rpc_urls" }),
  createProver: (context, { stateMachine, rpcUrls, consensusStateId, host }) => {
    const headers = openEvmReader(context, { stateMachine, urls: rpcUrls });
    return createBscProver({ hub: context.hub, headers }, {
      stateMachine,
      consensusStateId,
      epochLength: BigInt(host.epochLength),
      intervalMs: host.consensusUpdateFrequencySec * 1_000,
    });
  },
};
