/** Reads of a chain: its heights and times, events of its ISMP host, and what the host knows of a counterparty. */
import type { HostEvent } from "../ismp/event.ts";
import type { Hash256 } from "../encoding/bytes.ts";
import type { Message } from "../ismp/message.ts";
import type { StateMachineHeight, StateMachineId } from "../ismp/state_machine.ts";

/** Position of an event on its chain. */
export interface EventPosition {
  readonly height: bigint;
  /** Hash of the transaction or extrinsic, if the chain reports it. */
  readonly transaction: Hash256 | undefined;
}

/** Event of a chain's ISMP host with its place, in the order of occurrence. */
export type ChainEvent = HostEvent & { readonly at: EventPosition };

/** Chain's view of a counterparty, read at one block. */
export interface CounterpartyView {
  /** Latest height of the counterparty whose commitment is stored here; 0: none. May decrease after a veto. */
  readonly height: bigint;
  /** Clock of the chain, Unix seconds. */
  readonly nowSec: bigint;
  /** Minimum age of a commitment before proofs against it are accepted, seconds; 0: none. */
  readonly challengePeriodSec: bigint;
  /** True while the host rejects incoming messages. */
  readonly isFrozen: boolean;
}

/**
 * Minimum progress of a node whose answer may settle a message: it knows this height, and its clock has reached this
 * time.
 */
export interface ReadSince {
  readonly height?: bigint | undefined;
  /** Unix seconds. */
  readonly timeSec?: bigint | undefined;
}

/** Value that may settle a message; `unsure` if endpoints disagree, or none that is far enough answered. */
export type Certain<T> = { readonly kind: "certain"; readonly value: T } | { readonly kind: "unsure" };

/** Result for every value that is not certain. */
export const UNSURE = { kind: "unsure" } as const;

/** Plain reads at the newest block; any endpoint may answer. */
export interface ChainReads {
  /** Newest block (best, not final). */
  fetchHeight(signal: AbortSignal): Promise<bigint>;
  /** Newest block that a reorganisation cannot remove. */
  fetchFinalHeight(signal: AbortSignal): Promise<bigint>;
  /** Unix seconds of the block at `height`; used to limit how far back to catch up after a long outage. */
  fetchBlockTime(height: bigint, signal: AbortSignal): Promise<bigint>;
  /** Chain's view of `counterparty`; one round trip. */
  fetchView(counterparty: StateMachineId, signal: AbortSignal): Promise<CounterpartyView>;
  /** Time at which the commitment of that height was stored, Unix seconds; `undefined`: none stored (any more). */
  fetchUpdateTime(height: StateMachineHeight, signal: AbortSignal): Promise<bigint | undefined>;
  /**
   * State root of a counterparty's block as stored here; `undefined`: none (any more). If there is one, proofs of
   * that chain must lead to it, whatever its endpoints report.
   */
  fetchStateRoot(of: StateMachineHeight, signal: AbortSignal): Promise<Hash256 | undefined>;
  /** Per message the relayer that delivered it here, `undefined` if undelivered; one round trip. */
  fetchReceipts(
    messages: readonly Message[],
    signal: AbortSignal,
  ): Promise<readonly (Uint8Array | undefined)[]>;
}

/** Reads of what happened on the chain. */
export interface ChainEvents {
  /**
   * Events of blocks `from` to `to`, both inclusive, in order. Complete or a fault: an endpoint that has not reached
   * `to` yet is `lagging`. Splits ranges that are too wide for the endpoint.
   */
  fetchEvents(from: bigint, to: bigint, signal: AbortSignal): Promise<readonly ChainEvent[]>;
  /** Finds the block of a transaction; absent where nodes cannot be asked for one. */
  findTransaction?(hash: Hash256, signal: AbortSignal): Promise<bigint | undefined>;
}

/**
 * Reads reliable enough to settle a message: at one block that is far enough, and at a second endpoint, if there is
 * one. A few round trips.
 */
export interface CertainReads {
  /** As {@link ChainReads.fetchReceipts}. */
  fetchCertainReceipts(
    messages: readonly Message[],
    since: ReadSince,
    signal: AbortSignal,
  ): Promise<readonly Certain<Uint8Array | undefined>[]>;
  /** Fees of requests of this chain, units of its fee token; `undefined`: unknown request (any more). */
  fetchCertainFees(
    commitments: readonly Hash256[],
    since: ReadSince,
    signal: AbortSignal,
  ): Promise<readonly Certain<bigint | undefined>[]>;
}

/** Who may deliver to a module, as read last. */
export interface Gate {
  /** The only account whose deliveries the module accepts; `undefined`: it accepts those of everybody. */
  readonly account: Uint8Array | undefined;
  /** Unix milliseconds at which it was read. */
  readonly readAtMs: number;
  /** Unix milliseconds from which it is read again. */
  readonly untilMs: number;
}

/** Gates of modules that accept deliveries of one relayer only (docs/protocol/evm-host.md section 13). */
export interface ModuleGates {
  /**
   * Reads the gates of modules, in order: at two endpoints, if there are two, and remembered for a day. While they
   * disagree the last certain answer counts for up to two days; without one, the module counts as open.
   */
  fetchGates(modules: readonly Uint8Array[], signal: AbortSignal): Promise<readonly Gate[]>;
  /** Gate of a module as read last; `undefined`: it is not remembered. */
  find(module: Uint8Array): Gate | undefined;
  /** Forgets the gate of a module, or all of them: they are read again when they are needed. */
  forget(module?: Uint8Array): void;
  /**
   * True when governance has replaced contracts of the host since the last call: all gates are forgotten. Asks nothing
   * while no gate is closed, and at most every five minutes.
   */
  pollHost(signal: AbortSignal): Promise<boolean>;
}
