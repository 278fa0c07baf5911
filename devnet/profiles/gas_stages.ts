/** What nodes do about the price of gas. */
import { parseTransaction } from "viem";
import { refuseCall } from "./refusal.ts";
import type { Ask, Call } from "./rpc_behaviour.ts";
import { byCall, type Of, type Stage, type Strike } from "./stage.ts";

/** Suggests a lower tip than it takes. */
export function lowestTipStage(
  { takesWei, suggestsWei, refusal }: Of<"lowestTip">,
  strike: Strike,
): Stage {
  return byCall(async (call, next, ask) => {
    switch (call.method) {
      case "eth_gasPrice":
        strike();
        return quantity(call, await baseFee(ask) + suggestsWei);
      case "eth_maxPriorityFeePerGas":
        strike();
        return quantity(call, suggestsWei);
      case "eth_sendRawTransaction": {
        const tip = tipOf(call);
        if (tip >= takesWei) return await next(call);
        strike();
        return refuseCall(call, refusal, { max: takesWei, count: tip });
      }
      default:
        return await next(call);
    }
  });
}

function quantity({ id }: Call, wei: bigint): { readonly id: unknown; readonly result: string } {
  return { id, result: `0x${wei.toString(16)}` };
}

async function baseFee(ask: Ask): Promise<bigint> {
  const { result } = await ask({ id: 0, method: "eth_getBlockByNumber", params: ["latest", false] });
  return BigInt(Object(result).baseFeePerGas ?? 0);
}

/** What a transaction offers beside the base fee; of a legacy one the whole price, as pools count it. */
function tipOf({ params: [raw] }: Call): bigint {
  const { maxPriorityFeePerGas, gasPrice } = parseTransaction(`0x${String(raw).slice(2)}`);
  return maxPriorityFeePerGas ?? gasPrice ?? 0n;
}
