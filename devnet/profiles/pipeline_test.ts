/** Profiles do to requests what they say, and are complete. */
import assert from "node:assert/strict";
import { serializeTransaction, type TransactionSerializableEIP1559 } from "viem";
import { BEACON_PROFILES } from "./beacon_profiles.ts";
import { EVM_PROFILES } from "./evm_profiles.ts";
import { Pipeline } from "./pipeline.ts";
import { changed, loglessTraces, nullBlocks, oddHex, tipFloor } from "./answer_behaviours.ts";
import { lateLogs, logRange, logResults } from "./log_behaviours.ts";
import {
  batch,
  codeCalls,
  hiccups,
  missing,
  quota,
  rate,
  requestBytes,
  responseBytes,
} from "./request_behaviours.ts";
import type { Ask, RpcBehaviour } from "./rpc_behaviour.ts";
import { fleet, newestProofs, newestStates, standing } from "./state_behaviours.ts";
import { SUBSTRATE_PROFILES } from "./substrate_profiles.ts";

/** A node at block 100 with one log in each block. */
const ask: Ask = ({ id, method, params }) => {
  const result = (): unknown => {
    switch (method) {
      case "eth_blockNumber":
        return "0x64";
      case "eth_getLogs": {
        const { fromBlock, toBlock } = Object(params[0]);
        const from = Number(fromBlock);
        return Array.from({ length: Math.min(100, Number(toBlock)) - from + 1 }, (_, at) => ({
          blockNumber: `0x${(from + at).toString(16)}`,
          removed: false,
        }));
      }
      case "eth_getBlockByNumber":
        return params[0] === "latest" ? { number: "0x64", baseFeePerGas: "0x7" } : { number: params[0] };
      case "chain_getBlockHash":
        return `0x${Number(params[0]).toString(16).padStart(64, "0")}`;
      case "chain_getHeader":
        return { number: params[0] === undefined ? "0x64" : `0x${BigInt(String(params[0])).toString(16)}` };
      case "rpc_methods":
        return { methods: ["chain_getHeader", "ismp_queryEvents", "mmr_queryProof"] };
      case "debug_traceCall":
        return { gasUsed: "0x1", logs: [1], calls: [{ logs: [2] }] };
      default:
        return "0xab";
    }
  };
  return Promise.resolve({ id, result: result() });
};

const logs = (from: number, to: number): unknown => ({
  id: 1,
  method: "eth_getLogs",
  params: [{ fromBlock: `0x${from.toString(16)}`, toBlock: `0x${to.toString(16)}` }],
});
const call = (method: string, ...params: readonly unknown[]): unknown => ({ id: 1, method, params });

async function send(
  behaviours: readonly RpcBehaviour[],
  ...bodies: readonly unknown[]
): Promise<readonly { readonly status: number; readonly answer: unknown }[]> {
  const pipeline = new Pipeline(behaviours);
  const replies: { readonly status: number; readonly answer: unknown }[] = [];
  for (const [at, body] of bodies.entries()) {
    const nowMs = at * 100;
    const { status, body: text } = await pipeline.answer(JSON.stringify(body), {
      ask,
      nowMs,
    });
    replies.push({ status, answer: text.startsWith("<") ? text : JSON.parse(text) });
  }
  return replies;
}

const refusal = { error: { code: -1, message: "no {max} {width}" } };

function errorOf(answer: unknown): unknown {
  return Object(answer).error?.message;
}

Deno.test("profiles: logs over too many blocks or with too many results are refused in the provider's words", async () => {
  const [within, beyond] = await send([logRange(10_000, 10, refusal)], logs(1, 10), logs(1, 11));
  assert.equal(Object(within?.answer).result.length, 10);
  assert.equal(errorOf(beyond?.answer), "no 10 11");
  const [few, many] = await send([logResults(5, 5, refusal)], logs(1, 5), logs(1, 6));
  assert.equal(errorOf(few?.answer), undefined);
  assert.equal(errorOf(many?.answer), "no 5 6");
});

Deno.test("profiles: a late index of logs leaves out what is new and says nothing", async () => {
  const [reply] = await send([lateLogs(2)], logs(97, 100));
  assert.deepEqual(
    Object(reply?.answer).result.map(({ blockNumber }: { blockNumber: string }) => Number(blockNumber)),
    [97, 98],
  );
});

