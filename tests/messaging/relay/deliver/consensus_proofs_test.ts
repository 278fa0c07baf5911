import assert from "node:assert/strict";
import type { GetRequest, Message } from "../../../../src/core/ismp/message.ts";
import { getMessage, getResponseMessage } from "../../../../src/core/ismp/message.ts";
import { STUCK_AFTER_MS } from "../../../../src/core/chains/replacement.ts";
import { settleAll } from "../../../../src/messaging/relay/settle/settle_worker.ts";
import { judgeBought, noteBought } from "../../../../src/messaging/relay/limits/proof_costs.ts";
import { toMessageRow } from "../../../../src/messaging/relay/messages.ts";
import { noteTooLarge } from "../../../../src/messaging/relay/limits/capacity.ts";
import { MemoryReplacing } from "../../../support/memory_replacing.ts";
import { COST_18, pay, payAndUpdate, PRICE_WEI, profitOf, prove, running, stepsOf } from "../market.ts";
import {
  delivered,
  Fixture,
  getRequest,
  interrupt,
  names,
  Relayer,
  type Scene,
  type SetUp,
  setUp,
} from "../fixture.ts";
import { suspend, trust } from "../rounds.ts";
import { signSteps } from "../competitor.ts";

/** What differs from the usual case. */
interface CaseOptions {
  readonly percent?: number;
  readonly challengePeriodSec?: bigint;
  /** Dollars x 10^18 that the hub offers for a rotation; no hub account is configured when absent. */
  readonly reward18?: bigint;
  /** `none`: nobody knows what the hub's token is worth. */
  readonly tokenPrice?: "none";
  readonly chain?: SetUp["chain"];
  /** True: a proof has 92 kB, and no node takes more than one of them in a transaction. */
  readonly areProofsLarge?: boolean;
  /** An earlier run of the program. */
  readonly before?: Scene;
}

/** A host that follows the hub's authorities and knows an old height of it, and a leg that bundles. */
async function prepare(options: CaseOptions = {}): Promise<Scene> {
  const { percent = 0, challengePeriodSec = 0n, reward18, before, areProofsLarge = false } = options;
  const fixture = before?.fixture ?? new Fixture({ two: { setId: 0n, challengePeriodSec } });
  fixture.two.priceWei = PRICE_WEI;
  if (before === undefined) {
    await fixture.blocks(3);
    await fixture.update(fixture.hub, fixture.two);
  }
  const settings = options.tokenPrice === "none" ? { hubTokenPrice27: undefined } : {};
  const scene = setUp({ fixture, ledger: before?.relayer.ledger, settings, chain: options.chain ?? {} });
  const { relayer } = scene;
  const { rewards, acceptedProofs } = relayer.hub;
  // One token of the hub has 12 decimals and is worth a dollar.
  rewards.everyRotation = (reward18 ?? 0n) / 10n ** 6n;
  if (areProofsLarge) {
    acceptedProofs.proofBytes = 92_000;
    fixture.two.maxTransactionBytes = 93_100;
  }
  const leg = relayer.leg(relayer.hub, relayer.two, {
    bundles: { hub: relayer.hub, receiver: relayer.two },
    profit: profitOf(relayer, percent),
    rewards: reward18 === undefined ? undefined : rewards,
  });
  return { ...scene, leg };
}

const setOf = (fixture: Fixture): bigint | undefined => fixture.two.head.state.setId;

/** A response on the hub to a request of the second chain, whose fee is `fee`. */
async function answer(fixture: Fixture, fee: bigint): Promise<Message> {
  const get: GetRequest = getRequest();
  fixture.two.dispatch(getMessage(get), fee);
  const response = getResponseMessage({ get, values: [] });
  fixture.hub.dispatch(response);
  await fixture.blocks(1);
  return response;
}

Deno.test("consensus proofs: nothing is sent while no message is due, and an old proof is not sent again (F16)", async () => {
  const { fixture, relayer, leg } = await prepare();
  await prove(fixture);
  await using _ = running(relayer, leg);
  await fixture.blocks(20);
  assert.deepEqual(stepsOf(fixture), []);
  assert.ok(!relayer.hub.calls.includes("fetchProofBytes"), "no bytes while no message needs them");
  assert.ok(relayer.hub.calls.includes("fetchAcceptedIndex"));
  await pay(fixture, [0n]);
  await prove(fixture);
  await fixture.blocks(10);
  await payAndUpdate(fixture, [0n]);
  await fixture.blocks(10);
  assert.deepEqual(stepsOf(fixture), [["consensus", "messages"], ["messages"]]);
});

Deno.test("consensus proofs: messages that are one unit short of the proof wait, and go together with a later one", async () => {
  const { fixture, relayer, leg } = await prepare({ percent: 10 });
  const required18 = COST_18 + COST_18 / 10n;
  // The proof costs as much as three messages; each of these has one and a half left over.
  const early = await pay(fixture, [required18 * 5n / 2n, required18 * 5n / 2n - 1n]);
  await prove(fixture);
  await using _ = running(relayer, leg);
  await fixture.blocks(90);
  for (const message of early) {
    assert.deepEqual(relayer.stateOf(message), ["held", "consensus_proofs_unprofitable"]);
    assert.equal(relayer.row(message).requiredUsd18, required18);
  }
  await pay(fixture, [required18 + 1n]);
  await prove(fixture);
  await fixture.blocks(8);
  assert.equal(delivered(fixture.two).length, 3);
  assert.deepEqual(stepsOf(fixture), [["consensus", "messages"]]);
});

