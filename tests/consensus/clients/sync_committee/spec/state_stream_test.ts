import { deepStrictEqual as equal, ok, throws } from "node:assert/strict";
import {
  ArrayType,
  BooleanType,
  ByteVectorType,
  ContainerType,
  ListCompositeType,
  ProgressiveContainerType,
  type Type,
  UintBigintType,
  UintNumberType,
  VectorBasicType,
} from "@chainsafe/ssz";
import { ssz } from "@lodestar/types";
import { type Hash256, toHash256, toHex } from "../../../../../src/core/encoding/bytes.ts";
import { gloasStateIndices } from "../../../../../src/consensus/clients/sync_committee/spec/beacon_network.ts";
import {
  mixLength,
  treeOfItems,
} from "../../../../../src/consensus/clients/sync_committee/spec/chunk_tree.ts";
import { DerivationError } from "../../../../../src/consensus/clients/sync_committee/spec/sync_committee_error.ts";
import {
  branchRoot,
  uint64Root,
} from "../../../../../src/consensus/clients/sync_committee/spec/ssz_roots.ts";
import { stateTypeOf } from "../../../../../src/consensus/clients/sync_committee/spec/state_type.ts";
import { StateJsonReader } from "../../../../../src/consensus/clients/sync_committee/spec/state_json.ts";
import {
  type BeaconStateParts,
  BeaconStateReader,
} from "../../../../../src/consensus/clients/sync_committee/spec/field_roots.ts";
import { seededRandomness } from "../../../../support/seeded_randomness.ts";

const chance = seededRandomness(7);
const bytes = (count: number): Uint8Array => chance.bytes(count);
const small = (): number => Math.floor(chance.fraction() * 2 ** 40);

function records<T>(count: number, make: () => T): T[] {
  return Array.from({ length: count }, make);
}

/** A random value of the type; its lists have as many items as `lengths` says of their names, or three. */
function randomOf(type: Type<unknown>, lengths: Readonly<Record<string, number>>, length = 3): unknown {
  if (type instanceof UintNumberType) {
    return Math.floor(chance.fraction() * (type.byteLength > 1 ? 2 ** 40 : 8));
  }
  if (type instanceof UintBigintType) return BigInt(small());
  if (type instanceof BooleanType) return chance.fraction() < 0.5;
  if (type instanceof ByteVectorType) return bytes(type.lengthBytes);
  if (type instanceof ArrayType) {
    const count = type.isList ? length : Number(Reflect.get(type, "length"));
    return records(count, () => randomOf(type.elementType, lengths));
  }
  if (!(type instanceof ContainerType || type instanceof ProgressiveContainerType)) {
    return type.defaultValue();
  }
  const fields = Object.entries<Type<unknown>>(type.fields);
  return Object.fromEntries(fields.map(([name, field]) => [name, randomOf(field, lengths, lengths[name])]));
}

/** Lengths of lists with which batches are empty, partly full, full and more than full. */
const lengths = {
  ...Object.fromEntries(
    ["validators", "balances", "previousEpochParticipation", "currentEpochParticipation", "inactivityScores"]
      .map((name) => [name, 5000]),
  ),
  historicalSummaries: 343,
  pendingDeposits: 2049,
  builders: 7,
  builderPendingWithdrawals: 86,
  payloadExpectedWithdrawals: 16,
  blobKzgCommitments: 6,
};

function electraState(): ReturnType<typeof ssz.electra.BeaconState.defaultValue> {
  const state = randomOf(ssz.electra.BeaconState, lengths) as ReturnType<typeof electraState>;
  Object.assign(state.validators[0] ?? {}, { exitEpoch: Infinity });
  state.latestExecutionPayloadHeader.extraData = bytes(9);
  state.latestExecutionPayloadHeader.baseFeePerGas = 2n ** 200n;
  state.depositRequestsStartIndex = 2n ** 64n - 1n;
  return Object.assign(state, { slot: 9_015_296, nextWithdrawalIndex: 987_950 });
}

