import { deepStrictEqual as equal } from "node:assert/strict";
import { toHash256 } from "../../../../../src/core/encoding/bytes.ts";
import {
  ethereumMainnet,
  sepolia,
} from "../../../../../src/consensus/clients/sync_committee/spec/known_networks.ts";
import {
  formatSummaries,
  parseSummaries,
} from "../../../../../src/consensus/clients/sync_committee/spec/summaries_text.ts";
import { seededRandomness } from "../../../../support/seeded_randomness.ts";

const network = sepolia.genesisValidatorsRoot;
const chance = seededRandomness(3);
const root = (): ReturnType<typeof toHash256> => toHash256(chance.bytes(32));
const dated = {
  slot: 9_015_296n,
  entries: Array.from({ length: 5 }, () => ({ blockSummaryRoot: root(), stateSummaryRoot: root() })),
};

Deno.test("summaries text: what is written is read again", () => {
  equal(parseSummaries(network, formatSummaries(network, dated)), dated);
  equal(parseSummaries(network, formatSummaries(network, { slot: 0n, entries: [] })), {
    slot: 0n,
    entries: [],
  });
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
