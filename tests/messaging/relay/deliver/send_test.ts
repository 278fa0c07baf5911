import { collectMessages } from "../../../../src/core/chains/submission.ts";
import assert from "node:assert/strict";
import { RpcFault } from "../../../../src/core/rpc/call.ts";
import { hasRoom } from "../../../../src/messaging/relay/limits/capacity.ts";
import { NEVER_MS } from "../../../../src/messaging/relay/decisions/retry_schedule.ts";
import { noteTooLarge } from "../../../../src/messaging/relay/limits/capacity.ts";
import { signDelivery } from "../competitor.ts";
import { mine, outbound, readAgain, round, settle } from "../rounds.ts";
import { delivered, interrupt, names, Relayer, type Scene, setUp, setUpWith } from "../fixture.ts";
import type { MemoryChain } from "../../../support/memory_chain.ts";
import { withLedgerFile } from "../../../support/ledger.ts";

Deno.test("send: the journal has the transaction before its bytes leave", async () => {
  const { relayer, fixture, first, leg } = await setUpWith(3);
  let states: string[] = [];
  interrupt(relayer.two, "broadcast", () => {
    assert.equal(fixture.two.mempoolSize, 0);
    states = relayer.submissions(first).map(({ state }) => state);
  });
  assert.deepEqual(await round(relayer, leg), { sent: 3, hasMore: false });
  assert.deepEqual(states, ["signed"]);
  assert.deepEqual(relayer.submissions(first).map(({ state }) => state), ["broadcast"]);
  assert.equal(relayer.row(first).state, "submitted");
});

const deaths: readonly [string, string, "before" | "after"][] = [
  ["before signing", "sign", "before"],
  ["between signing and the journal", "sign", "after"],
  ["between the journal and the broadcast", "broadcast", "before"],
  ["between the broadcast and its answer", "broadcast", "after"],
];

for (const [when, method, moment] of deaths) {
  for (const mined of [false, true]) {
    const then = mined ? "mined before the restart" : "not mined yet at the restart";
    Deno.test(`send: a crash ${when} loses nothing and sends nothing twice (${then}) (F2)`, async () => {
      const { fixture, messages } = await setUpWith(3);
      await withLedgerFile(fixture.clock, async (ledger, reopen) => {
        const mortal = new Relayer(fixture, ledger);
        interrupt(mortal.two, method, () => mortal.kill(), moment);
        await assert.rejects(round(mortal, outbound(mortal)), /killed/);
        if (mined) await fixture.blocks(1);
        const successor = new Relayer(fixture, reopen(), { seed: 2 });
        successor.run();
        await fixture.blocks(30);
        assert.deepEqual(delivered(fixture.two).sort(), messages.map(({ commitment }) => commitment).sort());
        assert.equal(fixture.two.reverted().length, 0);
        for (const message of messages) {
          assert.equal(successor.row(message).state, "delivered");
          assert.equal(successor.ledger.deliveries.find(message.commitment, names.two)?.isFinal, true);
        }
        assert.deepEqual(successor.log.events("error"), []);
        successor.kill();
        await fixture.clock.settle();
      });
    });
  }
}

Deno.test("send: what others deliver while we sign is ended, and the rest is proved again", async () => {
  const { relayer, fixture, messages, leg } = await setUpWith(4);
  const [taken] = messages;
  const { submission } = await signDelivery(fixture, [taken]);
  interrupt(relayer.two, "sign", () => {
    fixture.two.submit(submission.hash);
    fixture.two.produceBlock();
  });
  assert.deepEqual(await round(relayer, leg), { sent: 3, hasMore: false });
  assert.equal(relayer.row(taken).state, "delivered_by_other");
  assert.equal(relayer.submissions(taken).length, 0);
  await fixture.blocks(1);
  assert.equal(fixture.two.reverted().length, 0);
  assert.equal(delivered(fixture.two).length, 4);
});

