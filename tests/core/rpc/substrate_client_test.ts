import assert from "node:assert/strict";
import type { RpcAnswer, RpcCall, RpcEndpoint } from "../../../src/core/rpc/call.ts";
import { RpcFault } from "../../../src/core/rpc/call.ts";
import { calls } from "../../../src/core/rpc/substrate_calls.ts";
import { SubstrateClient } from "../../../src/core/rpc/substrate_client.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { fixedRandomness, seededRandomness } from "../../support/seeded_randomness.ts";

const never = new AbortController().signal;
const where = { chain: "KUSAMA-4009", endpointHost: "node", method: "chain_getBlockHash" };
const throttled = (): RpcFault => new RpcFault("throttled", where, { detail: "RPC rate limit exceeded" });
const HASH = `0x${"ab".repeat(32)}`;
const ENTRIES = "childstate_getStorageEntries";
const BEST = ["chain_getBlockHash"];

/**
 * A node started with `--rpc-rate-limit`: so many calls in any second, the others of a batch are refused one by one.
 * Source: paritytech/polkadot-sdk: substrate/client/rpc-servers/src/middleware.
 */
class LimitedNode implements RpcEndpoint {
  readonly host = "node";
  refused = 0;
  answered = 0;
  /** False: it refuses everything. */
  isOpen = true;
  readonly #clock: FakeClock;
  #left: number;
  #lastMs: number;

  constructor(clock: FakeClock, readonly perSec: number) {
    this.#clock = clock;
    this.#left = perSec;
    this.#lastMs = clock.now();
  }

  async send(asked: readonly RpcCall[]): Promise<readonly RpcAnswer[]> {
    await this.#clock.sleep(20, never);
    const nowMs = this.#clock.now();
    this.#left = Math.min(this.perSec, this.#left + (nowMs - this.#lastMs) / 1000 * this.perSec);
    this.#lastMs = nowMs;
    return asked.map((): RpcAnswer => {
      if (!this.isOpen || this.#left < 1) {
        this.refused++;
        return { kind: "fault", fault: throttled() };
      }
      this.#left--;
      this.answered++;
      return { kind: "result", result: HASH };
    });
  }
}

Deno.test("substrate client: all who ask a node that limits calls get their answers", async () => {
  const clock = new FakeClock();
  const node = new LimitedNode(clock, 30);
  const client = new SubstrateClient({ clock, randomness: seededRandomness(1) }, node, "KUSAMA-4009");
  // Eight workers that each want five blocks at a time, ten times.
  const workers = Array.from({ length: 8 }, async () => {
    for (let round = 0; round < 10; round++) {
      const wanted = Array.from({ length: 5 }, (_, at) => calls.blockHash(BigInt(at)));
      for (const hash of await client.callAll(wanted, never)) assert.equal(hash, HASH);
    }
  });
  await clock.run(Promise.all(workers));
  assert.equal(node.answered, 400);
  assert.ok(node.refused < 2 * node.answered, `${node.refused} calls were refused`);
});

Deno.test("substrate client: a submission that was throttled was not taken, and is sent again", async () => {
  const clock = new FakeClock();
  const node = new LimitedNode(clock, 1);
  const client = new SubstrateClient({ clock, randomness: fixedRandomness(0) }, node, "KUSAMA-4009");
  const both = Promise.all([
    client.call(calls.submit(Uint8Array.of(1)), never),
    client.call(calls.submit(Uint8Array.of(2)), never),
  ]);
  assert.deepEqual(await clock.run(both), [HASH, HASH]);
  assert.equal(node.refused, 1);
});

Deno.test("substrate client: a node that refuses for a quarter of a minute is a fault for all who ask", async () => {
  const clock = new FakeClock();
  const node = new LimitedNode(clock, 30);
  const client = new SubstrateClient({ clock, randomness: fixedRandomness(0) }, node, "KUSAMA-4009");
  node.isOpen = false;
  const outcome = client.call(calls.blockHash(1n), never).catch((error: unknown) => error);
  const fault = await clock.run(outcome);
  assert.ok(fault instanceof RpcFault && fault.code === "throttled");
  assert.ok(node.refused <= 6, `it was asked ${node.refused} times`);
  // Who comes next waits for the end of its pause, and is answered.
  node.isOpen = true;
  assert.equal(await clock.run(client.call(calls.blockHash(1n), never)), HASH);
});

