/** Formatting of fee token amounts for people. */
import type { Chain } from "../../core/chains/port.ts";
import type { ChainFees } from "../../core/chains/fees.ts";
import type { StateMachine } from "../../core/ismp/state_machine.ts";
import { RpcFault } from "../../core/rpc/call.ts";
import { formatTokenUnits } from "../relay/decisions/money.ts";

/** A chain that can be asked for the decimals of its fee token. */
type UnitChain = Pick<Chain, "id"> & { readonly fees: Pick<ChainFees, "fetchFeeTokenDecimals"> };

/** Caches the decimals of fee tokens, so that a log line costs no request. */
export class FeeUnits {
  readonly #decimals = new Map<StateMachine, number>();

  /** Reads the decimals of a chain's fee token; requested once per chain. */
  async learn(chain: UnitChain, signal: AbortSignal): Promise<number> {
    const name = chain.id.stateMachine;
    const known = this.#decimals.get(name);
    if (known !== undefined) return known;
    const decimals = await chain.fees.fetchFeeTokenDecimals(signal);
    this.#decimals.set(name, decimals);
    return decimals;
  }

  /** As {@link learn}, for log lines only: if the chain does not answer now, its decimals stay unknown. */
  async tryLearn(chain: UnitChain | undefined, signal: AbortSignal): Promise<void> {
    try {
      if (chain !== undefined) await this.learn(chain, signal);
    } catch (error) {
      if (!(error instanceof RpcFault)) throw error;
    }
  }

  /** Decimals of a chain's fee token, if already known. */
  find(chain: StateMachine): number | undefined {
    return this.#decimals.get(chain);
  }

  /**
   * Formats an amount of the chain's fee token in whole units, or in its smallest units while the decimals are unknown.
   */
  text(chain: StateMachine, amount: bigint): string {
    const decimals = this.#decimals.get(chain);
    return decimals === undefined ? `${amount} units` : formatTokenUnits(amount, decimals);
  }
}
