import assert from "node:assert/strict";
import { parseStateMachine, toConsensusStateId } from "../../../src/core/ismp/state_machine.ts";
import { RpcFault, type RpcFaultCode } from "../../../src/core/rpc/call.ts";
import {
  findRuntimeSupport,
  findSourceAcceptance,
  findTargetProvability,
  firstObstacle,
} from "../../../src/messaging/relay/obstacles.ts";
import type { FindObstacle } from "../../../src/messaging/relay/leg.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { RecordedLog } from "../../support/recorded_log.ts";

const never = new AbortController().signal;
const id = { stateMachine: parseStateMachine("EVM-10"), consensusStateId: toConsensusStateId("ETH0") };
const view = { height: 700n, nowSec: 0n, challengePeriodSec: 0n, isFrozen: false };

function faultOf(code: RpcFaultCode): RpcFault {
  const where = { chain: "EVM-10", endpointHost: "node", method: "eth_getProof" };
  return new RpcFault(code, where, { detail: "words" });
}

/** A chain whose endpoints answer as `answer` says, and the heights that were asked for. */
function scene(): {
  readonly clock: FakeClock;
  readonly find: FindObstacle;
  readonly asked: bigint[];
  answer: RpcFaultCode | "proof";
  hub: RpcFaultCode | bigint;
} {
  const clock = new FakeClock();
  const asked: bigint[] = [];
  const state = { answer: "proof" as RpcFaultCode | "proof", hub: 700n as RpcFaultCode | bigint };
  const chain = {
    id,
    proofChecks: {
      requireProofs: (height: bigint) => {
        asked.push(height);
        return state.answer === "proof" ? Promise.resolve() : Promise.reject(faultOf(state.answer));
      },
    },
  };
  const hub = {
    reads: {
      fetchView: () =>
        typeof state.hub === "bigint"
          ? Promise.resolve({ ...view, height: state.hub })
          : Promise.reject(faultOf(state.hub)),
    },
  };
  const find = findTargetProvability({ clock, log: new RecordedLog() }, hub, chain);
  return Object.assign(state, { clock, find, asked });
}

Deno.test("obstacles: nothing is delivered while no endpoint proves the hub's height, and it continues by itself", async () => {
  for (const code of ["pruned", "missing_method", "malformed", "refused"] as const) {
    const its = scene();
    its.answer = code;
    const found = await its.find(never);
    assert.equal(found?.reason, "target_unprovable");
    assert.match(found?.detail ?? "", /^block 700: words$/);
    assert.equal(found?.reason, "target_unprovable");
    its.answer = "proof";
    assert.equal((await its.find(never))?.reason, "target_unprovable", "not asked at every round");
    await its.clock.advance(30_000);
    its.hub = 710n;
    assert.equal(await its.find(never), undefined);
    assert.deepEqual(its.asked, [700n, 710n]);
  }
});

Deno.test("obstacles: an endpoint that stops proving old state is noticed within minutes", async () => {
  const its = scene();
  assert.equal(await its.find(never), undefined);
  its.answer = "pruned";
  assert.equal(await its.find(never), undefined);
  assert.equal(its.asked.length, 1);
  await its.clock.advance(5 * 60_000);
  assert.equal((await its.find(never))?.reason, "target_unprovable");
});

Deno.test("obstacles: a fault that passes changes no good finding, unless it stays; before the first finding nothing is risked", async () => {
  const its = scene();
  its.answer = "timeout";
  assert.equal((await its.find(never))?.reason, "target_unprovable", "nothing is known yet");
  its.answer = "proof";
  await its.clock.advance(30_000);
  assert.equal(await its.find(never), undefined);
  its.answer = "unreachable";
  for (let minute = 0; minute < 14; minute++) {
    await its.clock.advance(60_000);
    assert.equal(await its.find(never), undefined, `minute ${minute}`);
  }
  await its.clock.advance(2 * 60_000);
  assert.equal((await its.find(never))?.reason, "target_unprovable");

  const blind = scene();
  blind.hub = "timeout";
  assert.equal((await blind.find(never))?.reason, "target_unprovable");
  blind.hub = 0n;
  await blind.clock.advance(30_000);
  assert.equal(await blind.find(never), undefined, "a chain without a height has nothing to claim yet");
  assert.deepEqual(blind.asked, []);
});

Deno.test("obstacles: messages of a chain that the hub does not list are held with its words until it does", async () => {
  const clock = new FakeClock();
  let unlisted: string | undefined = "does not accept messages of EVM-10 yet: no list has it";
  const hub = { counterparties: { findUnlisted: () => Promise.resolve(unlisted) } };
  const find = findSourceAcceptance({ clock, log: new RecordedLog() }, hub, id);
  const found = await find(never);
  assert.equal(found?.reason, "source_not_accepted");
  assert.equal(found?.detail, "the hub does not accept messages of EVM-10 yet: no list has it");
  unlisted = undefined;
  await clock.advance(30_000);
  assert.equal(await find(never), undefined);
});

Deno.test("obstacles: a runtime that the program does not know holds its legs at once, and lets them go at once", async () => {
  let answer: string | undefined | RpcFaultCode = undefined;
  let isDown = false;
  const findUnsupported = (): Promise<string | undefined> =>
    isDown ? Promise.reject(faultOf("unreachable")) : Promise.resolve(answer);
  const find = findRuntimeSupport({ clock: new FakeClock(), log: new RecordedLog() }, {
    id,
    runtime: { findUnsupported },
  });
  assert.equal(await find?.(never), undefined);
  answer = "runtime hub 2 is another";
  const obstacle = { reason: "runtime_unsupported", detail: answer };
  assert.deepEqual(await find?.(never), obstacle);
  isDown = true;
  assert.deepEqual(await find?.(never), obstacle, "a node that does not answer changes nothing");
  isDown = false;
  answer = undefined;
  assert.equal(await find?.(never), undefined);
});

Deno.test("obstacles: of several the first one counts", async () => {
  const one: FindObstacle = () => Promise.resolve({ reason: "runtime_unsupported", detail: "one" });
  const other: FindObstacle = () => Promise.resolve({ reason: "source_not_accepted", detail: "other" });
  const none: FindObstacle = () => Promise.resolve(undefined);
  assert.equal((await firstObstacle([undefined, none, one, other])(never))?.detail, "one");
  assert.equal((await firstObstacle([other, one])(never))?.detail, "other");
  assert.equal(await firstObstacle([undefined, none])(never), undefined);
});