Deno.test("consensus proofs: a response that pays for the proof is not kept waiting by requests that do not", async () => {
  const { fixture, relayer, leg } = await prepare({ percent: 10 });
  const [poor] = await pay(fixture, [COST_18 + COST_18 / 10n]);
  const response = await answer(fixture, 10n * COST_18);
  await prove(fixture);
  await using _ = running(relayer, leg);
  await fixture.blocks(20);
  assert.deepEqual(relayer.stateOf(response), ["delivered", "handled_by_us"]);
  assert.deepEqual(relayer.stateOf(poor), ["delivered", "handled_by_us"]);
  assert.deepEqual(stepsOf(fixture), [["consensus", "messages"], ["messages"]]);
});

Deno.test("consensus proofs: a request and a response that pay for the proof only together share it", async () => {
  const { fixture, relayer, leg } = await prepare({ percent: 10 });
  fixture.two.proofGas = 100_000n;
  const [request] = await pay(fixture, [COST_18 * 18n / 10n]);
  const response = await answer(fixture, COST_18 * 18n / 10n);
  trust(leg, [request, response]);
  await prove(fixture);
  await using _ = running(relayer, leg);
  await fixture.blocks(20);
  assert.deepEqual(relayer.stateOf(request), ["delivered", "handled_by_us"]);
  assert.deepEqual(relayer.stateOf(response), ["delivered", "handled_by_us"]);
  assert.deepEqual(stepsOf(fixture), [["consensus", "messages", "messages"]]);
});

Deno.test("consensus proofs: a round ends when the host learned the height since it began, whatever else waits", async () => {
  const { fixture, relayer, leg } = await prepare({ chain: { latencyMs: () => 10 } });
  const [request] = await pay(fixture, [0n]);
  const response = await answer(fixture, 0n);
  await fixture.blocks(2);
  const height = fixture.hub.finalHeight;
  fixture.hub.acceptProof("messaging", height);
  await fixture.blocks(3);
  const act = (): void => {
    fixture.two.accept(fixture.hub, height);
    fixture.two.produceBlock();
  };
  interrupt(relayer.two, "sign", act);
  await using _ = running(relayer, leg);
  await fixture.blocks(20);
  assert.equal(relayer.log.linesOf("proofs_overtaken.known").length, 1);
  for (const message of [request, response]) {
    assert.deepEqual(relayer.stateOf(message), ["delivered", "handled_by_us"]);
  }
  assert.deepEqual(stepsOf(fixture), [["messages"], ["messages"]]);
});

Deno.test("consensus proofs: a message for which a proof leaves no room waits for that proof, and is not held as too large", async () => {
  const { fixture, relayer, leg } = await prepare();
  relayer.hub.acceptedProofs.proofBytes = 92_000;
  const [large] = await pay(fixture, [0n], { body: new Uint8Array(60_000) });
  const [small] = await pay(fixture, [0n]);
  await prove(fixture);
  await using _ = running(relayer, leg);
  await fixture.blocks(30);
  for (const message of [small, large]) {
    assert.deepEqual(relayer.stateOf(message), ["delivered", "handled_by_us"]);
  }
});

Deno.test("consensus proofs: a message times out also on a host that never learned a height of the hub", async () => {
  const { fixture, relayer } = setUp({ nodes: { two: { setId: 0n } } });
  const bundles = { hub: relayer.hub, receiver: relayer.two };
  const leg = relayer.leg(relayer.hub, relayer.two, { bundles });
  const timeoutTimestampSec = BigInt(Math.floor(fixture.clock.now() / 1_000)) + 60n;
  const message = fixture.message({ timeoutTimestampSec });
  fixture.hub.dispatch(message);
  await fixture.blocks(3);
  await prove(fixture);
  await using _ = running(relayer, leg);
  await fixture.blocks(10);
  assert.deepEqual(relayer.stateOf(message), ["held", "too_close_to_timeout"]);
  await fixture.blocks(60);
  assert.deepEqual(relayer.stateOf(message), ["timed_out", "expired"]);
  assert.deepEqual(stepsOf(fixture), []);
});

Deno.test("consensus proofs: what the host can verify already neither pays for a newer proof nor waits for it", async () => {
  const { fixture, relayer, leg } = await prepare({ percent: 10 });
  const [known] = await payAndUpdate(fixture, [COST_18 + COST_18 / 10n]);
  const [poor] = await pay(fixture, [COST_18 + COST_18 / 10n]);
  await prove(fixture);
  await using _ = running(relayer, leg);
  await fixture.blocks(10);
  assert.equal(relayer.stateOf(known)[0], "delivered");
  assert.deepEqual(relayer.stateOf(poor), ["held", "consensus_proofs_unprofitable"]);
  assert.deepEqual(stepsOf(fixture), [["messages"]]);
});

