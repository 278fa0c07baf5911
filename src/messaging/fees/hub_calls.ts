/**
 * Calls to the hub: journalled before their bytes are sent (I3), and polled until they are final. Works from the journal
 * alone, so calls of an earlier run are found too.
 */
import type { HubCallRefusal, HubChain, RelayerHubCall } from "../../core/chains/hub.ts";
import type { BlockRef, BroadcastResult, Refusal, SubmissionOutcome } from "../../core/chains/submission.ts";
import { toHex } from "../../core/encoding/bytes.ts";
import type { StateMachine } from "../../core/ismp/state_machine.ts";
import { keepFault, RpcFault } from "../../core/rpc/call.ts";
import { Limit } from "../../core/runtime/limit.ts";
import type { Log } from "../../core/telemetry/log.ts";
import { EXTRINSIC_PATIENCE_BLOCKS } from "../relay/settle/nonces.ts";
import type { Ledger, SubmissionItem, SubmissionKind, SubmissionRow } from "../ledger/ledger.ts";

/** Refusals that concern the hub's view of a chain, not the content of the call. */
const ABOUT_THE_CHAIN: ReadonlySet<Refusal["code"]> = new Set<Refusal["code"]>([
  "not_ready",
  "host_frozen",
  "client_expired",
]);

/** Call to journal and send. */
export interface HubCallOrder {
  readonly call: RelayerHubCall;
  readonly kind: Extract<SubmissionKind, "accumulate" | "withdraw" | "claim">;
  readonly items: readonly SubmissionItem[];
  /** Writes the rows that depend on the call, in the same transaction as its journal entry. */
  readonly onJournal: (id: number) => void;
}

/** The end of a call, as its journal entry records it. */
export type HubCallEnd =
  | { readonly state: "final"; readonly block: BlockRef }
  | { readonly state: "failed"; readonly block: BlockRef; readonly detail: string }
  /** It left the transaction pool without being included. */
  | { readonly state: "dropped"; readonly detail: string };

/** Status of a call, by the states of its journal entry. */
export type HubCallStatus =
  /** Pending, or too recent to be dropped. */
  | { readonly state: "open" }
  /** In a block that may still be reorganised. */
  | { readonly state: "included"; readonly block: BlockRef }
  | HubCallEnd;

const GONE: HubCallEnd = { state: "dropped", detail: "left the transaction pool" };

/** True when the same call with other content would be refused for the same reason. */
export function isAboutChain(refusal: Refusal): boolean {
  return ABOUT_THE_CHAIN.has(refusal.code);
}

/** Finds the name of the pallet's error, without the pallet; `undefined` when the hub does not report one. */
export function findErrorName(refusal: Refusal | HubCallRefusal): string | undefined {
  const named = "error" in refusal ? refusal.error : refusal.detail;
  return named === undefined ? undefined : /^(?:\w+\.)?(\w+)$/.exec(named)?.[1];
}

/** Sends calls and tracks them. One instance per hub, shared by all workers that send. */
export class HubCalls {
  readonly #hub: HubChain;
  readonly #ledger: Ledger;
  readonly #log: Log;
  /** Submissions that are being broadcast right now. */
  readonly #leaving = new Set<number>();

  constructor(context: { readonly hub: HubChain; readonly ledger: Ledger; readonly log: Log }) {
    this.#hub = context.hub;
    this.#ledger = context.ledger;
    this.#log = context.log;
  }

