/**
 * Puts the pallets of a simulated hub together.
 */
import type { HubIdentity } from "./node.ts";
import { BandwidthPallet } from "./pallets/bandwidth.ts";
import { maxCallBytes, registerCallDecompressor } from "./pallets/call_decompressor.ts";
import { HostExecutivePallet } from "./pallets/host_executive.ts";
import { hubRouter } from "./pallets/hub_router.ts";
import { IsmpPallet } from "./pallets/ismp.ts";
import { MmrPallet } from "./pallets/mmr.ts";
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
}

/** Builds the runtime; further pallets register their calls here. */
export function assembleRuntime(name: RuntimeName, identity: HubIdentity, options: HubOptions): HubRuntime {
  const metadata = RuntimeMetadata.load(name);
  const runtime = new Runtime(metadata);
  const mmr = new MmrPallet(metadata);
  const hostExecutive = new HostExecutivePallet(metadata);
  const bandwidth = new BandwidthPallet(metadata);
  const { stateMachine } = identity;
  const ismp: IsmpPallet = new IsmpPallet(metadata, {
    stateMachine,
    mmr,
    hostExecutive,
    module: hubRouter({
      hub: stateMachine,
      refusesRetiredGateways: name === "nexus",
      demoModules: options.demoModules ?? [demoModuleId],
      charge: options.bandwidthGate === true
        ? (execution, request): void => bandwidth.charge(execution, request)
        : undefined,
      forward: (execution, request, commitment): void => ismp.dispatchRequest(execution, request, commitment),
    }),
  });
  registerSystem(runtime);
  ismp.register(runtime);
  registerCallDecompressor(runtime, maxCallBytes[name]);
  return { runtime, ismp, mmr, hostExecutive, bandwidth };
}
