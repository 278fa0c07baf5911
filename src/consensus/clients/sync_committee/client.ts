/** Light client of beacon chains, as the registry lists it. */
import { openEvmReader } from "../../evm_reader.ts";
import { httpUrls } from "../../../core/config/values.ts";
import { required, type SectionValues } from "../../../core/config/schema.ts";
import { evmChainId } from "../../../core/ismp/state_machine.ts";
import { checkEvmEndpoints } from "../../checks/evm_endpoints.ts";
import { type ChainClient, toProverOptions } from "../../client.ts";
import { requiredFrequency } from "../../config/keys.ts";
import { RestEndpoint } from "../../rest/rest_endpoint.ts";
import { checkBeaconEndpoints } from "./beacon_checks.ts";
import { beaconNetworkOf, chiado, ethereumMainnet, gnosisMainnet, sepolia } from "./spec/beacon_network.ts";
import { SyncCommitteeProver } from "./sync_committee_prover.ts";

const hostKeys = {
  beaconHttpUrls: required("beacon_http_urls", httpUrls, {
    description:
      "Beacon nodes (REST), in the order of preference. Best are nodes that serve the light client routes.",
    example: ["https://beacon.example.org"],
  }),
  consensusUpdateFrequencySec: requiredFrequency,
};

/** `type = "evm"`: chains with beacon nodes. */
export const syncCommitteeClient: ChainClient<SectionValues<typeof hostKeys>> = {
  typeText:
    "`evm` of a chain with beacon nodes (Ethereum, Sepolia, Gnosis and Chiado; of any other chain of " +
    "this type nothing is proved, it only receives and needs no host section)",
  networks: {
    ethereum: ethereumMainnet.chainId,
    sepolia: sepolia.chainId,
    gnosis: gnosisMainnet.chainId,
    chiado: chiado.chainId,
  },
  host: {
    description: "Of type `evm`: the finality of a chain with beacon nodes.",
    keys: hostKeys,
  },
  nodeKeys: ["beacon_http_urls"],
  findUnprovable: (chain) =>
    beaconNetworkOf(evmChainId(chain)) === undefined
      ? "beacon chains alone are proved by this type, which only 1, 11155111, 100 and 10200 have"
      : undefined,
  createChecks: (deps, { stateMachine: chain, rpcUrls: urls, host }) => {
    const network = beaconNetworkOf(evmChainId(chain));
    if (network === undefined) return [];
    const nodes = host.beaconHttpUrls.map((url) => new RestEndpoint(deps, { url: url.reveal(), chain }));
    const beacon = checkBeaconEndpoints(deps.clock, { chain, network, nodes });
    return [...checkEvmEndpoints(deps, { chain, urls }), beacon];
  },
  createProver: (context, section) => {
    const { stateMachine, rpcUrls, host } = section;
    const network = beaconNetworkOf(evmChainId(stateMachine));
    if (network === undefined) throw new Error(`${stateMachine} has no beacon chain`);
    const execution = openEvmReader(context, { stateMachine, urls: rpcUrls });
    return new SyncCommitteeProver({ ...context, execution }, {
      ...toProverOptions(section),
      network,
      beaconUrls: host.beaconHttpUrls,
    });
  },
};
