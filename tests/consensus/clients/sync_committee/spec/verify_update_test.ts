import { deepStrictEqual as equal, notDeepStrictEqual as differs, throws } from "node:assert/strict";
import { concatBytes, type Hash256 } from "../../../../../src/core/encoding/bytes.ts";
import { toConsensusStateId } from "../../../../../src/core/ismp/state_machine.ts";
import {
  SyncCommitteeError,
  type SyncCommitteeErrorCode,
} from "../../../../../src/consensus/clients/sync_committee/spec/sync_committee_error.ts";
import {
  decodeBeaconConsensusState,
  decodeBeaconUpdate,
  updateSigningRoot,
  verifyBeaconUpdate,
  verifyUpdate,
} from "../../../../../src/consensus/clients/sync_committee/spec/verify_update.ts";
import {
  type BeaconNetwork,
  ethereumMainnet,
  type Fork,
  isFirstSlotOfFork,
  sepolia,
} from "../../../../../src/consensus/clients/sync_committee/spec/beacon_network.ts";
import {
  signingRoot,
  syncCommitteeDomain,
} from "../../../../../src/consensus/clients/sync_committee/spec/ssz_roots.ts";
import {
  beaconConsensusStateCodec,
  type StateUpdate,
  stateUpdateCodecs,
  type SyncCommittee,
  type VerifierState,
} from "../../../../../src/consensus/clients/sync_committee/spec/update.ts";
import { firstBits, readSynthetic, signAs } from "./vectors.ts";

const { node, trusted, first, second } = readSynthetic();
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

/** Cases that differ in the update. */
function updates(
  code: SyncCommitteeErrorCode,
  changed: Readonly<Record<string, StateUpdate>>,
): readonly Case[] {
  return Object.entries(changed).map(([what, update]) => [what, code, { update }]);
}

