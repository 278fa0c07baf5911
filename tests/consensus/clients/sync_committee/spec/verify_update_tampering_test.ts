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

/** What is wrong, the code with which it is refused, and what differs from the second update. */
type Case = readonly [what: string, code: SyncCommitteeErrorCode, {
  readonly update?: StateUpdate;
  readonly state?: VerifierState;
  readonly network?: BeaconNetwork;
}];

function refuses([what, code, { update = second, state = trusted, network = sepolia }]: Case): void {
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
  return changed.map((
    [name, value],
  ): Case => [`${field}, ${name}`, code, { update: { ...second, [field]: value } }]);
}

/** Every node of a branch changed, dropped and doubled. */
function branchCases(
  name: string,
  branch: readonly Hash256[],
  codes: { readonly changed: SyncCommitteeErrorCode; readonly length: SyncCommitteeErrorCode },
  put: (branch: readonly Hash256[]) => StateUpdate,
): Case[] {
  return branch.flatMap((node, at): Case[] => [
    [`${name}, node ${at} changed`, codes.changed, { update: put(branch.with(at, flipHash(node))) }],
    [`${name}, node ${at} dropped`, codes.length, { update: put(branch.toSpliced(at, 1)) }],
    [`${name}, node ${at} doubled`, codes.length, { update: put(branch.toSpliced(at, 0, node)) }],
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
  ["another epoch", "finality_branch", {
    update: { ...second, finalityProof: { ...second.finalityProof, epoch: second.finalityProof.epoch + 1n } },
  }],
]);

check("no part of the execution payload can be changed", [
  ["state root", "execution_branch", {
    update: withPayload({ stateRoot: flipHash(second.executionPayload.stateRoot) }),
  }],
  ["number", "execution_branch", { update: withPayload({ blockNumber: 9004001n }) }],
  ["time", "execution_branch", { update: withPayload({ timestampSec: 1763965921n }) }],
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
  ...[0, 255, 511].map((at): Case => [`key ${at}`, "committee_branch", {
    update: withCommittee({
      publicKeys: committee.publicKeys.with(at, flipByte(committee.publicKeys[at] ?? new Uint8Array(48), 47)),
    }),
  }]),
  ["keys in another order", "committee_branch", {
    update: withCommittee({ publicKeys: committee.publicKeys.toReversed() }),
  }],
  ["aggregate key", "committee_branch", {
    update: withCommittee({ aggregatePublicKey: flipByte(committee.aggregatePublicKey, 10) }),
  }],
  ["none", "missing_committee", { update: { ...second, syncCommitteeUpdate: undefined } }],
  ["the committee of the period that is entered", "committee_branch", {
    update: withCommittee(trusted.nextSyncCommittee),
  }],
]);

const infinity = new Uint8Array(96);
infinity[0] = 0xc0;

check("neither signature nor signers can be changed", [
  ...[0, 1, 47, 48, 95].map((
    at,
  ): Case => [`signature, byte ${at}`, "signature", {
    update: withAggregate({ signature: flipByte(second.syncAggregate.signature, at) }),
  }]),
  ...[0, 31, 63].map((
    at,
  ): Case => [`bits, byte ${at}`, "signature", {
    update: withAggregate({ bits: flipByte(second.syncAggregate.bits, at) }),
  }]),
  ["nothing signed", "signature", { update: withAggregate({ signature: new Uint8Array(96) }) }],
  ["point at infinity", "signature", { update: withAggregate({ signature: infinity }) }],
  ["signature of another update", "signature", {
    update: withAggregate({ signature: first.syncAggregate.signature }),
  }],
  ["341 bits", "too_few_participants", { update: withAggregate({ bits: firstBits(341) }) }],
  ["342 bits that did not sign", "signature", { update: withAggregate({ bits: firstBits(342) }) }],
  ["no bits", "too_few_participants", { update: withAggregate({ bits: new Uint8Array(64) }) }],
]);

check("another fork, network or committee does not verify", [
  ["genesis root", "signature", {
    network: { ...sepolia, genesisValidatorsRoot: ethereumMainnet.genesisValidatorsRoot },
  }],
  ["fork not yet in force", "signature", {
    network: {
      ...sepolia,
      forks: [sepolia.forks[0], ...sepolia.forks.slice(1).filter(({ name }) => name !== "fulu")],
    },
  }],
  ["mainnet", "signature", { network: ethereumMainnet }],
  ["committees swapped", "signature", {
    state: {
      ...trusted,
      currentSyncCommittee: trusted.nextSyncCommittee,
      nextSyncCommittee: trusted.currentSyncCommittee,
    },
  }],
  ["aggregate key of another committee", "signature", {
    state: {
      ...trusted,
      nextSyncCommittee: {
        ...trusted.nextSyncCommittee,
        aggregatePublicKey: trusted.currentSyncCommittee.aggregatePublicKey,
      },
    },
  }],
  ["aggregate key that is no point", "public_key", {
    state: {
      ...trusted,
      nextSyncCommittee: { ...trusted.nextSyncCommittee, aggregatePublicKey: new Uint8Array(48) },
    },
  }],
  ["absent key that is no point", "public_key", {
    state: {
      ...trusted,
      nextSyncCommittee: {
        ...trusted.nextSyncCommittee,
        publicKeys: trusted.nextSyncCommittee.publicKeys.map(() => new Uint8Array(48)),
      },
    },
  }],
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
  ["signature with attested", "slot_order", { update: withSlots(attestedSlot, finalizedSlot, attestedSlot) }],
  ["attested with finalized", "slot_order", {
    update: withSlots(attestedSlot, attestedSlot, attestedSlot + 1n),
  }],
  ["signature of two periods later", "signature_period", {
    update: withSlots(attestedSlot, finalizedSlot, boundary + 8192n),
  }],
  ["state two periods behind", "signature_period", { state: { ...trusted, statePeriod: 1099n } }],
  ["state ahead", "signature_period", { state: { ...trusted, statePeriod: 1102n } }],
  ["attested header of the period before", "attested_period", {
    update: withSlots(boundary - 1n, finalizedSlot - 100n, boundary),
  }],
  ["attested slot trusted already", "stale_slot", {
    state: { ...trusted, finalizedHeader: { ...trusted.finalizedHeader, slot: attestedSlot } },
  }],
  ["epoch trusted already", "stale_epoch", {
    state: { ...trusted, latestFinalizedEpoch: second.finalityProof.epoch },
  }],
]);

Deno.test("sync committee: of rules broken together the hub's first one is named", () => {
  const worst: StateUpdate = {
    ...withSlots(attestedSlot, attestedSlot, boundary + 8192n),
    finalityProof: { epoch: 0n, finalityBranch: [] },
    syncAggregate: { bits: new Uint8Array(64), signature: new Uint8Array(96) },
  };
  refuses(["branch first", "finality_branch_length", { update: worst }]);
  const { finalityBranch } = second.finalityProof;
  const ordered = { ...worst, finalityProof: { epoch: 0n, finalityBranch } };
  refuses(["then slots", "slot_order", { update: ordered }]);
  const period = { ...ordered, finalizedHeader: second.finalizedHeader };
  refuses(["then period", "signature_period", { update: period }]);
  const epoch = { ...period, signatureSlot: second.signatureSlot };
  refuses(["then epoch", "stale_epoch", { update: epoch }]);
  refuses(["then signers", "too_few_participants", {
    update: { ...epoch, finalityProof: second.finalityProof },
  }]);
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
