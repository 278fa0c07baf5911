import { deepStrictEqual as equal, match } from "node:assert/strict";
import { adviseOnNodes } from "../../../../src/consensus/clients/sync_committee/start_check.ts";
import type { ServedRoutes } from "../../../../src/consensus/clients/sync_committee/probe_node.ts";
import type { NodeBehaviour, OptionalRoutes } from "../../../../devnet/beacon/beacon.ts";
import { Fixture, never } from "./fixture.ts";

const nothing: ServedRoutes = { lightClient: "no", stateProofs: "no", summaries: "no", states: "no" };
const own: readonly OptionalRoutes[] = [
  "lodestarProof",
  "nimbusSummaries",
  "lodestarSummaries",
  "oldLodestarSummaries",
];

/** What a node serves, and what is said of it: nothing, or severity and text. */
const cases: readonly (readonly [string, Partial<NodeBehaviour>, readonly [string, RegExp] | undefined])[] = [
  ["Lodestar with all of its routes", { without: ["nimbusSummaries"] }, undefined],
  [
    "Nimbus",
    { without: ["lodestarProof", "lodestarSummaries", "oldLodestarSummaries"] },
    undefined,
  ],
  [
    "Lighthouse, or Prysm with --enable-light-client",
    { without: own },
    ["note", /an update reads 3 MB of a state\. Lodestar 1\.30 or later with --rest\.namespace '\*'/],
  ],
  [
    "Lodestar without light clients",
    { without: ["lightClient"] },
    ["note", /serve no light client routes.*Prysm with --enable-light-client/],
  ],
  [
    "Teku or Grandine",
    { without: [...own, "lightClient"] },
    ["warning", /an update reads whole states \(300 MB on Ethereum\)\. Lodestar.*Teku and Grandine do not/],
  ],
  [
    "a provider with states in JSON",
    { without: own, hasJsonStatesOnly: true },
    ["warning", /whole states \(300 MB on Ethereum\) in JSON.*serves bytes is better/],
  ],
  [
    "a provider without debug routes",
    { without: [...own, "debugStates"] },
    ["warning", /neither states nor proofs of them, so that no update can be made/],
  ],
];

Deno.test("sync committee prover: the start finds out what its beacon nodes serve, and says what would be better", async () => {
  await using fixture = await Fixture.start();
  const prover = fixture.prover();
  await fixture.startClient(prover);
  for (const [name, behaviour, expected] of cases) {
    fixture.beacon.change({ without: [], hasJsonStatesOnly: false, ...behaviour });
    const findings = await prover.check(never);
    equal(findings.map(({ severity }) => severity), expected === undefined ? [] : [expected[0]], name);
    if (expected !== undefined) match(findings[0]?.text ?? "", expected[1], name);
    for (const { text } of findings) match(text, /^EVM-11155111: beacon node honest/);
  }
});

Deno.test("advice on beacon nodes: what one node lacks another may have, and what is not known is not complained of", () => {
  const text = (...nodes: readonly Partial<ServedRoutes>[]): string =>
    adviseOnNodes("EVM-1", nodes.map((routes, at) => ({ host: `n${at}`, routes: { ...nothing, ...routes } })))
      .map((finding) => finding.text).join();
  match(text({}, {}), /^EVM-1: beacon nodes n0, n1 serve neither states nor proofs/);
  equal(text({ lightClient: "yes" }, { summaries: "yes" }), "");
  equal(
    text({ lightClient: "unknown", stateProofs: "unknown", summaries: "unknown", states: "unknown" }),
    "",
  );
  match(text({ lightClient: "yes", states: "slow" }), /3 MB of a state, and the first byte takes its time/);
  equal(text(), "");
});