Deno.test("consensus proofs: what the host can verify is sent before the hub is asked for proofs at all", async () => {
  const { fixture, relayer, leg } = await prepare();
  await payAndUpdate(fixture, [0n]);
  await prove(fixture);
  let askedBefore: string[] | undefined;
  const { broadcast } = relayer.two;
  relayer.two.broadcast = (submission, signal) => {
    askedBefore ??= relayer.hub.calls.filter((method) => /Proofs|Rotations|ProofBytes/.test(method));
    return broadcast.call(relayer.two, submission, signal);
  };
  await using _ = running(relayer, leg);
  await fixture.blocks(5);
  assert.deepEqual(askedBefore, []);
  assert.deepEqual(stepsOf(fixture), [["messages"]]);
});

/** What a proof costs, dollars x 10^18. */
const PROOF_COST_18 = 3n * COST_18;

const proofs = (count: number): string[] => Array.from({ length: count }, () => "consensus");
const withMessages = (count: number): string[] => [...proofs(count), "messages"];

/** Rotations that a host lacks, who pays for them, the transactions that follow, and the number of messages. */
const caughtUp: readonly [
  number,
  "messages" | "messages but one" | "rewards",
  readonly string[][],
  bigint?,
][] = [
  [1, "messages", [withMessages(2)]],
  [2, "messages", [withMessages(3)]],
  [3, "messages", [proofs(3), withMessages(1)]],
  [4, "messages", [proofs(3), withMessages(2)]],
  // After the first three, neither message pays alone for the next ones.
  [6, "messages", [proofs(3), proofs(3), withMessages(1)], 2n],
  [1, "messages but one", []],
  [3, "messages but one", []],
  [1, "rewards", [proofs(1), withMessages(1)]],
  [3, "rewards", [proofs(3), withMessages(1)]],
  [4, "rewards", [proofs(3), proofs(1), withMessages(1)]],
  [7, "rewards", [proofs(3), proofs(3), proofs(1), withMessages(1)]],
];
for (const [rotations, payer, steps, count = 1n] of caughtUp) {
  Deno.test(`consensus proofs: ${rotations} rotations that a host lacks go in order where ${payer} pay, at most three proofs at a time (F16)`, async () => {
    const isRewarded = payer === "rewards";
    const { fixture, relayer, leg } = await prepare(
      isRewarded ? { reward18: PROOF_COST_18 } : { percent: 10 },
    );
    for (let rotation = 0; rotation < rotations; rotation++) await prove(fixture, "rotation");
    const cost18 = BigInt(rotations + 1) * PROOF_COST_18 / count + (payer === "messages" ? COST_18 : 0n);
    const messages = await pay(fixture, Array(Number(count)).fill(isRewarded ? 0n : cost18 + cost18 / 10n));
    await prove(fixture);
    await using _ = running(relayer, leg);
    await fixture.blocks(200);
    assert.deepEqual(stepsOf(fixture), steps);
    assert.equal(setOf(fixture), steps.length > 0 ? BigInt(rotations) : 0n);
    const expected = steps.length > 0
      ? ["delivered", "handled_by_us"]
      : ["held", "consensus_proofs_unprofitable"];
    for (const message of messages) assert.deepEqual(relayer.stateOf(message), expected);
    assert.deepEqual(fixture.two.reverted(), []);
  });
}

Deno.test("consensus proofs: more rotations than are simulated with messages are left to others, and the messages say so", async () => {
  const { fixture, relayer, leg } = await prepare({ percent: 10 });
  for (let rotation = 0; rotation < 9; rotation++) await prove(fixture, "rotation");
  const [message] = await pay(fixture, [1_000n * PROOF_COST_18]);
  await prove(fixture);
  await using _ = running(relayer, leg);
  await fixture.blocks(90);
  assert.deepEqual(stepsOf(fixture), []);
  assert.deepEqual(relayer.stateOf(message), ["held", "consensus_proofs_unprofitable"]);
  assert.match(String(message && relayer.row(message).detail), /^10 consensus proofs of the hub must come/);
});

const unrewarded: readonly [string, CaseOptions, string | undefined][] = [
  ["would pay nobody, since no account of ours is named", {}, undefined],
  ["offers nothing", { reward18: 0n }, "no_reward"],
  ["offers less than they cost", { reward18: PROOF_COST_18 - 10n ** 6n }, "unprofitable"],
  ["offers less than cost and profit", {
    percent: 10,
    reward18: PROOF_COST_18 + PROOF_COST_18 / 10n - 10n ** 6n,
  }, "unprofitable"],
  ["offers tokens that nobody knows the price of", {
    reward18: 100n * PROOF_COST_18,
    tokenPrice: "none",
  }, "token_price_unknown"],
];
for (const [what, options, reason] of unrewarded) {
  Deno.test(`consensus proofs: no rotation goes alone while the hub ${what}, and one line says so`, async () => {
    const { fixture, relayer, leg } = await prepare(options);
    await prove(fixture, "rotation");
    await using _ = running(relayer, leg);
    await fixture.blocks(200);
    assert.deepEqual(stepsOf(fixture), []);
    const told = relayer.log.linesOf("rotations_unprofitable");
    const lines = told.map(({ level, fields }) => [level, fields["reason"]]);
    assert.deepEqual(lines, reason === undefined ? [] : [["info", reason]]);
    assert.ok(reason !== undefined || !relayer.hub.calls.includes("fetchProofBytes"), "no bytes for nobody");
    relayer.hub.rewards.everyRotation = 10n ** 15n;
    await fixture.blocks(70);
    const isPaid = reason !== undefined && options.tokenPrice !== "none";
    assert.equal(setOf(fixture), isPaid ? 1n : 0n);
  });
}

