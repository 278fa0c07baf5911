/**
 * Rewards that the hub in memory pays for deliveries: of rotations of its authorities, and of its modules' requests.
 * Source: polytope-labs/hyperbridge: modules/pallets/relayer.
 */
import type { HubRewards, RelayerHubCall } from "../../src/core/chains/hub.ts";
import type { Hash256 } from "../../src/core/encoding/bytes.ts";
import { postMessage } from "../../src/core/ismp/message.ts";
import type { StateMachine } from "../../src/core/ismp/state_machine.ts";
import { HubPart } from "./memory_accounts.ts";
import type { HostState } from "./memory_host.ts";

/** Claims of rewards. */
export type RewardCall = Extract<RelayerHubCall, { readonly kind: "claimRotation" | "claimRequest" }>;

/** What is offered, and what was paid. */
export class MemoryRewards extends HubPart implements HubRewards {
  /** Rewards of the hub's modules, hex as the hub writes it. */
  readonly modules = new Map<string, bigint>();
  /** Rewards of single rotations, by `rotation EVM-1 7`, units of the hub's token. */
  readonly rotations = new Map<string, bigint>();
  /** Reward of every other rotation. */
  everyRotation = 0n;

  /** What was paid, by `rotation EVM-1 7` or `request 0x..`. */
  get paid(): Set<string> {
    return this.node.head.state.accounts.rewarded;
  }

  /** What was paid by the newest final block. */
  get #finallyPaid(): ReadonlySet<string> {
    return this.node.block(this.node.finalHeight)?.state.accounts.rewarded ?? new Set();
  }

  fetchRotationReward(
    chain: StateMachine,
    setId: bigint,
    signal: AbortSignal,
  ): Promise<{ readonly amount: bigint; readonly isClaimed: boolean }> {
    const name = rotationName(chain, setId);
    return this.ask("fetchRotationReward", signal, () => ({
      amount: this.#amountOf(name),
      isClaimed: this.#finallyPaid.has(name),
    }));
  }

  fetchRewardedModules(signal: AbortSignal): Promise<ReadonlyMap<string, bigint>> {
    return this.ask("fetchRewardedModules", signal, () => new Map(this.modules));
  }

  fetchIsRequestClaimed(commitment: Hash256, signal: AbortSignal): Promise<boolean> {
    return this.ask("fetchIsRequestClaimed", signal, () => this.#finallyPaid.has(`request ${commitment}`));
  }

  /** Name of the error with which the hub refuses a claim; `undefined`: it takes it. */
  errorOf(call: RewardCall, { accounts }: HostState): string | undefined {
    const name = nameOf(call);
    const isPaid = accounts.rewarded.has(name);
    if (call.kind === "claimRequest") return isPaid ? "OutboundRequestAlreadyClaimed" : undefined;
    if (isPaid) return "OutboundRotationAlreadyClaimed";
    if (this.#amountOf(name) === 0n) return "OutboundNoRewardConfigured";
    return call.claim.signature.tag === "Evm" ? undefined : "OutboundSignatureNotEvm";
  }

  /** Notes what is paid. */
  apply(call: RewardCall, { accounts }: HostState): void {
    accounts.rewarded.add(nameOf(call));
  }

  #amountOf(name: string): bigint {
    return this.rotations.get(name) ?? this.everyRotation;
  }
}

function nameOf(call: RewardCall): string {
  if (call.kind === "claimRequest") return `request ${postMessage(call.claim.request).commitment}`;
  const { stateProof, setId } = call.claim;
  return rotationName(stateProof.height.id.stateMachine, setId);
}

function rotationName(chain: StateMachine, setId: bigint): string {
  return `rotation ${chain} ${setId}`;
}
