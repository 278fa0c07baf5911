import { deepStrictEqual as equal, ok, throws } from "node:assert/strict";
import type { Hash256 } from "../../../../../src/core/encoding/bytes.ts";
import { concatBytes, fromHex, keccak256, toHash256, toHex } from "../../../../../src/core/encoding/bytes.ts";
import { evmStateMachine, type StateMachine } from "../../../../../src/core/ismp/state_machine.ts";
import { bytes, decodeStrict, ScaleError, u64 } from "../../../../../src/core/encoding/scale.ts";
import {
  decodeBeaconUpdate,
  verifyUpdate,
} from "../../../../../src/consensus/clients/sync_committee/spec/verify_update.ts";
import {
  type BeaconConsensusState,
  beaconConsensusStateCodec,
  canCarry,
  type StateUpdate,
  stateUpdateCodecs,
  syncCommitteeCodec,
  updateLayouts,
  verifierStateCodec,
} from "../../../../../src/consensus/clients/sync_committee/spec/update.ts";
import { sepolia } from "../../../../../src/consensus/clients/sync_committee/spec/beacon_network.ts";
import { SyncCommitteeError } from "../../../../../src/consensus/clients/sync_committee/spec/sync_committee_error.ts";
import {
  encodeBlockHeader,
  parseBlockHeader,
  readHeaderCommitment,
} from "../../../../../src/core/evm/block_header.ts";
import { readAmsterdamBlocks, readSynthetic } from "./vectors.ts";

type L2Consensus = BeaconConsensusState["l2Consensus"] extends ReadonlyMap<StateMachine, infer Kind> ? Kind
  : never;

const { node, trusted, first, second } = readSynthetic();

function hashOf(bytes: Uint8Array): Hash256 {
  return toHash256(keccak256(bytes));
}

Deno.test("SCALE: updates have the bytes and lengths of the synthetic vector", () => {
  const encoded = stateUpdateCodecs.flat.enc(first);
  equal(toHex(encoded), node.text("scale.update_1_beacon_client_update"));
  equal(BigInt(encoded.length), node.integer("scale.update_1_len"));
  equal(decodeBeaconUpdate(encoded), first);
  const withCommittee = stateUpdateCodecs.flat.enc(second);
  equal(BigInt(withCommittee.length), node.integer("scale.update_2_len"));
  equal(hashOf(withCommittee), node.hash("scale.update_2_keccak256"));
  equal(decodeBeaconUpdate(withCommittee), second);
});

Deno.test("SCALE: later layouts move the multi proof, and then all of the proof, under a variant", () => {
  const { executionPayload: proof } = first;
  const nodes = (count: string, branch: readonly Hash256[]): string =>
    count + branch.map((hash) => hash.slice(2)).join("");
  const [multi, branch] = [nodes("20", proof.multiProof), nodes("18", proof.executionPayloadBranch)];
  const root = proof.stateRoot.slice(2) + toHex(u64.enc(proof.blockNumber)).slice(2);
  const time = toHex(u64.enc(proof.timestampSec)).slice(2);
  const flat = toHex(stateUpdateCodecs.flat.enc(first));
  const inFlat = root + multi + branch + time;
  ok(flat.includes(inFlat));
  const expected = {
    flat,
    split: flat.replace(inFlat, `${root}${time}${branch}00${multi}`),
    variant: flat.replace(inFlat, `${branch}00${root}${time}${multi}`),
  };
  const undecodable = (error: unknown): boolean =>
    error instanceof SyncCommitteeError && error.code === "undecodable_update";
  for (const layout of updateLayouts) {
    const encoded = stateUpdateCodecs[layout].enc(first);
    equal(toHex(encoded), expected[layout]);
    equal(decodeBeaconUpdate(encoded, layout), first);
    for (const other of updateLayouts) {
      if (other !== layout) throws(() => decodeBeaconUpdate(encoded, other), undecodable);
    }
  }
});

Deno.test("SCALE: a header of Gloas has the variant 1, and no place in the layout of August", () => {
  const executionHeader = encodeBlockHeader(parseBlockHeader(readAmsterdamBlocks().amsterdam));
  const { stateRoot, blockNumber, timestampSec } = first.executionPayload;
  const read = readHeaderCommitment(executionHeader);
  ok(read);
  const executionPayloadBranch = Array<Hash256>(11).fill(stateRoot);
  const update = { ...first, executionPayload: { ...read, executionHeader, executionPayloadBranch } };
  const branch = `2c${stateRoot.slice(2).repeat(11)}`;
  const header = toHex(bytes.enc(executionHeader)).slice(2);
  ok(toHex(stateUpdateCodecs.variant.enc(update)).includes(`${branch}01${header}`));
  for (const layout of ["split", "variant"] as const) {
    equal(decodeBeaconUpdate(stateUpdateCodecs[layout].enc(update), layout), update);
  }
  equal(updateLayouts.map((layout) => canCarry(layout, update.executionPayload)), [false, true, true]);
  throws(() => stateUpdateCodecs.flat.enc(update), ScaleError);
  const noHeader = { stateRoot, blockNumber, timestampSec, executionPayloadBranch };
  const empty = { ...update, executionPayload: { ...noHeader, executionHeader: new Uint8Array() } };
  throws(() => decodeBeaconUpdate(stateUpdateCodecs.variant.enc(empty), "variant"), SyncCommitteeError);
});

