/** Events of a node that has discarded the states of old blocks. */
import assert from "node:assert/strict";
import { RpcFault } from "../../../../src/core/rpc/call.ts";
import type { Clock } from "../../../../src/core/runtime/clock.ts";
import { systemClock } from "../../../../src/core/runtime/system_clock.ts";
import {
  commitSender,
  extrinsicOf,
  post,
  requestMessage,
  startTestHub,
  submit,
} from "../../../../devnet/hub/deliveries.ts";
import { connect } from "./hub_connection.ts";

const { signal } = new AbortController();

/** Blocks whose states the node keeps, the newest included. */
const KEPT = 8;

Deno.test("events: blocks whose states are discarded are asked for again, then skipped with what to do", async () => {
  await using hub = await startTestHub({ historyBlocks: KEPT });
  let laterMs = 0;
  const clock: Clock = { ...systemClock, now: () => systemClock.now() + laterMs };
  await using connection = connect(hub, {}, { clock });
  const { chain, log } = connection;
  while (hub.best.number < 40) hub.produceBlock();
  const source = await commitSender(hub, 10n, [post(1n)]);
  await submit(hub, extrinsicOf(requestMessage([post(1n)], await source.prove([post(1n)]), { height: 10n })));
  hub.produceBlock();
  const newest = BigInt(hub.best.number);
  const refused = (from: bigint) => (error: unknown): boolean => {
    assert.ok(error instanceof RpcFault && error.code === "pruned");
    const discarded = `the states of blocks ${from} to ${newest - BigInt(KEPT) + 1n} are discarded`;
    assert.equal(
      error.detail,
      `${discarded}; use a node with --state-pruning archive (the default keeps 256 blocks)`,
    );
    return true;
  };
  const fetch = (from: bigint): ReturnType<typeof chain.events.fetchEvents> =>
    chain.events.fetchEvents(from, newest, signal);

  await assert.rejects(fetch(2n), refused(2n));
  laterMs = 9 * 60_000;
  await assert.rejects(fetch(2n), refused(2n));
  assert.deepEqual(log.events("error"), []);

  laterMs = 11 * 60_000;
  const kept = await fetch(2n);
  assert.deepEqual(kept.map(({ kind }) => kind).toSorted(), ["handled", "message", "updated"]);
  assert.deepEqual(log.events("error"), ["blocks_skipped.states_missing"]);
});
