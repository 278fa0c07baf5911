import { deepStrictEqual as equal, ok, throws } from "node:assert/strict";
import { ContainerType, ListCompositeType, VectorBasicType } from "@chainsafe/ssz";
import { ssz } from "@lodestar/types";
import fc from "fast-check";
import { toHash256, toHex } from "../../../../../src/core/encoding/bytes.ts";
import { DerivationError } from "../../../../../src/consensus/clients/sync_committee/spec/derivation_error.ts";
import {
  branchOfNodes,
  branchRoot,
} from "../../../../../src/consensus/clients/sync_committee/spec/merkle.ts";
import { StateJsonReader } from "../../../../../src/consensus/clients/sync_committee/spec/state_json.ts";
import {
  type BeaconStateParts,
  BeaconStateReader,
} from "../../../../../src/consensus/clients/sync_committee/spec/state_stream.ts";
import { seededRandomness } from "../../../../support/seeded_randomness.ts";

const chance = seededRandomness(7);
const bytes = (count: number): Uint8Array => chance.bytes(count);
const small = (): number => Math.floor(chance.fraction() * 2 ** 40);

function records<T>(count: number, make: () => T): T[] {
  return Array.from({ length: count }, make);
}

function committee(): { pubkeys: Uint8Array[]; aggregatePubkey: Uint8Array } {
  return { pubkeys: records(512, () => bytes(48)), aggregatePubkey: bytes(48) };
}

/** Fills a state with lists of such lengths that batches are empty, partly full, full and more than full. */
function electraState(validators: number): ReturnType<typeof ssz.electra.BeaconState.defaultValue> {
  const state = ssz.electra.BeaconState.defaultValue();
  state.slot = 9_015_296;
  state.latestBlockHeader.bodyRoot = bytes(32);
  state.blockRoots = records(8192, () => bytes(32));
  state.historicalRoots = records(3, () => bytes(32));
  state.eth1DataVotes = records(5, () => ({
    depositRoot: bytes(32),
    depositCount: BigInt(small()),
    blockHash: bytes(32),
  }));
  state.validators = records(validators, () => ({
    pubkey: bytes(48),
    withdrawalCredentials: bytes(32),
    effectiveBalance: small(),
    slashed: chance.fraction() < 0.5,
    activationEligibilityEpoch: small(),
    activationEpoch: small(),
    exitEpoch: Infinity,
    withdrawableEpoch: small(),
  }));
  state.balances = records(validators, small);
  state.randaoMixes[17] = bytes(32);
  state.slashings[8191] = 5;
  state.previousEpochParticipation = records(validators, () => Math.floor(chance.fraction() * 8));
  state.currentEpochParticipation = records(validators, () => Math.floor(chance.fraction() * 8));
  state.inactivityScores = records(validators, small);
  state.finalizedCheckpoint = { epoch: 281_726, root: bytes(32) };
  state.currentSyncCommittee = committee();
  state.nextSyncCommittee = committee();
  state.latestExecutionPayloadHeader.stateRoot = bytes(32);
  state.latestExecutionPayloadHeader.extraData = bytes(9);
  state.latestExecutionPayloadHeader.baseFeePerGas = 2n ** 200n;
  state.nextWithdrawalIndex = 987_950;
  state.historicalSummaries = records(343, () => ({
    blockSummaryRoot: bytes(32),
    stateSummaryRoot: bytes(32),
  }));
  state.depositRequestsStartIndex = 2n ** 64n - 1n;
  state.pendingDeposits = records(2049, () => ({
    pubkey: bytes(48),
    withdrawalCredentials: bytes(32),
    amount: small(),
    signature: bytes(96),
    slot: small(),
  }));
  state.pendingPartialWithdrawals = records(2, () => ({
    validatorIndex: small(),
    amount: 3n,
    withdrawableEpoch: small(),
  }));
  state.pendingConsolidations = records(3, () => ({ sourceIndex: small(), targetIndex: small() }));
  return state;
}

function read(state: Uint8Array, pieceBytes = 65_536, slotsPerEpoch = 32n): BeaconStateParts {
  const reader = new BeaconStateReader(slotsPerEpoch);
  for (let at = 0; at < state.length; at += pieceBytes) reader.write(state.subarray(at, at + pieceBytes));
  return reader.finish();
}

const electra = electraState(5000);
const electraBytes = ssz.electra.BeaconState.serialize(electra);
const fulu = { ...electra, proposerLookahead: records(64, small) };
const fuluBytes = ssz.fulu.BeaconState.serialize(fulu);

Deno.test("state stream: every field root of a Fulu state is that of the reference library", () => {
  const parts = read(fuluBytes);
  const view = ssz.fulu.BeaconState.toView(fulu);
  Object.entries(ssz.fulu.BeaconState.fields).forEach(([name, type], index) => {
    const value = Reflect.get(fulu, name);
    equal(parts.nodes[64 + index], toHash256(Reflect.apply(type.hashTreeRoot, type, [value])), name);
  });
  equal(parts.nodes[1], toHash256(view.hashTreeRoot()));
});

Deno.test("state stream: an Electra state is recognized by its first offset, and lists may be empty", () => {
  equal(read(electraBytes).nodes[1], toHash256(ssz.electra.BeaconState.hashTreeRoot(electra)));
  const empty = ssz.electra.BeaconState.defaultValue();
  equal(
    read(ssz.electra.BeaconState.serialize(empty)).nodes[1],
    toHash256(ssz.electra.BeaconState.hashTreeRoot(empty)),
  );
});

