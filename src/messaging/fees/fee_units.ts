/** Amounts of fee tokens as people read them. */
import type { FeeChain } from "../../core/chains/fees.ts";
import type { StateMachine } from "../../core/protocol/ismp/state_machine.ts";
import { formatTokenUnits } from "../decisions/money.ts";

/** Knows the decimals of the fee tokens that were met so far, so that a log line costs no request. */
export class FeeUnits {
  readonly #decimals = new Map<StateMachine, number>();

  /** Decimals of a chain's fee token; asked once. */
  async learn(chain: FeeChain, signal: AbortSignal): Promise<number> {
    const name = chain.id.stateMachine;
    const known = this.#decimals.get(name);
    if (known !== undefined) return known;
    const decimals = await chain.fetchFeeTokenDecimals(signal);
    this.#decimals.set(name, decimals);
    return decimals;
  }

  /** An amount of the chain's fee token in whole units; in its smallest units while the decimals are unknown. */
  text(chain: StateMachine, amount: bigint): string {
    const decimals = this.#decimals.get(chain);
    return decimals === undefined ? `${amount} units` : formatTokenUnits(amount, decimals);
  }
}