Deno.test("send: a message that waits in the pool in another's transaction is held, and the rest goes at once", async () => {
  const { relayer, fixture, messages, leg } = await setUpWith(4);
  const [contested, ...others] = messages;
  relayer.two.isContested = (message) => message.commitment === contested.commitment;
  assert.deepEqual(await round(relayer, leg), { sent: 3, hasMore: false });
  const { state, reason, nextAttemptAtMs } = relayer.row(contested);
  assert.deepEqual([state, reason], ["held", "race"]);
  assert.ok(nextAttemptAtMs !== undefined && nextAttemptAtMs <= fixture.clock.now() + 10_000);
  assert.ok(others.every((message) => relayer.row(message).state === "submitted"));
});

for (const kind of ["loseAnswer", "throw"] as const) {
  const what = kind === "throw"
    ? "bytes that never arrived are sent again"
    : "an answer that is lost is found";
  Deno.test(`send: ${what}, and nothing else is sent before`, async () => {
    const { relayer, fixture, first, leg } = await setUpWith(2);
    const stateOf = (): unknown => relayer.submissions(first).map(({ state }) => state);
    relayer.two.faults.add("broadcast", { kind, code: "timeout" });
    await round(relayer, leg);
    assert.deepEqual([stateOf(), fixture.two.mempoolSize], [["signed"], kind === "throw" ? 0 : 1]);
    assert.equal(relayer.log.linesOf("transaction_failed.broadcast_unknown").length, 1);
    assert.equal(hasRoom(leg), false);
    await settle(relayer);
    assert.equal(fixture.two.mempoolSize, 1);
    await settle(relayer);
    assert.deepEqual(stateOf(), ["broadcast"]);
    await mine(relayer);
    assert.equal(relayer.row(first).state, "delivered");
    assert.equal(hasRoom(leg), true);
  });
}

Deno.test("send: bytes that never arrived stay here once another relayer has delivered", async () => {
  const { relayer, fixture, first, leg } = await setUpWith(1);
  relayer.two.faults.add("broadcast", { kind: "throw", code: "unreachable" });
  await round(relayer, leg);
  const other = setUp({ fixture, number: 2 });
  await round(other.relayer, other.leg);
  await mine(relayer);
  assert.equal(fixture.two.mempoolSize, 0);
  assert.equal(fixture.two.reverted().length, 0);
  assert.equal(relayer.row(first).state, "delivered_by_other");
  assert.deepEqual(relayer.submissions(first).map(({ state }) => state), ["dropped"]);
});

Deno.test("send: a nonce that something else used gives the messages back after the receipts were read (F18)", async () => {
  const { relayer, fixture, first, leg } = await setUpWith(1);
  interrupt(relayer.two, "broadcast", () => {
    fixture.two.useNonce(relayer.account);
    fixture.two.produceBlock();
  });
  await round(relayer, leg);
  assert.equal(relayer.row(first).state, "submitted");
  assert.match(relayer.submissions(first)[0]?.detail ?? "", /no response/, "settling waits for no answer");
  await settle(relayer);
  assert.deepEqual(relayer.submissions(first).map(({ state }) => state), ["replaced"]);
  assert.equal(relayer.row(first).state, "ready");
  await fixture.clock.advance(5_000);
  await round(relayer, leg);
  await mine(relayer);
  assert.equal(relayer.row(first).state, "delivered");
});

Deno.test("send: an answer that names the nonce used by these very bytes is no reason to send again (F18)", async () => {
  const { relayer, fixture, first, leg } = await setUpWith(1);
  // The first endpoint took the bytes and the block was made; the second one was asked as well.
  interrupt(relayer.two, "broadcast", () => {
    const [journalled] = relayer.submissions(first);
    if (journalled !== undefined) fixture.two.submit(journalled.submission.hash);
    fixture.two.produceBlock();
  });
  await round(relayer, leg);
  await settle(relayer);
  assert.equal(relayer.row(first).state, "delivered");
  assert.equal(relayer.submissions(first).length, 1);
  assert.equal(
    relayer.ledger.deliveries.find(first.commitment, names.two)?.txHash,
    relayer.submissions(first)[0]?.submission.hash,
  );
});