function read(
  state: Uint8Array,
  { fork = "fulu", pieceBytes = 65_536, slotsPerEpoch = 32 } = {},
): BeaconStateParts {
  const reader = new BeaconStateReader(stateTypeOf(fork, slotsPerEpoch));
  for (let at = 0; at < state.length; at += pieceBytes) reader.write(state.subarray(at, at + pieceBytes));
  return reader.finish();
}

function rootOf({ tree }: BeaconStateParts): Hash256 {
  return tree.node(1);
}

/** Everything of a state: its tree shows no nodes to a comparison. */
function valuesOf(parts: BeaconStateParts): unknown {
  return { ...parts, tree: rootOf(parts) };
}

const electra = electraState();
const electraBytes = ssz.electra.BeaconState.serialize(electra);
const fulu = { ...electra, proposerLookahead: records(64, small) };
const fuluBytes = ssz.fulu.BeaconState.serialize(fulu);
const fuluParts = read(fuluBytes);
const fuluRoot = rootOf(fuluParts);

Deno.test("state stream: every field root of a Fulu state is that of the reference library", () => {
  const parts = fuluParts;
  const view = ssz.fulu.BeaconState.toView(fulu);
  Object.entries(ssz.fulu.BeaconState.fields).forEach(([name, type], index) => {
    const value = Reflect.get(fulu, name);
    equal(parts.tree.node(64 + index), toHash256(Reflect.apply(type.hashTreeRoot, type, [value])), name);
  });
  equal(rootOf(parts), toHash256(view.hashTreeRoot()));
});

Deno.test("state stream: an Electra state is read as such only, and its lists may be empty", () => {
  throws(() => read(electraBytes), DerivationError);
  equal(
    rootOf(read(electraBytes, { fork: "electra" })),
    toHash256(ssz.electra.BeaconState.hashTreeRoot(electra)),
  );
  const empty = ssz.electra.BeaconState.defaultValue();
  equal(
    rootOf(read(ssz.electra.BeaconState.serialize(empty), { fork: "electra" })),
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
  const parts = read(gnosis.serialize(state), { slotsPerEpoch: 16 });
  equal(rootOf(parts), toHash256(gnosis.hashTreeRoot(state)));
});

Deno.test("state stream: roots of fields of fixed size are there before the rest", () => {
  const type = stateTypeOf("fulu", 32);
  const reader = new BeaconStateReader(type);
  throws(() => reader.rootOf("earliestExitEpoch"), isUnreadable);
  reader.write(fuluBytes.subarray(0, type.fixedEnd));
  equal(reader.rootOf("nextWithdrawalIndex"), uint64Root(987_950n));
  throws(() => reader.rootOf("validators"), isUnreadable);
});

Deno.test("state stream: the values beside the roots are those of the state", () => {
  const parts = fuluParts;
  equal(parts.finalizedCheckpoint, {
    epoch: BigInt(electra.finalizedCheckpoint.epoch),
    root: toHash256(electra.finalizedCheckpoint.root),
  });
  equal(parts.currentSyncCommittee.publicKeys.map(toHex), electra.currentSyncCommittee.pubkeys.map(toHex));
  equal(
    toHex(parts.nextSyncCommittee.aggregatePublicKey),
    toHex(electra.nextSyncCommittee.aggregatePubkey),
  );
  ok(typeof parts.execution === "object");
  equal(parts.execution.stateRoot, toHash256(electra.latestExecutionPayloadHeader.stateRoot));
  const payload = electra.latestExecutionPayloadHeader;
  equal(parts.execution.root, toHash256(ssz.electra.ExecutionPayloadHeader.hashTreeRoot(payload)));
  for (const index of [84, 86, 87, 88, 91]) {
    equal(branchRoot(parts.tree.node(index), parts.tree.branch(index), index), rootOf(parts));
  }
});

const isUnreadable = { name: "DerivationError", code: "state_bytes" };

function readJson(text: string, { fork = "fulu", pieceBytes = 65_536 } = {}): BeaconStateParts {
  const reader = new StateJsonReader(stateTypeOf(fork, 32));
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
  equal(valuesOf(readJson(fuluJson)), valuesOf(read(fuluBytes)));
  equal(rootOf(readJson(fuluJson, { pieceBytes: 77_777 })), fuluRoot);
  const fork = "electra";
  const json = answerOf(ssz.electra.BeaconState.toJson(electra));
  equal(valuesOf(readJson(json, { fork })), valuesOf(read(electraBytes, { fork })));
});

