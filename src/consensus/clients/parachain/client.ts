/** Light client of parachains on chains of the same relay chain, as the registry lists it: of siblings, of Polkadot Hub. */
import { webSocketUrl } from "../../../core/config/values.ts";
import { required, type SectionValues } from "../../../core/config/schema.ts";
import { consensusClientIds } from "../../../core/ismp/consensus_clients.ts";
import { POLKADOT_HUB_PARA_ID } from "../../../core/ismp/polkadot_hub.ts";
import { checkEvmEndpoints } from "../../checks/evm_endpoints.ts";
import { type ChainClient, type ParachainClient, toProverOptions } from "../../client.ts";
import { frequencyKey } from "../../config/keys.ts";
import { openEvmReader } from "../../evm_reader.ts";
import { connectFinality } from "../../relay_chain/relay_chain.ts";
import { checkRelayNode } from "../../relay_chain/relay_checks.ts";
import { ParachainProver } from "./parachain_prover.ts";

/** Heads in the state of the relay chain. */
export const parachainClient: ParachainClient = {
  clientId: consensusClientIds.parachain,
  createProver: (deps, options) => new ParachainProver(deps, options),
};

/** polytope-labs/hyperbridge: tesseract/consensus/parachain/src/lib.rs, `ParachainConfig`, `CONSENSUS_UPDATE_FREQUENCY`. */
const hostKeys = {
  relayRpcWs: required("relay_rpc_ws", webSocketUrl, {
    description: "A node of the relay chain of hub and chain. Any full node: the newest blocks are enough.",
    example: "wss://relay.example.org",
  }),
  consensusUpdateFrequencySec: frequencyKey(30),
};

/** `type = "substrate_evm"`: Polkadot Hub, a sibling of the hub that is stored as an EVM chain. */
export const substrateEvmClient: ChainClient<SectionValues<typeof hostKeys>> = {
  knownChains: [420420419, 420420417],
  isClosed: true,
  typeText: "`substrate_evm` of Polkadot Hub, by its heads on the relay chain",
  networks: {},
  host: {
    description: "Of type `substrate_evm`: heads of Polkadot Hub in the state of the relay chain.",
    keys: hostKeys,
  },
  nodeKeys: ["relay_rpc_ws"],
  createChecks: (deps, { stateMachine: chain, rpcUrls: urls, ismpHost, host }) => {
    const endpoints = checkEvmEndpoints(deps, { chain, urls, logsOf: ismpHost });
    const { stateMachine: hub } = deps.hub.id;
    const relay = checkRelayNode(deps.clock, () => connectFinality(deps, hub, host.relayRpcWs), {
      chain,
      proves: { headOf: POLKADOT_HUB_PARA_ID },
    });
    return [...endpoints, relay];
  },
  createProver: (context, chain) => {
    const { section, stateMachine, rpcUrls, ismpHost, host } = chain;
    const { hub: target } = context;
    const { stateMachine: hub } = target.id;
    const relay = connectFinality(context, hub, host.relayRpcWs);
    const reader = openEvmReader(context, { stateMachine, urls: rpcUrls });
    return new ParachainProver({ relay, target, host: { reader, address: ismpHost } }, {
      ...toProverOptions(chain),
      hub,
      relayKey: `[${section}.host].relay_rpc_ws`,
    });
  },
};