Deno.test("send: an underpriced transaction is taken back and tried again", async () => {
  const { relayer, fixture, first, leg } = await setUpWith(1);
  interrupt(relayer.two, "broadcast", () => void (fixture.two.priceWei = 200n));
  await round(relayer, leg);
  assert.deepEqual(relayer.submissions(first).map(({ state }) => state), ["dropped"]);
  assert.equal(relayer.row(first).state, "held");
  await fixture.clock.advance(3_000);
  await round(relayer, leg);
  await mine(relayer);
  assert.equal(relayer.row(first).state, "delivered");
});

for (const method of ["sign", "broadcast"]) {
  Deno.test(`send: without funds (found at ${method}) messages wait, and go once there are some (F18)`, async () => {
    const { relayer, fixture, first, leg } = await setUpWith(2);
    interrupt(relayer.two, method, () => void fixture.two.unfunded.add(relayer.account));
    await round(relayer, leg);
    assert.deepEqual(relayer.stateOf(first), ["held", "unfunded"]);
    await fixture.clock.advance(60_000);
    await round(relayer, leg);
    assert.equal(relayer.row(first).reason, "unfunded");
    fixture.two.unfunded.clear();
    await fixture.clock.advance(60_000);
    await round(relayer, leg);
    await mine(relayer);
    assert.equal(relayer.row(first).state, "delivered");
    assert.deepEqual(relayer.log.events("error"), []);
  });
}

Deno.test("send: a transaction that is mined and settled before the broadcast is answered stays settled", async () => {
  const { relayer, first, leg } = await setUpWith(1);
  const { two } = relayer;
  const broadcast = two.broadcast.bind(two);
  two.broadcast = async (...args) => {
    const answer = await broadcast(...args);
    await mine(relayer, 4);
    assert.deepEqual(relayer.submissions(first).map(({ state }) => state), ["final"]);
    return answer;
  };
  assert.equal((await round(relayer, leg)).sent, 1);
  assert.deepEqual(relayer.submissions(first).map(({ state }) => state), ["final"]);
  assert.equal(relayer.row(first).state, "delivered");
});

Deno.test("send: a row that another transaction took up meanwhile is left alone", async () => {
  const { relayer, first, leg } = await setUpWith(1);
  interrupt(relayer.two, "sign", () => {
    const { messages } = relayer.ledger;
    messages.transition(first.commitment, names.two, { to: "ready" });
    messages.transition(first.commitment, names.two, { to: "submitted" });
  }, "after");
  assert.equal((await round(relayer, leg)).sent, 0);
  assert.equal(relayer.submissions(first).length, 0);
  assert.equal(relayer.two.calls.includes("broadcast"), false);
});

/** Per row: why a pool refuses a transaction, when, and how many messages the batches had until all were delivered. */
const refusals: readonly (readonly [
  string,
  string,
  (batch: number, waiting: number) => boolean,
  readonly number[],
])[] = [
  [
    "costs more than a node's cap goes in halves",
    "tx fee (1.62 ether) exceeds the configured cap (1.00 ether)",
    (batch) => batch > 2,
    [8, 4, 2, 2, 4, 2, 2],
  ],
  [
    "comes second for a delegated account waits for the first",
    "in-flight transaction limit reached for delegated accounts",
    (_, waiting) => waiting > 0,
    [2, 2, 2, 2, 2],
  ],
];
for (const [what, detail, isRefused, expected] of refusals) {
  Deno.test(`send: what ${what}`, async () => {
    const { fixture, relayer, leg } = detail.startsWith("in-flight") ? await startWithPairs() : setUp();
    const messages = await fixture.sendFrom(fixture.hub, fixture.two, 8);
    const { two } = relayer;
    const broadcast = two.broadcast.bind(two);
    const sizes: number[] = [];
    two.broadcast = (submission, signal) => {
      const row = relayer.ledger.submissions.findByHash(names.two, submission.hash);
      const size = relayer.ledger.submissions.itemsOf(row?.id ?? 0).length;
      sizes.push(size);
      if (!isRefused(size, fixture.two.mempoolSize)) return broadcast(submission, signal);
      return Promise.resolve({ kind: "refused", refusal: { code: "unspecified", detail } });
    };
    for (let turn = 0; turn < 12; turn++) {
      await round(relayer, leg);
      await mine(relayer);
      await fixture.clock.advance(4_000);
    }
    assert.deepEqual(sizes, expected);
    assert.ok(messages.every((message) => relayer.row(message).state === "delivered"));
    assert.deepEqual(relayer.log.events("error"), []);
  });
}

