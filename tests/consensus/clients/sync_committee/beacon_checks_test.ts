import { deepStrictEqual as equal, match } from "node:assert/strict";
import {
  adviseOnNodes,
  checkBeaconEndpoints,
  type ServedRoutes,
} from "../../../../src/consensus/clients/sync_committee/beacon_checks.ts";
import {
  gnosisMainnet,
  sepolia,
} from "../../../../src/consensus/clients/sync_committee/spec/beacon_network.ts";
import { runChecks } from "../../../../src/core/checks/check_row.ts";
import { systemClock } from "../../../../src/core/runtime/system_clock.ts";
import { evmStateMachine } from "../../../../src/core/ismp/state_machine.ts";
import type { NodeBehaviour, OptionalRoutes } from "../../../../devnet/beacon/beacon.ts";
import { Fixture, never } from "./fixture.ts";

const nothing: ServedRoutes = {
  network: undefined,
  slot: 1n,
  isGloas: false,
  lightClient: "no",
  updates: "yes",
  stateProofs: "no",
  states: "no",
};
const own: readonly OptionalRoutes[] = ["lodestarProof"];

/** What a node serves, and what is said of it: nothing, or result and text. */
const cases: readonly (readonly [string, Partial<NodeBehaviour>, readonly [string, RegExp] | undefined])[] = [
  ["Lodestar with all of its routes", {}, undefined],
  [
    "Lighthouse, Nimbus, or Prysm with --enable-light-client",
    { without: own },
    ["ok", /an update reads 3 MB of a state\. Lodestar 1\.30 or later with --rest\.namespace '\*'/],
  ],
  [
    "Lodestar without light clients",
    { without: ["lightClient"] },
    ["warning", /an update reads whole states.*Prysm with --enable-light-client/],
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
  await using fixture = await Fixture.following();
  for (const [name, behaviour, expected] of cases) {
    fixture.beacon.change({ without: [], hasJsonStatesOnly: false, ...behaviour });
    const findings = await fixture.following.check(never);
    equal(findings.map(({ result }) => result), expected === undefined ? [] : [expected[0]], name);
    if (expected !== undefined) match(findings[0]?.found ?? "", expected[1], name);
    for (const { found } of findings) match(found, /^beacon node honest/);
  }
});

Deno.test("beacon checks: every node by itself, with what it serves", async () => {
  await using fixture = await Fixture.start();
  const nodes = fixture.nodes(["honest", "silent"]);
  fixture.spoil("silent", { status: () => 503 });
  const options = { chain: evmStateMachine(sepolia.chainId), network: sepolia, nodes };
  const sizes: readonly (readonly [Partial<NodeBehaviour>, string, RegExp])[] = [
    [{}, "ok", /^light clients yes, state proofs yes, states bytes$/],
    [{ without: own }, "ok", /state proofs no, states bytes$/],
    [{ without: [...own, "lightClient"] }, "ok", /^light clients no.*, state proofs no, states bytes$/],
    [{ without: [...own, "debugStates"] }, "ok", /states no$/],
  ];
  for (const [behaviour, result, found] of sizes) {
    fixture.beacon.change({ without: [], hasJsonStatesOnly: false, ...behaviour });
    const job = checkBeaconEndpoints(systemClock, options);
    const rows = await runChecks({ clock: systemClock }, [job], never);
    const routes = rows.filter(({ check }) => check === "beacon_routes");
    equal(routes.map(({ endpoint, result }) => [endpoint, result]), [["honest", result]]);
    match(routes[0]?.found ?? "", found);
    equal(
      rows.filter(({ check }) => check === "endpoint").map(({ endpoint, result }) => [endpoint, result]),
      [["honest", "ok"], ["silent", "warning"]],
    );
    const asked = fixture.asked.length;
    await runChecks({ clock: systemClock }, [job], never);
    // The second round asks each node one thing: routes are remembered, since a probe makes the node load a state.
    equal(fixture.asked.slice(asked).filter(({ host }) => host === "honest").length, 1);
  }
});

Deno.test("beacon checks: a node of another network is named", async () => {
  await using fixture = await Fixture.start();
  const network = { ...sepolia, genesisValidatorsRoot: gnosisMainnet.genesisValidatorsRoot };
  const options = { chain: evmStateMachine(sepolia.chainId), network, nodes: fixture.nodes(["honest"]) };
  const job = checkBeaconEndpoints(systemClock, options);
  const rows = await runChecks({ clock: systemClock }, [job], never);
  equal(rows.map(({ check, result }) => [check, result]), [["endpoint", "ok"], ["chain_id", "failed"]]);
  match(rows[1]?.advice ?? "", /beacon_http_urls/);
});

Deno.test("advice on beacon nodes: what one node lacks another may have, and what is not known is not complained of", () => {
  const text = (...nodes: readonly Partial<ServedRoutes>[]): string =>
    adviseOnNodes("EVM-1", nodes.map((routes, at) => ({ host: `n${at}`, routes: { ...nothing, ...routes } })))
      .map(({ found }) => found).join();
  match(text({}, {}), /^beacon nodes n0, n1 serve neither states nor proofs/);
  equal(text({ lightClient: "yes" }, { stateProofs: "yes" }), "");
  equal(text({ lightClient: "yes", isGloas: true }), "");
  const withoutUpdates = { lightClient: "yes", stateProofs: "yes", updates: "no" } as const;
  match(text({ ...withoutUpdates, states: "bytes" }), /serve no light_client\/updates.* from a state$/);
  match(text(withoutUpdates), /from a state, which none of them serves/);
  equal(
    text({ lightClient: "unknown", stateProofs: "unknown", states: "unknown" }),
    "",
  );
  match(
    text({ lightClient: "yes", states: "slow" }),
    /3 MB of a state, and the first byte may come only after ten minutes/,
  );
  equal(text(), "");
});
