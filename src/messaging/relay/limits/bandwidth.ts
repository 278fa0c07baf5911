/**
 * What senders whose messages wait for bandwidth have left at the hub, as it was read last. It is in the database, so
 * that `status` and `show` tell it without asking the hub.
 */
import * as z from "zod";
import type { SenderLimit } from "../../../core/chains/hub.ts";
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
  { meta, transaction }: Pick<Ledger, "meta" | "transaction">,
  source: StateMachine,
  limits: readonly { readonly sender: Hex; readonly limit: SenderLimit | undefined }[],
): void {
  const metered = limits.flatMap(({ sender, limit }) =>
    limit?.kind === "metered" ? [[sender, `${limit.remainingBytes}`]] : []
  );
  const text = metered.length === 0 ? "" : JSON.stringify(metered);
  // Read in every round, and nearly always the same.
  if ((meta.find(nameOf(source)) ?? "") === text) return;
  transaction(() => meta.write(nameOf(source), text));
}

/** What senders of a chain had left when it was read last: those with messages that waited for it. */
export function readBandwidth(
  { meta }: Pick<Ledger, "meta">,
  source: StateMachine,
): readonly SenderBandwidth[] {
  const text = meta.find(nameOf(source)) ?? "";
  if (text === "") return [];
  return stored.parse(JSON.parse(text)).map(([sender, left]) => ({ sender, left: BigInt(left) }));
}

function nameOf(source: StateMachine): string {
  return `bandwidth of ${source}`;
}
