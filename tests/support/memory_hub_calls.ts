/** Calls of the hub in memory besides messages: answers to GET requests, claims, withdrawals and rewards. */
import type { HubCallRefusal, RelayerHubCall, RelayerHubCalls } from "../../src/core/chains/hub.ts";
import type { ChainEvent, EventPosition } from "../../src/core/chains/reads.ts";
import type { SignedSubmission } from "../../src/core/chains/submission.ts";
import { type Hash256, toHex } from "../../src/core/encoding/bytes.ts";
import { HubPart, type MemoryAccounts } from "./memory_accounts.ts";
import type { Ask } from "./memory_reads.ts";
import type { HostState } from "./memory_host.ts";
import type { MemoryCall, MemoryTransaction } from "./memory_block.ts";
import type { MemoryNode } from "./memory_node.ts";
import type { MemoryRewards } from "./memory_rewards.ts";

/** Calls that this file does itself; the node knows answers. */
type OwnCall = Exclude<RelayerHubCall, { readonly kind: "answerGets" }>;

/** What calls change, and what makes extrinsics of them. */
export interface HubCallParts {
  readonly accounts: MemoryAccounts;
  readonly rewards: MemoryRewards;
  readonly sign: (content: Pick<MemoryTransaction, "answer" | "call">) => SignedSubmission;
}

/** The calls. */
export class MemoryHubCalls extends HubPart implements RelayerHubCalls {
  /** What the runtime says to any call, when it says the same to all. */
  refusesAll: HubCallRefusal | undefined;
  /** Calls that only the pool refuses. */
  refusesAtPool: (call: RelayerHubCall) => boolean = () => false;
  readonly #parts: HubCallParts;
  readonly #made = new Map<Hash256, RelayerHubCall>();

  constructor(node: MemoryNode, ask: Ask, parts: HubCallParts) {
    super(node, ask);
    this.#parts = parts;
  }

  /** The call that was made with that hash. */
  find(hash: Hash256): RelayerHubCall | undefined {
    return this.#made.get(hash);
  }

  dryRunCall(call: RelayerHubCall, signal: AbortSignal): Promise<HubCallRefusal | undefined> {
    return this.ask("dryRunCall", signal, () => {
      if (call.kind !== "answerGets") {
        const { state, timeSec } = this.node.head;
        return this.#refusalOf(call, state, timeSec);
      }
      const refusal = this.node.tryAnswer(call.answer);
      return refusal === undefined ? undefined : { ...refusal, error: undefined };
    });
  }

  prepareCall(call: RelayerHubCall, signal: AbortSignal): Promise<SignedSubmission> {
    return this.ask("prepareCall", signal, () => {
      const content = call.kind === "answerGets" ? { answer: call.answer } : { call: this.#executable(call) };
      const submission = this.#parts.sign(content);
      this.#made.set(submission.hash, call);
      return submission;
    });
  }

  #executable(call: OwnCall): MemoryCall {
    return {
      tag: textOf(call),
      refusalIn: (state, nowSec) => this.#refusalOf(call, state, nowSec),
      apply: (state, at) => this.#apply(call, state, at),
    };
  }

  #refusalOf(call: OwnCall, state: HostState, nowSec: bigint): HubCallRefusal | undefined {
    if (this.refusesAll !== undefined) return this.refusesAll;
    const { accounts, rewards } = this.#parts;
    const error = call.kind === "accumulate" || call.kind === "withdraw"
      ? accounts.errorOf(call, state, nowSec)
      : rewards.errorOf(call, state);
    if (error === undefined) return undefined;
    const code = error === "NotReady" ? "not_ready" : "unspecified";
    return { code, detail: error, error: `Relayer.${error}` };
  }

  #apply(call: OwnCall, state: HostState, at: EventPosition): readonly ChainEvent[] {
    const { accounts, rewards } = this.#parts;
    if (call.kind === "accumulate" || call.kind === "withdraw") return accounts.apply(call, state, at);
    rewards.apply(call, state);
    return [];
  }
}

/** What two equal calls have in common. */
function textOf(call: RelayerHubCall): string {
  return JSON.stringify(call, (_, value) => {
    if (typeof value === "bigint") return value.toString();
    return value instanceof Uint8Array ? toHex(value) : value;
  });
}
