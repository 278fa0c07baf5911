import assert from "node:assert/strict";
import { setImmediate } from "node:timers/promises";
import { workAhead } from "../../../src/core/runtime/limit.ts";

/** Work that ends when it is told to. */
class Work {
  readonly begun: number[] = [];
  readonly #ends = new Map<number, PromiseWithResolvers<number>>();

  readonly begin = (item: number): Promise<number> => {
    this.begun.push(item);
    const end = Promise.withResolvers<number>();
    this.#ends.set(item, end);
    return end.promise;
  };

  end(item: number): void {
    this.#ends.get(item)?.resolve(item);
  }

  fail(item: number): void {
    this.#ends.get(item)?.reject(new Error(`${item} failed`));
  }
}

Deno.test("work ahead: results come in order, with as many further items under way as asked for", async () => {
  const work = new Work();
  const results = workAhead([1, 2, 3, 4, 5], 2, work.begin);
  const first = results.next();
  assert.deepEqual(work.begun, [1, 2, 3]);
  work.end(2);
  work.end(1);
  assert.deepEqual(await first, { value: 1, done: false });
  assert.deepEqual(work.begun, [1, 2, 3], "nothing begins while nobody asks for more");
  assert.deepEqual(await results.next(), { value: 2, done: false });
  assert.deepEqual(work.begun, [1, 2, 3, 4]);
  for (const item of [3, 4]) work.end(item);
  assert.deepEqual(await results.next(), { value: 3, done: false });
  assert.deepEqual(work.begun, [1, 2, 3, 4, 5]);
  work.end(5);
  assert.deepEqual([(await results.next()).value, (await results.next()).value], [4, 5]);
  assert.deepEqual(await results.next(), { value: undefined, done: true });
});

Deno.test("work ahead: a fault is thrown in its turn, and nothing is under way when it is", async () => {
  const work = new Work();
  const results = workAhead([1, 2, 3], 2, work.begin);
  const first = results.next();
  work.fail(2);
  work.end(1);
  assert.equal((await first).value, 1);
  let hasThrown = false;
  const second = results.next().catch((error: unknown) => {
    hasThrown = true;
    return error;
  });
  await setImmediate();
  assert.equal(hasThrown, false, "3 is still under way");
  work.end(3);
  assert.match(String(await second), /2 failed/);
});

Deno.test("work ahead: who stops early waits for what is under way, and no fault of it is unhandled", async () => {
  const work = new Work();
  let hasEnded = false;
  const loop = (async () => {
    for await (const _ of workAhead([1, 2, 3], 1, work.begin)) break;
    hasEnded = true;
  })();
  work.end(1);
  await setImmediate();
  assert.equal(hasEnded, false);
  work.fail(2);
  await loop;
  assert.deepEqual(work.begun, [1, 2]);
});
