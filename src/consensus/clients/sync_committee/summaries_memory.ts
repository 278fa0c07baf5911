/**
 * The historical summaries of a chain as last proved: they only grow, by one entry at the start of a period, so those
 * of other periods follow from them. Source: ethereum/consensus-specs: specs/capella/beacon-chain.md
 * (process_historical_summaries_update).
 */
import { concatBytes, fromHex, type Hash256, keccak256, toHex } from "../../../core/encoding/bytes.ts";
import { SUMMARY_BYTES } from "./spec/state_prefix.ts";
import type { PersistedText } from "../../persisted_text.ts";
import type { Log } from "../../../core/telemetry/log.ts";

/** Slots between two entries (SLOTS_PER_HISTORICAL_ROOT of all networks). */
const SLOTS_PER_ENTRY = 8192n;
/** Maximum number of entries to derive one by one; beyond that all are read again. */
const MAX_MISSING = 4n;

/** Persistent storage of summaries (`--cache`). */
export interface SummariesFile {
  readonly text: PersistedText;
  /** Root of the validators at genesis: a file of another network is ignored. */
  readonly network: Hash256;
  readonly log: Log;
}

interface Known {
  readonly span: bigint;
  /** SSZ bytes. */
  readonly entries: Uint8Array;
  /** False for loaded summaries: no state has confirmed them yet. */
  readonly isProven: boolean;
}

/** Summaries that states confirmed, or that an earlier run stored. At most a list of some thousand entries. */
export class SummariesMemory {
  #known: Known | undefined;
  readonly #file: SummariesFile | undefined;

  constructor(file?: SummariesFile) {
    this.#file = file;
    const text = file?.text.read();
    if (file === undefined || text === undefined) return;
    const loaded = parseSummaries(file.network, text);
    if (loaded === undefined) {
      file.log.info("cache_fault.summaries_discarded");
      return;
    }
    this.#known = { span: loaded.slot / SLOTS_PER_ENTRY, entries: loaded.entries, isProven: false };
  }

  /** True when the summaries come from a file and no state has confirmed them yet. */
  get isUnproven(): boolean {
    return this.#known?.isProven === false;
  }

  /** Drops the summaries of a file that contradict a state. */
  forgetUnproven(): void {
    if (!this.isUnproven) return;
    this.#known = undefined;
    this.#file?.log.info("cache_fault.summaries_discarded");
  }

  /** Notes the summaries of the state of a slot. They must have been proved. */
  note(slot: bigint, entries: Uint8Array): void {
    const span = slot / SLOTS_PER_ENTRY;
    const before = this.#known;
    if (before?.isProven === true && span < before.span) return;
    this.#known = { span, entries, isProven: true };
    if (before?.span === span && before.entries.length === entries.length) return;
    const file = this.#file;
    if (file === undefined || file.text.write(formatSummaries(file.network, { slot, entries }))) return;
    file.log.warn("cache_fault.summaries_unwritable");
  }

  /** Returns the slots whose states contain the missing entries for `slot`; `undefined`: too many are missing. */
  missingSlots(slot: bigint): readonly bigint[] | undefined {
    if (this.#known === undefined) return undefined;
    const missing = slot / SLOTS_PER_ENTRY - this.#known.span;
    if (missing > MAX_MISSING) return undefined;
    const { span } = this.#known;
    const count = missing > 0n ? Number(missing) : 0;
    return Array.from({ length: count }, (_, index) => (span + BigInt(index + 1)) * SLOTS_PER_ENTRY);
  }

  /** Returns the summaries in the state of `slot`, given the entries of all {@link missingSlots}. */
  entriesAt(slot: bigint, added: readonly Uint8Array[]): Uint8Array {
    if (this.#known === undefined) throw new Error("Nothing is known of the summaries");
    const back = Number(this.#known.span - slot / SLOTS_PER_ENTRY);
    const { entries } = this.#known;
    return back > 0
      ? entries.subarray(0, Math.max(0, entries.length - SUMMARY_BYTES * back))
      : concatBytes(entries, ...added);
  }
}

/** Summaries with the slot of the state that they were read from. */
export interface DatedSummaries {
  readonly slot: bigint;
  /** SSZ bytes. */
  readonly entries: Uint8Array;
}

/** First line of every such text: what it is, and its layout. */
const HEAD = "causeway historical summaries 1";

/** The text: head, root of the validators at genesis (which identifies the network), slot, entries, and their hash. */
export function formatSummaries(network: Hash256, { slot, entries }: DatedSummaries): string {
  const body = [HEAD, network, String(slot), toHex(entries)].join("\n");
  return `${body}\n${hashOf(body)}\n`;
}

/** The summaries of a text; `undefined` when it is none of this network, or is damaged. */
export function parseSummaries(network: Hash256, text: string): DatedSummaries | undefined {
  const lines = text.split("\n");
  const [head, of, slot, roots, hash, end] = lines;
  if (lines.length !== 6 || end !== "" || head !== HEAD || of !== network) return undefined;
  if (hash !== hashOf(lines.slice(0, 4).join("\n"))) return undefined;
  if (slot === undefined || !/^[0-9]{1,20}$/.test(slot)) return undefined;
  if (roots === undefined || !/^0x([0-9a-f]{128})*$/.test(roots)) return undefined;
  return { slot: BigInt(slot), entries: fromHex(roots) };
}

function hashOf(body: string): string {
  return toHex(keccak256(new TextEncoder().encode(body)));
}
