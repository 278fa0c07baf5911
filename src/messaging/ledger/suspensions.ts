/**
 * Table `suspension`: pairs of modules to which deliveries were paid for in vain. The rules are in
 * `messaging/relay/decisions/suspension.ts`.
 */
import type { Hash256 } from "../../core/encoding/bytes.ts";
import type { StateMachine } from "../../core/ismp/state_machine.ts";

/** What names a pair: who sends, who receives, and where. */
export interface SuspensionKey {
  /** The chain that the messages are delivered to. */
  readonly target: StateMachine;
  readonly from: Uint8Array;
  readonly to: Uint8Array;
}

/** A pair as stored. */
export interface SuspensionRow extends SuspensionKey {
  /** Transactions that were mined without effect for messages of the pair. */
  readonly failures: number;
  /** False after a delivery worked: its messages travel again, its failures are remembered for a while. */
  readonly isActive: boolean;
  /** When one message of the pair may be tried, Unix milliseconds; `neverMs`: only by hand. */
  readonly nextTryAtMs: number;
  /** The message that is the next or newest try. */
  readonly trial: Hash256 | undefined;
  /** The newest of those transactions. */
  readonly lastTransaction: Hash256;
  /** When the row was changed last, Unix milliseconds. */
  readonly updatedAtMs: number;
}

/** The pairs. Every method may throw a `LedgerFault`. */
export interface Suspensions {
  find(key: SuspensionKey): SuspensionRow | undefined;
  /** Pairs on the chain whose messages do not travel now. */
  listActive(target: StateMachine): SuspensionRow[];
  /** Inserts the row or replaces the one of the same pair. */
  write(row: Omit<SuspensionRow, "updatedAtMs">): void;
  /** Forgets a pair and its failures. */
  remove(key: SuspensionKey): void;
}