Deno.test("profiles: states and proofs of old blocks are gone, of new ones are not", async () => {
  const [old, recent, newest] = await send(
    [newestStates(10, 10, refusal)],
    call("eth_call", {}, "0x5a"),
    call("eth_call", {}, "0x5b"),
    call("eth_getProof", "0x", [], "latest"),
  );
  assert.equal(errorOf(old?.answer), "no 10 {width}");
  assert.equal(errorOf(recent?.answer), undefined);
  assert.equal(errorOf(newest?.answer), undefined);
  const [read, proof] = await send(
    [newestProofs(10, 10, refusal)],
    call("eth_call", {}, "0x5"),
    call("eth_getProof", "0x", [], "0x5"),
  );
  assert.equal(errorOf(read?.answer), undefined);
  assert.equal(errorOf(proof?.answer), "no 10 {width}");
});

Deno.test("profiles: calls of code that is not on the chain are refused, those of contracts are not", async () => {
  const replies = await send(
    [codeCalls(refusal)],
    call("eth_call", { data: "0x60" }, "latest"),
    call("eth_call", { to: null, data: "0x60" }, "latest"),
    call("eth_call", { to: "0x01", data: "0x60" }, "latest"),
    call("eth_estimateGas", { data: "0x60" }),
  );
  assert.deepEqual(replies.map(({ answer }) => errorOf(answer) !== undefined), [true, true, false, false]);
});

Deno.test("profiles: events of a range are gone with the state of its first block, as Substrate nodes have it", async () => {
  const [gone, kept] = await send(
    [newestStates(10, 10, refusal)],
    call("ismp_queryEventsWithMetadata", 0x5a, 0x64),
    call("ismp_queryEventsWithMetadata", 0x5b, 0x64),
  );
  assert.equal(errorOf(gone?.answer), "no 10 {width}");
  assert.equal(errorOf(kept?.answer), undefined);
});

Deno.test("profiles: methods of other software are neither there nor listed, those that a gateway denies are listed", async () => {
  for (const [areListed, expected] of [[true, 3], [false, 1]] as const) {
    const [list, event] = await send(
      [missing(["ismp_*", "mmr_*"], refusal, areListed)],
      call("rpc_methods"),
      call("ismp_queryEvents"),
    );
    assert.equal(Object(list?.answer).result.methods.length, expected);
    assert.ok(errorOf(event?.answer));
  }
});

Deno.test("profiles: of several nodes behind one URL the next one answers each request or each call", async () => {
  const heads = (replies: readonly { readonly answer: unknown }[]): readonly unknown[] =>
    replies.flatMap(({ answer }) =>
      Array.isArray(answer) ? answer.map(({ result }) => result) : Object(answer).result
    );
  const head = call("eth_blockNumber");
  const byRequest = fleet([0, 4], "request");
  assert.deepEqual(heads(await send([byRequest], [head, head], head)), ["0x64", "0x64", "0x60"]);
  const byCall = fleet([0, 4], "call");
  assert.deepEqual(heads(await send([byCall], [head, head], head)), ["0x64", "0x60", "0x64"]);
});

Deno.test("profiles: batches are refused as an object, call by call, or as Geth does it", async () => {
  const calls = [call("eth_blockNumber"), { id: 2, method: "eth_chainId", params: [] }];
  const ids = async (asBatch: "object" | "each" | "first"): Promise<unknown> => {
    const [reply] = await send([batch(1, 1, { status: 500, ...refusal, asBatch })], calls);
    assert.equal(reply?.status, 500);
    const { answer } = reply;
    return Array.isArray(answer) ? answer.map(({ id }) => id) : Object(answer).id;
  };
  assert.deepEqual([await ids("object"), await ids("each"), await ids("first")], [null, [1, 2], [1]]);
});

Deno.test("profiles: rates fill up again, days end, and every so many requests meet with a page", async () => {
  const head = call("eth_blockNumber");
  const statuses = async (behaviour: RpcBehaviour, requests: number): Promise<readonly number[]> =>
    (await send([behaviour], ...Array.from({ length: requests }, () => head))).map(({ status }) => status);
  const throttle = { status: 429, ...refusal };
  assert.deepEqual(await statuses(rate(1, 1, throttle), 3), [200, 200, 429]);
  assert.deepEqual(
    await statuses(quota(400)(9, 2, throttle), 5),
    [200, 200, 429, 429, 200],
  );
  assert.deepEqual(
    await statuses(hiccups(2, { status: 502, page: "<html>" }), 4),
    [200, 502, 200, 502],
  );
});

