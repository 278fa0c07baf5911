import assert from "node:assert/strict";
import { findMissingRequests, type RequestCount } from "../../../src/core/evm/request_nonces.ts";

const all: RequestCount = { first: 5n, end: 8n, nonces: [7n, 5n, 6n], unreadable: 0 };

const cases:
  readonly (readonly [string, Partial<RequestCount>, readonly [bigint, bigint, bigint] | undefined])[] = [
    ["every request is there", {}, undefined],
    ["a log came twice", { nonces: [5n, 6n, 6n, 7n] }, undefined],
    ["the list is empty", { nonces: [] }, [3n, 5n, 7n]],
    ["one in the middle is missing", { nonces: [5n, 7n] }, [1n, 6n, 6n]],
    ["the first is missing", { nonces: [6n, 7n] }, [1n, 5n, 5n]],
    ["the last is missing", { nonces: [5n, 6n] }, [1n, 7n, 7n]],
    ["one could not be read", { nonces: [5n, 7n], unreadable: 1 }, undefined],
    ["nothing is known of the end", { end: undefined, nonces: [5n, 7n] }, [1n, 6n, 6n]],
    ["nothing is known of the start", { first: undefined, nonces: [6n] }, [1n, 7n, 7n]],
    ["nothing is known, and nothing was found", { first: undefined, end: undefined, nonces: [] }, undefined],
    ["only the start is known, and nothing was found", { end: undefined, nonces: [] }, undefined],
  ];

for (const [name, change, missing] of cases) {
  Deno.test(`request nonces: ${name}`, () => {
    const [count, from, to] = missing ?? [];
    const expected = missing === undefined ? undefined : { count, from, to };
    assert.deepEqual(findMissingRequests({ ...all, ...change }), expected);
  });
}