Deno.test("consensus proofs: rotations that are rewarded go without any message, also those from before the blocks that are searched", async () => {
  const { fixture, relayer, leg } = await prepare({ reward18: PROOF_COST_18 });
  await prove(fixture, "rotation");
  await fixture.blocks(2_010);
  await using _ = running(relayer, leg);
  await fixture.blocks(10);
  assert.equal(setOf(fixture), 1n);
  await prove(fixture, "rotation");
  await fixture.blocks(10);
  assert.equal(setOf(fixture), 2n);
});

Deno.test("consensus proofs: a rotation that the chain does not take holds up no message that it can verify", async () => {
  const { fixture, relayer, leg } = await prepare({ reward18: PROOF_COST_18 });
  const [message] = await payAndUpdate(fixture, [0n]);
  await prove(fixture, "rotation");
  const { alterSimulation } = relayer.two;
  relayer.two.alterSimulation = (found, { steps }) =>
    steps.some(({ kind }) => kind === "messages")
      ? found
      : { kind: "refused", refusal: { code: "bad_proof", detail: "no" } };
  await using _ = running(relayer, leg);
  await fixture.blocks(10);
  assert.equal(relayer.stateOf(message)[0], "delivered");
  assert.equal(setOf(fixture), 0n);
  assert.equal(relayer.log.events("warn").length, 1);
  relayer.two.alterSimulation = alterSimulation;
  await fixture.blocks(70);
  assert.equal(setOf(fixture), 1n, "it is tried again");
});

Deno.test("consensus proofs: rotations of ECDSA are sliced by bytes, so that no node refuses a transaction above 128 KiB", async () => {
  const { fixture, relayer, leg } = await prepare({ reward18: PROOF_COST_18 });
  relayer.hub.acceptedProofs.proofBytes = 92_000;
  fixture.two.maxTransactionBytes = 131_072;
  for (let rotation = 0; rotation < 3; rotation++) await prove(fixture, "rotation");
  const [message] = await pay(fixture, [0n]);
  await prove(fixture);
  await using _ = running(relayer, leg);
  await fixture.blocks(30);
  assert.equal(relayer.two.count("broadcast"), 4);
  assert.equal(setOf(fixture), 3n);
  assert.equal(relayer.stateOf(message)[0], "delivered");
  assert.deepEqual(stepsOf(fixture), [["consensus"], ["consensus"], ["consensus"], [
    "consensus",
    "messages",
  ]]);
});

Deno.test("consensus proofs: what a node refuses as too large goes in smaller parts, and a restart knows it", async () => {
  const before = await prepare({ reward18: PROOF_COST_18 });
  const { fixture, relayer, leg } = before;
  relayer.hub.acceptedProofs.proofBytes = 30_000;
  fixture.two.maxTransactionBytes = 70_000;
  for (let rotation = 0; rotation < 4; rotation++) await prove(fixture, "rotation");
  {
    await using _ = running(relayer, leg);
    await fixture.blocks(100);
    assert.equal(setOf(fixture), 4n);
    assert.deepEqual(stepsOf(fixture), [["consensus", "consensus"], ["consensus", "consensus"]]);
    assert.equal(relayer.two.count("broadcast"), 3);
  }
  const { relayer: next, leg: again } = await prepare({ reward18: PROOF_COST_18, before });
  next.hub.acceptedProofs.proofBytes = 30_000;
  for (let rotation = 0; rotation < 3; rotation++) await prove(fixture, "rotation");
  await using _ = running(next, again);
  await fixture.blocks(100);
  assert.equal(setOf(fixture), 7n);
  assert.equal(next.two.count("broadcast"), 2);
});

/** Lets the relayer know that no node takes more than a proof of 92 kB. */
function learnSize({ relayer, leg }: Pick<Scene, "relayer" | "leg">): void {
  const refused = { submission: { raw: new Uint8Array(94_000) }, detail: "limit 93100" };
  relayer.ledger.transaction(() => noteTooLarge(leg, refused));
}

Deno.test("consensus proofs: where a proof leaves no room for messages, it goes ahead of those that pay for it", async () => {
  const { fixture, relayer, leg } = await prepare({ percent: 10, areProofsLarge: true });
  learnSize({ relayer, leg });
  const required18 = PROOF_COST_18 + COST_18;
  const [poor] = await pay(fixture, [required18]);
  await prove(fixture);
  await using _ = running(relayer, leg);
  await fixture.blocks(100);
  assert.deepEqual(relayer.stateOf(poor), ["held", "consensus_proofs_unprofitable"]);
  const [rich] = await pay(fixture, [required18 + required18 / 10n]);
  await prove(fixture);
  await fixture.blocks(200);
  assert.equal(relayer.stateOf(rich)[0], "delivered");
  assert.deepEqual(stepsOf(fixture), [["consensus"], ["messages"]]);
});

Deno.test("consensus proofs: a message that is too large only behind a proof waits for the height, and goes then", async () => {
  const { fixture, relayer, leg } = await prepare();
  relayer.two.alterSimulation = (found, { steps }) =>
    steps.length > 1 ? { kind: "refused", refusal: { code: "too_large", detail: "too much gas" } } : found;
  const [message] = await pay(fixture, [0n]);
  await prove(fixture);
  await using _ = running(relayer, leg);
  await fixture.blocks(10);
  assert.deepEqual(relayer.stateOf(message), ["held", "waiting_for_update"]);
  await fixture.update(fixture.hub, fixture.two);
  await fixture.blocks(40);
  assert.deepEqual(relayer.stateOf(message), ["delivered", "handled_by_us"]);
});