Deno.test("state stream: the gnosis preset has shorter votes and a shorter lookahead", () => {
  const { Eth1Data } = ssz.phase0;
  const gnosis = new ContainerType({
    ...ssz.fulu.BeaconState.fields,
    eth1DataVotes: new ListCompositeType(Eth1Data, 64 * 16),
    proposerLookahead: new VectorBasicType(ssz.ValidatorIndex, 2 * 16),
  });
  const state = { ...electra, proposerLookahead: records(32, small) };
  const parts = read(gnosis.serialize(state), 65_536, 16n);
  equal(parts.nodes[1], toHash256(gnosis.hashTreeRoot(state)));
});

Deno.test("state stream: the values beside the roots are those of the state", () => {
  const parts = read(fuluBytes);
  equal(parts.slot, 9_015_296n);
  equal(parts.finalizedCheckpoint, { epoch: 281_726n, root: toHash256(electra.finalizedCheckpoint.root) });
  equal(parts.currentSyncCommittee.publicKeys.map(toHex), electra.currentSyncCommittee.pubkeys.map(toHex));
  equal(
    toHex(parts.nextSyncCommittee.aggregatePublicKey),
    toHex(electra.nextSyncCommittee.aggregatePubkey),
  );
  equal(parts.payloadHeader.stateRoot, toHash256(electra.latestExecutionPayloadHeader.stateRoot));
  equal(parts.payloadHeader.baseFeePerGasWei, 2n ** 200n);
  equal(parts.historicalSummaries.length, 343);
  for (const index of [84, 86, 87, 88, 91]) {
    const leaf = parts.nodes[index] ?? "0x";
    equal(branchRoot(leaf, branchOfNodes(index, (at) => parts.nodes[at]), index), parts.nodes[1]);
  }
});

function readJson(text: string, pieceBytes = 65_536, slotsPerEpoch = 32n): BeaconStateParts {
  const reader = new StateJsonReader(slotsPerEpoch);
  const utf8 = new TextEncoder().encode(text);
  for (let at = 0; at < utf8.length; at += pieceBytes) reader.write(utf8.subarray(at, at + pieceBytes));
  return reader.finish();
}

/** A state as a node tells it in JSON. */
function answerOf(data: unknown): string {
  return JSON.stringify({ version: "fulu", execution_optimistic: false, finalized: true, data });
}

const fuluJson = answerOf(ssz.fulu.BeaconState.toJson(fulu));

Deno.test("state in JSON: roots and values are those of the same state in bytes, however it is cut", () => {
  equal(readJson(fuluJson), read(fuluBytes));
  equal(readJson(fuluJson, 77_777).nodes[1], read(fuluBytes).nodes[1]);
  equal(readJson(answerOf(ssz.electra.BeaconState.toJson(electra))), read(electraBytes));
});

Deno.test("state in JSON: text that is no such state is refused, and a changed one has another root", () => {
  const refuses = (text: string): void =>
    throws(() => readJson(text), (error) => error instanceof DerivationError && error.code === "state_bytes");
  refuses("");
  refuses(fuluJson.slice(0, -10));
  refuses(fuluJson.slice(0, 1_000_000));
  refuses(`<html>${fuluJson}`);
  refuses(fuluJson.replace('"slashings"', '"slashing"'));
  refuses(fuluJson.replace('"slot":"9015296"', '"slot":"18446744073709551616"'));
  refuses(fuluJson.replace('"slot":"9015296"', '"slot":"-1"'));
  refuses(fuluJson.replace('"genesis_validators_root":"0x', '"genesis_validators_root":"0x00'));
  refuses(JSON.stringify({ data: {} }));
  const other = fuluJson.replace('"slot":"9015296"', '"slot":"9015297"');
  ok(other !== fuluJson && readJson(other).nodes[1] !== read(fuluBytes).nodes[1]);
});

Deno.test("state stream: it does not matter how the bytes are cut into pieces", () => {
  const root = read(fuluBytes, fuluBytes.length).nodes[1];
  const sizes = fc.array(fc.integer({ min: 1, max: 300_000 }), { minLength: 1, maxLength: 8 });
  fc.assert(
    fc.property(sizes, (pieces) => {
      const reader = new BeaconStateReader(32n);
      for (let at = 0, turn = 0; at < fuluBytes.length; turn++) {
        const size = pieces[turn % pieces.length] ?? 1;
        // Tiny pieces everywhere would take minutes: they are mixed with large ones.
        const end = at + (turn % 50 === 49 ? 400_000 : size);
        reader.write(fuluBytes.subarray(at, end));
        at = end;
      }
      equal(reader.finish().nodes[1], root);
    }),
    { numRuns: 5 },
  );
});

Deno.test("state stream: bytes that are no such state are refused, and changed ones have another root", () => {
  const refuses = (run: () => unknown): void =>
    throws(run, (error) => error instanceof DerivationError && error.code === "state_bytes");
  for (const length of [0, 100, 524_468, 2_700_000, fuluBytes.length - 1]) {
    refuses(() => read(fuluBytes.subarray(0, length)));
  }
  const root = read(fuluBytes).nodes[1];
  const deneb = Uint8Array.from(fuluBytes);
  deneb[524_464] = (deneb[524_464] ?? 0) ^ 0xff; // the first offset
  refuses(() => read(deneb));
  for (const at of [0, 41, 600_000, 2_700_000, 2_736_700, fuluBytes.length - 1]) {
    const changed = Uint8Array.from(fuluBytes);
    changed[at] = (changed[at] ?? 0) ^ 1;
    let other: string | undefined;
    try {
      other = read(changed).nodes[1];
    } catch (error) {
      ok(error instanceof DerivationError);
    }
    ok(other !== root, `byte ${at}`);
  }
});
