/**
 * Modules of a chain that is not the hub: the one that pays relayers on the hub's order, and demo modules.
 * Source: polytope-labs/hyperbridge: modules/pallets/ismp/src/dispatcher.rs (IsmpHostRouter,
 * HyperbridgeWithdrawalModule).
 */
import { equalBytes, type Hash256, type Hex, toHex } from "../../../src/core/encoding/bytes.ts";
import type { PostRequest } from "../../../src/core/ismp/message.ts";
import type { StateMachine } from "../../../src/core/ismp/state_machine.ts";
import type { CodecType } from "scale-ts";
import { decodeStrict, Enum, hash256, ScaleError, Struct, u128 } from "../../../src/core/encoding/scale.ts";
import type { Execution } from "../runtime.ts";
import { type BalancesPallet, relayerFeeAccount } from "./balances.ts";
import { converted } from "../verifiers/refusals.ts";
import { IsmpError } from "./ismp_error.ts";
import type { RequestModule } from "./ismp_request.ts";

/** Id of the module that pays relayers. */
export const feePayoutModuleId: Uint8Array = new TextEncoder().encode("HYPR-FEE");

/** Id of the demo module of every chain, which accepts every request. */
export const demoModuleId: Uint8Array = new TextEncoder().encode("hub-demo");

/** Accepts what is for the demo module. @throws {IsmpError} module_not_found for others. */
function receive({ to }: PostRequest): void {
  if (!equalBytes(to, demoModuleId)) throw new IsmpError("module_not_found", toHex(to));
}

/** The modules of a chain. */
export function chainRouter(
  options: {
    readonly coprocessor: StateMachine;
    readonly balances: BalancesPallet;
  },
): RequestModule {
  return (execution, request) =>
    equalBytes(request.to, feePayoutModuleId) ? payRelayer(options, execution, request) : receive(request);
}

function payRelayer(
  { coprocessor, balances }: Parameters<typeof chainRouter>[0],
  execution: Execution,
  request: PostRequest,
): void {
  if (request.source !== coprocessor) {
    throw new IsmpError("module_dispatch_error", `Invalid request source: ${request.source}`);
  }
  const { amount, account } = readOrder(request.body).value;
  if (!balances.transfer(execution, { from: relayerFeeAccount, to: account, amount }, false)) {
    throw new IsmpError("module_dispatch_error", "Error withdrawing protocol fees");
  }
  execution.emitIsmp({ tag: "RelayerFeeWithdrawn", value: { amount, account } });
}

function readOrder(body: Uint8Array): CodecType<typeof palletIsmpMessageCodec> {
  return converted(
    ScaleError,
    (cause) => new IsmpError("module_dispatch_error", "Failed to decode message", { cause }),
    () => decodeStrict(palletIsmpMessageCodec, body, "Message"),
  );
}

/** Body of a request from the hub to a Substrate chain's `HYPR-FEE` module. */
export const palletIsmpMessageCodec = Enum({
  WithdrawRelayerFees: Struct({ amount: u128, account: hash256 }),
});

/**
 * Where an accepted request goes: on to its destination, or to a module of the hub itself.
 * Source: polytope-labs/hyperbridge: parachain/runtimes/{nexus,gargantua}/src/ismp.rs (ProxyModule).
 */

/** Senders that nexus refuses forever, whatever the destination. */
const retiredTokenGateways: readonly Hex[] = [
  "0xfd413e3afe560182c4471f4d143a96d3e259b6de",
  "0x8b536105b6fae2ae9199f5146d3c57dfe53b614e",
  "0xce304770236f39f9911bfcc51afbdff3b8635718",
];

/** Options of {@link hubRouter}. */
interface HubRouterOptions {
  readonly hub: StateMachine;
  readonly refusesRetiredGateways: boolean;
  /** Charges the sender; undefined where the runtime was built without the gate. */
  readonly charge: ((execution: Execution, request: PostRequest) => void) | undefined;
  /** Dispatches the request onwards with the same source and nonce. */
  readonly forward: (execution: Execution, request: PostRequest, commitment: Hash256) => void;
}

/** The module that receives every request of the hub. */
export function hubRouter(options: HubRouterOptions): RequestModule {
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
    receive(request);
  };
}
