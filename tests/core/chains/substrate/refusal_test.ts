import assert from "node:assert/strict";
import type { DeliveryStep } from "../../../../src/core/chains/submission.ts";
import { findRefusal, type StepContext } from "../../../../src/core/chains/substrate/refusal.ts";
import { postMessage, type PostRequest } from "../../../../src/core/ismp/message.ts";
import { parseStateMachine, toConsensusStateId } from "../../../../src/core/ismp/state_machine.ts";

const chain = parseStateMachine("POLKADOT-2030");
const source = { stateMachine: parseStateMachine("EVM-1"), consensusStateId: toConsensusStateId("ETH0") };
const host = { stateMachine: chain, isHub: false };

function post(change: Partial<PostRequest> = {}): PostRequest {
  return {
    source: source.stateMachine,
    dest: chain,
    nonce: 1n,
    from: new Uint8Array(20),
    to: new Uint8Array(8),
    timeoutTimestampSec: 0n,
    body: new Uint8Array(),
    ...change,
  };
}

function step(...requests: readonly PostRequest[]): DeliveryStep {
  return {
    kind: "messages",
    messages: requests.map(postMessage),
    proof: { kind: "state", height: { id: source, height: 1n }, proof: new Uint8Array() },
  };
}

const good: StepContext = {
  isFrozen: false,
  challengePeriodSec: 100n,
  updateTimeSec: 1_000n,
  nowSec: 1_101n,
  receipts: [undefined],
};

const cases: readonly (readonly [string, Partial<StepContext>, PostRequest, string | undefined])[] = [
  ["no broken rule gives no refusal", {}, post(), undefined],
  [
    "a frozen client comes before everything else",
    { isFrozen: true, updateTimeSec: undefined },
    post(),
    "host_frozen",
  ],
  ["a height without commitment is not ready", { updateTimeSec: undefined }, post(), "not_ready"],
  ["an unconfigured challenge period is not ready", { challengePeriodSec: undefined }, post(), "not_ready"],
  ["a challenge period that is over to the second is not over", { nowSec: 1_100n }, post(), "not_ready"],
  [
    "without a challenge period there is no wait",
    { challengePeriodSec: 0n, nowSec: 1_000n },
    post(),
    undefined,
  ],
  ["a receipt is a duplicate", { receipts: [new Uint8Array(20)] }, post(), "duplicate"],
  ["a timeout that is reached to the second is over", {}, post({ timeoutTimestampSec: 1_101n }), "timed_out"],
  ["a timeout one second ahead is not over", {}, post({ timeoutTimestampSec: 1_102n }), undefined],
  [
    "another chain's request is misdirected",
    {},
    post({ dest: parseStateMachine("EVM-56") }),
    "bad_destination",
  ],
];

for (const [sentence, facts, request, code] of cases) {
  Deno.test(`refusal: ${sentence}`, () => {
    const refusal = findRefusal(host, { steps: [step(request)] }, [{ ...good, ...facts }]);
    assert.equal(refusal?.code, code);
    assert.equal(refusal?.step, code === undefined ? undefined : 0);
  });
}

Deno.test("refusal: the hub takes requests for every chain", () => {
  const delivery = { steps: [step(post({ dest: parseStateMachine("EVM-56") }))] };
  assert.equal(findRefusal({ ...host, isHub: true }, delivery, [good]), undefined);
});

Deno.test("refusal: all messages that break the same rule are named", () => {
  const late = { timeoutTimestampSec: 1_000n };
  const requests = [
    post({ nonce: 1n }),
    post({ nonce: 2n, ...late }),
    post({ nonce: 3n }),
    post({ nonce: 4n, ...late }),
  ];
  const refusal = findRefusal(host, { steps: [step(...requests)] }, [good]);
  assert.deepEqual([refusal?.code, refusal?.messages], ["timed_out", [1, 3]]);
});

Deno.test("refusal: the step that breaks a rule is named", () => {
  const delivery = { steps: [step(post()), step(post({ nonce: 2n }), post({ nonce: 2n }))] };
  const refusal = findRefusal(host, delivery, [good, { ...good, receipts: [undefined, undefined] }]);
  assert.deepEqual([refusal?.code, refusal?.step, refusal?.messages], ["duplicate", 1, [2]]);
});
