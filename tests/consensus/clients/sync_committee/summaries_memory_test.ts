import { deepStrictEqual as equal } from "node:assert/strict";
import {
  ethereumMainnet,
  sepolia,
} from "../../../../src/consensus/clients/sync_committee/spec/known_networks.ts";
import {
  formatSummaries,
  parseSummaries,
  SummariesMemory,
} from "../../../../src/consensus/clients/sync_committee/summaries_memory.ts";
import { seededRandomness } from "../../../support/seeded_randomness.ts";

const network = sepolia.genesisValidatorsRoot;
const chance = seededRandomness(3);
const dated = { slot: 9_015_296n, entries: chance.bytes(5 * 64) };

Deno.test("summaries text: what is written is read again", () => {
  equal(parseSummaries(network, formatSummaries(network, dated)), dated);
  const empty = { slot: 0n, entries: new Uint8Array() };
  equal(parseSummaries(network, formatSummaries(network, empty)), empty);
});

Deno.test("summaries text: one that was cut off, changed or made for another network is not taken", () => {
  const text = formatSummaries(network, dated);
  for (let length = 0; length < text.length; length++) {
    equal(parseSummaries(network, text.slice(0, length)), undefined);
  }
  for (const at of [0, 40, 100, 110, 400, text.length - 3]) {
    const changed = text.slice(0, at) + (text[at] === "0" ? "1" : "0") + text.slice(at + 1);
    equal(parseSummaries(network, changed), undefined, `character ${at}`);
  }
  equal(parseSummaries(network, `${text}\n`), undefined);
  equal(parseSummaries(ethereumMainnet.genesisValidatorsRoot, text), undefined);
});

Deno.test("summaries memory: an entry is added at the start of every period, and older states have fewer", () => {
  const entries = (...values: readonly number[]): Uint8Array =>
    Uint8Array.from(values.flatMap((value) => Array<number>(64).fill(value)));
  const memory = new SummariesMemory();
  equal(memory.missingSlots(81_920n), undefined);
  memory.note(81_920n, entries(1, 2));
  equal(memory.missingSlots(90_111n), []);
  equal(memory.entriesAt(90_111n, []), entries(1, 2));
  equal(memory.missingSlots(98_305n), [90_112n, 98_304n]);
  equal(memory.entriesAt(98_305n, [entries(3), entries(4)]), entries(1, 2, 3, 4));
  equal(memory.missingSlots(73_728n), []);
  equal(memory.entriesAt(73_728n, []), entries(1));
  equal(memory.missingSlots(81_920n + 5n * 8192n), undefined);
  memory.note(73_728n, entries(1)); // an older state shows nothing new
  equal(memory.entriesAt(81_920n, []), entries(1, 2));
});