Deno.test("consensus proofs: a proof that no transaction carries is one error line, and is not sent again and again", async () => {
  const { fixture, relayer, leg } = await prepare();
  relayer.hub.acceptedProofs.proofBytes = 92_000;
  fixture.two.maxTransactionBytes = 60_000;
  const [message] = await pay(fixture, [0n]);
  await prove(fixture);
  await using _ = running(relayer, leg);
  await fixture.blocks(600);
  assert.ok(relayer.two.count("broadcast") <= 2);
  assert.equal(relayer.log.events("error").length, 1);
  await fixture.update(fixture.hub, fixture.two);
  await fixture.blocks(310);
  assert.equal(relayer.stateOf(message)[0], "delivered", "others' updates still do");
});

Deno.test("consensus proofs: a gap in the rotations is one error line; nothing is sent that would not help (F16)", async () => {
  const { fixture, relayer, leg } = await prepare();
  for (let rotation = 0; rotation < 3; rotation++) await prove(fixture, "rotation");
  fixture.hub.dropRotation(2n);
  const [message] = await pay(fixture, [0n]);
  await prove(fixture);
  await using _ = running(relayer, leg);
  await fixture.blocks(20);
  assert.deepEqual(stepsOf(fixture), []);
  const errors = relayer.log.lines.filter(({ level }) => level === "error");
  assert.deepEqual(errors.map(({ fields }) => fields), [{ chain: names.two, missingSet: 2n }]);
  await fixture.update(fixture.hub, fixture.two);
  await fixture.blocks(10);
  assert.equal(relayer.stateOf(message)[0], "delivered", "others' updates still do");
});

for (const method of ["simulate", "broadcast"]) {
  Deno.test(`consensus proofs: a competitor that moves the host on before ${method} costs nothing but time (F16)`, async () => {
    const { fixture, relayer, leg } = await prepare();
    const messages = await pay(fixture, [0n, 0n]);
    await prove(fixture);
    const act = (): void => {
      fixture.two.accept(fixture.hub);
      if (method === "simulate") fixture.two.produceBlock();
    };
    interrupt(relayer.two, method, act);
    await using _ = running(relayer, leg);
    await fixture.blocks(20);
    assert.deepEqual(messages.map((message) => relayer.stateOf(message)[0]), ["delivered", "delivered"]);
    assert.deepEqual(stepsOf(fixture).at(-1), ["messages"]);
    assert.equal(fixture.two.reverted().length, method === "simulate" ? 0 : 1);
  });
}

Deno.test("consensus proofs: a host with a challenge period never gets a bundle (F17)", async () => {
  const { fixture, relayer, leg } = await prepare({ challengePeriodSec: 5n });
  const [message] = await pay(fixture, [0n]);
  await prove(fixture);
  await using _ = running(relayer, leg);
  await fixture.blocks(10);
  assert.deepEqual(stepsOf(fixture), []);
  assert.ok(!relayer.hub.calls.includes("fetchAcceptedIndex"));
  await fixture.update(fixture.hub, fixture.two);
  await fixture.blocks(15);
  assert.equal(relayer.stateOf(message)[0], "delivered");
  assert.deepEqual(stepsOf(fixture), [["messages"]]);
});

const downgrades: readonly [string, (relayer: Relayer, fixture: Fixture) => void, number][] = [
  [
    "the hub's node refuses unsafe calls",
    (relayer) => void (relayer.hub.acceptedProofs.hasOffchainStore = false),
    1,
  ],
  ["the handler has no batchCall", (relayer) => void (relayer.two.hasBatchCall = false), 0],
];
for (const [why, spoil, warnings] of downgrades) {
  Deno.test(`consensus proofs: when ${why}, messages wait for others' updates, with ${warnings} warnings, and it is asked again after an hour`, async () => {
    const { fixture, relayer, leg } = await prepare();
    spoil(relayer, fixture);
    const [message] = await pay(fixture, [0n]);
    await prove(fixture);
    await using _ = running(relayer, leg);
    await fixture.blocks(20);
    assert.deepEqual(stepsOf(fixture), []);
    assert.equal(relayer.log.events("warn").length, warnings);
    await fixture.update(fixture.hub, fixture.two);
    await fixture.blocks(10);
    assert.equal(relayer.stateOf(message)[0], "delivered");
    relayer.hub.acceptedProofs.hasOffchainStore = true;
    relayer.two.hasBatchCall = true;
    const [next] = await pay(fixture, [0n]);
    await prove(fixture);
    await fixture.clock.advance(3_400_000);
    assert.deepEqual(stepsOf(fixture), [["messages"]]);
    await fixture.clock.advance(210_000);
    await fixture.blocks(3);
    assert.equal(relayer.stateOf(next)[0], "delivered");
    assert.deepEqual(stepsOf(fixture), [["messages"], ["consensus", "messages"]]);
  });
}

