/**
 * Historical summaries as a text that outlives the program, with a hash over all of it: a truncated or changed text is
 * ignored. A comparison with a state shows whether the summaries are those of the chain.
 */
import { fromHex, type Hash256, toHex } from "../../../../core/encoding/bytes.ts";
import { keccak256 } from "../../../../core/encoding/hash.ts";
import { readSummaries } from "./state_prefix.ts";
import type { HistoricalSummary } from "./state_prefix.ts";

/** Summaries with the slot of the state that they were read from. */
export interface DatedSummaries {
  readonly slot: bigint;
  readonly entries: readonly HistoricalSummary[];
}

/** First line of every such text: what it is, and its layout. */
const HEAD = "causeway historical summaries 1";

/** The text: head, root of the validators at genesis (which identifies the network), slot, entries, and their hash. */
export function formatSummaries(network: Hash256, { slot, entries }: DatedSummaries): string {
  const roots = entries.map(({ blockSummaryRoot, stateSummaryRoot }) =>
    blockSummaryRoot.slice(2) + stateSummaryRoot.slice(2)
  );
  const body = [HEAD, network, String(slot), `0x${roots.join("")}`].join("\n");
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
  return { slot: BigInt(slot), entries: readSummaries(fromHex(roots)) };
}

function hashOf(body: string): string {
  return toHex(keccak256(new TextEncoder().encode(body)));
}
