/** Builds the adapters of the hub and of every configured chain, with the real network behind them. */
import { createEvmChain } from "../core/chains/evm/evm_chain.ts";
import { createHubChain } from "../core/chains/substrate/relayer_hub.ts";
import { createSubstrateChain } from "../core/chains/substrate/substrate_chain.ts";
import { createSubstrateEvmChain } from "../core/chains/substrate_evm/substrate_evm_chain.ts";
import { signerAddress } from "../core/config/secrets.ts";
import type { ChainConfig, MessagingConfig } from "./config/schema.ts";
import { fromHex } from "../core/encoding/bytes.ts";
import { sr25519PublicKey } from "../core/ismp/signed_messages.ts";
import { fenceNetwork, type Transports } from "../core/rpc/fenced_network.ts";
import { platformFetch } from "../core/rpc/http.ts";
import type { RpcObserver } from "../core/rpc/observed_endpoint.ts";
import { createBudgets } from "../core/rpc/request_budget.ts";
import { platformSocket } from "../core/rpc/socket.ts";
import type { Clock, Randomness } from "../core/runtime/clock.ts";
import type { MayWork } from "../core/runtime/fence.ts";
import type { Log } from "../core/telemetry/log.ts";
import type { ConfiguredChain, Connections } from "./session.ts";

/** Dependencies of the adapters, besides the network. */
export interface ConnectDeps {
  readonly clock: Clock;
  readonly random: Randomness;
  readonly log: Log;
  /** Notified of every request; absent: nobody observes. */
  readonly observer?: RpcObserver | undefined;
  /** Asked right before anything is sent; absent: there is no fence. */
  readonly mayWork?: MayWork | undefined;
}

/** Network of the machine. */
const PLATFORM: Transports = { fetch: platformFetch, openSocket: platformSocket };

/** Creates the adapters of all configured chains. Connections are made at the first request. */
export function connectChains(deps: ConnectDeps, config: MessagingConfig): Connections {
  const network = {
    ...deps.mayWork === undefined ? PLATFORM : fenceNetwork(PLATFORM, deps.mayWork),
    clock: deps.clock,
    randomness: deps.random,
    log: deps.log,
    observer: deps.observer,
    budgetOf: createBudgets(deps.clock, [config.hub, ...config.chains]),
  };
  const { hub } = config;
  const relayerId = unsignedRelayerId(config.chains);
  const hubChain = createHubChain(network, {
    id: { stateMachine: hub.stateMachine, consensusStateId: hub.consensusStateId },
    hashing: "Keccak",
    rpcWs: hub.rpcWs,
    maxRpcPayloadSizeBytes: hub.maxRpcPayloadSizeBytes,
    maxConcurrentQueries: hub.maxConcurrentQueries,
    signer: hub.signer,
    relayerId,
  });
  const chains = config.chains.map((chain): ConfiguredChain => {
    if (chain.type === "evm") return { config: chain, chain: createEvmChain(network, chain) };
    if (chain.type === "substrate_evm") {
      return { config: chain, chain: createSubstrateEvmChain(network, chain) };
    }
    const substrate = createSubstrateChain(network, {
      id: { stateMachine: chain.stateMachine, consensusStateId: chain.consensusStateId },
      hashing: chain.hashing,
      rpcWs: chain.rpcWs,
      maxRpcPayloadSizeBytes: chain.maxRpcPayloadSizeBytes,
      maxConcurrentQueries: chain.maxConcurrentQueries,
      signer: chain.signer,
      relayerId: chain.inboundOnly ? undefined : relayerId,
      feeTokenDecimals: chain.feeTokenDecimals,
    });
    return { config: chain, chain: substrate };
  });
  return { hub: hubChain, chains };
}

/**
 * Relayer id under which Substrate chains without a signer, including the hub, record our deliveries: our first EVM
 * address, or else the public key of our first Substrate account. Empty only if no key is configured.
 */
function unsignedRelayerId(chains: readonly ChainConfig[]): Uint8Array {
  const evm = chains.flatMap((chain) => chain.type === "substrate" ? [] : chain.signer ?? []).at(0);
  if (evm !== undefined) return signerAddress(evm);
  const key = chains.flatMap((chain) => chain.type === "substrate" ? chain.signer ?? [] : []).at(0);
  return key === undefined ? new Uint8Array() : sr25519PublicKey(fromHex(key.reveal()));
}