Deno.test("consensus proofs: a proof whose bytes the node lacks is asked for until they are there (F16)", async () => {
  const { fixture, relayer, leg } = await prepare();
  const [message] = await pay(fixture, [0n]);
  await fixture.blocks(2);
  const height = fixture.hub.finalHeight;
  relayer.hub.acceptedProofs.missing.add(height);
  fixture.hub.acceptProof("messaging", height);
  await fixture.blocks(3);
  await using _ = running(relayer, leg);
  await fixture.blocks(10);
  assert.deepEqual(stepsOf(fixture), []);
  assert.deepEqual(relayer.log.events("warn"), []);
  await fixture.clock.advance(700_000);
  assert.deepEqual(relayer.log.events("warn"), ["proofs_unavailable.not_indexed"]);
  relayer.hub.acceptedProofs.missing.clear();
  await fixture.blocks(10);
  assert.equal(relayer.stateOf(message)[0], "delivered");
});

for (const what of ["missing", "unknownKinds"] as const) {
  Deno.test(`consensus proofs: while the newest proof is among ${what}, the next older one goes with its messages`, async () => {
    const { fixture, relayer, leg } = await prepare();
    const [first] = await pay(fixture, [0n]);
    await prove(fixture);
    const [second] = await pay(fixture, [0n]);
    await fixture.blocks(2);
    const newest = fixture.hub.finalHeight;
    relayer.hub.acceptedProofs[what].add(newest);
    fixture.hub.acceptProof("messaging", newest);
    await fixture.blocks(3);
    await using _ = running(relayer, leg);
    await fixture.blocks(20);
    assert.equal(relayer.stateOf(first)[0], "delivered");
    assert.notEqual(relayer.stateOf(second)[0], "delivered");
    assert.deepEqual(stepsOf(fixture), [["consensus", "messages"]]);
    assert.deepEqual(
      relayer.log.events("warn"),
      what === "missing" ? [] : ["proofs_unavailable.unknown_kind"],
    );
    relayer.hub.acceptedProofs[what].clear();
    await fixture.clock.advance(60_000);
    await fixture.blocks(20);
    assert.equal(relayer.stateOf(second)[0], "delivered");
  });
}

Deno.test("consensus proofs: a host whose state has an unknown layout is a warning with its length", async () => {
  const { fixture, relayer, leg } = await prepare();
  fixture.two.head.state.setId = undefined;
  const [message] = await pay(fixture, [0n]);
  await prove(fixture);
  await using _ = running(relayer, leg);
  await fixture.blocks(20);
  assert.deepEqual(stepsOf(fixture), []);
  const warnings = relayer.log.lines.filter(({ level }) => level === "warn");
  assert.deepEqual(warnings.map(({ event, fields }) => [event, fields.bytes]), [[
    "host_unusable.unknown_layout",
    96,
  ]]);
  await fixture.update(fixture.hub, fixture.two);
  await fixture.blocks(10);
  assert.equal(relayer.stateOf(message)[0], "delivered");
});

/** Another relayer's transaction with the newest proof alone, ready to be put into the pool. */
async function competitorOf(fixture: Fixture, relayer: Relayer): Promise<() => void> {
  const { messaging, rotations } = await relayer.hub.acceptedProofs.fetchAcceptedIndex(relayer.signal);
  const [newSetId, rotated] = [...rotations].at(-1) ?? [];
  const height = messaging.at(-1) ?? rotated;
  assert.ok(height !== undefined);
  const newest = { height, newSetId: messaging.length > 0 ? undefined : newSetId };
  const proof = await relayer.hub.acceptedProofs.fetchProofBytes(newest, relayer.signal);
  assert.ok(proof !== undefined);
  const { submission } = await signSteps(fixture, () => Promise.resolve([{ kind: "consensus", proof }]));
  return () => void fixture.two.submit(submission.hash);
}

for (const isMined of [true, false]) {
  Deno.test(`consensus proofs: a proof that another relayer ${isMined ? "has delivered" : "has in the mempool"} when ours is signed is dropped, and the messages go without it`, async () => {
    const { fixture, relayer, leg } = await prepare();
    const [message] = await pay(fixture, [0n]);
    await prove(fixture);
    const submit = await competitorOf(fixture, relayer);
    const act = (): void => {
      fixture.two.isFull = !isMined;
      submit();
      if (isMined) fixture.two.produceBlock();
    };
    interrupt(relayer.two, "sign", act);
    await using _ = running(relayer, leg);
    await fixture.blocks(8);
    assert.deepEqual(stepsOf(fixture).slice(1), isMined ? [["messages"]] : []);
    fixture.two.isFull = false;
    await fixture.blocks(8);
    assert.equal(relayer.stateOf(message)[0], "delivered");
    assert.deepEqual(stepsOf(fixture), [["consensus"], ["messages"]]);
    assert.deepEqual(fixture.two.reverted(), []);
  });
}

for (const reward18 of [PROOF_COST_18, undefined]) {
  Deno.test(`consensus proofs: a rotation that another relayer has in the mempool is not bought ${reward18 === undefined ? "for messages" : "for its reward"}`, async () => {
    const { fixture, relayer, leg } = await prepare(reward18 === undefined ? {} : { reward18 });
    const [message] = await pay(fixture, [0n]);
    await prove(fixture, "rotation");
    const submit = await competitorOf(fixture, relayer);
    fixture.two.isFull = true;
    submit();
    await using _ = running(relayer, leg);
    await fixture.blocks(10);
    assert.equal(relayer.two.count("broadcast"), 0);
    fixture.two.isFull = false;
    await fixture.blocks(10);
    assert.equal(relayer.stateOf(message)[0], "delivered");
    assert.deepEqual(stepsOf(fixture), [["consensus"], ["messages"]]);
  });
}

