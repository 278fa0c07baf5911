/**
 * The hub's own client of Polygon beside the relayer's verifier: the same verdict about updates that are right, wrong in one
 * point, or changed anywhere. They share no rules, and neither shares code with the chain that makes the updates.
 */
import assert from "node:assert/strict";
import fc from "fast-check";
import { concatBytes, toHash256, toHex } from "../../src/core/encoding/bytes.ts";
import { stateCommitmentCodec } from "../../src/core/ismp/state_machine.ts";
import {
  joinCommitmentProofs,
  type ProvenEntry,
  requireProven,
} from "../../src/consensus/clients/polygon/spec/commitment_proof.ts";
import {
  type PolygonConsensusState,
  polygonConsensusStateCodec,
  polygonUpdateCodec,
} from "../../src/consensus/clients/polygon/spec/update.ts";
import {
  PolygonError,
  type PolygonErrorCode,
} from "../../src/consensus/clients/polygon/spec/polygon_error.ts";
import {
  decodePolygonState,
  decodePolygonUpdate,
  verifyPolygonUpdate,
} from "../../src/consensus/clients/polygon/spec/verify_update.ts";
import {
  milestoneStep,
  type PolygonStep,
  rotationStep,
} from "../../tests/consensus/clients/polygon/spec/known_updates.ts";
import { changedOnce } from "../../tests/consensus/clients/changed_once.ts";
import { wrongSteps } from "../../tests/consensus/clients/polygon/spec/wrong_updates.ts";
import {
  bytesField,
  existenceProof,
  iavlLeafPrefix,
  numberField,
  sha256Parts,
  sized,
  type TreeStep,
  zigzag,
} from "../heimdall/wire.ts";
import { requireEntry } from "./verifiers/polygon/milestone_proof.ts";
import { checkPolygonUpdate, type PolygonQuestion } from "./verifiers/polygon/polygon_client.ts";
import { ClientRefusal } from "./verifiers/refusals.ts";

function questionOf({ trusted, update, view }: PolygonStep): PolygonQuestion {
  return {
    trusted: polygonConsensusStateCodec.enc(trusted),
    proof: polygonUpdateCodec.enc(update),
    stateId: view.consensusStateId,
    nowSec: view.nowSec,
  };
}

/** What is stored, as text, or the code of a refusal. */
type Verdict<Code extends string = string> = { readonly stored: readonly string[] } | { readonly code: Code };

function ofHub(question: PolygonQuestion): Verdict {
  try {
    const { state, commitment } = checkPolygonUpdate(question);
    return { stored: [toHex(state), textOf(commitment)] };
  } catch (error) {
    if (!(error instanceof ClientRefusal)) throw error;
    return { code: error.code };
  }
}

function ofRelayer({ trusted, proof, stateId, nowSec }: PolygonQuestion): Verdict<PolygonErrorCode> {
  try {
    const { consensusState, commitment } = verifyPolygonUpdate(
      decodePolygonState(trusted),
      decodePolygonUpdate(proof),
      { nowSec, consensusStateId: stateId },
    );
    return { stored: [toHex(polygonConsensusStateCodec.enc(consensusState)), textOf(commitment)] };
  } catch (error) {
    if (!(error instanceof PolygonError)) throw error;
    return { code: error.code };
  }
}

function textOf(commitment: ReturnType<typeof checkPolygonUpdate>["commitment"]): string {
  if (commitment === undefined) return "none";
  const { id, height } = commitment.height;
  return `${id.stateMachine} ${id.consensusStateId} ${height} ` +
    toHex(stateCommitmentCodec.enc(commitment.commitment));
}

/** Requires that both store the same, or both refuse. @returns what the relayer's says. */
function sameVerdict(question: PolygonQuestion, what: string): Verdict<PolygonErrorCode> {
  const hub = ofHub(question);
  const relayer = ofRelayer(question);
  if (!("code" in hub && "code" in relayer)) assert.deepEqual(relayer, hub, what);
  return relayer;
}

