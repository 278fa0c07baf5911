import { deepStrictEqual as equal, throws } from "node:assert/strict";
import { concatBytes, type Hash256 } from "../../../../../src/core/encoding/bytes.ts";
import {
  decodeBeaconConsensusState,
  decodeBeaconUpdate,
} from "../../../../../src/consensus/clients/sync_committee/spec/verify_update.ts";
import {
  type BeaconNetwork,
  ethereumMainnet,
  sepolia,
} from "../../../../../src/consensus/clients/sync_committee/spec/beacon_network.ts";
import {
  type BeaconBlockHeader,
  beaconConsensusStateCodec,
  type StateUpdate,
  stateUpdateCodecs,
  type SyncCommittee,
  type VerifierState,
} from "../../../../../src/consensus/clients/sync_committee/spec/update.ts";
import {
  SyncCommitteeError,
  type SyncCommitteeErrorCode,
} from "../../../../../src/consensus/clients/sync_committee/spec/sync_committee_error.ts";
import { verifyUpdate } from "../../../../../src/consensus/clients/sync_committee/spec/verify_update.ts";
import { firstBits, flipByte, flipHash, readSynthetic } from "./vectors.ts";

const { trusted, first, second } = readSynthetic();
const committee: SyncCommittee = second.syncCommitteeUpdate?.nextSyncCommittee ?? trusted.nextSyncCommittee;
const committeeBranch = second.syncCommitteeUpdate?.nextSyncCommitteeBranch ?? [];

interface Case {
  readonly what: string;
  readonly code: SyncCommitteeErrorCode;
  readonly update?: StateUpdate;
  readonly state?: VerifierState;
  readonly network?: BeaconNetwork;
}

function refuses({ what, code, update = second, state = trusted, network = sepolia }: Case): void {
  throws(
    () => verifyUpdate(network, state, update),
    { name: "SyncCommitteeError", code },
    `${what} should be refused as ${code}`,
  );
}

type HeaderField = "attestedHeader" | "finalizedHeader";

function headerCases(field: HeaderField, code: SyncCommitteeErrorCode): Case[] {
  const header: BeaconBlockHeader = second[field];
  const changed: [string, BeaconBlockHeader][] = [
    ["slot", { ...header, slot: header.slot - 1n }],
    ["proposer", { ...header, proposerIndex: header.proposerIndex + 1n }],
    ["parent", { ...header, parentRoot: flipHash(header.parentRoot) }],
    ["state", { ...header, stateRoot: flipHash(header.stateRoot) }],
    ["body", { ...header, bodyRoot: flipHash(header.bodyRoot) }],
  ];
  return changed.map(([name, value]) => ({
    what: `${field}, ${name}`,
    code,
    update: { ...second, [field]: value },
  }));
}

/** Every node of a branch changed, dropped and doubled. */
function branchCases(
  name: string,
  branch: readonly Hash256[],
  codes: { readonly changed: SyncCommitteeErrorCode; readonly length: SyncCommitteeErrorCode },
  put: (branch: readonly Hash256[]) => StateUpdate,
): Case[] {
  return branch.flatMap((node, at) => [
    {
      what: `${name}, node ${at} changed`,
      code: codes.changed,
      update: put(branch.with(at, flipHash(node))),
    },
    { what: `${name}, node ${at} dropped`, code: codes.length, update: put(branch.toSpliced(at, 1)) },
    { what: `${name}, node ${at} doubled`, code: codes.length, update: put(branch.toSpliced(at, 0, node)) },
  ]);
}

function withPayload(change: Partial<StateUpdate["executionPayload"]>): StateUpdate {
  return { ...second, executionPayload: { ...second.executionPayload, ...change } };
}

function withAggregate(change: Partial<StateUpdate["syncAggregate"]>): StateUpdate {
  return { ...second, syncAggregate: { ...second.syncAggregate, ...change } };
}

function withCommittee(
  change: Partial<SyncCommittee>,
  nextSyncCommitteeBranch = committeeBranch,
): StateUpdate {
  const nextSyncCommittee = { ...committee, ...change };
  return { ...second, syncCommitteeUpdate: { nextSyncCommittee, nextSyncCommitteeBranch } };
}

function check(title: string, cases: readonly Case[]): void {
  Deno.test(`sync committee: ${title}`, () => cases.forEach(refuses));
}

check("no field of the attested header can be changed", headerCases("attestedHeader", "signature"));
check("no field of the finalized header can be changed", headerCases("finalizedHeader", "finality_branch"));

check("no node of the finality branch can be changed, dropped or added", [
  ...branchCases(
    "finality",
    second.finalityProof.finalityBranch,
    { changed: "finality_branch", length: "finality_branch_length" },
    (finalityBranch) => ({ ...second, finalityProof: { ...second.finalityProof, finalityBranch } }),
  ),
  {
    what: "another epoch",
    code: "finality_branch",
    update: { ...second, finalityProof: { ...second.finalityProof, epoch: second.finalityProof.epoch + 1n } },
  },
]);

