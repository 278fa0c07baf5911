/**
 * Table `suspension`: pairs of modules whose deliveries cost gas without effect. The rules are in
 * `messaging/relay/decisions/suspension.ts`.
 */
import type { Hash256 } from "../../core/encoding/bytes.ts";
import type { StateMachine } from "../../core/ismp/state_machine.ts";

/** Key of a pair: sender, receiver and target. */
export interface SuspensionKey {
  /** Chain that the messages are delivered to. */
  readonly target: StateMachine;
  readonly from: Uint8Array;
  readonly to: Uint8Array;
}

/** Stored pair. */
export interface SuspensionRow extends SuspensionKey {
  /** Number of transactions mined without effect for messages of the pair. */
  readonly failures: number;
  /** False after a successful delivery: its messages are released, its failures are remembered for a while. */
  readonly isActive: boolean;
  /** Time when one message of the pair may be retried, Unix milliseconds; `neverMs`: only manually. */
  readonly nextTryAtMs: number;
  /** Message of the next or latest retry. */
  readonly trial: Hash256 | undefined;
  /** The newest of those transactions. */
  readonly lastTransaction: Hash256;
  /** Time of the last change of the row, Unix milliseconds. */
  readonly updatedAtMs: number;
}

/** Suspended pairs. Every method may throw a `LedgerFault`. */
export interface Suspensions {
  find(key: SuspensionKey): SuspensionRow | undefined;
  /** Pairs on the chain whose messages are suspended now. */
  listActive(target: StateMachine): SuspensionRow[];
  /** Inserts the row or replaces the one of the same pair. */
  write(row: Omit<SuspensionRow, "updatedAtMs">): void;
  /** Removes a pair and its failures. */
  remove(key: SuspensionKey): void;
}
