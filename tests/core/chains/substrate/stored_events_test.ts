import assert from "node:assert/strict";
import type { ChainEvent } from "../../../../src/core/chains/reads.ts";
import { EndpointUrl } from "../../../../src/core/config/redact.ts";
import { parseStateMachine, type StateMachine } from "../../../../src/core/ismp/state_machine.ts";
import { RpcFault } from "../../../../src/core/rpc/call.ts";
import type { Clock } from "../../../../src/core/runtime/clock.ts";
import { systemClock } from "../../../../src/core/runtime/system_clock.ts";
import {
  commitSender,
  extrinsicOf,
  post,
  receiver,
  requestMessage,
  sender,
  startTestHub,
  submit,
} from "../../../../devnet/hub/deliveries.ts";
import {
  askQuestions,
  fetchRefusal,
  question,
  relayerCalls,
  startGetHub,
} from "../../../../devnet/hub/relayer_work.ts";
import { demoModuleId, type Hub } from "../../../../devnet/hub/hub.ts";
import type { Profile } from "../../../../devnet/profiles/profile.ts";
import { responseBytes } from "../../../../devnet/profiles/request_behaviours.ts";
import type { RpcBehaviour } from "../../../../devnet/profiles/rpc_behaviour.ts";
import { startProfiledNode } from "../../../../devnet/profiles/rpc_front.ts";
import { connect } from "./hub_connection.ts";

const { signal } = new AbortController();
const POSTS = 60;

/** A node that answers with so many bytes at most. */
function smallAnswers(bytes: number): Profile<RpcBehaviour> {
  const tooBig = { code: -32008, message: "Response is too big", data: "Exceeded max limit of {max}" };
  return {
    name: "small-answers",
    imitates: "A node with --rpc-max-response-size",
    sources: ["paritytech/jsonrpsee: types/src/error.rs (-32008, -32011)"],
    behaviours: [responseBytes(bytes, bytes, { error: tooBig }, {
      ofBatch: { error: { ...tooBig, code: -32011, message: "The batch response was too large" } },
      except: ["state_getMetadata"],
    })],
  };
}

/** One block with posts of the hub, deliveries to it, answered GETs and a chain's new height. */
async function produceLargeBlock(hub: Hub, also: readonly StateMachine[] = []): Promise<bigint> {
  const questions = await askQuestions(hub, [question(1n), question(2n)]);
  assert.equal(await fetchRefusal(hub, relayerCalls.answerGets(questions)), undefined);
  const requests = [post(11n), post(12n)];
  const source = await commitSender(hub, 30n, requests);
  const proof = { height: { id: sender, height: 30n }, proof: await source.prove(requests) };
  const signer = new Uint8Array(32).fill(7);
  const sent = await submit(hub, extrinsicOf({ tag: "Request", value: { requests, proof, signer } }));
  assert.equal(sent.kind, "result");
  for (let nonce = 0; nonce < POSTS; nonce++) {
    void hub.dispatchPost({
      dest: receiver.stateMachine,
      from: demoModuleId,
      to: new Uint8Array(20).fill(nonce),
      body: new Uint8Array(300).fill(nonce),
      timeoutSec: 0n,
    });
  }
  for (const dest of also) {
    void hub.dispatchPost({
      dest,
      from: demoModuleId,
      to: new Uint8Array(20),
      body: Uint8Array.of(1),
      timeoutSec: 0n,
    });
  }
  const { number } = hub.produceBlock();
  for (let more = 0; more < 3; more++) hub.produceBlock();
  return BigInt(number);
}

function withoutTransactions(events: readonly ChainEvent[]): readonly ChainEvent[] {
  return events.map((event) => ({ ...event, at: { ...event.at, transaction: undefined } }));
}