/** Every node of a branch dropped and doubled. */
function branchCases(
  branch: readonly Hash256[],
  code: SyncCommitteeErrorCode,
  put: (branch: readonly Hash256[]) => StateUpdate,
): Case[] {
  return branch.flatMap((node, at): Case[] => [
    [`node ${at} dropped`, code, { update: put(branch.toSpliced(at, 1)) }],
    [`node ${at} doubled`, code, { update: put(branch.toSpliced(at, 0, node)) }],
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

const { finalityProof: { epoch, finalityBranch }, executionPayload: payload } = second;
const { publicKeys } = committee;
check("no node of a branch can be dropped or added", [
  ...branchCases(
    finalityBranch,
    "finality_branch_length",
    (branch) => ({ ...second, finalityProof: { epoch, finalityBranch: branch } }),
  ),
  ...branchCases(
    payload.multiProof,
    "multi_proof_length",
    (multiProof) => withPayload({ multiProof }),
  ),
  ...branchCases(
    payload.executionPayloadBranch,
    "execution_branch_length",
    (executionPayloadBranch) => withPayload({ executionPayloadBranch }),
  ),
  ...branchCases(
    committeeBranch,
    "committee_branch_length",
    (branch) => withCommittee({}, branch),
  ),
]);

check("the next committee must be the one of the attested state", [
  ...updates("committee_branch", {
    "keys in another order": withCommittee({ publicKeys: publicKeys.toReversed() }),
    "the committee of the period that is entered": withCommittee(trusted.nextSyncCommittee),
  }),
  ["none", "missing_committee", { update: { ...second, syncCommitteeUpdate: undefined } }],
]);

const infinity = new Uint8Array(96);
infinity[0] = 0xc0;

check("neither signature nor signers can be changed", [
  ...updates("signature", {
    "nothing signed": withAggregate({ signature: new Uint8Array(96) }),
    "point at infinity": withAggregate({ signature: infinity }),
    "signature of another update": withAggregate({ signature: first.syncAggregate.signature }),
    "342 bits that did not sign": withAggregate({ bits: firstBits(342) }),
  }),
  ...updates("too_few_participants", {
    "341 bits": withAggregate({ bits: firstBits(341) }),
    "no bits": withAggregate({ bits: new Uint8Array(64) }),
  }),
]);

/** A trusted state with another next committee. */
function trusting(change: Partial<SyncCommittee>): VerifierState {
  return { ...trusted, nextSyncCommittee: { ...trusted.nextSyncCommittee, ...change } };
}

const { currentSyncCommittee: current, nextSyncCommittee: next } = trusted;
const [genesis, ...later] = sepolia.forks;
const { genesisValidatorsRoot } = ethereumMainnet;

check("another fork, network or committee does not verify", [
  ["genesis root", "signature", { network: { ...sepolia, genesisValidatorsRoot } }],
  ["fork not yet in force", "signature", {
    network: { ...sepolia, forks: [genesis, ...later.filter(({ name }) => name !== "fulu")] },
  }],
  ["mainnet", "signature", { network: ethereumMainnet }],
  ["committees swapped", "signature", {
    state: { ...trusted, currentSyncCommittee: next, nextSyncCommittee: current },
  }],
  ["aggregate key of another committee", "signature", {
    state: trusting({ aggregatePublicKey: current.aggregatePublicKey }),
  }],
  ["aggregate key that is no point", "public_key", {
    state: trusting({ aggregatePublicKey: new Uint8Array(48) }),
  }],
  ["absent key that is no point", "public_key", {
    state: trusting({ publicKeys: next.publicKeys.map(() => new Uint8Array(48)) }),
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
  ...updates("slot_order", {
    "signature with attested": withSlots(attestedSlot, finalizedSlot, attestedSlot),
    "attested with finalized": withSlots(attestedSlot, attestedSlot, attestedSlot + 1n),
  }),
  ...updates("signature_period", {
    "signature of two periods later": withSlots(attestedSlot, finalizedSlot, boundary + 8192n),
  }),
  ["state two periods behind", "signature_period", { state: { ...trusted, statePeriod: 1099n } }],
  ["state ahead", "signature_period", { state: { ...trusted, statePeriod: 1102n } }],
  ...updates("attested_period", {
    "attested header of the period before": withSlots(boundary - 1n, finalizedSlot - 100n, boundary),
  }),
  ["attested slot trusted already", "stale_slot", {
    state: { ...trusted, finalizedHeader: { ...trusted.finalizedHeader, slot: attestedSlot } },
  }],
  ["epoch trusted already", "stale_epoch", { state: { ...trusted, latestFinalizedEpoch: epoch } }],
]);

Deno.test("sync committee: of rules broken together the hub's first one is named", () => {
  const worst: StateUpdate = {
    ...withSlots(attestedSlot, attestedSlot, boundary + 8192n),
    finalityProof: { epoch: 0n, finalityBranch: [] },
    syncAggregate: { bits: new Uint8Array(64), signature: new Uint8Array(96) },
  };
  refuses(["branch first", "finality_branch_length", { update: worst }]);
  const ordered = { ...worst, finalityProof: { epoch: 0n, finalityBranch } };
  refuses(["then slots", "slot_order", { update: ordered }]);
  const period = { ...ordered, finalizedHeader: second.finalizedHeader };
  refuses(["then period", "signature_period", { update: period }]);
  const stale = { ...period, signatureSlot: second.signatureSlot };
  refuses(["then epoch", "stale_epoch", { update: stale }]);
  const unsigned = { ...stale, finalityProof: second.finalityProof };
  refuses(["then signers", "too_few_participants", { update: unsigned }]);
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

Deno.test("sync committee: what is signed agrees with the synthetic vector", () => {
  equal(updateSigningRoot(sepolia, first), node.hash("intermediate.update_1.signing_root"));
  equal(updateSigningRoot(sepolia, second), node.hash("intermediate.update_2.signing_root"));
});

Deno.test("sync committee: an update within the period moves the finalized header and epoch only", () => {
  equal(verifyUpdate(sepolia, trusted, first), {
    ...trusted,
    finalizedHeader: first.finalizedHeader,
    latestFinalizedEpoch: 281728n,
  });
});

Deno.test("sync committee: an update into the next period shifts the committees", () => {
  const state = verifyUpdate(sepolia, verifyUpdate(sepolia, trusted, first), second);
  equal(state, {
    finalizedHeader: second.finalizedHeader,
    latestFinalizedEpoch: 281855n,
    currentSyncCommittee: trusted.nextSyncCommittee,
    nextSyncCommittee: second.syncCommitteeUpdate?.nextSyncCommittee,
    statePeriod: 1101n,
  });
});

Deno.test("sync committee: a period may be entered without an update of the one before", () => {
  equal(verifyUpdate(sepolia, trusted, second).statePeriod, 1101n);
});

Deno.test("sync committee: applied again, an update is stale", () => {
  const state = verifyUpdate(sepolia, trusted, first);
  refuses(["applied again", "stale_epoch", { state, update: first }]);
});

Deno.test("sync committee: a committee within the period is checked, then ignored", () => {
  const state = { ...trusted, currentSyncCommittee: trusted.nextSyncCommittee, statePeriod: 1101n };
  const accepted = verifyUpdate(sepolia, state, second);
  equal([accepted.nextSyncCommittee, accepted.statePeriod], [state.nextSyncCommittee, 1101n]);
  const { syncCommitteeUpdate: carried } = second;
  const syncCommitteeUpdate = carried && { ...carried, nextSyncCommittee: trusted.currentSyncCommittee };
  refuses(["another committee", "committee_branch", { state, update: { ...second, syncCommitteeUpdate } }]);
});

Deno.test("sync committee: the hub stores the finalized execution block under the client's own id", () => {
  const consensusState = {
    frozenHeight: 5n,
    lightClientState: trusted,
    l2Consensus: new Map(),
    chainId: 11155111,
  };
  const eth0 = toConsensusStateId("ETH0");
  const verified = verifyBeaconUpdate({ network: sepolia, consensusStateId: eth0 }, consensusState, first);
  equal(verified.consensusState.frozenHeight, undefined);
  equal(verified.consensusState.lightClientState, verifyUpdate(sepolia, trusted, first));
  equal(verified.commitment, {
    height: { id: { stateMachine: "EVM-11155111", consensusStateId: "ETH0" }, height: 9000000n },
    commitment: {
      timestampSec: 1763917152n,
      overlayRoot: undefined,
      stateRoot: first.executionPayload.stateRoot,
    },
  });
});

/** The update signed again by the first members of its committee. */
function signedByFirst(update: StateUpdate, count: number): StateUpdate {
  return { ...update, syncAggregate: signAs(1, firstBits(count), updateSigningRoot(sepolia, update)) };
}

Deno.test("sync committee: 342 signers are enough and 341 are not", () => {
  equal(verifyUpdate(sepolia, trusted, signedByFirst(first, 512)).latestFinalizedEpoch, 281728n);
  equal(verifyUpdate(sepolia, trusted, signedByFirst(first, 342)).latestFinalizedEpoch, 281728n);
  refuses(["341 signers", "too_few_participants", { update: signedByFirst(first, 341) }]);
});

Deno.test("sync committee: a finalized header that the signers never had is refused though the rest is signed", () => {
  const attestedHeader = { ...first.attestedHeader, stateRoot: first.finalizedHeader.stateRoot };
  const update = signedByFirst({ ...first, attestedHeader }, 400);
  refuses(["finalized header", "finality_branch", { update }]);
});

/** Sepolia with a fork whose first slot is `slot`. */
function forkingAt(slot: bigint): BeaconNetwork {
  const fork: Fork = { name: "fulu", epoch: slot / 32n, version: "0x90000076" };
  return { ...sepolia, forks: [...sepolia.forks, fork] };
}

Deno.test("sync committee: what members sign for the first slot of a fork cannot be verified by the hub", () => {
  const slot = (first.attestedHeader.slot / 32n + 1n) * 32n;
  const network = forkingAt(slot);
  const signed = (signatureSlot: bigint, version: Fork["version"]): StateUpdate => {
    const message = signingRoot(
      first.attestedHeader,
      syncCommitteeDomain(version, network.genesisValidatorsRoot),
    );
    return { ...first, signatureSlot, syncAggregate: signAs(1, firstBits(400), message) };
  };
  equal(isFirstSlotOfFork(network, slot), true);
  // By the beacon chain's rule the version is that of the slot before.
  refuses(["version of the slot before", "signature", { network, update: signed(slot, "0x90000075") }]);
  differs(verifyUpdate(network, trusted, signed(slot, "0x90000076")), trusted);
  equal(isFirstSlotOfFork(network, slot + 1n), false);
  differs(verifyUpdate(network, trusted, signed(slot + 1n, "0x90000076")), trusted);
  equal(isFirstSlotOfFork(network, slot - 1n), false);
  differs(verifyUpdate(network, trusted, signed(slot - 1n, "0x90000075")), trusted);
});