Deno.test("profiles: a tip below the lowest is refused in the node's words, whatever the node suggests", async () => {
  const words = { error: { code: -1, message: "tip {count}, needed {max}" } };
  const raw = (
    price: Pick<TransactionSerializableEIP1559, "maxFeePerGas" | "maxPriorityFeePerGas">,
  ): unknown =>
    call("eth_sendRawTransaction", serializeTransaction({ type: "eip1559", chainId: 80002, ...price }));
  const replies = await send(
    [tipFloor(25n, 2n, words)],
    call("eth_maxPriorityFeePerGas"),
    call("eth_gasPrice"),
    raw({ maxFeePerGas: 100n, maxPriorityFeePerGas: 24n }),
    raw({ maxFeePerGas: 100n, maxPriorityFeePerGas: 25n }),
    call("eth_sendRawTransaction", serializeTransaction({ type: "legacy", chainId: 80002, gasPrice: 9n })),
  );
  assert.deepEqual(
    replies.map(({ answer }) => errorOf(answer) ?? Object(answer).result),
    ["0x2", "0x9", "tip 24, needed 25", "0xab", "tip 9, needed 25"],
  );
});

Deno.test("profiles: sizes, missing methods, traces without logs, null blocks and odd hex", async () => {
  const sizes = await send(
    [requestBytes(60, 60, refusal), responseBytes(60, 60, refusal)],
    call("eth_blockNumber"),
    call("eth_blockNumber", "x".repeat(60)),
    logs(1, 9),
  );
  assert.deepEqual(sizes.map(({ answer }) => errorOf(answer) !== undefined), [false, true, true]);
  const [absent] = await send([missing(["debug_*"], refusal)], call("debug_traceCall"));
  assert.ok(errorOf(absent?.answer));
  const [trace] = await send([loglessTraces], call("debug_traceCall"));
  assert.deepEqual(Object(trace?.answer).result, { gasUsed: "0x1", calls: [{}] });
  const nulls = await send(
    [nullBlocks(2)],
    call("eth_getBlockByNumber", "0x1"),
    call("eth_getBlockByNumber", "0x1"),
  );
  assert.deepEqual(nulls.map(({ answer }) => Object(answer).result), [{ number: "0x1" }, null]);
  const [odd] = await send(
    [oddHex("removed")],
    logs(10, 10),
  );
  assert.deepEqual(odd?.answer, { jsonrpc: "2.0", id: 1, result: [{ blockNumber: "0x0A" }], error: null });
});

Deno.test("profiles: results are changed now and then, and a standing node knows no newer block and passes nothing on", async () => {
  const head = call("eth_blockNumber");
  const replies = await send(
    [changed("eth_blockNumber", () => "0x89", { every: 2, times: 1 })],
    head,
    call("eth_chainId"),
    head,
    head,
    head,
  );
  assert.deepEqual(replies.map(({ answer }) => Object(answer).result), [
    "0x64",
    "0xab",
    "0x89",
    "0x64",
    "0x64",
  ]);
  const [stands, above, sent] = await send(
    [standing],
    head,
    call("eth_getBlockByNumber", "0x65"),
    call("eth_sendRawTransaction", "0x00"),
  );
  assert.deepEqual([stands, above].map((reply) => Object(reply?.answer).result), ["0x64", null]);
  assert.match(Object(sent?.answer).result, /^0x[0-9a-f]{64}$/);
});

Deno.test("profiles: what was not read is refused without an id, and too long an answer to a batch in words of its own", async () => {
  const ofBatch = { error: { code: -2, message: "batch {max}" } };
  const behaviours = [
    requestBytes(200, 200, refusal),
    responseBytes(60, 60, refusal, { ofBatch, except: ["debug_traceCall"] }),
  ];
  const replies = await send(
    behaviours,
    call("eth_call", "x".repeat(200)),
    logs(1, 9),
    [call("eth_chainId"), call("eth_chainId")],
    call("debug_traceCall"),
  );
  assert.deepEqual(
    replies.map(({ answer }) => [Object(answer).id, errorOf(answer)]),
    [[null, "no 200 {width}"], [1, "no 60 {width}"], [null, "batch 60"], [1, undefined]],
  );
});

Deno.test("profiles: each has a name of its own, sources, behaviours, and no limit that is played wider than it is", () => {
  const all = [...EVM_PROFILES, ...SUBSTRATE_PROFILES, ...BEACON_PROFILES];
  assert.equal(new Set(all.map(({ name }) => name)).size, all.length);
  for (const { name, imitates, sources, behaviours } of all) {
    assert.match(name, /^[a-z0-9]+(-[a-z0-9]+)*$/);
    assert.ok(imitates !== "" && sources.length > 0 && behaviours.length > 0, name);
    for (const source of sources) {
      assert.match(source, /^(https:\/\/\S+|[\w.-]+\/[\w.-]+(#\d+|: \S+))( \(.+\))?$/, `${name}: ${source}`);
    }
    for (const behaviour of behaviours) {
      const { limit } = Object(behaviour);
      assert.ok(limit === undefined || limit.played <= limit.real, name);
    }
  }
});