/** A node with a child trie: under a key of one byte lies this byte, under odd ones nothing. */
class ChildNode implements RpcEndpoint {
  readonly host = "node";
  /** Methods of each request. */
  readonly requests: (readonly string[])[] = [];
  /** What is wrong with reads of many values. */
  refusal: { readonly code: "missing_method" | "too_large" | "timeout"; readonly above: number } | undefined;
  /** Values that the answers to such reads lack. */
  cut = 0;

  send(asked: readonly RpcCall[]): Promise<readonly RpcAnswer[]> {
    this.requests.push(asked.map(({ method }) => method));
    return Promise.resolve(asked.map((call) => this.#answer(call)));
  }

  #answer({ method, params: [, wanted] }: RpcCall): RpcAnswer {
    const valueOf = (key: unknown): string | null => parseInt(String(key), 16) % 2 === 0 ? String(key) : null;
    if (method === "chain_getBlockHash") return { kind: "result", result: HASH };
    if (method === "childstate_getStorage") return { kind: "result", result: valueOf(wanted) };
    assert.equal(method, ENTRIES);
    assert.ok(Array.isArray(wanted));
    if (this.refusal !== undefined && wanted.length > this.refusal.above) {
      const { code } = this.refusal;
      return { kind: "fault", fault: new RpcFault(code, { ...where, method }) };
    }
    return { kind: "result", result: wanted.slice(this.cut).map(valueOf) };
  }
}

const trie = Uint8Array.of(1);
const keysTo = (count: number): Uint8Array[] => Array.from({ length: count }, (_, at) => Uint8Array.of(at));
const valuesTo = (count: number): (Uint8Array | undefined)[] =>
  keysTo(count).map((key, at) => at % 2 === 0 ? key : undefined);

function childClient(): { node: ChildNode; client: SubstrateClient; clock: FakeClock } {
  const node = new ChildNode();
  const clock = new FakeClock();
  const client = new SubstrateClient({ clock, randomness: fixedRandomness(0) }, node, "KUSAMA-4009");
  return { node, client, clock };
}

Deno.test("substrate client: values of a child trie are read a hundred in a call, with other calls", async () => {
  const { node, client, clock } = childClient();
  const read = client.readChildWith({ trie, keys: keysTo(201) }, [calls.blockHash(1n)], never);
  assert.deepEqual(await clock.run(read), { values: valuesTo(201), outcomes: [HASH] });
  assert.deepEqual(await clock.run(client.readChild({ trie, keys: keysTo(1) }, never)), valuesTo(1));
  assert.deepEqual(node.requests, [
    [ENTRIES, ENTRIES, ENTRIES, "chain_getBlockHash"],
    ["childstate_getStorage"],
  ]);
});

Deno.test("substrate client: a node without reads of many values of a child trie is asked for each", async () => {
  const { node, client, clock } = childClient();
  node.refusal = { code: "missing_method", above: 0 };
  for (let round = 0; round < 2; round++) {
    assert.deepEqual(await clock.run(client.readChild({ trie, keys: keysTo(3) }, never)), valuesTo(3));
  }
  const single = Array.from({ length: 3 }, () => "childstate_getStorage");
  assert.deepEqual(node.requests, [[ENTRIES], BEST, single, BEST, single]);
});

Deno.test("substrate client: child values that are too many for an answer, or cut, are asked for one by one once", async () => {
  const { node, client, clock } = childClient();
  const single = (count: number): string[] => Array.from({ length: count }, () => "childstate_getStorage");
  node.refusal = { code: "too_large", above: 4 };
  assert.deepEqual(await clock.run(client.readChild({ trie, keys: keysTo(5) }, never)), valuesTo(5));
  assert.deepEqual(await clock.run(client.readChild({ trie, keys: keysTo(4) }, never)), valuesTo(4));
  node.cut = 1;
  assert.deepEqual(await clock.run(client.readChild({ trie, keys: keysTo(2) }, never)), valuesTo(2));
  assert.deepEqual(node.requests, [[ENTRIES], BEST, single(5), [ENTRIES], [ENTRIES], BEST, single(2)]);
});

Deno.test("substrate client: what fails besides the child values is a fault, and so is a node that is down", async () => {
  const { node, client, clock } = childClient();
  const isTimeout = (fault: unknown): boolean => fault instanceof RpcFault && fault.code === "timeout";
  node.refusal = { code: "timeout", above: 0 };
  await assert.rejects(clock.run(client.readChild({ trie, keys: keysTo(2) }, never)), isTimeout);
  assert.deepEqual(node.requests, [[ENTRIES]]);
});
