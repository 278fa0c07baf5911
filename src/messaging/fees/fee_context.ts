/**
 * What the fee workers share: the ledger, the hub with its accounts, the chains that pay and are paid for, and the
 * keys that claim. Start reading at `claims_worker.ts`, `withdrawal_worker.ts` and `rewards_worker.ts`.
 */
import type { FeeChain } from "../../core/chains/fees.ts";
import type { RelayerHub } from "../../core/chains/hub_accounts.ts";
import { equalBytes } from "../../core/encoding/bytes.ts";
import type { Signature } from "../../core/ismp/fees.ts";
import type { StateMachine } from "../../core/ismp/state_machine.ts";
import { RpcFault } from "../../core/rpc/fault.ts";
import type { PipelineDeps } from "../relay/leg.ts";
import type { FeeUnits } from "./fee_units.ts";
import type { HubCalls } from "./hub_calls.ts";
import type { NonceTurns } from "./nonce_turns.ts";

/** The hub as the fee workers use it; it signs with `[hub].signer`. */
export type FeeHub = RelayerHub & Pick<FeeChain, "signDigest">;

/** A key of ours that the hub recognises by its address. */
export interface FeeKey {
  /** 20 bytes on EVM chains, 32 bytes on Substrate chains. */
  readonly address: Uint8Array;
  /** Signs a 32-byte digest in the form in which the hub checks it. */
  signDigest(digest: Uint8Array): Promise<Signature>;
}

/** What the fee workers share. */
export interface FeeDeps extends PipelineDeps {
  readonly hub: FeeHub;
  /** Every configured chain beside the hub. */
  readonly chains: ReadonlyMap<StateMachine, FeeChain>;
  /** False while a chain has not passed its start check yet: it is left alone. */
  readonly isUp: (chain: StateMachine) => boolean;
  /** `[hub].signer`; `undefined` without one. */
  readonly hubKey: FeeKey | undefined;
  readonly calls: HubCalls;
  readonly turns: NonceTurns;
  readonly units: FeeUnits;
}

/** The key of an address, ours on any chain or the hub account; `undefined`: it is not configured. */
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

/** True for faults of endpoints that may pass: the work is tried again later, the worker goes on. */
export function isPassing(error: unknown): error is RpcFault {
  return error instanceof RpcFault && error.reaction !== "stop";
}

/** The key of `[hub].signer`, when the file has one: the hub's own adapter signs with it. */
export function findHubKey(hub: FeeHub, isConfigured: boolean): FeeKey | undefined {
  const { relayer } = hub;
  if (!isConfigured || relayer === undefined) return undefined;
  return { address: relayer, signDigest: (digest) => hub.signDigest(digest) };
}