/** The state in JSON with lists of small items each as one text, as Erigon's beacon node has participation. */
function withBytesAsText(data: unknown, ...lists: readonly [string, Uint8Array][]): string {
  const texts = lists.map(([name, value]) => [name, toHex(value)]);
  return answerOf({ ...Object(data), ...Object.fromEntries(texts) });
}

Deno.test("state in JSON: lists of bytes are read as one text, too", () => {
  const json = ssz.fulu.BeaconState.toJson(fulu);
  const scores = ssz.fulu.BeaconState.fields.inactivityScores.serialize(fulu.inactivityScores);
  const text = withBytesAsText(
    json,
    ["previous_epoch_participation", Uint8Array.from(fulu.previousEpochParticipation)],
    ["current_epoch_participation", Uint8Array.from(fulu.currentEpochParticipation)],
    ["inactivity_scores", scores],
  );
  for (const pieceBytes of [65_536, 12_345]) {
    equal(rootOf(readJson(text, { pieceBytes })), fuluRoot);
  }
  const [odd, cut] = [new Uint8Array(0), Uint8Array.from(fulu.previousEpochParticipation.slice(1))];
  for (const value of [odd, cut]) {
    const other = readJson(withBytesAsText(json, ["previous_epoch_participation", value]));
    ok(rootOf(other) !== fuluRoot);
  }
  const refused = text.replace('"previous_epoch_participation":"0x', '"previous_epoch_participation":"0x0');
  throws(() => readJson(refused), isUnreadable);
});

const gloas = randomOf(ssz.gloas.BeaconState, lengths) as ReturnType<
  typeof ssz.gloas.BeaconState.defaultValue
>;
gloas.executionPayloadAvailability.uint8Array.set(bytes(1024));
const gloasBytes = ssz.gloas.BeaconState.serialize(gloas);

Deno.test("state stream: every field root of a Gloas state is that of the reference library, in bytes and JSON", () => {
  const parts = read(gloasBytes, { fork: "gloas" });
  const type = ssz.gloas.BeaconState;
  for (const [name, field] of Object.entries(type.fields)) {
    const { gindex } = type.getPathInfo([name]);
    const root: unknown = Reflect.apply(field.hashTreeRoot, field, [Reflect.get(gloas, name)]);
    ok(root instanceof Uint8Array);
    equal(parts.tree.node(Number(gindex)), toHash256(root), name);
  }
  equal(rootOf(parts), toHash256(type.hashTreeRoot(gloas)));
  equal(parts.execution, toHash256(gloas.latestBlockHash));
  equal(valuesOf(readJson(answerOf(type.toJson(gloas)), { fork: "gloas" })), valuesOf(parts));
  for (const index of Object.values(gloasStateIndices)) {
    equal(branchRoot(parts.tree.node(index), parts.tree.branch(index), index), rootOf(parts));
  }
});

Deno.test("state stream: progressive lists of any length have the roots of the reference library", () => {
  const { balances } = ssz.gloas.BeaconState.fields;
  for (const length of [0, 1, 3, 4, 5, 19, 20, 21, 84, 85, 86, 5460, 5461]) {
    const values = records(length, small);
    const tree = treeOfItems(undefined, [8]);
    tree.take(balances.serialize(values));
    equal(
      toHash256(mixLength(tree.root(), length)),
      toHash256(balances.hashTreeRoot(values)),
      String(length),
    );
  }
});

