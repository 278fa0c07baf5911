import assert from "node:assert/strict";
import { concatBytes, toHex } from "../../../../../src/core/encoding/bytes.ts";
import {
  decodeParachainProof,
  knownRelayHeightsCodec,
  knownRelayHeightsKey,
  ParachainError,
  type ParachainView,
  verifyParachainHead,
} from "../../../../../src/consensus/clients/parachain/spec/parachain_proof.ts";
import { digestItem, encodeHeader } from "../../../../../devnet/hub/digest.ts";
import { SubstrateTrie } from "../../../../../devnet/trie/substrate_trie.ts";
import { parachainHeadKey } from "../../../../../src/core/substrate/parachain_heads.ts";
import { polkadotHubHeader, SLOT_MS } from "../fixture.ts";
import { parachainConsensusProofCodec } from "../../../../../src/core/ismp/proof.ts";
import { decodeSubstrateHeader } from "../../../../../src/core/substrate/header.ts";
import { parseStateMachine, toConsensusStateId } from "../../../../../src/core/ismp/state_machine.ts";
import { bytes, decodeStrict, u64 } from "../../../../../src/core/encoding/scale.ts";
import { readVector } from "../../../vector_node.ts";
import { verdictOf } from "../../../../support/verdict.ts";

const vector = readVector("parachain-consensus");
const encoded = vector.bytes("consensus_proof_scale");
const paraId = Number(vector.integer("para_id"));
const view: ParachainView = {
  chain: parseStateMachine("KUSAMA-2001"),
  consensusStateId: toConsensusStateId("PAS0"),
  coprocessor: parseStateMachine("KUSAMA-4009"),
  relayStateRoot: vector.hash("relay_state_root"),
};

const codeOf = (work: () => unknown): string => verdictOf(ParachainError, work);

Deno.test("parachain proofs: the vector's is read, written and verified", () => {
  const proof = decodeParachainProof(encoded);
  assert.equal(toHex(parachainConsensusProofCodec.enc(proof)), toHex(encoded));
  assert.equal(BigInt(proof.relayHeight), vector.integer("relay_height"));
  const header = decodeSubstrateHeader(vector.bytes("para_header"));
  const found = verifyParachainHead(proof, paraId, view);
  assert.deepEqual(found?.height, {
    id: { stateMachine: `KUSAMA-${paraId}`, consensusStateId: "PAS0" },
    height: BigInt(header.number),
  });
  assert.equal(found?.commitment.stateRoot, header.stateRoot);
  const asHub = verifyParachainHead(proof, paraId, {
    ...view,
    coprocessor: parseStateMachine(`KUSAMA-${paraId}`),
  });
  assert.equal(asHub?.commitment.stateRoot, found?.commitment.overlayRoot);
});

Deno.test("parachain proofs: every rule that one can break has a code", () => {
  const { storageProof } = decodeParachainProof(encoded);
  const verify = (nodes: readonly Uint8Array[], change: Partial<ParachainView> = {}, id = paraId): string =>
    codeOf(() => verifyParachainHead({ storageProof: nodes }, id, { ...view, ...change }));
  assert.equal(verify(storageProof), "accepted");
  assert.equal(
    codeOf(() => decodeParachainProof(concatBytes(encoded, Uint8Array.of(0)))),
    "undecodable_message",
  );
  assert.equal(verify([]), "heads_proof");
  assert.equal(verify(storageProof, { relayStateRoot: `0x${"00".repeat(32)}` }), "heads_proof");
  assert.equal(verify(storageProof.slice(0, 1)), "head_missing");
  assert.equal(verify(storageProof, { chain: parseStateMachine("SUBSTRATE-solo") }), "not_a_parachain");
  for (const at of storageProof.keys()) {
    const turned = storageProof.map((node, index) => index === at ? node.map((byte) => byte ^ 1) : node);
    assert.match(verify(turned), /^(heads_proof|head_missing)$/, `node ${at}`);
  }
});

/** A proof of a head in the state of a relay chain of its own. */
function proofOf(id: number, header: Uint8Array): {
  readonly nodes: readonly Uint8Array[];
  readonly change: Partial<ParachainView>;
} {
  const key = parachainHeadKey(id);
  const state = SubstrateTrie.empty({ layout: "V1", hasher: "Blake2" })
    .set(key, bytes.enc(header))
    .set(parachainHeadKey(id + 1), bytes.enc(header));
  return { nodes: state.prove([key]), change: { relayStateRoot: state.root() } };
}

Deno.test("parachain proofs: Polkadot Hub is dated by its slots, others never are", () => {
  const header = polkadotHubHeader(19_567_971, 74_456_947n);
  const encodedHeader = encodeHeader(header);
  const { nodes, change } = proofOf(1000, encodedHeader);
  for (
    const [chain, stored] of [["KUSAMA-4009", "EVM-420420417"], ["POLKADOT-3367", "EVM-420420419"]] as const
  ) {
    const found = verifyParachainHead({ storageProof: nodes }, 1000, {
      ...view,
      ...change,
      chain: parseStateMachine(chain),
      slotMs: SLOT_MS,
    });
    assert.deepEqual(found, {
      height: {
        id: { stateMachine: stored, consensusStateId: view.consensusStateId },
        height: 19_567_971n,
      },
      commitment: {
        timestampSec: 1_786_966_728n,
        overlayRoot: `0x${"00".repeat(32)}`,
        stateRoot: header.stateRoot,
      },
    });
  }
  const told = digestItem("consensus", "ISTM", u64.enc(1_786_000_000n));
  const dated = proofOf(1000, encodeHeader({ ...header, digest: [...header.digest, told] }));
  const whole = { ...view, ...dated.change, slotMs: SLOT_MS };
  const { commitment } = verifyParachainHead({ storageProof: dated.nodes }, 1000, whole) ?? {};
  assert.equal(commitment?.timestampSec, 1_786_000_000n, "a timestamp in the header wins");
  const codeWith = (id: number, slotMs: bigint | undefined, encoded = encodedHeader): string => {
    const proof = proofOf(id, encoded);
    const whole = { ...view, ...proof.change, slotMs };
    return codeOf(() => verifyParachainHead({ storageProof: proof.nodes }, id, whole));
  };
  assert.equal(codeWith(1000, SLOT_MS), "accepted");
  assert.equal(codeWith(1000, undefined), "slot_duration_missing");
  assert.equal(codeWith(1000, 0n), "timestamp_missing");
  assert.equal(codeWith(1000, SLOT_MS, encodeHeader({ ...header, digest: [] })), "timestamp_missing");
  assert.equal(codeWith(2000, SLOT_MS), "timestamp_missing", "the slots of other parachains tell no time");
  assert.equal(codeWith(1000, SLOT_MS, encodedHeader.slice(1)), "undecodable_header");
});

Deno.test("parachain proofs: known blocks of the relay chain are stored where the vector says", () => {
  assert.equal(toHex(knownRelayHeightsKey()), vector.text("known_relay_heights.storage_key"));
  const heights = decodeStrict(
    knownRelayHeightsCodec,
    vector.bytes("known_relay_heights.example_value"),
    "KnownRelayHeights",
  );
  assert.equal(BigInt(heights.at(-1) ?? 0), vector.integer("known_relay_heights.latest"));
});