const step = await milestoneStep();
const rotation = await rotationStep();
const allSign = await milestoneStep({});
const known = [step, rotation, allSign].map(questionOf);

Deno.test("the hub's own client takes what the relayer proves, and stores what the relayer expects", () => {
  for (const question of known) assert.ok("stored" in sameVerdict(question, "a known step"));
});

for (const [what, code, wrong] of wrongSteps) {
  Deno.test(`the hub's own client of Polygon refuses ${what}`, () => {
    assert.deepEqual(sameVerdict(questionOf(wrong), what), { code });
  });
}

Deno.test("the hub's own client and the relayer's verifier agree on every value of update and state that changes", () => {
  let refused = 0;
  for (const given of [step, rotation]) {
    for (const [path, changed] of changedOnce(given.update)) {
      const question = questionOf({ ...given, update: changed as PolygonStep["update"] });
      if ("code" in sameVerdict(question, path)) refused++;
    }
    for (const [path, changed] of changedOnce(given.trusted)) {
      const question = questionOf({ ...given, trusted: changed as PolygonConsensusState });
      if ("code" in sameVerdict(question, path)) refused++;
    }
  }
  assert.ok(refused > 150, `${refused} refusals`);
});

/** Refusals of the relayer where the hub takes more than one form of the same. */
const STRICTER: readonly PolygonErrorCode[] = ["undecodable_update", "undecodable_proof", "time"];

Deno.test("the hub's own client takes whatever the relayer takes of updates with any bits changed, and no other lies", () => {
  const flips = fc.array(fc.tuple(fc.nat(), fc.nat({ max: 7 })), { minLength: 1, maxLength: 3 });
  fc.assert(
    fc.property(fc.nat({ max: known.length - 1 }), flips, fc.boolean(), (at, places, isState) => {
      const question = known[at];
      assert.ok(question !== undefined);
      const bytes = new Uint8Array(isState ? question.trusted : question.proof);
      for (const [place, bit] of places) {
        const index = place % bytes.length;
        bytes[index] = (bytes[index] ?? 0) ^ 1 << bit;
      }
      const changed = isState ? { ...question, trusted: bytes } : { ...question, proof: bytes };
      const hub = ofHub(changed);
      const relayer = ofRelayer(changed);
      // Of several faults each names the first that it comes to.
      if ("code" in relayer && ("code" in hub || STRICTER.includes(relayer.code))) return;
      assert.deepEqual(relayer, hub);
    }),
    { numRuns: 1_000 },
  );
});

Deno.test("what the relayer refuses beyond the hub's rules: bytes after an update, and times of another zone", () => {
  const [question] = known;
  assert.ok(question !== undefined);
  const longer = { ...question, proof: Uint8Array.of(...question.proof, 0) };
  assert.deepEqual(ofHub(longer), ofHub(question));
  assert.deepEqual(ofRelayer(longer), { code: "undecodable_update" });
  const { header, commit } = step.update.signedHeader;
  const time = header.time.replace("Z", "+00:00");
  const elsewhere = questionOf({
    ...step,
    update: { ...step.update, signedHeader: { header: { ...header, time }, commit } },
  });
  assert.deepEqual(ofHub(elsewhere), ofHub(question));
  assert.deepEqual(ofRelayer(elsewhere), { code: "time" });
});

/** A proof of an entry, step by step. */
interface Shape {
  /** Protobuf of a leaf without its prefix; absent: as trees hash leaves. */
  readonly leaf?: readonly Uint8Array[];
  readonly prefix: Uint8Array;
  readonly path: readonly TreeStep[];
}

