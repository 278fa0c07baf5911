/**
 * Where an accepted request goes: on to its destination, or to a module of the hub itself.
 * Source: polytope-labs/hyperbridge: parachain/runtimes/{nexus,gargantua}/src/ismp.rs (ProxyModule).
 */
import { equalBytes, type Hash256, type Hex, toHex } from "../../../src/core/encoding/bytes.ts";
import type { PostRequest } from "../../../src/core/ismp/message.ts";
import type { StateMachine } from "../../../src/core/ismp/state_machine.ts";
import type { Execution } from "../runtime.ts";
import { feePayoutModuleId } from "./chain_router.ts";
import { IsmpError } from "./ismp_error.ts";
import type { RequestModule } from "./ismp_request.ts";

/** Senders that nexus refuses forever, whatever the destination. */
const retiredTokenGateways: readonly Hex[] = [
  "0xfd413e3afe560182c4471f4d143a96d3e259b6de",
  "0x8b536105b6fae2ae9199f5146d3c57dfe53b614e",
  "0xce304770236f39f9911bfcc51afbdff3b8635718",
];

/** Lengths of module ids: pallet, EVM contract, contract account. */
const moduleIdLengths = [8, 20, 32];

/** Options of {@link hubRouter}. */
export interface HubRouterOptions {
  readonly hub: StateMachine;
  readonly refusesRetiredGateways: boolean;
  /** Ids of the demo modules, which accept every request; all other ids of the hub are unknown. */
  readonly demoModules: readonly Uint8Array[];
  /** Charges the sender; undefined where the runtime was built without the gate. */
  readonly charge: ((execution: Execution, request: PostRequest) => void) | undefined;
  /** Dispatches the request onwards with the same source and nonce. */
  readonly forward: (execution: Execution, request: PostRequest, commitment: Hash256) => void;
}

/** The module that receives every request of the hub. */
export function hubRouter(options: HubRouterOptions): RequestModule {
  const demo = new Set(options.demoModules.map(toHex));
  return (execution, request, commitment) => {
    if (options.refusesRetiredGateways && retiredTokenGateways.includes(toHex(request.from))) {
      throw new IsmpError("module_dispatch_error", `retired token gateway ${toHex(request.from)}`);
    }
    // The pallet's own module takes this id on every chain, whatever the destination, and hears only the hub.
    if (equalBytes(request.to, feePayoutModuleId)) {
      throw new IsmpError("module_dispatch_error", `Invalid request source: ${request.source}`);
    }
    options.charge?.(execution, request);
    if (request.dest !== options.hub) {
      options.forward(execution, request, commitment);
      return;
    }
    if (!moduleIdLengths.includes(request.to.length)) {
      throw new IsmpError("module_not_found", `id of ${request.to.length} bytes`);
    }
    if (!demo.has(toHex(request.to))) throw new IsmpError("module_not_found", toHex(request.to));
  };
}
