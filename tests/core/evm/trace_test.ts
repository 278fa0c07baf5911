import { deepStrictEqual as equal, throws } from "node:assert/strict";
import vectors from "../../vectors/evm-trace.json" with { type: "json" };
import calls from "../../vectors/evm-handler-calls.json" with { type: "json" };
import { toHash256 } from "../../../src/core/encoding/bytes.ts";
import { toAddress } from "../../../src/core/evm/address.ts";
import { hostEventTopics } from "../../../src/core/evm/host_abi.ts";
import { SchemaError } from "../../../src/core/evm/schema.ts";
import { callTracerOptions, readTrace } from "../../../src/core/evm/trace.ts";

const host = toAddress(vectors.host);
const commitment = toHash256("ab".repeat(32));
const handled = { address: host, topics: [hostEventTopics.PostRequestHandled, commitment], data: "0x" };
const quiet = { gasUsed: "0x10" };

interface Shortened {
  readonly selector?: string;
  readonly calls?: readonly Shortened[];
}

/** The recorded frames name the selector instead of the whole input. */
function withInputs(frame: Shortened): unknown {
  return { ...frame, input: frame.selector, calls: frame.calls?.map(withInputs) };
}

for (const name of ["succeeds", "module_reverts", "batch"] as const) {
  Deno.test(`trace vector: ${name}`, () => {
    const vector = vectors[name];
    const outcome = readTrace(vector.trace, host);
    equal(outcome.posts.size + outcome.gets.size > 0, vector.successful_execution);
    equal(outcome.gasUsed, BigInt(vector.trace.gasUsed));
    equal(outcome.revertData, undefined);
  });
}

Deno.test("trace vector: the commitment of the delivered message is found", () => {
  equal([...readTrace(vectors.succeeds.trace, host).posts], [
    "0x5e07d271e7722f70e1c8e2c410ed560b962b7a0e5e159fd913037bd8628f6b8b",
  ]);
});

Deno.test("trace vector: the request uses the options that this reader understands", () => {
  equal(callTracerOptions, vectors.request.params[2]);
});

Deno.test("trace vector: each delivery has the gas of its dispatch, and says whether the module went through", () => {
  equal(readTrace(withInputs(vectors.succeeds.trace), host).steps, [
    { gasUsed: 0x1f9b3n, dispatches: [{ gasUsed: 0xc367n, isModuleDone: true }] },
  ]);
  const failing = readTrace(withInputs(vectors.module_reverts.trace), host);
  equal(failing.steps, [{ gasUsed: 0x17937n, dispatches: [{ gasUsed: 0x90a7n, isModuleDone: false }] }]);
  equal(failing.logCount, 0);
  equal(readTrace(withInputs(vectors.batch.trace), host).steps, [
    { gasUsed: 0x332e1n, dispatches: [] },
    { gasUsed: 0x1458cn, dispatches: [{ gasUsed: 0xbb97n, isModuleDone: true }] },
  ]);
});

Deno.test("trace: a dispatch within a dispatch belongs to the outer one, and dispatches keep their order", () => {
  const dispatch = (gasUsed: string, calls: readonly unknown[] = []): unknown => ({
    gasUsed,
    to: host,
    input: "0xb85e6fbb",
    calls,
  });
  const callback = { ...quiet, input: "0x0fee32ce" };
  const nested = dispatch("0x30", [{ ...quiet, calls: [dispatch("0x2", [callback])] }]);
  const trace = { gasUsed: "0x100", calls: [dispatch("0x10", [callback]), nested, dispatch("0x20")] };
  equal(readTrace(trace, host).steps, [{
    gasUsed: 0x100n,
    dispatches: [
      { gasUsed: 0x10n, isModuleDone: true },
      { gasUsed: 0x30n, isModuleDone: false },
      { gasUsed: 0x20n, isModuleDone: false },
    ],
  }]);
});

Deno.test("trace: only the host's own event counts", () => {
  const imitation = { ...quiet, calls: [{ ...quiet, logs: [{ ...handled, address: calls.handler }] }] };
  equal(readTrace(imitation, host).posts.size, 0);
  const real = { ...quiet, calls: [{ ...quiet, logs: [handled] }] };
  equal([...readTrace(real, host).posts], [commitment]);
  equal([
    ...readTrace({
      ...quiet,
      logs: [{ ...handled, topics: [hostEventTopics.GetRequestHandled, commitment] }],
    }, host).gets,
  ], [commitment]);
});

Deno.test("trace: an event below a failed frame is undone, a failed sibling does not matter", () => {
  const inner = { ...quiet, calls: [{ ...quiet, logs: [handled] }] };
  const undone = { ...quiet, calls: [{ ...inner, error: "execution reverted" }] };
  equal(readTrace(undone, host).posts.size, 0);
  const sibling = { ...quiet, calls: [{ ...quiet, error: "out of gas" }, inner] };
  equal(readTrace(sibling, host).posts.size, 1);
});

Deno.test("trace: a transaction that reverts delivers nothing and has its revert data", () => {
  const reverted = { ...quiet, error: "execution reverted", output: "0x2AD4ae2e", logs: [handled] };
  equal(readTrace(reverted, host), {
    posts: new Set(),
    gets: new Set(),
    gasUsed: 16n,
    revertData: "0x2ad4ae2e",
    logCount: 0,
    steps: [],
  });
  equal(readTrace({ ...quiet, error: "out of gas" }, host).revertData, "0x");
});

Deno.test("trace: members that are null or empty are absent", () => {
  for (const none of [null, ""]) {
    const absent = { type: none, to: none, input: none, error: none, output: none, revertReason: none };
    const frame = { ...quiet, ...absent, calls: none, logs: [handled] };
    const outcome = readTrace({ ...quiet, ...absent, logs: none, calls: [frame] }, host);
    equal([...outcome.posts], [commitment]);
    equal(outcome.revertData, undefined);
  }
});

Deno.test("trace: other shapes are refused with the place", () => {
  const refuses = (trace: unknown, field: string): void =>
    throws(
      () => readTrace(trace, host),
      (error) => error instanceof SchemaError && error.place === `debug_traceCall${field}`,
    );
  refuses(null, "");
  refuses({}, ".gasUsed");
  refuses({ gasUsed: 5 }, ".gasUsed");
  refuses({ gasUsed: "0x10000000000000000" }, ".gasUsed");
  refuses({ ...quiet, calls: [{ ...quiet, calls: [{ gasUsed: "0xzz" }] }] }, ".calls.0.calls.0.gasUsed");
  refuses({ ...quiet, logs: [{ address: host }] }, ".logs.0.topics");
});

Deno.test("trace: ten thousand nested frames do not exhaust the stack", () => {
  let trace: unknown = { ...quiet, logs: [handled] };
  for (let depth = 0; depth < 10_000; depth++) trace = { ...quiet, calls: [trace] };
  equal(readTrace(trace, host).posts.size, 1);
});