Deno.test("stored events: a block that is larger than the node's answers is read from its state, as it is", async () => {
  await using hub = await startGetHub();
  const block = await produceLargeBlock(hub);
  await using plain = connect(hub);
  const expected = await plain.chain.events.fetchEvents(block - 1n, block + 2n, signal);
  const kinds = Map.groupBy(
    expected,
    (event) => event.kind === "message" ? event.message.kind : event.kind,
  );
  assert.deepEqual([kinds.get("post")?.length, kinds.get("getResponse")?.length], [POSTS + 2, 2]);
  assert.ok(kinds.has("handled") && kinds.has("updated"), [...kinds.keys()].join());
  await using node = startProfiledNode(hub.httpUrl, smallAnswers(30_000));
  await using limited = connect(hub, { rpcWs: new EndpointUrl(node.wsUrl) });
  const found = await limited.chain.events.fetchEvents(block - 1n, block + 2n, signal);
  assert.ok((node.strikes.get("responseBytes") ?? 0) > 0);
  assert.deepEqual(withoutTransactions(found), withoutTransactions(expected));
  assert.ok(found.some(({ at }) => at.transaction === undefined));
  assert.deepEqual(limited.log.lines.filter(({ level }) => level === "warn" || level === "error"), []);
});

/** The answer of a node whose newest event, in a large block, is of a pallet that the metadata does not have. */
function withUnknownEvent(text: string): string {
  return text.replaceAll(/("0x[0-9a-f]{4}00[0-9a-f]{8})([0-9a-f]{2})(?=[0-9a-f]{4000})/g, "$1fd");
}

const unreadable = [
  ["that is more than the node answers with", 5_000, "too_large", undefined],
  ["whose events are not what the metadata says", 30_000, "malformed", withUnknownEvent],
] as const;
for (const [what, bytes, code, alter] of unreadable) {
  Deno.test(`stored events: a block ${what} is asked for again for ten minutes, then passed over`, async () => {
    await using hub = await startGetHub();
    const block = await produceLargeBlock(hub);
    await using node = startProfiledNode(hub.httpUrl, smallAnswers(bytes));
    let laterMs = 0;
    const clock: Clock = { ...systemClock, now: () => systemClock.now() + laterMs };
    const options = alter === undefined ? { clock } : { clock, alter };
    await using limited = connect(hub, { rpcWs: new EndpointUrl(node.wsUrl) }, options);
    const { chain: { events }, log } = limited;
    for (const ms of [0, 9 * 60_000]) {
      laterMs = ms;
      await assert.rejects(events.fetchEvents(block, block + 2n, signal), { code });
    }
    laterMs = 11 * 60_000;
    assert.deepEqual(await events.fetchEvents(block, block, signal), []);
    assert.deepEqual(log.events("error"), ["blocks_skipped.unreadable"]);
  });
}

/** The answer of a node whose chain has an id that is no text, where it had this one. */
function withBytesAsId(text: string): string {
  return text.replaceAll("SUBSTRATE-cere", "SUBSTRATE-\u00ffere").replaceAll("63657265", "ff657265");
}

Deno.test("stored events: one event that cannot be read leaves the others of its block", async () => {
  await using hub = await startGetHub();
  const block = await produceLargeBlock(hub, [parseStateMachine("SUBSTRATE-cere")]);
  await using node = startProfiledNode(hub.httpUrl, smallAnswers(30_000));
  await using limited = connect(hub, { rpcWs: new EndpointUrl(node.wsUrl) }, { alter: withBytesAsId });
  const found = await limited.chain.events.fetchEvents(block - 1n, block + 2n, signal);
  assert.equal(found.filter((event) => event.kind === "message").length, POSTS + 4);
  assert.deepEqual(limited.log.events("warn"), ["messages_skipped.undecodable"]);
});

/** The answer of a node without the body of the last of these requests. */
function withoutLastBody(text: string): string {
  const answers: unknown = JSON.parse(text);
  const change = (answer: unknown): unknown => {
    const { result } = Object(answer);
    const isBodies = Array.isArray(result) && "Post" in Object(result[0]);
    return isBodies ? { ...Object(answer), result: result.slice(0, -1) } : answer;
  };
  return JSON.stringify(Array.isArray(answers) ? answers.map(change) : change(answers));
}

Deno.test("stored events: a message whose body is missing is asked for again, and not skipped", async () => {
  await using hub = await startGetHub();
  const block = await produceLargeBlock(hub);
  await using node = startProfiledNode(hub.httpUrl, smallAnswers(30_000));
  await using limited = connect(hub, { rpcWs: new EndpointUrl(node.wsUrl) }, { alter: withoutLastBody });
  await assert.rejects(
    limited.chain.events.fetchEvents(block - 1n, block + 2n, signal),
    (fault: unknown) =>
      fault instanceof RpcFault && fault.code === "pruned" && /messages of block/.test(fault.detail ?? ""),
  );
});

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