/** A host for which we have just paid for a proof that another relayer delivered in the same block. */
async function wasteProof(): Promise<Scene> {
  const prepared = await prepare();
  const { fixture, relayer } = prepared;
  await pay(fixture, [0n]);
  await prove(fixture);
  const submit = await competitorOf(fixture, relayer);
  relayer.two.reportsKnownProofs = false;
  interrupt(relayer.two, "broadcast", submit);
  return prepared;
}

Deno.test("consensus proofs: one that came second is no lost race, and leaves the next to the other relayer for a while, until one of ours counts again", async () => {
  const { fixture, relayer, leg } = await wasteProof();
  await using _ = running(relayer, leg);
  await fixture.blocks(8);
  assert.deepEqual(stepsOf(fixture), [["consensus"], ["consensus", "messages"]]);
  assert.equal(relayer.log.linesOf("proofs_overtaken.wasted").length, 1);
  const known = await payAndUpdate(fixture, [0n, 0n]);
  await fixture.blocks(4);
  for (const message of known) assert.deepEqual(relayer.stateOf(message), ["delivered", "handled_by_us"]);
  const [next] = await pay(fixture, [0n]);
  await prove(fixture);
  await fixture.blocks(8);
  assert.notEqual(relayer.stateOf(next)[0], "delivered", "the other one has its time");
  await fixture.blocks(60);
  assert.equal(relayer.stateOf(next)[0], "delivered");
  assert.deepEqual(stepsOf(fixture).at(-1), ["consensus", "messages"]);
  const [last] = await pay(fixture, [0n]);
  await prove(fixture);
  await fixture.blocks(8);
  assert.equal(relayer.stateOf(last)[0], "delivered", "a proof of ours was the first again");
});

Deno.test("consensus proofs: no proof goes ahead of messages whose real size does not pay, or whose module fails behind it", async () => {
  for (const kind of ["large", "failing"] as const) {
    const { fixture, relayer, leg } = await prepare({ percent: 10, areProofsLarge: true });
    // Enough for a usual message.
    const [message] = await pay(fixture, [2n * (PROOF_COST_18 + 2n * COST_18)]);
    if (kind === "large") fixture.two.messageGas = 1_600_000n;
    else fixture.two.failing.add(message.commitment);
    await prove(fixture);
    await using _ = running(relayer, leg);
    await fixture.blocks(200);
    assert.deepEqual(stepsOf(fixture), [], kind);
    const reason = kind === "large" ? "unprofitable" : "simulation_failed";
    assert.equal(relayer.stateOf(message)[1], reason);
  }
});

Deno.test("consensus proofs: messages that do not pay for a proof ahead do not hide one behind them that does", async () => {
  const { fixture, relayer, leg } = await prepare({
    percent: 10,
    areProofsLarge: true,
    chain: { limits: { maxMessagesPerStep: 3 } },
  });
  const poor = 2n * COST_18;
  await pay(fixture, [poor, poor, poor, poor]);
  const [rich] = await pay(fixture, [20n * (PROOF_COST_18 + 2n * COST_18)]);
  await prove(fixture);
  await using _ = running(relayer, leg);
  await fixture.blocks(400);
  assert.equal(relayer.stateOf(rich)[0], "delivered");
});

Deno.test("consensus proofs: one proof at most goes ahead of the messages of a pair within a day while none of them arrives", async () => {
  const options = { percent: 10, areProofsLarge: true };
  const before = await prepare(options);
  const { fixture } = before;
  const attempt = async ({ two }: Relayer): Promise<number> => {
    const [message] = await pay(fixture, [100n * PROOF_COST_18]);
    // The module succeeds until the proof is paid for.
    interrupt(two, "broadcast", () => void fixture.two.failing.add(message.commitment));
    await prove(fixture);
    await fixture.blocks(60);
    return stepsOf(fixture).filter(([first]) => first === "consensus").length;
  };
  {
    await using _ = running(before.relayer, before.leg);
    for (let message = 0; message < 3; message++) await attempt(before.relayer);
    assert.equal(await attempt(before.relayer), 1);
  }
  assert.deepEqual(delivered(fixture.two), []);
  for (const [laterMs, expected] of [[0, 1], [86_400_000, 2]] as const) {
    await fixture.clock.advance(laterMs);
    const { relayer, leg } = await prepare({ ...options, before });
    await using _ = running(relayer, leg);
    assert.equal(await attempt(relayer), expected, `restarted after ${laterMs} ms`);
  }
});

