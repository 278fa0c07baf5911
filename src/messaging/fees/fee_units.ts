/** Amounts of fee tokens as people read them. */
import type { FeeChain } from "../../core/chains/fees.ts";
import type { StateMachine } from "../../core/ismp/state_machine.ts";
import { RpcFault } from "../../core/rpc/fault.ts";
import { formatTokenUnits } from "../relay/decisions/money.ts";

/** A chain that can be asked for the decimals of its fee token. */
type UnitChain = Pick<FeeChain, "id" | "fetchFeeTokenDecimals">;

/** Knows the decimals of the fee tokens that were met so far, so that a log line costs no request. */
export class FeeUnits {
  readonly #decimals = new Map<StateMachine, number>();

  /** Decimals of a chain's fee token; asked once. */
  async learn(chain: UnitChain, signal: AbortSignal): Promise<number> {
    const name = chain.id.stateMachine;
    const known = this.#decimals.get(name);
    if (known !== undefined) return known;
    const decimals = await chain.fetchFeeTokenDecimals(signal);
    this.#decimals.set(name, decimals);
    return decimals;
  }

  /** As {@link learn} for a log line only: a chain that does not answer now leaves its decimals unknown. */
  async tryLearn(chain: UnitChain | undefined, signal: AbortSignal): Promise<void> {
    try {
      if (chain !== undefined) await this.learn(chain, signal);
    } catch (error) {
      if (!(error instanceof RpcFault)) throw error;
    }
  }

  /** Decimals of a chain's fee token, if they are known by now. */
  find(chain: StateMachine): number | undefined {
    return this.#decimals.get(chain);
  }

  /** An amount of the chain's fee token in whole units; in its smallest units while the decimals are unknown. */
  text(chain: StateMachine, amount: bigint): string {
    const decimals = this.#decimals.get(chain);
    return decimals === undefined ? `${amount} units` : formatTokenUnits(amount, decimals);
  }
}
