/**
 * Context shared by the fee workers: the ledger, the hub with its accounts, the chains that pay fees, and the keys that
 * claim them. Start reading at `claims/claims_worker.ts`, `withdrawals/withdrawal_worker.ts` and
 * `rewards/rewards_worker.ts`.
 */
import type { FeeChain } from "../../core/chains/fees.ts";
import type { RelayerHub } from "../../core/chains/hub_accounts.ts";
import { equalBytes } from "../../core/encoding/bytes.ts";
import type { Signature } from "../../core/ismp/fees.ts";
import type { StateMachine } from "../../core/ismp/state_machine.ts";
import { RpcFault } from "../../core/rpc/fault.ts";
import type { FeeUnits } from "./fee_units.ts";
import type { HubCalls, NonceTurns } from "./hub_calls.ts";
import type { PipelineDeps } from "../relay/leg.ts";

/** The hub as the fee workers use it; it signs with `[hub].signer`. */
export type FeeHub = RelayerHub & Pick<FeeChain, "signDigest">;

/** One of our keys, which the hub recognises by its address. */
export interface FeeKey {
  /** 20 bytes on EVM chains, 32 bytes on Substrate chains. */
  readonly address: Uint8Array;
  /** Signs a 32-byte digest in the form in which the hub checks it. */
  signDigest(digest: Uint8Array): Promise<Signature>;
}

/** Dependencies shared by the fee workers. */
export interface FeeDeps extends PipelineDeps {
  readonly hub: FeeHub;
  /** Every configured chain besides the hub. */
  readonly chains: ReadonlyMap<StateMachine, FeeChain>;
  /** False until a chain has passed its start check; it is not used before. */
  readonly isUp: (chain: StateMachine) => boolean;
  /** Key of `[hub].signer`; `undefined` without one. */
  readonly hubKey: FeeKey | undefined;
  readonly calls: HubCalls;
  readonly turns: NonceTurns;
  readonly units: FeeUnits;
}

/** Finds the key of an address, among our chain keys and the hub account; `undefined` when it is not configured. */
export function findKey(
  deps: Pick<FeeDeps, "chains" | "hubKey">,
  address: Uint8Array,
): FeeKey | undefined {
  const { hubKey } = deps;
  if (hubKey !== undefined && equalBytes(hubKey.address, address)) return hubKey;
  for (const chain of deps.chains.values()) {
    const { relayer } = chain;
    if (relayer === undefined || !equalBytes(relayer, address)) continue;
    return { address: relayer, signDigest: (digest) => chain.signDigest(digest) };
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
  return { address: relayer, signDigest: (digest) => hub.signDigest(digest) };
}
