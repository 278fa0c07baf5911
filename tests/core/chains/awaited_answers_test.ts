import assert from "node:assert/strict";
import { checkWithin, tellAwaited } from "../../../src/core/chains/check.ts";
import { RpcFault } from "../../../src/core/rpc/call.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { RecordedLog } from "../../support/recorded_log.ts";
import { seededRandomness } from "../../support/seeded_randomness.ts";

const never = new AbortController().signal;
const listAsked = (chain: string): readonly string[] => chain === "EVM-1" ? ["a.example", "b.example"] : [];

/** A check that never ends. */
function hang(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
}

function refuse(): Promise<never> {
  const where = { chain: "EVM-56", endpointHost: "bsc.example:8545", method: "eth_chainId" };
  return Promise.reject(new RpcFault("unreachable", "retry", where, { detail: "connection refused" }));
}

Deno.test("awaited answers: after three seconds one line names the chains that are missing, their hosts and what they said", async () => {
  const clock = new FakeClock();
  const log = new RecordedLog();
  const random = seededRandomness(1);
  const startMs = clock.now();
  let toldMs: number | undefined;
  const work = tellAwaited({ clock, log }, listAsked, async (awaited) => {
    const deps = { clock, random, awaited };
    await Promise.all([
      checkWithin(deps, { name: "POLKADOT-3367", check: () => Promise.resolve([]) }, never),
      checkWithin(deps, { name: "EVM-1", check: hang }, never),
      checkWithin(deps, { name: "EVM-56", check: refuse }, never),
    ]);
    return "done";
  });
  while (clock.now() - startMs < 40_000) {
    await clock.advance(500);
    if (log.lines.length > 0) toldMs ??= clock.now() - startMs;
  }
  assert.equal(await work, "done");
  assert.equal(toldMs, 3_000);
  assert.deepEqual(log.lines.map(({ level, event, fields }) => [level, event, fields["waitsFor"]]), [[
    "info",
    "first_answers_awaited",
    "EVM-1 via a.example, b.example: no answer yet; EVM-56 via bsc.example:8545: unreachable (connection refused)",
  ]]);
});

Deno.test("awaited answers: who is answered in time hears nothing", async () => {
  const clock = new FakeClock();
  const log = new RecordedLog();
  const deps = { clock, random: seededRandomness(1) };
  await tellAwaited({ clock, log }, listAsked, async (awaited) => {
    const check = async (): Promise<[]> => {
      await clock.advance(2_500);
      return [];
    };
    await checkWithin({ ...deps, awaited }, { name: "EVM-1", check }, never);
  });
  await clock.advance(10_000);
  assert.deepEqual(log.lines, []);
});
