/**
 * Which messages the hub would accept from their senders, before anything is proved (docs/protocol/hub.md section 9:
 * every POST is charged the length of its ABI encoding, every answer to a GET that of the response, which holds the
 * request), and what senders whose messages wait for bandwidth have left at the hub, as it was read last. It is in the database, so
 * that `status` and `show` tell it without asking the hub.
 */
import * as z from "zod";
import type { SenderLimit } from "../../../core/chains/hub.ts";
import type { RefusalCode } from "../../../core/chains/submission.ts";
import { abiEncodeGet, abiEncodePost, type Message } from "../../../core/ismp/message.ts";
import type { Hex } from "../../../core/encoding/bytes.ts";
import type { StateMachine } from "../../../core/ismp/state_machine.ts";
import type { Ledger } from "../../ledger/ledger.ts";

/** A sender on a chain, and what it has left. */
export interface SenderBandwidth {
  readonly sender: Hex;
  /** Bytes. */
  readonly left: bigint;
}

const stored = z.array(z.tuple([z.templateLiteral(["0x", z.string()]), z.string().regex(/^\d+$/)]));

/**
 * Records what these senders of a chain have left; senders without a limit have no bandwidth to tell of. Not within a
 * transaction.
 */
export function noteBandwidth(
  { notes, transaction }: Pick<Ledger, "notes" | "transaction">,
  source: StateMachine,
  limits: readonly { readonly sender: Hex; readonly limit: SenderLimit | undefined }[],
): void {
  const metered = limits.flatMap(({ sender, limit }) =>
    limit?.kind === "metered" ? [[sender, `${limit.remainingBytes}`] as const] : []
  );
  // Read in every round, and nearly always the same.
  const before = notes.find("bandwidth", source, stored) ?? [];
  if (JSON.stringify(before) === JSON.stringify(metered)) return;
  transaction(() => notes.write("bandwidth", source, metered));
}

/** What senders of a chain had left when it was read last: those with messages that waited for it. */
export function readBandwidth(
  { notes }: Pick<Ledger, "notes">,
  source: StateMachine,
): readonly SenderBandwidth[] {
  const known = notes.find("bandwidth", source, stored) ?? [];
  return known.map(([sender, left]) => ({ sender, left: BigInt(left) }));
}

/** Reason why the hub would not accept a message. */
export interface NotAdmitted {
  readonly code: Extract<RefusalCode, "no_bandwidth" | "blocked_sender">;
  readonly detail: string;
}

/** Remaining limits of senders while messages are admitted one after the other. */
export class Allowances {
  readonly #read = new Map<string, SenderLimit>();
  readonly #left = new Map<string, SenderLimit>();

  /** True when the sender's limit was recorded. */
  knows(sender: string): boolean {
    return this.#left.has(sender);
  }

  /** Limit of a sender as it was read, whatever was admitted since; `undefined`: it was not recorded. */
  find(sender: string): SenderLimit | undefined {
    return this.#read.get(sender);
  }

  /** Copies the limits, to test what they cover. */
  copy(): Allowances {
    const copy = new Allowances();
    for (const [sender, limit] of this.#left) copy.note(sender, limit);
    return copy;
  }

  note(sender: string, limit: SenderLimit): void {
    this.#read.set(sender, limit);
    this.#left.set(sender, limit);
  }

  /** Deducts what the message needs, or returns the reason why that is not possible. Unknown senders have no limit. */
  admit(sender: string, message: Message): NotAdmitted | undefined {
    const limit = this.#left.get(sender);
    if (limit === undefined || limit.kind === "free") return undefined;
    if (limit.kind === "blocked") {
      const detail = "the hub's runtime accepts no requests from this sender";
      return message.kind === "post" ? { code: "blocked_sender", detail } : undefined;
    }
    const needed = bytesOf(message);
    if (needed > limit.remainingBytes) {
      const detail = `needs ${needed} bytes, the sender has ${limit.remainingBytes} left at the hub`;
      return { code: "no_bandwidth", detail };
    }
    this.#left.set(sender, { kind: "metered", remainingBytes: limit.remainingBytes - needed });
    return undefined;
  }
}

/** Computes the bytes that the hub charges; for a GET the minimum. */
function bytesOf(message: Message): bigint {
  if (message.kind === "post") return BigInt(abiEncodePost(message.request).length);
  return message.kind === "get" ? BigInt(abiEncodeGet(message.request).length) : 0n;
}