const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text);
const NONE = new Uint8Array(0);
const entry: ProvenEntry = { store: "milestone", key: Uint8Array.of(0x81, 7), value: utf8("a value") };
const child = new Uint8Array(32).fill(5);
const length = Uint8Array.of(32);
const numbers = concatBytes(zigzag(1), zigzag(2), zigzag(300));
const leaf = iavlLeafPrefix({ key: entry.key, value: entry.value, version: 300n });
const left: TreeStep = { prefix: concatBytes(numbers, length), suffix: concatBytes(length, child) };
const right: TreeStep = { prefix: concatBytes(numbers, length, child, length), suffix: NONE };
const store: Shape = { prefix: Uint8Array.of(0), path: [{ prefix: Uint8Array.of(1), suffix: child }] };

/** Both verdicts on a proof of these shapes and the root that it leads to, whatever the shapes. */
function shapeVerdicts(ofEntry: Shape, ofStore: Shape): readonly [boolean, boolean] {
  const rootOf = ({ prefix, path }: Shape, key: Uint8Array, value: Uint8Array): Uint8Array =>
    path.reduce(
      (hash, { prefix: before, suffix }) => sha256Parts(before, hash, suffix),
      sha256Parts(prefix, sized(key), sized(sha256Parts(value))),
    );
  const proofOf = ({ leaf: fields, prefix, path }: Shape, key: Uint8Array, value: Uint8Array): Uint8Array => {
    if (fields === undefined) return existenceProof({ key, value, prefix }, path);
    const hashed = concatBytes(...fields, bytesField(5, prefix));
    return bytesField(1, concatBytes(bytesField(1, key), bytesField(2, value), bytesField(3, hashed)));
  };
  const name = utf8(entry.store);
  const storeRoot = rootOf(ofEntry, entry.key, entry.value);
  const root = rootOf(ofStore, name, storeRoot);
  const proof = joinCommitmentProofs([
    proofOf(ofEntry, entry.key, entry.value),
    proofOf(ofStore, name, storeRoot),
  ]);
  const takes = (work: () => void): boolean => {
    try {
      work();
      return true;
    } catch (error) {
      assert.ok(error instanceof PolygonError || error instanceof ClientRefusal, String(error));
      return false;
    }
  };
  return [
    takes(() => requireProven(proof, toHash256(root), entry)),
    takes(() => requireEntry(proof, root, entry)),
  ];
}

const sound: readonly (readonly [string, Shape, Shape])[] = [
  ["a leaf on the left", { prefix: leaf, path: [left] }, store],
  ["a leaf on the right", { prefix: leaf, path: [right] }, store],
  ["a leaf alone", { prefix: leaf, path: [] }, store],
  ["a store alone", { prefix: leaf, path: [] }, { ...store, path: [] }],
  ["a higher node than its place asks for", {
    prefix: leaf,
    path: [{ ...left, prefix: concatBytes(zigzag(9), zigzag(2), zigzag(3), length) }],
  }, store],
];

