/**
 * Beacon nodes of the six kinds as they are with default flags: which routes they serve, and how. The simulated node
 * behind the profile serves all of them.
 */
import type { NodeRefusal, Profile, RestBehaviour } from "./profile.ts";

const LIGHT_CLIENT = "/eth/v1/beacon/light_client/*";
const STATES = "/eth/v2/debug/beacon/states/*";
const LODESTAR_PROOFS = "/eth/v0/beacon/proof/*";
const LODESTAR_OWN = "/eth/v1/lodestar/*";
const NIMBUS_OWN = "/nimbus/*";

/** A body in JSON with this status. */
function json(status: number, body: unknown): NodeRefusal {
  return { status, page: JSON.stringify(body) };
}

/** Route of a path that a node does not have. */
const UNKNOWN = {
  lighthouse: json(404, { code: 404, message: "NOT_FOUND", stacktraces: [] }),
  prysm: { status: 404, page: "404 page not found\n" },
  teku: json(404, { code: 404, message: "Endpoint not found" }),
  nimbus: json(404, { code: 404, message: "Page not found" }),
  lodestar: json(404, { statusCode: 404, error: "Not Found", message: "Route GET not found" }),
  grandine: json(404, { code: 404, message: "Not Found" }),
} as const satisfies Readonly<Record<string, NodeRefusal>>;

/** Routes that a node has not. */
function absent(refusal: NodeRefusal, ...routes: readonly string[]): RestBehaviour {
  return { kind: "absent", routes, refusal };
}

/** Routes of other software than Prysm, Teku and Grandine. */
const OTHERS = [LIGHT_CLIENT, LODESTAR_PROOFS, LODESTAR_OWN, NIMBUS_OWN];

/** All profiles of beacon nodes. */
export const BEACON_PROFILES: readonly Profile<RestBehaviour>[] = [
  {
    name: "lighthouse",
    imitates: "Lighthouse 7 and later: light-client routes and whole states, nothing else for proofs",
    sources: [
      "sigp/lighthouse: lighthouse/tests/beacon_node.rs (light_client_server_disabled)",
      "https://lighthouse-book.sigmaprime.io/api_bn.html",
      "sigp/lighthouse#4993",
    ],
    behaviours: [absent(UNKNOWN.lighthouse, LODESTAR_PROOFS, LODESTAR_OWN, NIMBUS_OWN)],
  },
  {
    name: "prysm",
    imitates: "Prysm without --enable-light-client; states by slot are made by replaying blocks",
    sources: [
      "OffchainLabs/prysm: config/features/flags.go (enable-light-client)",
      "OffchainLabs/prysm#12799",
      "OffchainLabs/prysm#14271",
      "OffchainLabs/prysm#16085",
    ],
    behaviours: [
      absent(UNKNOWN.prysm, ...OTHERS),
      { kind: "slow", routes: [STATES], delayMs: { real: 480_000, played: 2000 } },
    ],
  },
  {
    name: "prysm-light-client",
    imitates: "Prysm with --enable-light-client",
    sources: ["OffchainLabs/prysm: config/features/flags.go (enable-light-client)"],
    behaviours: [absent(UNKNOWN.prysm, LODESTAR_PROOFS, LODESTAR_OWN, NIMBUS_OWN)],
  },
  {
    name: "teku",
    imitates: "Teku: no light-client routes without an experimental flag, finalized states by slot only",
    sources: [
      "Consensys-Incorporated/teku#11050",
      "Consensys-Incorporated/teku#4230",
      "Consensys-Incorporated/teku: BeaconRestApiOptionsTest.java (--Xrest-api-light-client-enabled)",
    ],
    behaviours: [
      absent(UNKNOWN.teku, ...OTHERS),
      { kind: "notByRoot", routes: [STATES], refusal: json(404, { code: 404, message: "Not found" }) },
    ],
  },
  {
    name: "nimbus",
    imitates: "Nimbus: light-client routes, summaries at a route of its own, whole states",
    sources: [
      "status-im/nimbus-eth2: docs/the_nimbus_book/src/light-client-data.md",
      "status-im/nimbus-eth2#6675",
    ],
    behaviours: [absent(UNKNOWN.nimbus, LODESTAR_PROOFS, LODESTAR_OWN)],
  },
  {
    name: "lodestar",
    imitates: "Lodestar with its default namespaces: no routes of its own (proofs, summaries)",
    sources: ["ChainSafe/lodestar#6824", "ChainSafe/lodestar#7245", "ChainSafe/lodestar#2809"],
    behaviours: [absent(UNKNOWN.lodestar, LODESTAR_PROOFS, LODESTAR_OWN, NIMBUS_OWN)],
  },
  {
    name: "lodestar-before-1-30",
    imitates: "Lodestar before 1.30 with --rest.namespace '*': summaries at another path",
    sources: ["ChainSafe/lodestar#7245", "ChainSafe/lodestar#2809"],
    behaviours: [absent(UNKNOWN.lodestar, "/eth/v1/lodestar/states/*", NIMBUS_OWN)],
  },
  {
    name: "grandine",
    imitates: "Grandine: whole states, no light-client routes",
    sources: ["grandinetech/grandine: http_api/src/routing.rs"],
    behaviours: [absent(UNKNOWN.grandine, ...OTHERS)],
  },
  {
    name: "beacon-json-states",
    imitates: "Answers in JSON whatever form is accepted: whole states as text",
    sources: [
      "OffchainLabs/prysm#10743 (JSON although octet-stream comes first)",
      "sigp/lighthouse#3114 (lists in the Accept header)",
      "sigp/lighthouse#2111 (JSON unless octet-stream alone is accepted)",
    ],
    behaviours: [
      absent(UNKNOWN.prysm, ...OTHERS),
      { kind: "jsonOnly", routes: [STATES] },
    ],
  },
  {
    name: "beacon-provider",
    imitates: "A provider of beacon APIs: no debug routes, requests a second, pages of its gateway",
    sources: [
      "https://docs.chainstack.com/reference/beacon-chain",
      "ethereum/beacon-APIs: beacon-node-oapi.yaml (Debug: should not be exposed publicly)",
      "attestantio/go-eth2-client#100",
    ],
    needsSecond: "no whole states",
    behaviours: [
      absent(
        { status: 403, page: "<html><body><h1>403 Forbidden</h1></body></html>" },
        STATES,
        LODESTAR_PROOFS,
        LODESTAR_OWN,
        NIMBUS_OWN,
      ),
      {
        kind: "hiccups",
        every: 4,
        refusal: { status: 502, page: "<html><body><h1>502 Bad Gateway</h1></body></html>" },
      },
    ],
  },
];