Deno.test("send: a nonce above the one that the journal expects is reported once a day", async () => {
  const { relayer, fixture, leg } = await setUpWith(1);
  for (let day = 0; day < 2; day++) {
    await round(relayer, leg);
    await fixture.blocks(1);
    fixture.two.useNonce(relayer.account);
    await mine(relayer);
    await fixture.sendFrom(fixture.hub, fixture.two, 1);
  }
  await round(relayer, leg);
  const found = relayer.log.linesOf("account_shared.seen");
  assert.deepEqual(found.map(({ level, fields }) => [level, fields["nonce"]]), [["info", 1n]]);
});

Deno.test("send: a batch that is too large to sign goes in halves (F13)", async () => {
  const { relayer, messages, leg } = await setUpWith(8);
  const { two } = relayer;
  const sign = two.sign.bind(two);
  const sizes: number[] = [];
  two.sign = (delivery, ...rest) => {
    const size = collectMessages(delivery).length;
    sizes.push(size);
    if (size <= 2) return sign(delivery, ...rest);
    return Promise.resolve({ kind: "refused", refusal: { code: "too_large", detail: "too much gas" } });
  };
  await round(relayer, leg);
  assert.deepEqual(sizes, [8, 4, 2]);
  const states = messages.map((message) => relayer.row(message).state);
  assert.deepEqual(states, ["submitted", "submitted", ...Array.from({ length: 6 }, () => "held")]);
  assert.ok(messages.every((message) => relayer.row(message).nextAttemptAtMs < Number.MAX_SAFE_INTEGER));
});

for (const code of ["too_large", "bad_destination"] as const) {
  Deno.test(`send: a node that answers "${code}" once ends nothing, one that does for hours does`, async () => {
    const { relayer, first, leg } = await setUpWith(1);
    const { two } = relayer;
    two.simulate = () => Promise.resolve({ kind: "refused", refusal: { code, detail: "so it says" } });
    await round(relayer, leg);
    assert.equal(relayer.row(first).nextAttemptAtMs - leg.clock.now(), 60_000);
    await readAgain(relayer, leg);
    const { state, nextAttemptAtMs: then } = relayer.row(first);
    assert.ok(code === "too_large" ? then === NEVER_MS : state === "rejected", state);
  });
}

Deno.test("send: nothing is sent when the journal cannot be written", async () => {
  const { relayer, first, leg } = await setUpWith(1);
  relayer.ledger.submissions.record = () => {
    throw new Error("disk full");
  };
  await assert.rejects(round(relayer, leg), /disk full/);
  assert.equal(relayer.two.calls.includes("broadcast"), false);
  assert.notEqual(relayer.row(first).state, "submitted");
});

Deno.test("send: the first transaction goes alone, later ones may wait together", async () => {
  const { fixture, relayer, leg } = await setUpWith(22, { chain: { limits: { maxMessagesPerStep: 2 } } });
  const sent: number[] = [];
  for (let turn = 0; turn < 4; turn++) {
    let inTurn = 0;
    for (let one = await round(relayer, leg); one.sent > 0; one = await round(relayer, leg)) {
      inTurn += one.sent / 2;
    }
    sent.push(inTurn);
    await mine(relayer);
  }
  assert.deepEqual(sent, [1, 8, 2, 0]);
  assert.equal(delivered(fixture.two).length, 22);
  assert.equal(fixture.two.reverted().length, 0);
});

/** A leg whose batches have two messages, after its first one. */
async function startWithPairs(): Promise<Scene> {
  const scene = await setUpWith(2, { chain: { limits: { maxMessagesPerStep: 2 } } });
  await round(scene.relayer, scene.leg);
  await mine(scene.relayer);
  return scene;
}

