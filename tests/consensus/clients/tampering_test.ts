// Known updates with one value changed, wherever it is: none is accepted, and what tells changes apart has its code.
// Those of Polygon are in devnet/hub/polygon_client_test.ts, beside the verdict of another verifier.
import assert from "node:assert/strict";
import { arbitrumState } from "./arbitrum/spec/vectors.ts";
import * as arbitrum from "./arbitrum/spec/vectors.ts";
import * as bsc from "./bsc/spec/vectors.ts";
import { codeOf, type Codes, refusesChanges } from "./changed_once.ts";
import * as opStack from "./op_stack/spec/vectors.ts";
import { readSynthetic } from "./sync_committee/spec/vectors.ts";
import { brokenNodes, flipAddress, flipHash, l1Id, rollupId } from "../rollup/spec/vectors.ts";
import type { ArbitrumProof } from "../../../src/consensus/clients/arbitrum/spec/update.ts";
import {
  type ArbitrumHubView,
  verifyArbitrumUpdate,
} from "../../../src/consensus/clients/arbitrum/spec/verify_update.ts";
import { sepolia } from "../../../src/consensus/clients/sync_committee/spec/beacon_network.ts";
import { verifyUpdate } from "../../../src/consensus/clients/sync_committee/spec/verify_update.ts";
import { verifyBscUpdate } from "../../../src/consensus/clients/bsc/spec/verify_update.ts";
import type { GameTypeConfig, OpStackProof } from "../../../src/consensus/clients/op_stack/spec/update.ts";
import {
  type OpStackHubView,
  verifyOpStackUpdate,
} from "../../../src/consensus/clients/op_stack/spec/verify_update.ts";
import type { ProofNodes } from "../../../src/consensus/rollup/spec/l1_storage.ts";

/** An update of a client, as far as it is verified. */
interface Subject {
  readonly name: string;
  readonly value: object;
  readonly verify: (value: never) => unknown;
  readonly codes: Codes;
  /** Places that do not count. */
  readonly free?: RegExp;
}

/** A word of a union; no bytes are any other text. */
const UNION_TEXT = /machineStatus/;

const synthetic = readSynthetic();
const trusted = { finalizedHeight: 1n, stateMachineId: rollupId, l1StateMachineId: l1Id };

function verifyArbitrum(proof: ArbitrumProof, hub: Partial<ArbitrumHubView> = {}): unknown {
  const view = { ...arbitrum.hubView, ...hub };
  return verifyArbitrumUpdate(arbitrumState(trusted), { l1Height: 1n, proof }, view);
}

function verifyOpStack(proof: OpStackProof, hub: Partial<OpStackHubView> = {}): unknown {
  const view = { ...opStack.hubView, ...hub };
  return verifyOpStackUpdate(opStack.opStackState(trusted), { l1Height: 1n, proof }, view);
}

const games = Object.entries({ "fault dispute game": opStack.faultGame, aggregate: opStack.aggregateGame });

/** Claims of rollups: each of their lists of nodes is a proof. */
const claims: readonly Subject[] = [
  {
    name: "assertion",
    value: arbitrum.boldUpdate.proof.value,
    verify: (value) => verifyArbitrum({ tag: "ArbitrumBold", value }),
    codes: {
      ".header": "block_hash_mismatch",
      ".header.extraData": "send_root_mismatch",
      ".afterState.globalState.blockHash": "block_hash_mismatch",
      ".afterState.globalState.sendRoot": "send_root_mismatch",
      ".contractProof": "rollup_proof",
      ".storageProof": "assertion_proof",
      ".challengeProof": "parent_proof",
    },
    free: UNION_TEXT,
  },
  {
    name: "node",
    value: arbitrum.orbitUpdate.proof.value,
    verify: (value) => verifyArbitrum({ tag: "ArbitrumOrbit", value }),
    codes: {
      ".header": "block_hash_mismatch",
      ".header.extraData": "send_root_mismatch",
      ".globalState.inboxPosition": "node_mismatch",
      ".inboxMaxCount": "node_mismatch",
      ".contractProof": "rollup_proof",
      ".storageProof": "node_proof",
    },
    free: UNION_TEXT,
  },
  ...games.map(([name, { proof: { value } }]): Subject => ({
    name,
    value,
    verify: (value) => verifyOpStack({ tag: "OpFaultProofGames", value }),
    codes: {
      ".gameType": "unsupported_game_type",
      ".proxy": "game_mismatch",
      ".timestampSec": "game_mismatch",
      ".disputeFactoryProof": "factory_proof",
      ".disputeGameProof": "game_proof",
      ".gameImplProof": "implementation_proof",
      ".proxyAccountProof": "challenge_account_proof",
      ".challengeProof": "challenge_proof",
    },
  })),
];

