import assert from "node:assert/strict";
import type { SigningResult, Simulation } from "../../../../src/core/chains/submission.ts";
import { hostReads } from "../../../../src/core/evm/host_reads.ts";
import hostVector from "../../../vectors/evm-host-reads.json" with { type: "json" };
import { FakeClock } from "../../../support/fake_clock.ts";
import { type Answerer, ScriptedError, type ScriptedRpc } from "../../../support/scripted_rpc.ts";
import { never } from "./chain_fixture.ts";
import { chainAt, deliveryOfPosts, node, post, zeros } from "./scripted_node.ts";

const simulation: Extract<Simulation, { kind: "accepted" }> = {
  kind: "accepted",
  handled: [true, true],
  gasUsed: 100_000n,
  gasLimit: 200_000n,
  messageGas: [50_000n, 50_000n],
  gasPriceWei: 100n,
  dataCostWei: 0n,
};

type Signing = ReturnType<typeof chainAt>["chain"];

function sign(chain: Signing): Promise<SigningResult> {
  return chain.sender.sign(deliveryOfPosts(2), { simulation, nonceAtLeast: undefined }, never);
}

/** `pending` answers calls on top of the pool. */
function nodeWith(pending: Answerer): ScriptedRpc {
  return node({
    eth_call: (params, rpc) => {
      const [call, tag] = params;
      if (tag === "pending") return pending(params, rpc);
      return JSON.stringify(call).includes(hostReads.hostParams.encode())
        ? hostVector.reads.hostParams.result
        : zeros(2);
    },
  });
}

/** A pool in which somebody delivers the second post. */
const contested: Answerer = ([call]) => {
  const text = JSON.stringify(call);
  if (!text.includes(hostReads.requestReceipts.encode(post(0n).commitment).slice(0, 10))) {
    return new ScriptedError(3, "execution reverted", "0x2ad4ae2e");
  }
  return text.includes(post(1n).commitment.slice(2)) ? `0x${"00".repeat(12)}${"cd".repeat(20)}` : zeros(1);
};

Deno.test("pool: a competitor's delivery that waits names the message; after a minute it is not waited for any longer", async () => {
  await using rpc = nodeWith(contested);
  const clock = new FakeClock();
  const { chain, requests } = chainAt([rpc], {}, clock);
  const refused = {
    kind: "refused",
    refusal: { code: "duplicate", detail: "a delivery of it is pending in the mempool", messages: [1] },
  };
  await chain.hubClient.fetchHasBatchCall(never);
  await chain.gas.fetchGasQuote(never); // its first price is compared with others
  requests.count = 0;
  assert.deepEqual(await sign(chain), refused);
  assert.equal(requests.count, 2);
  await clock.advance(59_000);
  assert.deepEqual(await sign(chain), refused);
  await clock.advance(1_000);
  assert.equal((await sign(chain)).kind, "signed");
});

Deno.test("pool: without a competitor signing takes one request", async () => {
  await using rpc = nodeWith(() => "0x");
  const { chain, requests } = chainAt([rpc]);
  await chain.hubClient.fetchHasBatchCall(never);
  await chain.gas.fetchGasQuote(never); // its first price is compared with others
  requests.count = 0;
  assert.equal((await sign(chain)).kind, "signed");
  assert.equal(requests.count, 1);
});

Deno.test("pool: a competitor that is gone when it is asked which message it has does not keep us from signing", async () => {
  let calls = 0;
  await using rpc = nodeWith(() =>
    ++calls === 1 ? new ScriptedError(3, "execution reverted", "0x2ad4ae2e") : zeros(1)
  );
  assert.equal((await sign(chainAt([rpc]).chain)).kind, "signed");
});

Deno.test("pool: other refusals on top of the pool do not keep us from signing", async () => {
  await using rpc = nodeWith(() => new ScriptedError(3, "execution reverted", "0xe36afbb8"));
  assert.equal((await sign(chainAt([rpc]).chain)).kind, "signed");
});

Deno.test("pool: a node without the tag `pending` is asked once in ten minutes, and stays in use", async () => {
  let asked = 0;
  for (const message of ["pending block is not available", "internal error", "method not found"]) {
    asked = 0;
    await using rpc = nodeWith(() => {
      asked++;
      return new ScriptedError(-32000, message);
    });
    const clock = new FakeClock();
    const { chain } = chainAt([rpc], {}, clock);
    for (let round = 0; round < 5; round++) assert.equal((await sign(chain)).kind, "signed");
    assert.equal(asked, 1);
    await clock.advance(10 * 60_000);
    assert.equal((await sign(chain)).kind, "signed");
    assert.equal(asked, 2);
  }
});