Deno.test("send: the next batches are proved while one is signed, two at most, and each message goes once", async () => {
  const { fixture, relayer, leg } = await startWithPairs();
  const batches = 5;
  await fixture.sendFrom(fixture.hub, fixture.two, 2 * batches);
  const steps: string[] = [];
  const note = (chain: MemoryChain, method: string, name: string): void => {
    const act = (): void => void steps.push(name);
    chain.faults.add(method, { kind: "interrupt", when: "before", act }, { times: 10 });
  };
  note(relayer.hub, "proveMessages", "prove");
  note(relayer.two, "sign", "sign");
  assert.equal((await round(relayer, leg)).sent, 2 * batches);
  const countBefore = (at: number, name: string): number =>
    steps.slice(0, at).filter((each) => each === name).length;
  const signs = [...steps.keys()].filter((at) => steps[at] === "sign");
  assert.equal(signs.length, batches);
  for (const [sent, at] of signs.entries()) {
    const proved = countBefore(at, "prove");
    assert.ok(proved >= Math.min(batches, sent + 2) && proved <= sent + 3, steps.join(" "));
  }
  assert.equal(countBefore(steps.length, "prove"), batches);
  await mine(relayer);
  assert.equal(new Set(delivered(fixture.two)).size, 2 + 2 * batches);
  assert.equal(fixture.two.reverted().length, 0);
});

Deno.test("send: when sending fails the batch prepared meanwhile stays as due as before", async () => {
  const { fixture, relayer, leg } = await startWithPairs();
  const messages = await fixture.sendFrom(fixture.hub, fixture.two, 4);
  relayer.two.faults.add("sign", { kind: "throw", code: "unreachable" });
  await assert.rejects(round(relayer, leg), RpcFault);
  assert.deepEqual(messages.map((message) => relayer.row(message).state), ["seen", "seen", "seen", "seen"]);
  assert.equal((await round(relayer, leg)).sent, 4);
});

Deno.test("send: a fault of the source while proving is rethrown, and no row changes (F12)", async () => {
  const { relayer, first, leg } = await setUpWith(1);
  relayer.hub.faults.add("proveMessages", { kind: "throw", code: "pruned" });
  await assert.rejects(round(relayer, leg), (error: unknown) => error instanceof RpcFault);
  assert.equal(relayer.row(first).state, "seen");
});

Deno.test("send: a message that exceeds the bytes of a transaction alone is held with its reason (F13)", async () => {
  const { fixture, relayer } = setUp();
  const [large] = await fixture.sendFrom(fixture.hub, fixture.two, 1, { body: new Uint8Array(120_000) });
  const [small] = await fixture.sendFrom(fixture.hub, fixture.two, 1);
  assert.equal((await round(relayer, outbound(relayer))).sent, 1);
  assert.equal(relayer.row(large).reason, "too_large");
  assert.equal(relayer.row(small).state, "submitted");
});

Deno.test("send: a message larger than what a node took last is looked at every hour, and goes when that is forgotten", async () => {
  const { fixture, relayer, leg } = setUp();
  const [large] = await fixture.sendFrom(fixture.hub, fixture.two, 1, { body: new Uint8Array(3_000) });
  const refused = { submission: { raw: new Uint8Array(2_000) }, detail: "oversized data" };
  relayer.ledger.transaction(() => noteTooLarge(leg, refused));
  for (let hour = 0; hour < 6; hour++) {
    assert.equal((await round(relayer, leg)).sent, 0);
    assert.equal(relayer.row(large).reason, "too_large");
    await fixture.clock.advance(3_600_000);
  }
  assert.equal((await round(relayer, leg)).sent, 1);
});

Deno.test("send: a node that is behind does not make us use a nonce again that is mined", async () => {
  const { relayer, fixture, leg } = await setUpWith(1);
  assert.deepEqual(await round(relayer, leg), { sent: 1, hasMore: false });
  fixture.two.isFull = true;
  await fixture.sendFrom(fixture.hub, fixture.two, 1);
  fixture.two.isFull = false;
  fixture.two.produceBlock();
  await settle(relayer);
  relayer.two.blocksBehind = 1n;
  assert.equal((await round(relayer, leg)).sent, 1);
  const nonces = relayer.ledger.submissions.listUnresolved(names.two).map(({ submission }) =>
    submission.nonce
  );
  assert.deepEqual(nonces, [0n, 1n]);
});