Deno.test("SCALE: states before and after the updates have the bytes of the synthetic vector", () => {
  const before = verifierStateCodec.enc(trusted);
  equal(BigInt(before.length), node.integer("scale.trusted_verifier_state_len"));
  equal(hashOf(before), node.hash("scale.trusted_verifier_state_keccak256"));
  const after = verifyUpdate(sepolia, verifyUpdate(sepolia, trusted, first), second);
  equal(hashOf(verifierStateCodec.enc(after)), node.hash("scale.state_after_update_2_keccak256"));
  const state: BeaconConsensusState = {
    frozenHeight: undefined,
    lightClientState: trusted,
    l2Consensus: new Map(),
    chainId: 11155111,
  };
  const encoded = beaconConsensusStateCodec.enc(state);
  equal(BigInt(encoded.length), node.integer("scale.consensus_state_example.len"));
  equal(hashOf(encoded), node.hash("scale.consensus_state_example.keccak256"));
  equal(decodeStrict(beaconConsensusStateCodec, encoded, "state"), state);
});

type LeftoverRollups = BeaconConsensusState["l2Consensus"];

Deno.test("SCALE: every kind of the leftover rollup map survives, with its index", () => {
  const address = new Uint8Array(20).fill(7);
  const kinds: (LeftoverRollups extends ReadonlyMap<unknown, infer Kind> ? Kind : never)[] = [
    { tag: "ArbitrumOrbit", value: address },
    { tag: "OpL2Oracle", value: address },
    { tag: "OpFaultProofs", value: [address, 9] },
    { tag: "OpFaultProofGames", value: [address, [1, 2]] },
    { tag: "ArbitrumBold", value: address },
  ];
  const forms = [
    toHex(address).slice(2),
    toHex(address).slice(2),
    `${toHex(address).slice(2)}09000000`,
    `${toHex(address).slice(2)}080100000002000000`,
    toHex(address).slice(2),
  ];
  const empty = beaconConsensusStateCodec.enc(stateWith(new Map())).length;
  kinds.forEach((kind, index) => {
    const state = stateWith(new Map([[evmStateMachine(10), kind]]));
    const encoded = beaconConsensusStateCodec.enc(state);
    equal(
      toHex(encoded.slice(empty - 5, -4)),
      `0x04000a000000${index.toString(16).padStart(2, "0")}${forms[index]}`,
    );
    equal(decodeStrict(beaconConsensusStateCodec, encoded, "state"), state);
  });
});

function stateWith(l2Consensus: LeftoverRollups): BeaconConsensusState {
  return { frozenHeight: undefined, lightClientState: trusted, l2Consensus, chainId: 1 };
}

Deno.test("SCALE: keys, signatures, committees and bits of another size are refused both ways", () => {
  const invalid = (error: unknown): boolean => error instanceof ScaleError && error.code === "invalid";
  const { syncAggregate: aggregate } = first;
  const short: StateUpdate[] = [
    { ...first, syncAggregate: { ...aggregate, signature: aggregate.signature.slice(1) } },
    { ...first, syncAggregate: { ...aggregate, bits: aggregate.bits.slice(1) } },
  ];
  for (const update of short) throws(() => stateUpdateCodecs.flat.enc(update), invalid);
  const committee = trusted.currentSyncCommittee;
  throws(() => syncCommitteeCodec.enc({ ...committee, publicKeys: committee.publicKeys.slice(1) }), invalid);
  throws(() => syncCommitteeCodec.enc({ ...committee, aggregatePublicKey: new Uint8Array(49) }), invalid);
  // 511 keys, then the aggregate key: compact(511) in front.
  const encoded = syncCommitteeCodec.enc(committee);
  const fewer = concatBytes(fromHex("0xfd07"), encoded.subarray(2 + 49));
  throws(() => decodeStrict(syncCommitteeCodec, fewer, "SyncCommittee"), invalid);
  // The aggregate key with a 49th byte, which would not change its hash tree root.
  const longer = concatBytes(
    encoded.subarray(0, -49),
    fromHex("0xc4"),
    encoded.subarray(-48),
    Uint8Array.of(0),
  );
  throws(() => decodeStrict(syncCommitteeCodec, longer, "SyncCommittee"), invalid);
});