const USUAL = [numberField(1, 1), numberField(3, 1), numberField(4, 1)];
const unsound: readonly (readonly [string, Shape, Shape])[] = [
  ["a leaf of height one", { prefix: concatBytes(zigzag(1), zigzag(1), zigzag(3)), path: [] }, store],
  ["a leaf with a byte more", { prefix: concatBytes(leaf, length), path: [] }, store],
  ["a leaf without a version", { prefix: concatBytes(zigzag(0), zigzag(1)), path: [] }, store],
  [
    "a leaf of a negative version",
    { prefix: concatBytes(zigzag(0), zigzag(1), zigzag(-1)), path: [] },
    store,
  ],
  ["a leaf of a negative size", { prefix: concatBytes(zigzag(0), zigzag(-1), zigzag(1)), path: [] }, store],
  ["a leaf without a prefix", { prefix: NONE, path: [] }, store],
  ["a store's leaf with an inner prefix", { prefix: leaf, path: [] }, { ...store, prefix: Uint8Array.of(1) }],
  ["an inner node of height zero", {
    prefix: leaf,
    path: [{ ...left, prefix: concatBytes(zigzag(0), zigzag(2), zigzag(3), length) }],
  }, store],
  ["an inner node that is too low", { prefix: leaf, path: [left, left] }, store],
  ["an inner node with a byte more", {
    prefix: leaf,
    path: [{ ...left, prefix: concatBytes(left.prefix, length) }],
  }, store],
  ["an inner node without the length", { prefix: leaf, path: [{ ...left, prefix: numbers }] }, store],
  ["an inner node with half a child", { prefix: leaf, path: [{ ...left, suffix: child.slice(16) }] }, store],
  [
    "an inner node with a child without its length",
    { prefix: leaf, path: [{ ...left, suffix: child }] },
    store,
  ],
  ["an inner node with two children before", {
    prefix: leaf,
    path: [{ ...right, prefix: concatBytes(right.prefix, child, length) }],
  }, store],
  ["an inner store node with a leaf's prefix", { prefix: leaf, path: [] }, {
    ...store,
    path: [{ prefix: Uint8Array.of(0), suffix: child }],
  }],
  ["an inner store node without a prefix", { prefix: leaf, path: [] }, {
    ...store,
    path: [{ prefix: NONE, suffix: child }],
  }],
  ["an inner store node with two children before", { prefix: leaf, path: [] }, {
    ...store,
    path: [{ prefix: concatBytes(Uint8Array.of(1), child, child), suffix: NONE }],
  }],
  ["an inner store node with a child and a half", { prefix: leaf, path: [] }, {
    ...store,
    path: [{ prefix: Uint8Array.of(1), suffix: concatBytes(child, child.slice(16)) }],
  }],
  [
    "a leaf under another hash",
    { leaf: [numberField(1, 2), ...USUAL.slice(1)], prefix: leaf, path: [] },
    store,
  ],
  ["a hashed key", { leaf: [...USUAL, numberField(2, 1)], prefix: leaf, path: [] }, store],
  ["a value that is not hashed", {
    leaf: [...USUAL, numberField(3, 0)].toSpliced(1, 1),
    prefix: leaf,
    path: [],
  }, store],
  ["lengths left out", { leaf: USUAL.slice(0, 2), prefix: leaf, path: [] }, store],
];

Deno.test("both take proofs of milestones that have the form of their trees, and no others that lead to the root", () => {
  for (const [what, ofEntry, ofStore] of sound) {
    assert.deepEqual(shapeVerdicts(ofEntry, ofStore), [true, true], what);
  }
  for (const [what, ofEntry, ofStore] of unsound) {
    assert.deepEqual(shapeVerdicts(ofEntry, ofStore), [false, false], what);
  }
});

Deno.test("neither takes half of a milestone's proof, nor one twice", () => {
  const { milestone } = step.update;
  assert.ok(milestone !== undefined);
  for (const cut of [1, 2, 40, milestone.proof.length - 1]) {
    const question = questionOf({
      ...step,
      update: { ...step.update, milestone: { ...milestone, proof: milestone.proof.slice(0, -cut) } },
    });
    assert.ok("code" in sameVerdict(question, `${cut} bytes fewer`));
  }
  const again = concatBytes(milestone.proof, milestone.proof);
  const question = questionOf({
    ...step,
    update: { ...step.update, milestone: { ...milestone, proof: again } },
  });
  assert.deepEqual(sameVerdict(question, "twice"), { code: "milestone_proof" });
});

Deno.test("neither takes a milestone's proof whose parts are longer than what they are in", () => {
  const { milestone } = step.update;
  assert.ok(milestone !== undefined);
  const { proof } = milestone;
  // The first byte is the tag of the first proof, then comes its length in two bytes.
  const shorter = proof.with(2, 0);
  assert.ok((proof[1] ?? 0) > 127 && proof[2] === 2);
  const question = questionOf({
    ...step,
    update: { ...step.update, milestone: { ...milestone, proof: shorter } },
  });
  assert.deepEqual(sameVerdict(question, "a part of another length"), { code: "undecodable_proof" });
});