for (const what of ["ahead of messages", "for a reward"]) {
  for (const [times, expected] of [[10n, "delivery"], [1n, "cancel"]] as const) {
    Deno.test(`consensus proofs: those ${what} that wait are not sent twice, and replaced by a ${expected} where they earn ${times} times their cost`, async () => {
      const isAhead = what === "ahead of messages";
      const { fixture, relayer, leg } = await prepare(
        isAhead ? { percent: 10, areProofsLarge: true } : { reward18: times * PROOF_COST_18 },
      );
      const required18 = times * (PROOF_COST_18 + COST_18);
      if (isAhead) await pay(fixture, [required18 + required18 / 10n]);
      await prove(fixture, isAhead ? "messaging" : "rotation");
      await using _ = running(relayer, leg);
      interrupt(relayer.two, "sign", () => void (fixture.two.isFull = true), "after");
      await fixture.blocks(70);
      const [sent, ...more] = relayer.ledger.submissions.listUnresolved(names.two);
      assert.deepEqual(more, []);
      await fixture.clock.advance(STUCK_AFTER_MS);
      const replacement = new MemoryReplacing(fixture.two, relayer.two);
      await settleAll({ ...relayer.on(relayer.two), replacement, profit: leg.profit });
      const { nonce = 0n } = sent?.submission ?? {};
      const rows = relayer.ledger.submissions.listByNonce(names.two, relayer.account, nonce);
      assert.equal(rows.at(-1)?.kind, expected);
    });
  }
}

Deno.test("consensus proofs: those that must follow are bought for any message of a pair, as often as the first one needed", async () => {
  const { fixture, relayer, leg } = await prepare();
  const [message] = await pay(fixture, [0n]);
  const ends = { source: names.hub, target: names.two };
  relayer.ledger.messages.record(toMessageRow(message, ends, { seenAtHeight: 1n, state: "seen" }));
  const candidate = { message, row: relayer.row(message) };
  const found = [1, 2, 3].map(() => {
    relayer.ledger.transaction(() => noteBought(leg, [candidate], 2));
    return judgeBought(leg)(candidate)?.reason;
  });
  assert.deepEqual(found, [undefined, undefined, "consensus_proofs_unprofitable"]);
  for (const to of ["ready", "submitted", "delivered"] as const) {
    relayer.ledger.messages.transition(message.commitment, names.two, { to });
  }
  assert.equal(judgeBought(leg)(candidate), undefined, "they were not wasted");
});

Deno.test("consensus proofs: while one is on its way no second proof is paid for", async () => {
  const { fixture, relayer, leg } = await prepare();
  await using _ = running(relayer, leg);
  // Transactions that went through make room for several at a time.
  for (let round = 0; round < 3; round++) {
    await pay(fixture, [0n]);
    await prove(fixture);
    await fixture.blocks(8);
  }
  const before = stepsOf(fixture).length;
  fixture.two.isFull = true;
  const [first] = await pay(fixture, [0n]);
  await prove(fixture);
  await fixture.blocks(4);
  const [second] = await pay(fixture, [0n]);
  await prove(fixture);
  await fixture.blocks(4);
  assert.equal(relayer.ledger.submissions.listUnresolved(names.two).length, 1);
  fixture.two.isFull = false;
  await fixture.blocks(12);
  assert.deepEqual(relayer.stateOf(first), ["delivered", "handled_by_us"]);
  assert.deepEqual(relayer.stateOf(second), ["delivered", "handled_by_us"]);
  assert.equal(stepsOf(fixture).length, before + 2);
});

/** Makes gas more expensive between the simulation of proofs alone and their signature, until it is called. */
function spikeAfterSimulation({ fixture, relayer }: Pick<Scene, "fixture" | "relayer">): () => void {
  const { alterSimulation } = relayer.two;
  relayer.two.alterSimulation = (found, { steps }) => {
    const isAlone = steps.every(({ kind }) => kind === "consensus");
    fixture.two.priceWei = isAlone ? 3n * PRICE_WEI : PRICE_WEI;
    return found;
  };
  return () => {
    relayer.two.alterSimulation = alterSimulation;
    fixture.two.priceWei = PRICE_WEI;
  };
}

for (const what of ["ahead of messages", "for a reward, also without a minimum profit,"]) {
  Deno.test(`consensus proofs: those ${what} are not signed when gas has come to cost more than they earn`, async () => {
    const isAhead = what === "ahead of messages";
    const { fixture, relayer, leg } = await prepare(
      isAhead ? { percent: 10, areProofsLarge: true } : { reward18: PROOF_COST_18 },
    );
    const required18 = PROOF_COST_18 + 2n * COST_18;
    if (isAhead) await pay(fixture, [required18 + required18 / 10n]);
    await prove(fixture, isAhead ? "messaging" : "rotation");
    const calm = spikeAfterSimulation({ fixture, relayer });
    await using _ = running(relayer, leg);
    // One with messages is refused as too large, and nothing is paid for it.
    await fixture.blocks(200);
    assert.deepEqual(stepsOf(fixture), []);
    calm();
    await fixture.blocks(200);
    assert.deepEqual(stepsOf(fixture), isAhead ? [["consensus"], ["messages"]] : [["consensus"]]);
  });
}

Deno.test("consensus proofs: no proof goes ahead of messages that are suspended", async () => {
  const { fixture, relayer, leg } = await prepare({ percent: 10, areProofsLarge: true });
  learnSize({ relayer, leg });
  const [message] = await pay(fixture, [100n * PROOF_COST_18]);
  suspend(relayer, message);
  await prove(fixture);
  await using _ = running(relayer, leg);
  await fixture.blocks(200);
  assert.deepEqual(relayer.stateOf(message), ["held", "suspended"]);
  assert.deepEqual(stepsOf(fixture), []);
});
