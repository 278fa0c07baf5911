/**
 * Modules of a chain that is not the hub: the one that pays relayers on the hub's order, and demo modules.
 * Source: polytope-labs/hyperbridge: modules/pallets/ismp/src/dispatcher.rs (IsmpHostRouter,
 * HyperbridgeWithdrawalModule).
 */
import { equalBytes, toHex } from "../../../src/core/encoding/bytes.ts";
import type { PostRequest } from "../../../src/core/ismp/message.ts";
import type { StateMachine } from "../../../src/core/ismp/state_machine.ts";
import { decodeStrict, ScaleError } from "../../../src/core/encoding/scale.ts";
import type { Execution } from "../runtime.ts";
import { type BalancesPallet, relayerFeeAccount } from "./balances.ts";
import { IsmpError } from "./ismp_error.ts";
import type { RequestModule } from "./ismp_request.ts";
import { type PalletIsmpMessage, palletIsmpMessageCodec } from "./fee_payout.ts";

/** Id of the module that pays relayers. */
export const feePayoutModuleId: Uint8Array = new TextEncoder().encode("HYPR-FEE");

/** The modules of a chain. @param demoModules ids of those that accept every request. */
export function chainRouter(
  options: {
    readonly coprocessor: StateMachine;
    readonly balances: BalancesPallet;
    readonly demoModules: readonly Uint8Array[];
  },
): RequestModule {
  const demo = new Set(options.demoModules.map(toHex));
  return (execution, request) => {
    if (equalBytes(request.to, feePayoutModuleId)) return payRelayer(options, execution, request);
    if (!demo.has(toHex(request.to))) throw new IsmpError("module_not_found", toHex(request.to));
  };
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

function readOrder(body: Uint8Array): PalletIsmpMessage {
  try {
    return decodeStrict(palletIsmpMessageCodec, body, "Message");
  } catch (cause) {
    if (!(cause instanceof ScaleError)) throw cause;
    throw new IsmpError("module_dispatch_error", "Failed to decode message", { cause });
  }
}
