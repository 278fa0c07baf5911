/**
 * The historical summaries of a chain as last proved: they only grow, by one entry at the start of a period, so those
 * of other periods follow from them. Source: ethereum/consensus-specs: specs/capella/beacon-chain.md
 * (process_historical_summaries_update).
 */
import type { HistoricalSummary } from "../../core/protocol/consensus/sync_committee/state_prefix.ts";

/** Slots between two entries (SLOTS_PER_HISTORICAL_ROOT of all networks). */
const SLOTS_PER_ENTRY = 8192n;
/** Entries that are found out one by one; more are read anew. */
const MOST_MISSING = 4n;

/** Summaries that states vouched for. At most a list of some thousand entries. */
export class SummariesMemory {
  #known: { readonly span: bigint; readonly entries: readonly HistoricalSummary[] } | undefined;

  /** Notes the summaries of the state of a slot. They must have been proved. */
  note(slot: bigint, entries: readonly HistoricalSummary[]): void {
    const span = slot / SLOTS_PER_ENTRY;
    if (this.#known === undefined || span >= this.#known.span) this.#known = { span, entries };
  }

  /** Slots whose states begin with what is missing to know the summaries at `slot`; `undefined`: too much is. */
  missingSlots(slot: bigint): readonly bigint[] | undefined {
    if (this.#known === undefined) return undefined;
    const missing = slot / SLOTS_PER_ENTRY - this.#known.span;
    if (missing > MOST_MISSING) return undefined;
    const { span } = this.#known;
    const count = missing > 0n ? Number(missing) : 0;
    return Array.from({ length: count }, (_, index) => (span + BigInt(index + 1)) * SLOTS_PER_ENTRY);
  }

  /** The summaries in the state of `slot`, given the entries of all {@link missingSlots}. */
  entriesAt(slot: bigint, added: readonly HistoricalSummary[]): readonly HistoricalSummary[] {
    if (this.#known === undefined) throw new Error("Nothing is known of the summaries");
    const back = Number(this.#known.span - slot / SLOTS_PER_ENTRY);
    const { entries } = this.#known;
    return back > 0 ? entries.slice(0, Math.max(0, entries.length - back)) : [...entries, ...added];
  }
}
