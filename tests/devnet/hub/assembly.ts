/**
 * Puts the pallets of a simulated hub together.
 */
import type { HubIdentity } from "./node.ts";
import { BalancesPallet } from "./pallets/balances.ts";
import { BeefyProofsPallet } from "./pallets/beefy_proofs.ts";
import { BeefyProofStorage } from "./pallets/beefy_storage.ts";
import { BandwidthPallet } from "./pallets/bandwidth.ts";
import { maxCallBytes, registerCallDecompressor } from "./pallets/call_decompressor.ts";
import { HostExecutivePallet } from "./pallets/host_executive.ts";
import { hubRouter } from "./pallets/hub_router.ts";
import { IsmpPallet } from "./pallets/ismp.ts";
import { MmrPallet } from "./pallets/mmr.ts";
import { RelayerPallet } from "./pallets/relayer.ts";
import { RelayerStorage } from "./pallets/relayer_storage.ts";
import { StateCoprocessorPallet } from "./pallets/state_coprocessor.ts";
import { registerSystem } from "./pallets/system.ts";
import { demoModuleId, type HubOptions } from "./hub_options.ts";
import { Runtime } from "./runtime.ts";
import { RuntimeMetadata, type RuntimeName } from "./runtime_metadata.ts";

/** The runtime and those of its pallets that the node or an admin reaches directly. */
export interface HubRuntime {
  readonly runtime: Runtime;
  readonly ismp: IsmpPallet;
  readonly mmr: MmrPallet;
  readonly hostExecutive: HostExecutivePallet;
  readonly bandwidth: BandwidthPallet;
  readonly relayer: RelayerPallet;
  readonly beefy: { readonly pallet: BeefyProofsPallet; readonly storage: BeefyProofStorage };
}

/** Builds the runtime; further pallets register their calls here. */
export function assembleRuntime(name: RuntimeName, identity: HubIdentity, options: HubOptions): HubRuntime {
  const metadata = RuntimeMetadata.load(name);
  const runtime = new Runtime(metadata);
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
    module: hubRouter({
      hub: stateMachine,
      refusesRetiredGateways: name === "nexus",
      demoModules: options.demoModules ?? [demoModuleId],
      charge: hasGate ? (execution, request): void => bandwidth.charge(execution, request) : undefined,
      forward: (execution, request, commitment): void => ismp.dispatchRequest(execution, request, commitment),
    }),
  });
  const relayer = new RelayerPallet({ storage: new RelayerStorage(metadata), ismp, hostExecutive, balances });
  const beefyStorage = new BeefyProofStorage(metadata);
  const beefy = new BeefyProofsPallet({ storage: beefyStorage, ismp, balances, ...identity });
  const coprocessor = new StateCoprocessorPallet(metadata, {
    ismp,
    charge: hasGate
      ? (execution, get, size): void => bandwidth.chargeResponse(execution, get, size)
      : undefined,
  });
  registerSystem(runtime);
  ismp.register(runtime);
  relayer.register(runtime);
  coprocessor.register(runtime);
  registerCallDecompressor(runtime, maxCallBytes[name]);
  return {
    runtime,
    ismp,
    mmr,
    hostExecutive,
    bandwidth,
    relayer,
    beefy: { pallet: beefy, storage: beefyStorage },
  };
}