const subjects: readonly Subject[] = [
  ...claims,
  ...Object.entries({ staging: bsc.staging, enactment: bsc.enactment }).map(([name, value], at): Subject => ({
    name: `${name} of validators`,
    value,
    verify: (update) => verifyBscUpdate(bsc.stateAt(at), update, bsc.hub),
    codes: { ".sourceHeader.gasUsed": "source_hash", ".targetHeader": "target_hash" },
    free: /^\.attestedHeader/,
  })),
  {
    name: "beacon update",
    value: synthetic.second,
    verify: (update) => verifyUpdate(sepolia, synthetic.trusted, update),
    codes: {
      ".attestedHeader": "signature",
      ".attestedHeader.slot": "slot_order",
      ".finalizedHeader": "finality_branch",
      ".finalityProof": "finality_branch",
      ".executionPayload": "execution_branch",
      ".syncCommitteeUpdate": "committee_branch",
      ".syncAggregate": "signature",
    },
    // It only selects fork and period; of 512 keys these show what holds for all.
    free: /^\.signatureSlot|publicKeys\[(?!0\]|255\]|511\])/,
  },
];

for (const { name, value, verify, codes, free } of subjects) {
  Deno.test(`tampering: no value of a ${name} can be changed`, () => {
    refusesChanges(value, verify, codes, free);
  });
}

for (const { name, value, verify, codes } of claims) {
  const proofs = Object.entries(value).filter(([field]) => field.endsWith("Proof")) as [string, ProofNodes][];
  Deno.test(`tampering: no byte of the proofs of a ${name} can be changed, and no node cut or dropped`, () => {
    for (const [field, whole] of proofs) {
      for (const { what, nodes } of brokenNodes(whole)) {
        const code = codeOf(() => verify({ ...value, [field]: nodes } as never), `${field}, ${what}`);
        assert.equal(code, codes[`.${field}`], `${field}, ${what}`);
      }
    }
  });

  Deno.test(`tampering: order, repetition and further nodes in the proofs of a ${name} do not matter`, () => {
    const more = proofs.map(([field, nodes]) => [
      field,
      [...nodes.toReversed(), ...nodes, Uint8Array.of(1, 2, 3)],
    ]);
    verify({ ...value, ...Object.fromEntries(more) } as never);
  });
}

Deno.test("tampering: another L1 root, contract, implementation or rule does not verify", () => {
  const { l1StateRoot = "0x", rollupCore = "0x" } = arbitrum.hubView;
  for (const { proof } of [arbitrum.boldUpdate, arbitrum.orbitUpdate]) {
    for (const hub of [{ l1StateRoot: flipHash(l1StateRoot) }, { rollupCore: flipAddress(rollupCore) }]) {
      assert.equal(codeOf(() => verifyArbitrum(proof, hub), "view"), "rollup_proof");
    }
  }
  const rules = opStack.hubView.disputeGames ?? assert.fail();
  const withTypes = (change: Partial<GameTypeConfig>): Partial<OpStackHubView> => ({
    disputeGames: { ...rules, gameTypes: opStack.gameTypes.map((config) => ({ ...config, ...change })) },
  });
  const views: readonly (readonly [string, Partial<OpStackHubView>])[] = [
    ["factory_proof", { l1StateRoot: flipHash(opStack.hubView.l1StateRoot ?? "0x") }],
    ["factory_proof", { disputeGames: { ...rules, factory: flipAddress(rules.factory) } }],
    ["implementation_mismatch", withTypes({ expectedImplementation: flipAddress(rules.factory) })],
    // An aggregate verifier that is read as another kind lacks even its own claim.
    ["challenge_missing", withTypes({ kind: { tag: "FaultDisputeGame" } })],
  ];
  for (const [code, hub] of views) {
    assert.equal(codeOf(() => verifyOpStack(opStack.aggregateGame.proof, hub), code), code);
  }
});
