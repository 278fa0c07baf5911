import { throws } from "node:assert/strict";
import type { ArbitrumErrorCode } from "../../../../../src/consensus/clients/arbitrum/spec/verify_update.ts";
import { RollupUpdateError } from "../../../../../src/consensus/rollup/spec/rollup_client.ts";
import type {
  ArbitrumProof,
  AssertionProof,
  AssertionState,
  GlobalState,
  NodeProof,
} from "../../../../../src/consensus/clients/arbitrum/spec/update.ts";
import {
  type ArbitrumHubView,
  verifyArbitrumUpdate,
} from "../../../../../src/consensus/clients/arbitrum/spec/verify_update.ts";
import { brokenNodes, changedHeaders, flipAddress, flipHash } from "../../../rollup/spec/vectors.ts";
import { boldUpdate, hubView, orbitUpdate, trusted } from "./vectors.ts";

const { value: bold } = boldUpdate.proof;
const { value: orbit } = orbitUpdate.proof;

/** Under another key the nodes may decide that nothing is there, or not decide. */
const otherAssertion: readonly ArbitrumErrorCode[] = ["assertion_missing", "assertion_proof"];
const otherNode: readonly ArbitrumErrorCode[] = ["node_missing", "node_proof"];

function refuses(
  what: string,
  proof: ArbitrumProof,
  codes: readonly ArbitrumErrorCode[],
  hub: Partial<ArbitrumHubView> = {},
): void {
  throws(
    () => verifyArbitrumUpdate(trusted, { l1Height: 1n, proof }, { ...hubView, ...hub }),
    (error) => error instanceof RollupUpdateError && codes.includes(error.code),
    `${what} should be refused as ${codes}`,
  );
}

const withBold = (change: Partial<AssertionProof>): ArbitrumProof => ({
  tag: "ArbitrumBold",
  value: { ...bold, ...change },
});
const withOrbit = (change: Partial<NodeProof>): ArbitrumProof => ({
  tag: "ArbitrumOrbit",
  value: { ...orbit, ...change },
});

Deno.test("Arbitrum: no field of the block's header can be changed", () => {
  for (const { what, header } of changedHeaders(bold.header)) {
    const code = what === "header, extraData" ? "send_root_mismatch" : "block_hash_mismatch";
    refuses(what, withBold({ header }), [code]);
    refuses(what, withOrbit({ header }), [code]);
  }
  for (const change of [{ baseFeePerGas: undefined }, { withdrawalsRoot: bold.header.stateRoot }]) {
    refuses("header, fields", withBold({ header: { ...bold.header, ...change } }), ["block_hash_mismatch"]);
  }
  for (
    const extraData of [
      new Uint8Array(0),
      bold.header.extraData.subarray(1),
      Uint8Array.from([...bold.header.extraData, 0]),
    ]
  ) {
    refuses("extra data of another length", withOrbit({ header: { ...bold.header, extraData } }), [
      "send_root_mismatch",
    ]);
  }
});

/** Every field of a global state changed, with the code for claims whose name or word has the state in it. */
function stateCases(
  state: GlobalState,
  inName: readonly ArbitrumErrorCode[],
): [string, GlobalState, readonly ArbitrumErrorCode[]][] {
  return [
    ["block hash", { ...state, blockHash: flipHash(state.blockHash) }, ["block_hash_mismatch"]],
    ["send root", { ...state, sendRoot: flipHash(state.sendRoot) }, ["send_root_mismatch"]],
    ["inbox position", { ...state, inboxPosition: state.inboxPosition + 1n }, inName],
    ["position in message", { ...state, positionInMessage: state.positionInMessage + 1n }, inName],
  ];
}

Deno.test("Arbitrum: no part of an assertion can be changed", () => {
  const { afterState } = bold;
  const withState = (change: Partial<AssertionState>): ArbitrumProof =>
    withBold({ afterState: { ...afterState, ...change } });
  for (const [what, globalState, codes] of stateCases(afterState.globalState, otherAssertion)) {
    refuses(what, withState({ globalState }), codes);
  }
  refuses("running", withState({ machineStatus: "Running" }), otherAssertion);
  refuses("errored", withState({ machineStatus: "Errored" }), otherAssertion);
  refuses("history", withState({ endHistoryRoot: flipHash(afterState.endHistoryRoot) }), otherAssertion);
  refuses(
    "parent",
    withBold({ previousAssertionHash: flipHash(bold.previousAssertionHash) }),
    otherAssertion,
  );
  refuses("inbox", withBold({ sequencerBatchAcc: flipHash(bold.sequencerBatchAcc) }), otherAssertion);
});

Deno.test("Arbitrum: no part of a node can be changed", () => {
  for (const [what, globalState, codes] of stateCases(orbit.globalState, ["node_mismatch"])) {
    refuses(what, withOrbit({ globalState }), codes);
  }
  refuses("running", withOrbit({ machineStatus: "Running" }), ["node_mismatch"]);
  refuses("errored", withOrbit({ machineStatus: "Errored" }), ["node_mismatch"]);
  refuses("inbox count", withOrbit({ inboxMaxCount: orbit.inboxMaxCount + 1n }), ["node_mismatch"]);
  refuses("number", withOrbit({ nodeNumber: orbit.nodeNumber + 1n }), otherNode);
});

const boldFields = [
  ["contractProof", "rollup_proof"],
  ["storageProof", "assertion_proof"],
  ["challengeProof", "parent_proof"],
] as const;
const orbitFields = [["contractProof", "rollup_proof"], ["storageProof", "node_proof"]] as const;

for (const [field, code] of boldFields) {
  Deno.test(`Arbitrum: no byte of an assertion's ${field} can be changed, and no node cut or dropped`, () => {
    for (const { what, nodes } of brokenNodes(bold[field])) {
      refuses(`${field}, ${what}`, withBold({ [field]: nodes }), [code]);
    }
  });
}

for (const [field, code] of orbitFields) {
  Deno.test(`Arbitrum: no byte of a node's ${field} can be changed, and no node cut or dropped`, () => {
    for (const { what, nodes } of brokenNodes(orbit[field])) {
      refuses(`${field}, ${what}`, withOrbit({ [field]: nodes }), [code]);
    }
  });
}

Deno.test("Arbitrum: the proof of the assertion does not do for its parent, nor the other way round", () => {
  refuses("parent", withBold({ challengeProof: bold.storageProof }), ["parent_missing", "parent_proof"]);
  refuses("assertion", withBold({ storageProof: bold.challengeProof }), otherAssertion);
});

Deno.test("Arbitrum: another L1 root or rollup does not verify", () => {
  const { l1StateRoot, rollupCore } = hubView;
  if (l1StateRoot === undefined || rollupCore === undefined) throw new Error("A complete view");
  for (const { proof } of [boldUpdate, orbitUpdate]) {
    refuses("L1 root", proof, ["rollup_proof"], { l1StateRoot: flipHash(l1StateRoot) });
    refuses("rollup", proof, ["rollup_proof"], { rollupCore: flipAddress(rollupCore) });
  }
});
