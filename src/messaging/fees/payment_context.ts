/** What withdrawals need beside the shared parts: the legs on which the hub's payments are delivered. */
import type { FeeChain } from "../../core/chains/fees.ts";
import { equalBytes } from "../../core/encoding/bytes.ts";
import type { StateMachine } from "../../core/ismp/state_machine.ts";
import type { Leg, PipelineSettings } from "../relay/leg.ts";
import { type FeeDeps, findKey } from "./fee_context.ts";
import type { WaitingPayment } from "./payment_bundles.ts";
import type { ProvableHeight } from "./provable_height.ts";

/** What the operator set for withdrawals. */
export interface WithdrawalSettings {
  readonly frequencySec: number;
  /** Whole currency units. */
  readonly minimumAmount: number;
}

/** What the withdrawal worker shares. */
export interface PaymentDeps extends FeeDeps {
  readonly settings: PipelineSettings;
  readonly withdrawals: WithdrawalSettings;
  /** The leg from the hub to a configured chain; its turns are shared with the worker that delivers there. */
  readonly legTo: (chain: StateMachine) => Leg;
  /**
   * For chains that learn heights of the hub by bundled consensus proofs: a height at or above the payment's block with
   * the proofs that go in front; `undefined`: none yet. Absent where no chain is fed like that.
   */
  readonly bundleTo?:
    | ((chain: FeeChain, payment: WaitingPayment, signal: AbortSignal) => Promise<ProvableHeight | undefined>)
    | undefined;
}

/** A chain that pays, with the address that is paid. */
export interface PayingChain {
  readonly chain: FeeChain;
  readonly name: StateMachine;
  readonly ownAddress: Uint8Array;
}

/** Chains with a signer: only there fees can be paid out. */
export function payingChains(deps: FeeDeps): readonly PayingChain[] {
  return [...deps.chains].flatMap(([name, chain]) =>
    chain.relayer === undefined ? [] : [{ chain, name, ownAddress: chain.relayer }]
  );
}

/** True for accounts that are ours on the chain, whoever ordered the payment. */
export function isOwnPayee(deps: FeeDeps, { ownAddress }: PayingChain, account: Uint8Array): boolean {
  return equalBytes(ownAddress, account) || findKey(deps, account) !== undefined;
}
