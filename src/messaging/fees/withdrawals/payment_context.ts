/** Context of withdrawals, besides that of all fee workers: the legs on which the hub's payments are delivered. */
import type { FeeChain } from "../../../core/chains/fees.ts";
import { equalBytes } from "../../../core/encoding/bytes.ts";
import type { StateMachine } from "../../../core/ismp/state_machine.ts";
import { type FeeDeps, findKey } from "../fee_context.ts";
import type { ProvableHeight, WaitingPayment } from "./payment_bundles.ts";
import type { Leg, PipelineSettings } from "../../relay/leg.ts";

/** Operator settings for withdrawals. */
export interface WithdrawalSettings {
  readonly frequencySec: number;
  /** Whole currency units. */
  readonly minimumAmount: number;
}

/** Dependencies of the withdrawal worker. */
export interface PaymentDeps extends FeeDeps {
  readonly settings: PipelineSettings;
  readonly withdrawals: WithdrawalSettings;
  /** The leg from the hub to a configured chain; its turns are shared with the worker that delivers there. */
  readonly legTo: (chain: StateMachine) => Leg;
  /**
   * For chains that learn the hub's heights from bundled consensus proofs: finds a height at or above the payment's
   * block with the proofs to send in front; `undefined`: none yet. Absent when no chain uses bundled proofs.
   */
  readonly bundleTo?:
    | ((chain: FeeChain, payment: WaitingPayment, signal: AbortSignal) => Promise<ProvableHeight | undefined>)
    | undefined;
}

/** Chain on which fees are paid out, with the receiving address. */
export interface PayingChain {
  readonly chain: FeeChain;
  readonly name: StateMachine;
  readonly ownAddress: Uint8Array;
}

/** Lists chains with a signer: fees can only be paid out there. */
export function payingChains(deps: FeeDeps): readonly PayingChain[] {
  return [...deps.chains].flatMap(([name, chain]) =>
    chain.relayer === undefined ? [] : [{ chain, name, ownAddress: chain.relayer }]
  );
}

/** True for our own accounts on the chain, whoever requested the payment. */
export function isOwnPayee(deps: FeeDeps, { ownAddress }: PayingChain, account: Uint8Array): boolean {
  return equalBytes(ownAddress, account) || findKey(deps, account) !== undefined;
}