check("no part of the execution payload can be changed", [
  {
    what: "state root",
    code: "execution_branch",
    update: withPayload({ stateRoot: flipHash(second.executionPayload.stateRoot) }),
  },
  { what: "number", code: "execution_branch", update: withPayload({ blockNumber: 9004001n }) },
  { what: "time", code: "execution_branch", update: withPayload({ timestampSec: 1763965921n }) },
]);

check(
  "no node inside of the payload header can be changed, dropped or added",
  branchCases(
    "multi proof",
    second.executionPayload.multiProof,
    { changed: "execution_branch", length: "multi_proof_length" },
    (multiProof) => withPayload({ multiProof }),
  ),
);

check(
  "no node of the payload header's branch can be changed, dropped or added",
  branchCases(
    "payload",
    second.executionPayload.executionPayloadBranch,
    { changed: "execution_branch", length: "execution_branch_length" },
    (executionPayloadBranch) => withPayload({ executionPayloadBranch }),
  ),
);

check(
  "no node of the committee's branch can be changed, dropped or added",
  branchCases(
    "committee",
    committeeBranch,
    { changed: "committee_branch", length: "committee_branch_length" },
    (branch) => withCommittee({}, branch),
  ),
);

check("the next committee must be the one of the attested state", [
  ...[0, 255, 511].map((at): Case => ({
    what: `key ${at}`,
    code: "committee_branch",
    update: withCommittee({
      publicKeys: committee.publicKeys.with(at, flipByte(committee.publicKeys[at] ?? new Uint8Array(48), 47)),
    }),
  })),
  {
    what: "keys in another order",
    code: "committee_branch",
    update: withCommittee({ publicKeys: committee.publicKeys.toReversed() }),
  },
  {
    what: "aggregate key",
    code: "committee_branch",
    update: withCommittee({ aggregatePublicKey: flipByte(committee.aggregatePublicKey, 10) }),
  },
  { what: "none", code: "missing_committee", update: { ...second, syncCommitteeUpdate: undefined } },
  {
    what: "the committee of the period that is entered",
    code: "committee_branch",
    update: withCommittee(trusted.nextSyncCommittee),
  },
]);

const infinity = new Uint8Array(96);
infinity[0] = 0xc0;

check("neither signature nor signers can be changed", [
  ...[0, 1, 47, 48, 95].map((at): Case => ({
    what: `signature, byte ${at}`,
    code: "signature",
    update: withAggregate({ signature: flipByte(second.syncAggregate.signature, at) }),
  })),
  ...[0, 31, 63].map((at): Case => ({
    what: `bits, byte ${at}`,
    code: "signature",
    update: withAggregate({ bits: flipByte(second.syncAggregate.bits, at) }),
  })),
  { what: "nothing signed", code: "signature", update: withAggregate({ signature: new Uint8Array(96) }) },
  { what: "point at infinity", code: "signature", update: withAggregate({ signature: infinity }) },
  {
    what: "signature of another update",
    code: "signature",
    update: withAggregate({ signature: first.syncAggregate.signature }),
  },
  { what: "341 bits", code: "too_few_participants", update: withAggregate({ bits: firstBits(341) }) },
  { what: "342 bits that did not sign", code: "signature", update: withAggregate({ bits: firstBits(342) }) },
  { what: "no bits", code: "too_few_participants", update: withAggregate({ bits: new Uint8Array(64) }) },
]);

check("another fork, network or committee does not verify", [
  {
    what: "genesis root",
    code: "signature",
    network: { ...sepolia, genesisValidatorsRoot: ethereumMainnet.genesisValidatorsRoot },
  },
  {
    what: "fork not yet in force",
    code: "signature",
    network: {
      ...sepolia,
      forks: [sepolia.forks[0], ...sepolia.forks.slice(1).filter(({ name }) => name !== "fulu")],
    },
  },
  { what: "mainnet", code: "signature", network: ethereumMainnet },
  {
    what: "committees swapped",
    code: "signature",
    state: {
      ...trusted,
      currentSyncCommittee: trusted.nextSyncCommittee,
      nextSyncCommittee: trusted.currentSyncCommittee,
    },
  },
  {
    what: "aggregate key of another committee",
    code: "signature",
    state: {
      ...trusted,
      nextSyncCommittee: {
        ...trusted.nextSyncCommittee,
        aggregatePublicKey: trusted.currentSyncCommittee.aggregatePublicKey,
      },
    },
  },
  {
    what: "aggregate key that is no point",
    code: "public_key",
    state: {
      ...trusted,
      nextSyncCommittee: { ...trusted.nextSyncCommittee, aggregatePublicKey: new Uint8Array(48) },
    },
  },
  {
    what: "absent key that is no point",
    code: "public_key",
    state: {
      ...trusted,
      nextSyncCommittee: {
        ...trusted.nextSyncCommittee,
        publicKeys: trusted.nextSyncCommittee.publicKeys.map(() => new Uint8Array(48)),
      },
    },
  },
]);