  /**
   * Builds the extrinsic, journals it with everything that depends on it, and broadcasts it; returns why the hub does not
   * accept it. A lost response counts as sent.
   */
  async send(order: HubCallOrder, signal: AbortSignal): Promise<Refusal | undefined> {
    const submission = await this.#hub.hubCalls.prepareCall(order.call, signal);
    signal.throwIfAborted();
    const id = this.#ledger.transaction(() => {
      const entry = this.#ledger.submissions.record({ submission, kind: order.kind, items: order.items });
      order.onJournal(entry);
      return entry;
    });
    return await this.broadcast(id, signal);
  }

  /** Polls the status of a journalled call, and records blocks that are not final yet. */
  async poll(row: SubmissionRow, signal: AbortSignal): Promise<HubCallStatus> {
    if (this.#leaving.has(row.id)) return { state: "open" };
    const outcome = await this.#hub.outcomes.fetchOutcome(row.submission, signal);
    switch (outcome.kind) {
      case "pending":
        if (row.state !== "broadcast") this.#note(row.id, { state: "broadcast" });
        return { state: "open" };
      case "included":
        return this.#included(row, outcome);
      case "replaced":
        return GONE;
      case "unknown": {
        const head = await this.#hub.reads.fetchHeight(signal);
        return head < row.submission.madeAtHeight + EXTRINSIC_PATIENCE_BLOCKS ? { state: "open" } : GONE;
      }
    }
  }

  /** Polls every open call of one kind, and applies the ends; true when one of them advanced. */
  async settle(
    kind: HubCallOrder["kind"],
    apply: (row: SubmissionRow, end: HubCallEnd) => Promise<void> | void,
    signal: AbortSignal,
  ): Promise<boolean> {
    let hasChanges = false;
    for (const row of this.listOpen(kind)) {
      const status = await this.poll(row, signal);
      if (status.state !== "open" && status.state !== "included") await apply(row, status);
      hasChanges ||= status.state !== "open" && status.state !== row.state;
    }
    return hasChanges;
  }

  /** Records the end of a call, together with what follows from it. */
  end({ id }: SubmissionRow, end: HubCallEnd, follow: () => void = () => {}): void {
    this.#ledger.transaction(() => {
      this.#ledger.submissions.update(id, end);
      follow();
    });
  }

  /** Lists calls of one kind whose outcome is open, oldest first. */
  listOpen(kind: HubCallOrder["kind"]): readonly SubmissionRow[] {
    return this.#ledger.submissions.listUnresolved(this.#hub.id.stateMachine)
      .filter((row) => row.kind === kind);
  }

  #included(
    row: SubmissionRow,
    { block, isFinal, succeeded, refusal }: Extract<SubmissionOutcome, { kind: "included" }>,
  ): HubCallStatus {
    if (!isFinal) {
      if (row.state !== "included" || row.block?.hash !== block.hash) {
        this.#note(row.id, { state: "included", block });
      }
      return { state: "included", block };
    }
    return succeeded
      ? { state: "final", block }
      : { state: "failed", block, detail: refusal?.detail ?? "failed" };
  }

  #note(id: number, change: Parameters<Ledger["submissions"]["update"]>[1]): void {
    this.#ledger.transaction(() => void this.#ledger.submissions.update(id, change));
  }

  /** Broadcasts journalled bytes, again where that was done before; as {@link send}. */
  async broadcast(id: number, signal: AbortSignal): Promise<Refusal | undefined> {
    const row = this.#ledger.submissions.find(id);
    if (row === undefined) throw new Error(`Submission ${id} is not in the journal`);
    this.#leaving.add(id);
    try {
      const result = await this.#hub.sender.broadcast(row.submission, signal).catch(keepFault);
      if (!(result instanceof RpcFault)) return this.#applyBroadcast(id, result);
      const fields = { chain: this.#hub.id.stateMachine, transaction: row.submission.hash, error: result };
      this.#log.info("transaction_failed.broadcast_unknown", fields);
      return undefined;
    } finally {
      this.#leaving.delete(id);
    }
  }

  #applyBroadcast(id: number, result: BroadcastResult): Refusal | undefined {
    if (result.kind === "sent" || result.kind === "alreadyKnown") {
      this.#note(id, { state: "broadcast" });
      return undefined;
    }
    const refusal: Refusal = result.kind === "refused"
      ? result.refusal
      : { code: "unspecified", detail: result.kind };
    this.#note(id, { state: "dropped", detail: refusal.detail });
    return refusal;
  }
}

/** Owner of a nonce: address and chain. */
export interface NonceOwner {
  readonly address: Uint8Array;
  readonly chain: StateMachine;
}

/**
 * Serialises signatures for the hub that use `Relayer.Nonce[(address, chain)]`: withdrawals, and claims for a
 * beneficiary. One at a time per pair, from reading the nonce to the journal entry; a second would use the same nonce.
 * Shared by the workers.
 */
export class NonceTurns {
  readonly #turns = new Map<string, Limit>();

  /** Runs `work` once no other worker uses the nonce. */
  run<T>(owner: NonceOwner, work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    const key = `${toHex(owner.address)} ${owner.chain}`;
    const turn = this.#turns.get(key) ?? new Limit(1);
    this.#turns.set(key, turn);
    return turn.run(work, signal);
  }
}
