/**
 * The hub in memory, for everybody who delivers messages: a {@link MemoryChain} with the parts that only a hub has.
 * Each part has a file of its own; all of them keep what they know in the state of the node's blocks.
 */
import type { PaidFees } from "../../src/core/chains/fees.ts";
import type { CheckRow } from "../../src/core/checks/check_row.ts";
import type { Counterparties, HubChain, SenderLimit, SenderLimits } from "../../src/core/chains/hub.ts";
import type { BroadcastResult, SignedSubmission } from "../../src/core/chains/submission.ts";
import { type Hash256, toHex } from "../../src/core/encoding/bytes.ts";
import type { Signature } from "../../src/core/ismp/fees.ts";
import type { SignedMessage } from "../../src/core/ismp/signed_messages.ts";
import type { Clock } from "../../src/core/runtime/clock.ts";
import { MemoryAcceptedProofs } from "./memory_accepted_proofs.ts";
import { MemoryAccounts, type ReadEvidence } from "./memory_accounts.ts";
import { MemoryChain, type MemoryChainOptions } from "./memory_chain.ts";
import { MemoryHubCalls } from "./memory_hub_calls.ts";
import type { MemoryNode } from "./memory_node.ts";
import type { Ask } from "./memory_reads.ts";
import { MemoryRewards } from "./memory_rewards.ts";

/** Settings of a {@link MemoryHub}. */
export interface MemoryHubOptions extends MemoryChainOptions {
  /** What proofs of the other chains show; absent: no fees and no receipts. */
  readonly evidence?: ReadEvidence;
  /** Smallest payment to chains without one of their own, units of the fee token. */
  readonly minimumPayment?: bigint;
  /** Signs for the account of the relayer; absent: it has none. */
  readonly sign?: (digest: Hash256) => Signature;
}

/** The hub for one relayer. */
export class MemoryHub extends MemoryChain implements HubChain {
  readonly accounts: MemoryAccounts;
  readonly rewards: MemoryRewards;
  readonly hubCalls: MemoryHubCalls;
  readonly acceptedProofs: MemoryAcceptedProofs;
  readonly counterparties: Counterparties;
  readonly senderLimits: SenderLimits;
  /** What it finds wrong about every other chain. */
  counterpartyFindings: readonly CheckRow[] = [];
  readonly #sign: MemoryHubOptions["sign"];

  constructor(node: MemoryNode, clock: Clock, options: MemoryHubOptions) {
    super(node, clock, options);
    const ask: Ask = (method, signal, work) => this.call(method, signal, work);
    this.accounts = new MemoryAccounts(node, ask, options);
    this.rewards = new MemoryRewards(node, ask);
    const { accounts, rewards } = this;
    this.hubCalls = new MemoryHubCalls(node, ask, {
      accounts,
      rewards,
      sign: (content) => this.signed({ steps: [] }, { gasLimit: 0n }, { nonceAtLeast: undefined }, content),
    });
    this.acceptedProofs = new MemoryAcceptedProofs(node, ask, (code, method) => this.fault(code, method));
    this.counterparties = {
      checkCounterparty: (_entry, signal) =>
        ask("checkCounterparty", signal, () => this.counterpartyFindings),
      findUnlisted: () => Promise.resolve(undefined),
    };
    this.senderLimits = {
      fetchSenderLimits: (_source, senders, signal) =>
        ask("fetchSenderLimits", signal, () => senders.map((sender) => this.#limitOf(sender))),
    };
    this.#sign = options.sign;
  }

  #limitOf(sender: Uint8Array): SenderLimit {
    const remainingBytes = this.node.head.state.bandwidth.get(toHex(sender));
    return remainingBytes === undefined ? { kind: "free" } : { kind: "metered", remainingBytes };
  }

  override broadcast(submission: SignedSubmission, signal: AbortSignal): Promise<BroadcastResult> {
    const call = this.hubCalls.find(submission.hash);
    if (call === undefined || !this.hubCalls.refusesAtPool(call)) return super.broadcast(submission, signal);
    return this.call(
      "broadcast",
      signal,
      () => ({ kind: "refused", refusal: { code: "unspecified", detail: "pool" } }),
    );
  }

  /** Nobody pays a fee on the hub itself. */
  override fetchFees(commitments: readonly Hash256[]): Promise<PaidFees> {
    return Promise.resolve({ units: commitments.map(() => undefined), decimals: 18 });
  }

  override fetchFeeTokenDecimals(): Promise<number> {
    return Promise.resolve(18);
  }

  override signMessage(message: SignedMessage, signal: AbortSignal): Promise<Signature> {
    return this.#sign === undefined
      ? super.signMessage(message, signal)
      : Promise.resolve(this.#sign(message.digest));
  }
}
