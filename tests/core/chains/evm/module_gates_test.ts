/** Who may deliver to a module, as contracts of anybody and nodes of doubt answer. */
import assert from "node:assert/strict";
import type { Gate, ModuleGates } from "../../../../src/core/chains/reads.ts";
import { fromHex, toHex } from "../../../../src/core/encoding/bytes.ts";
import { hostReads } from "../../../../src/core/evm/host_reads.ts";
import { FakeClock } from "../../../support/fake_clock.ts";
import { type Answerer, ScriptedError, type ScriptedRpc } from "../../../support/scripted_rpc.ts";
import hostVector from "../../../vectors/evm-host-reads.json" with { type: "json" };
import { never } from "./chain_fixture.ts";
import { chainAt, hostAnswers, node, nodeAnswers, zeros } from "./scripted_node.ts";

const DAY_MS = 86_400_000;
const RELAYER = "0x8406c079";
const PARAMS = "0xcff0ab96";
const gateway = fromHex(`0x${"aa".repeat(20)}`);
const account = "d1".repeat(20);
const named = `0x${account.padStart(64, "0")}`;
const manager = hostReads.hostParams.decode(toHex(fromHex(hostVector.reads.hostParams.result))).hostManager;
const reverted = new ScriptedError(3, "execution reverted");

/** A node whose modules answer by selector; the host answers as recorded. */
function nodeWith(answers: Readonly<Record<string, unknown>>): ScriptedRpc {
  return node({ eth_call: answerBy(() => answers) });
}

function answerBy(answers: () => Readonly<Record<string, unknown>>): Answerer {
  return hostAnswers(([call]) => answers()[(call as { readonly data: string }).data] ?? reverted);
}

function gatesAt(
  ...rpcs: readonly ScriptedRpc[]
): { readonly gates: ModuleGates; readonly clock: FakeClock } {
  const { chain: { gates }, clock } = chainAt(rpcs);
  assert.ok(gates !== undefined);
  return { gates, clock };
}

async function accountOf(gates: ModuleGates, module = gateway): Promise<string | undefined> {
  const [gate]: readonly (Gate | undefined)[] = await gates.fetchGates([module], never);
  return gate?.account && toHex(gate.account).slice(2);
}

for (
  const [what, answer, expected] of [
    ["names a relayer", named, account],
    ["names nobody", zeros(1), undefined],
    ["has no such getter", reverted, undefined],
    ["has no code", "0x", undefined],
    ["uses up its gas", new ScriptedError(-32000, "out of gas"), undefined],
    ["answers with two words", `${named}${"0".repeat(64)}`, undefined],
    ["answers with 300 kB", `0x${"11".repeat(300_000)}`, undefined],
    ["answers with a number beyond addresses", `0x${"ff".repeat(32)}`, undefined],
  ] as const
) {
  Deno.test(`gates: a module that ${what} ${expected === undefined ? "is open" : "is closed to others"}, for a day`, async () => {
    const rpc = nodeWith({ [RELAYER]: answer });
    const { gates, clock } = gatesAt(rpc);
    assert.equal(await accountOf(gates), expected);
    const calls = (): readonly string[] =>
      rpc.calls.map(({ params }) => JSON.stringify(params)).filter((text) => text.includes(RELAYER));
    const asked = calls();
    assert.match(asked[0] ?? "", /"gas":"0x186a0"/);
    await clock.advance(DAY_MS - 1);
    assert.equal(await accountOf(gates), expected);
    assert.equal(calls().length, asked.length, "remembered");
    await clock.advance(1);
    await accountOf(gates);
    assert.ok(calls().length > asked.length, "read again");
  });
}

Deno.test("gates: the manager of the host is gated by its admin, which other modules' params() is not", async () => {
  const owner = `0x${account.padStart(64, "0")}${"22".repeat(20).padStart(64, "0")}`;
  const { gates } = gatesAt(nodeWith({ [PARAMS]: owner }));
  assert.equal(await accountOf(gates, fromHex(manager)), account);
  assert.equal(await accountOf(gates), undefined);
  const old = nodeWith({ [PARAMS]: `${zeros(1)}${"22".repeat(20).padStart(64, "0")}` });
  assert.equal(await accountOf(gatesAt(old).gates, fromHex(manager)), undefined);
});

Deno.test("gates: one node's odd answer neither closes nor opens a gate, and doubt ends after two days", async () => {
  let answer: unknown = named;
  const one = node({ eth_call: answerBy(() => ({ [RELAYER]: answer })) });
  const two = nodeWith({ [RELAYER]: named });
  const { gates, clock } = gatesAt(one, two);
  answer = zeros(1);
  assert.equal(await accountOf(gates), undefined, "nothing is known: the simulation decides");
  answer = named;
  await clock.advance(60_000);
  assert.equal(await accountOf(gates), account);
  for (const odd of [zeros(1), reverted, `0x${"22".repeat(20).padStart(64, "0")}`]) {
    answer = odd;
    await clock.advance(DAY_MS / 2);
    assert.equal(await accountOf(gates), account, "the last certain answer counts");
  }
  await clock.advance(DAY_MS / 2);
  assert.equal(await accountOf(gates), undefined);
});

Deno.test("gates: nodes that do not answer leave a gate as it was, and an unknown one open for a minute", async () => {
  const rpc = nodeWith({ [RELAYER]: named });
  const { gates, clock } = gatesAt(rpc);
  rpc.on("eth_getBlockByNumber", () => new ScriptedError(-32000, "internal error"));
  assert.equal(await accountOf(gates), undefined);
  rpc.onAll({ eth_getBlockByNumber: nodeAnswers.eth_getBlockByNumber ?? assert.fail() });
  await clock.advance(60_000);
  assert.equal(await accountOf(gates), account);
  rpc.on("eth_call", () => new ScriptedError(-32000, "internal error"));
  await clock.advance(DAY_MS);
  assert.deepEqual(gates.find(gateway)?.account, fromHex(account));
});

Deno.test("gates: when governance changes the host all of them are read again; a thousand are remembered", async () => {
  let params = hostVector.reads.hostParams.result;
  const rpc = node({
    eth_call: ([call]) => {
      const { data } = call as { readonly data: string };
      if (data === hostReads.hostParams.encode()) return params;
      return data === RELAYER ? named : reverted;
    },
  });
  const { gates, clock } = gatesAt(rpc);
  assert.equal(await gates.pollHost(never), false, "nothing is closed, nothing is asked");
  assert.equal(rpc.requests.length, 0);
  assert.equal(await accountOf(gates), account);
  assert.equal(await gates.pollHost(never), false);
  params = params.replaceAll(manager.slice(2), "33".repeat(20));
  await clock.advance(5 * 60_000);
  assert.equal(await gates.pollHost(never), true);
  assert.equal(gates.find(gateway), undefined);
  assert.equal(await gates.pollHost(never), false);

  const modules = Array.from(
    { length: 1_100 },
    (_, index) => fromHex(`0x${index.toString(16).padStart(40, "0")}`),
  );
  await gates.fetchGates(modules, never);
  assert.equal(modules.filter((module) => gates.find(module) !== undefined).length, 1_000);
  gates.forget(modules[1_099]);
  assert.equal(gates.find(modules[1_099] ?? gateway), undefined);
});
