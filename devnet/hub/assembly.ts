/**
 * Puts the pallets of a simulated chain together: those of the hub, or those of any chain with pallet-ismp.
 */
import type { HubOptions, OrdinaryChain } from "./hub_options.ts";
import type { HubIdentity } from "./node.ts";
import { BalancesPallet } from "./pallets/balances.ts";
import { BandwidthPallet } from "./pallets/bandwidth.ts";
import { BeefyProofsPallet, BeefyProofStorage } from "./pallets/beefy_proofs.ts";
import { maxCallBytes, registerCallDecompressor } from "./pallets/call_decompressor.ts";
import { networksOf } from "./pallets/consensus_verifiers.ts";
import { chainRouter, hubRouter } from "./pallets/chain_router.ts";
import { HostExecutivePallet } from "./pallets/host_executive.ts";
import { IsmpPallet } from "./pallets/ismp.ts";
import { MmrPallet, offchainLeaves } from "./pallets/mmr.ts";
import { registerRelayer } from "./pallets/relayer.ts";
import { type RelayerParts, RelayerStorage } from "./pallets/relayer_storage.ts";
import { StateCoprocessorPallet } from "./pallets/state_coprocessor.ts";
import { registerSystem } from "./pallets/system.ts";
import { abiEncodePost } from "../../src/core/ismp/message.ts";
import { SimulatedRuntime } from "./runtime.ts";
import { RuntimeMetadata, type RuntimeName } from "./runtime_metadata.ts";

/** Pallets that only the hub has. */
export interface HubPallets {
  readonly mmr: MmrPallet;
  readonly hostExecutive: HostExecutivePallet;
  readonly bandwidth: BandwidthPallet;
  readonly relayer: RelayerParts;
  readonly beefy: { readonly pallet: BeefyProofsPallet; readonly storage: BeefyProofStorage };
}

/** The runtime and those of its pallets that the node or an admin reaches directly. */
export interface ChainRuntime {
  readonly runtime: SimulatedRuntime;
  readonly ismp: IsmpPallet;
  readonly balances: BalancesPallet;
  /** Undefined on other chains. */
  readonly hubOnly: HubPallets | undefined;
}

/** Builds the hub's runtime; further pallets register their calls here. */
export function assembleHub(name: RuntimeName, identity: HubIdentity, options: HubOptions): ChainRuntime {
  const metadata = RuntimeMetadata.load(name);
  const runtime = new SimulatedRuntime(metadata);
  const mmr = new MmrPallet(metadata);
  const hostExecutive = new HostExecutivePallet(metadata);
  const bandwidth = new BandwidthPallet(metadata);
  const balances = new BalancesPallet(metadata);
  const { stateMachine } = identity;
  const hasGate = options.bandwidthGate === true;
  const ismp: IsmpPallet = new IsmpPallet(metadata, {
    stateMachine,
    coprocessor: stateMachine,
    leaves: mmr,
    balances,
    evmHost: (execution, chain) => hostExecutive.evmHosts.get(execution.overlay, chain),
    networks: networksOf[name],
    module: hubRouter({
      hub: stateMachine,
      refusesRetiredGateways: name === "nexus",
      charge: hasGate
        ? (execution, request): void => bandwidth.charge(execution, request, abiEncodePost(request).length)
        : undefined,
      forward: (execution, request, commitment): void => ismp.dispatchRequest(execution, request, commitment),
    }),
  });
  const relayer: RelayerParts = {
    storage: new RelayerStorage(metadata),
    ismp,
    hostExecutive,
    balances,
    wordChains: new Set(),
  };
  const beefyStorage = new BeefyProofStorage(metadata);
  const beefy = new BeefyProofsPallet({ storage: beefyStorage, ismp, ...identity });
  const coprocessor = new StateCoprocessorPallet(metadata, {
    ismp,
    charge: hasGate ? (execution, get, size): void => bandwidth.charge(execution, get, size) : undefined,
  });
  registerSystem(runtime);
  ismp.register(runtime);
  registerRelayer(runtime, relayer);
  coprocessor.register(runtime);
  registerCallDecompressor(runtime, maxCallBytes[name]);
  const hubOnly = {
    mmr,
    hostExecutive,
    bandwidth,
    relayer,
    beefy: { pallet: beefy, storage: beefyStorage },
  };
  return { runtime, ismp, balances, hubOnly };
}

/** Pallets of gargantua that an ordinary chain with pallet-ismp does not have. */
const hubPalletNames = [
  "Sudo",
  "Mmr",
  "Relayer",
  "HostExecutive",
  "CallDecompressor",
  "StateCoprocessor",
  "Fishermen",
  "Bandwidth",
  "BeefyConsensusProofs",
  "MessagingIncentives",
];

/** Builds the runtime of a chain that is not the hub. */
export function assembleChain(chain: OrdinaryChain): ChainRuntime {
  const metadata = RuntimeMetadata.load("gargantua", hubPalletNames);
  const runtime = new SimulatedRuntime(metadata, {
    hasher: chain.hashing,
    childTrie: chain.childTrie ?? "ISMPv2",
  });
  const balances = new BalancesPallet(metadata);
  const { stateMachine, coprocessor } = chain;
  const ismp = new IsmpPallet(metadata, {
    stateMachine,
    coprocessor,
    leaves: offchainLeaves,
    balances,
    evmHost: () => undefined,
    module: chainRouter({ coprocessor, balances }),
  });
  registerSystem(runtime);
  ismp.register(runtime);
  return { runtime, ismp, balances, hubOnly: undefined };
}