Deno.test("state stream: indices in states and blocks of Gloas are those of the specification's containers", () => {
  const { BeaconState: state, BeaconBlockBody: body } = ssz.gloas;
  const indexOf = (type: { getPathInfo(path: string[]): { gindex: bigint } }, ...path: string[]): number =>
    Number(type.getPathInfo(path).gindex);
  equal(gloasStateIndices, {
    finalizedCheckpoint: indexOf(state, "finalizedCheckpoint"),
    currentSyncCommittee: indexOf(state, "currentSyncCommittee"),
    nextSyncCommittee: indexOf(state, "nextSyncCommittee"),
    execution: indexOf(state, "latestBlockHash"),
  });
  // Of the specification (light clients), then of the hub.
  const parentHash = indexOf(body, "signedExecutionPayloadBid", "message", "parentBlockHash");
  equal([indexOf(state, "finalizedCheckpoint", "root"), parentHash], [735, 2856]);
  equal(Object.values(gloasStateIndices), [367, 2945, 2946, 2947]);
  equal(indexOf(state, "blockRoots"), 352);
});

Deno.test("state in JSON: text that is no such state is refused, and a changed one has another root", () => {
  const unreadable = [
    "",
    fuluJson.slice(0, -10),
    fuluJson.slice(0, 1_000_000),
    `<html>${fuluJson}`,
    `${fuluJson}{`,
    fuluJson.replace('"slashings"', '"slashing"'),
    fuluJson.replace('"genesis_validators_root":"0x', '"genesis_validators_root":"0x00'),
    fuluJson.replace('"slot":"9015296"', '"slot":"18446744073709551616"'),
    JSON.stringify({ data: {} }),
  ];
  for (const text of unreadable) throws(() => readJson(text), isUnreadable);
  for (const slot of ["9015297", "-1"]) {
    const other = fuluJson.replace('"slot":"9015296"', `"slot":"${slot}"`);
    ok(other !== fuluJson && rootOf(readJson(other)) !== fuluRoot, slot);
  }
});

Deno.test("state in JSON: a text without end, or of other values, is refused before it fills the memory", () => {
  const encode = (text: string): Uint8Array => new TextEncoder().encode(text);
  const lists = ['{"junk":[', '{"data":{"fork":[', '{"data":{"balances":[['];
  const endless = [
    ['{"data":{"genesis_time":"', "1"],
    ['{"data":{"balances":{"first":"1",', '"1":"1",'],
    ...lists.flatMap((start) => ["[", "0,", "[],"].map((part) => [start, part])),
  ] as const;
  for (const [start = "", part = ""] of endless) {
    const reader = new StateJsonReader(stateTypeOf("fulu", 32));
    const piece = encode(part.repeat(2 ** 20));
    throws(
      () => {
        reader.write(encode(start));
        for (let written = 0; written < 128; written++) reader.write(piece);
      },
      isUnreadable,
      start + part,
    );
  }
});

Deno.test("state stream: it does not matter how the bytes are cut into pieces", () => {
  for (const pieceBytes of [509, 4_099, 300_007, fuluBytes.length]) {
    equal(rootOf(read(fuluBytes, { pieceBytes })), fuluRoot, String(pieceBytes));
  }
});

Deno.test("state stream: bytes that are no such state are refused, and changed ones have another root", () => {
  for (const length of [0, 100, 524_468, 2_700_000, fuluBytes.length - 1]) {
    throws(() => read(fuluBytes.subarray(0, length)), isUnreadable);
  }
  const deneb = Uint8Array.from(fuluBytes);
  deneb[524_464] = (deneb[524_464] ?? 0) ^ 0xff; // the first offset
  throws(() => read(deneb), isUnreadable);
  for (const at of [0, 41, 600_000, 2_700_000, 2_736_700, fuluBytes.length - 1]) {
    const changed = Uint8Array.from(fuluBytes);
    changed[at] = (changed[at] ?? 0) ^ 1;
    let other: string | undefined;
    try {
      other = rootOf(read(changed));
    } catch (error) {
      ok(error instanceof DerivationError);
    }
    ok(other !== fuluRoot, `byte ${at}`);
  }
});