const [attestedSlot, finalizedSlot] = [second.attestedHeader.slot, second.finalizedHeader.slot];
/** First slot of period 1101. */
const boundary = 1101n * 8192n;

function withSlots(attested: bigint, finalized: bigint, signatureSlot: bigint): StateUpdate {
  return {
    ...second,
    attestedHeader: { ...second.attestedHeader, slot: attested },
    finalizedHeader: { ...second.finalizedHeader, slot: finalized },
    signatureSlot,
  };
}

check("slots must be in order and newer than the trusted ones, in the right periods", [
  {
    what: "signature with attested",
    code: "slot_order",
    update: withSlots(attestedSlot, finalizedSlot, attestedSlot),
  },
  {
    what: "attested with finalized",
    code: "slot_order",
    update: withSlots(attestedSlot, attestedSlot, attestedSlot + 1n),
  },
  {
    what: "signature of two periods later",
    code: "signature_period",
    update: withSlots(attestedSlot, finalizedSlot, boundary + 8192n),
  },
  { what: "state two periods behind", code: "signature_period", state: { ...trusted, statePeriod: 1099n } },
  { what: "state ahead", code: "signature_period", state: { ...trusted, statePeriod: 1102n } },
  {
    what: "attested header of the period before",
    code: "attested_period",
    update: withSlots(boundary - 1n, finalizedSlot - 100n, boundary),
  },
  {
    what: "attested slot trusted already",
    code: "stale_slot",
    state: { ...trusted, finalizedHeader: { ...trusted.finalizedHeader, slot: attestedSlot } },
  },
  {
    what: "epoch trusted already",
    code: "stale_epoch",
    state: { ...trusted, latestFinalizedEpoch: second.finalityProof.epoch },
  },
]);

Deno.test("sync committee: of rules broken together the hub's first one is named", () => {
  const worst: StateUpdate = {
    ...withSlots(attestedSlot, attestedSlot, boundary + 8192n),
    finalityProof: { epoch: 0n, finalityBranch: [] },
    syncAggregate: { bits: new Uint8Array(64), signature: new Uint8Array(96) },
  };
  refuses({ what: "branch first", code: "finality_branch_length", update: worst });
  const { finalityBranch } = second.finalityProof;
  const ordered = { ...worst, finalityProof: { epoch: 0n, finalityBranch } };
  refuses({ what: "then slots", code: "slot_order", update: ordered });
  const period = { ...ordered, finalizedHeader: second.finalizedHeader };
  refuses({ what: "then period", code: "signature_period", update: period });
  const epoch = { ...period, signatureSlot: second.signatureSlot };
  refuses({ what: "then epoch", code: "stale_epoch", update: epoch });
  refuses({
    what: "then signers",
    code: "too_few_participants",
    update: { ...epoch, finalityProof: second.finalityProof },
  });
});

/** Bytes of the signature slot, which nobody signs: it only selects fork and period. */
const SIGNATURE_SLOT_BYTES = 8;

Deno.test("sync committee: bytes of an encoded update cannot be changed, wherever they are", () => {
  const encoded = stateUpdateCodecs.flat.enc(first);
  for (let at = 0; at < encoded.length - SIGNATURE_SLOT_BYTES; at += 23) {
    throws(
      () => verifyUpdate(sepolia, trusted, decodeBeaconUpdate(flipByte(encoded, at))),
      SyncCommitteeError,
      `byte ${at}`,
    );
  }
});

Deno.test("sync committee: the signature slot is free within its fork and period, as on the hub", () => {
  const moved = { ...first, signatureSlot: first.signatureSlot + 1n };
  equal(verifyUpdate(sepolia, trusted, moved), verifyUpdate(sepolia, trusted, first));
});

Deno.test("sync committee: cut or prolonged bytes are no update and no state", () => {
  const update = stateUpdateCodecs.flat.enc(first);
  const state = beaconConsensusStateCodec.enc({
    frozenHeight: undefined,
    lightClientState: trusted,
    l2Consensus: new Map(),
    chainId: 11155111,
  });
  const isUndecodable = (code: SyncCommitteeErrorCode) => (error: unknown): boolean =>
    error instanceof SyncCommitteeError && error.code === code;
  for (const bytes of [new Uint8Array(0), update.slice(0, -1), concatBytes(update, Uint8Array.of(0))]) {
    throws(() => decodeBeaconUpdate(bytes), isUndecodable("undecodable_update"));
  }
  for (const bytes of [new Uint8Array(0), state.slice(0, -1), concatBytes(state, Uint8Array.of(0)), update]) {
    throws(() => decodeBeaconConsensusState(bytes), isUndecodable("undecodable_state"));
  }
});
