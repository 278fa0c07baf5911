/**
 * Context shared by the fee workers: the ledger, the hub with its accounts, the chains that pay fees, and the keys that
 * claim them. Start reading at `claims/claims_worker.ts`, `withdrawals/withdrawal_worker.ts` and
 * `rewards/rewards_worker.ts`.
 */
import type { HubChain } from "../../core/chains/hub.ts";
import type { Chain } from "../../core/chains/port.ts";
import { equalBytes } from "../../core/encoding/bytes.ts";
import type { Signature } from "../../core/ismp/fees.ts";
import type { SignedMessage } from "../../core/ismp/signed_messages.ts";
import type { StateMachine } from "../../core/ismp/state_machine.ts";
import { RpcFault } from "../../core/rpc/call.ts";
import type { Limit } from "../../core/runtime/limit.ts";
import type { FeeUnits } from "./fee_units.ts";
import type { HubCalls, NonceTurns } from "./hub_calls.ts";
import type { Leg, RelayDeps, RelaySettings } from "../relay/leg.ts";

/** The hub as the fee workers use it; it signs with `[hub].signer`. */
export type FeeHub = HubChain & Pick<Chain, "signMessage">;

/** One of our keys, which the hub recognises by its address. */
export interface FeeKey {
  /** 20 bytes on EVM chains, 32 bytes on Substrate chains. */
  readonly address: Uint8Array;
  /** Signs a message in the form in which the hub checks it. */
  signMessage(message: SignedMessage, signal: AbortSignal): Promise<Signature>;
}

/** Operator settings for withdrawals. */
export interface WithdrawalSettings {
  readonly frequencySec: number;
  /** Whole currency units. */
  readonly minimumAmount: number;
}

/** Context of the fee workers, handed to each of them once. */
export interface FeeContext extends RelayDeps {
  readonly hub: FeeHub;
  /** Every configured chain besides the hub. */
  readonly chains: ReadonlyMap<StateMachine, Chain>;
  /** False until a chain has passed its start check; it is not used before. */
  readonly isUp: (chain: StateMachine) => boolean;
  /** Key of `[hub].signer`; `undefined` without one. */
  readonly hubKey: FeeKey | undefined;
  readonly calls: HubCalls;
  readonly turns: NonceTurns;
  /** Locks of rounds of claims and of withdrawals: those of the worker and of an operator's command never overlap. */
  readonly claimTurn: Limit;
  readonly withdrawalTurn: Limit;
  /** True in the running relayer, where other workers settle transactions. */
  readonly isSettledElsewhere: boolean;
  /** True for chains whose leg has a worker, which delivers payments among its messages. */
  readonly isServed: (chain: StateMachine) => boolean;
  readonly units: FeeUnits;
  readonly settings: RelaySettings;
  readonly withdrawals: WithdrawalSettings;
  /** The leg from the hub to a configured chain; its turns are shared with the worker that delivers there. */
  readonly legTo: (chain: StateMachine) => Leg;
  /** Address of the host contract, 20 bytes; `undefined` for chains without one. */
  readonly hostOf: (chain: StateMachine) => Uint8Array | undefined;
}

/** Finds the key of an address, among our chain keys and the hub account; `undefined` when it is not configured. */
export function findKey(
  context: Pick<FeeContext, "chains" | "hubKey">,
  address: Uint8Array,
): FeeKey | undefined {
  const { hubKey } = context;
  if (hubKey !== undefined && equalBytes(hubKey.address, address)) return hubKey;
  for (const chain of context.chains.values()) {
    const { relayer } = chain;
    if (relayer === undefined || !equalBytes(relayer, address)) continue;
    return { address: relayer, signMessage: (message, signal) => chain.signMessage(message, signal) };
  }
  return undefined;
}

/** True for temporary faults of endpoints: the work is retried later and the worker continues. */
export function isPassing(error: unknown): error is RpcFault {
  return error instanceof RpcFault && error.reaction !== "stop";
}

/** Finds the key of `[hub].signer`, if configured; the hub's adapter signs with it. */
export function findHubKey(hub: FeeHub, isConfigured: boolean): FeeKey | undefined {
  const { relayer } = hub;
  if (!isConfigured || relayer === undefined) return undefined;
  return { address: relayer, signMessage: (message, signal) => hub.signMessage(message, signal) };
}

/** Chain on which fees are paid out, with the receiving address. */
export interface PayingChain {
  readonly chain: Chain;
  readonly name: StateMachine;
  readonly ownAddress: Uint8Array;
}

/** Lists chains with a signer: fees can only be paid out there. */
export function payingChains(context: FeeContext): readonly PayingChain[] {
  return [...context.chains].flatMap(([name, chain]) =>
    chain.relayer === undefined ? [] : [{ chain, name, ownAddress: chain.relayer }]
  );
}

/** True for our own accounts on the chain, whoever requested the payment. */
export function isOwnPayee(context: FeeContext, { ownAddress }: PayingChain, account: Uint8Array): boolean {
  return equalBytes(ownAddress, account) || findKey(context, account) !== undefined;
}
