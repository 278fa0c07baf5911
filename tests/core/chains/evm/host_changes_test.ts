import assert from "node:assert/strict";
import type { SignedSubmission } from "../../../../src/core/chains/submission.ts";
import { hostReads } from "../../../../src/core/evm/host_reads.ts";
import hostVector from "../../../vectors/evm-host-reads.json" with { type: "json" };
import { FakeClock } from "../../../support/fake_clock.ts";
import type { ScriptedRpc } from "../../../support/scripted_rpc.ts";
import { never } from "./chain_fixture.ts";
import { chainAt, chainOn, deliveryOfPosts, node, sign, trySign, zeros } from "./scripted_node.ts";
import { accepted, kindOf } from "../../../support/chain_calls.ts";

const oldHandler = hostVector.reads.hostParams.decoded.handler.toLowerCase();
const newHandler = `0x${"ab".repeat(20)}`;

/** The recorded parameters with another address in the place of one of them. */
function paramsWith(old: string, now: string): string {
  return hostVector.reads.hostParams.result.replaceAll(old.slice(2).toLowerCase(), now.slice(2));
}

/** Answers `hostParams` with what `params` says now. */
function answerParams(rpc: ScriptedRpc, params: () => string): void {
  rpc.on(
    "eth_call",
    ([call]) => JSON.stringify(call).includes(hostReads.hostParams.encode()) ? params() : zeros(2),
  );
}

/** A host on which one handler works; the others revert with `UnauthorizedAction`. */
function hostWith(handler: () => string): ScriptedRpc {
  const rpc = node({
    debug_traceCall: ([call]) => {
      const works = JSON.stringify(call).toLowerCase().includes(handler());
      const refused = { error: "execution reverted", output: "0x843800fa" };
      return { type: "CALL", input: "0x698b1267", gasUsed: "0x10000", ...(works ? {} : refused) };
    },
    eth_simulateV1: ([work]) => {
      const works = JSON.stringify(work).toLowerCase().includes(handler());
      const call = { status: works ? "0x1" : "0x0", gasUsed: "0x8000", logs: [] };
      return [{ number: "0x101", calls: [{ ...call, returnData: works ? "0x" : "0x843800fa" }] }];
    },
  });
  answerParams(rpc, () => paramsWith(oldHandler, handler()));
  return rpc;
}

Deno.test("host changes: a handler that governance replaced is read at once, the simulation repeated, one line logged", async () => {
  let handler: string = oldHandler;
  const { chain, log } = chainOn(hostWith(() => handler));
  const delivery = deliveryOfPosts(1);
  assert.equal((await chain.simulator.simulate(delivery, never)).kind, "accepted");
  handler = newHandler;
  assert.equal((await chain.simulator.simulate(delivery, never)).kind, "accepted");
  const [line, ...more] = log.lines.filter(({ event }) => event === "host_changed");
  assert.deepEqual(more, []);
  assert.equal(line?.level, "info");
  assert.equal(line?.fields.handler, `${oldHandler} -> ${newHandler}`);
});

Deno.test("host changes: a waiting transaction to a handler that governance replaced is distinguished from one that has an effect", async () => {
  let handler: string = oldHandler;
  const { chain } = chainOn(hostWith(() => handler));
  const delivery = deliveryOfPosts(1);
  const simulation = await accepted(chain, delivery);
  const submission = await sign(chain, { simulation }, delivery);
  const cancelling = await chain.replacement.cancel(
    submission,
    { type: "legacy", gasPriceWei: 1_000n },
    never,
  );
  const isReplaced = async (of: SignedSubmission): Promise<boolean> =>
    (await chain.replacement.fetchReplacementState(of, never)).isHandlerReplaced;
  assert.equal(await isReplaced(submission), false);
  handler = newHandler;
  assert.equal(await isReplaced(submission), true);
  assert.equal(await isReplaced(cancelling), false);
});

Deno.test("host changes: nothing is signed to a handler that governance replaced since the simulation", async () => {
  let handler: string = oldHandler;
  const { chain } = chainOn(hostWith(() => handler));
  const simulation = await accepted(chain, deliveryOfPosts(1));
  handler = newHandler;
  assert.equal(kindOf(await trySign(chain, { simulation })), "not_ready");
});

Deno.test("host changes: a handler that the host refuses although it names it is a refusal of its own", async () => {
  const rpc = hostWith(() => newHandler);
  answerParams(rpc, () => hostVector.reads.hostParams.result);
  const { chain, log } = chainAt([rpc]);
  const simulation = await chain.simulator.simulate(deliveryOfPosts(1), never);
  assert.equal(simulation.kind === "refused" && simulation.refusal.code, "handler_replaced");
  assert.deepEqual(log.events("info").filter((event) => event === "host_changed"), []);
});

for (const name of ["consensusClient", "feeToken", "hostManager"] as const) {
  Deno.test(`host changes: another ${name} is reported in one line when the parameters are read again`, async () => {
    const before = hostVector.reads.hostParams.decoded[name].toLowerCase();
    let now = before;
    const rpc = hostWith(() => oldHandler);
    answerParams(rpc, () => paramsWith(before, now));
    const clock = new FakeClock();
    const { chain, log } = chainAt([rpc], {}, clock);
    await chain.simulator.simulate(deliveryOfPosts(1), never);
    now = newHandler;
    await clock.advance(5 * 60_000);
    for (let round = 0; round < 3; round++) await chain.simulator.simulate(deliveryOfPosts(1), never);
    const told = log.lines.filter(({ event }) => event === "host_changed");
    assert.deepEqual(told.map(({ fields }) => fields[name]), [`${before} -> ${newHandler}`]);
  });
}
