import assert from "node:assert/strict";
import { isJsonObject, parseJson } from "../../../src/core/rpc/json.ts";

Deno.test("json: integers beyond 2^53 - 1 keep every digit", () => {
  assert.deepEqual(
    parseJson('{"a":18446744073709551615,"b":[-9007199254740993, 7],"c":9007199254740991}'),
    { a: 18446744073709551615n, b: [-9007199254740993n, 7], c: 9007199254740991 },
  );
  assert.equal(parseJson("9007199254740993"), 9007199254740993n);
  assert.equal(
    parseJson("340282366920938463463374607431768211455"),
    340282366920938463463374607431768211455n,
  );
});

Deno.test("json: long fractions, exponents and digits inside strings stay what they are", () => {
  assert.deepEqual(
    parseJson(
      '{"f":1234567890123456789.5,"e":1e300,"s":"a: 12345678901234567890","h":"0x00000000000000000000"}',
    ),
    { f: 1234567890123456789.5, e: 1e300, s: "a: 12345678901234567890", h: "0x00000000000000000000" },
  );
});

Deno.test("json: half a text is a SyntaxError", () => {
  assert.throws(() => parseJson('{"a":123456789012345678'), SyntaxError);
  assert.throws(() => parseJson(""), SyntaxError);
});

Deno.test("json: arrays and null are no objects", () => {
  assert.deepEqual([null, [], {}, 1, "x"].map(isJsonObject), [false, false, true, false, false]);
});
