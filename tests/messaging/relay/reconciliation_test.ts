/** Reconciliation of the ledger with chains in memory: it finds nothing, unless something was lost. */
import assert from "node:assert/strict";
import * as z from "zod";
import { countGaps, reconcileLeg, reconciliationWorker } from "../../../src/messaging/relay/scan.ts";
import { NEVER_MS } from "../../../src/messaging/relay/decisions/retry_schedule.ts";
import { round } from "./rounds.ts";
import { memoryLedger, names, Relayer, setUp } from "./fixture.ts";

Deno.test("reconciliation: a ledger that is complete has no gaps, and blocks are read again once", async () => {
  const { fixture, relayer, inbound: leg } = setUp();
  await fixture.sendFrom(fixture.one, fixture.hub, 3);
  await round(relayer, leg);
  const nothing = { missed: 0, ended: 0 };
  assert.deepEqual(await reconcileLeg(leg), nothing, "the first time only remembers where it begins");
  await fixture.sendFrom(fixture.one, fixture.hub, 3);
  await round(relayer, leg);
  assert.deepEqual(await reconcileLeg(leg), nothing);
  assert.equal(countGaps(relayer.ledger), 0);
  assert.deepEqual(relayer.log.events("warn"), []);
});

Deno.test("reconciliation: a message that the scan has passed over is recorded, counted and logged once", async () => {
  const { fixture, relayer, inbound: leg } = setUp();
  await fixture.sendFrom(fixture.one, fixture.hub, 1);
  await round(relayer, leg);
  await reconcileLeg(leg);
  const [lost] = await fixture.sendFrom(fixture.one, fixture.hub, 1);
  const view = await leg.target.reads.fetchView(leg.source.id, leg.signal);
  relayer.ledger.cursors.advance(names.one, names.hub, view.height);
  assert.deepEqual(await reconcileLeg(leg), { missed: 1, ended: 0 });
  assert.equal(relayer.ledger.messages.find(lost.commitment, names.hub)?.state, "seen");
  assert.deepEqual(await reconcileLeg(leg), { missed: 0, ended: 0 });
  assert.equal(countGaps(relayer.ledger), 1);
  assert.deepEqual(relayer.log.events("warn"), ["reconciliation_found"]);
});

Deno.test("reconciliation: a message that is never attempted again ends when its target has a receipt", async () => {
  const { fixture, relayer, inbound: leg } = setUp();
  const [message] = await fixture.sendFrom(fixture.one, fixture.hub, 1);
  const other = new Relayer(fixture, memoryLedger(fixture), { number: 2 });
  await round(other, other.leg(other.one, other.hub));
  await fixture.blocks(5);
  const view = await leg.target.reads.fetchView(leg.source.id, leg.signal);
  relayer.ledger.cursors.reset(names.one, names.hub, view.height);
  relayer.ledger.notes.write("reconciled", `${names.one} -> ${names.hub}`, "0");
  await reconcileLeg(leg);
  relayer.ledger.messages.transition(message.commitment, names.hub, {
    to: "held",
    reason: "unprofitable",
    nextAttemptAtMs: NEVER_MS,
  });
  assert.deepEqual(await reconcileLeg(leg), { missed: 0, ended: 1 });
  assert.equal(relayer.ledger.messages.find(message.commitment, names.hub)?.state, "delivered_by_other");
});

Deno.test("reconciliation: the worker waits its time, and a chain that does not answer is no fault", async () => {
  const { fixture, relayer, inbound: leg } = setUp();
  await fixture.sendFrom(fixture.one, fixture.hub, 1);
  await round(relayer, leg);
  const stop = new AbortController();
  const running = reconciliationWorker(relayer.deps, [leg], 3_600).run(stop.signal).catch((error: unknown) =>
    error
  );
  const isNoted = (): boolean =>
    relayer.ledger.notes.find("reconciled", `${names.one} -> ${names.hub}`, z.unknown()) !== undefined;
  await fixture.clock.advance(3_599_000);
  assert.ok(!isNoted());
  await fixture.clock.advance(10_000);
  assert.ok(isNoted());
  stop.abort();
  await running;
});
