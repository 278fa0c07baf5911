/** Hundreds of damaged answers of the hub's only node: each is a fault of its call, and the next right answer counts. */
import assert from "node:assert/strict";
import { fromHex, toHex } from "../../../../src/core/encoding/bytes.ts";
import { parseStateMachine, toConsensusStateId } from "../../../../src/core/ismp/state_machine.ts";
import { RpcFault } from "../../../../src/core/rpc/call.ts";
import { damage, Draw } from "../../../support/draw.ts";
import { blockHashes, hashOf, headerJson, scriptHub, unsignedExtrinsic } from "./scripted_hub.ts";

const { signal } = new AbortController();
const SEEDS = 600;
const BEST = 12;
const raw = fromHex("0x280402000b");
const submission = unsignedExtrinsic(raw);
const counterparty = {
  stateMachine: parseStateMachine("EVM-1"),
  consensusStateId: toConsensusStateId("ETH0"),
};

/** Numbers that JSON.stringify does not write; `RAW:` is put into the text as it is. */
const RAW: readonly unknown[] = ["RAW:1e400", "RAW:340282366920938463463374607431768211457"];

function replaceSome(value: unknown, draw: Draw): unknown {
  return draw.chance(10) ? damage(value, draw, RAW) : damage(value, draw);
}

/** Damages one message. */
function damageText(text: string, draw: Draw): readonly string[] {
  const right: unknown = JSON.parse(text);
  const stray = { jsonrpc: "2.0", method: "chain_newHead", params: { subscription: "nobody's", result: 1 } };
  const write = (value: unknown): string => JSON.stringify(value).replaceAll(/"RAW:([^"]*)"/g, "$1");
  switch (draw.between(0, 8)) {
    case 0:
      return [text.slice(0, draw.between(0, text.length - 1))];
    case 1:
      return [["", "null", "[]", "[null]", "7", '"text"', "{}", "\u0000"][draw.between(0, 7)] ?? ""];
    case 2: {
      const entries = [right].flat();
      return [
        write(
          entries.map((entry) => ({ ...Object(entry), id: [1e9, "1", null, {}, -1][draw.between(0, 4)] })),
        ),
      ];
    }
    case 3:
      return [write(stray), write([stray, ...[right].flat()]), text];
    case 4:
      return [write([right].flat().slice(1)), text.replace("{", "[")];
    case 5:
      return [write({ jsonrpc: "2.0", id: null, error: replaceSome(null, draw) })];
    default:
      return [write(replaceSome(right, draw))];
  }
}

Deno.test("damaged answers: each is a fault of its call, and the node is asked again with success", async () => {
  const values = (keys: unknown): unknown => {
    assert.ok(Array.isArray(keys));
    return [{ block: hashOf("any"), changes: keys.map((key) => [key, null]) }];
  };
  const { chain, clock, node, log } = scriptHub({
    author_pendingExtrinsics: () => [toHex(raw)],
    chain_getBlock: () => ({ block: { extrinsics: ["0x280402000c"] } }),
    chain_getBlockHash: blockHashes(BEST),
    chain_getFinalizedHead: () => hashOf("b10"),
    chain_getHeader: (hash) => headerJson(hash === undefined ? BEST : 10),
    chain_subscribeFinalizedHeads: () => "final",
    chain_unsubscribeFinalizedHeads: () => true,
    childstate_getStorage: () => null,
    ismp_queryEventsWithMetadata: () => ({ [hashOf("b10")]: [] }),
    state_getKeysPaged: () => [],
    state_getStorage: () => null,
    state_queryStorageAt: values,
  });
  const asks: readonly (() => Promise<unknown>)[] = [
    () => chain.reads.fetchFinalHeight(signal),
    () => chain.reads.fetchHeight(signal),
    () => chain.reads.fetchView(counterparty, signal),
    () => chain.reads.fetchBlockTime(10n, signal),
    () => chain.outcomes.fetchOutcome(submission, signal),
    () => chain.events.fetchEvents(10n, 10n, signal),
    () => chain.accounts.fetchMinimumWithdrawal(counterparty.stateMachine, signal),
    () => chain.acceptedProofs.fetchAcceptedIndex(signal),
    () => chain.rewards.fetchRewardedModules(signal),
  ];
  const right: unknown[] = [];
  for (const ask of asks) right.push(await clock.run(ask()));
  let faults = 0;
  for (let seed = 0; seed < SEEDS; seed++) {
    const draw = new Draw(seed);
    const at = seed % asks.length;
    node.damage = (text) => draw.chance(50) ? damageText(text, draw) : [text];
    const head = {
      ...Object(headerJson(BEST + seed)),
      ...Object(replaceSome(headerJson(BEST + seed), draw)),
    };
    for (const id of ["best", "final"]) node.notify("chain_newHead", id, head);
    const outcome = await clock.run(asks[at]?.().catch((fault: unknown) => fault) ?? assert.fail());
    if (outcome instanceof Error) {
      assert.ok(outcome instanceof RpcFault, `seed ${seed}: ${Deno.inspect(outcome)}`);
      faults++;
    }
    // Block numbers of Substrate chains have 32 bits: with others nothing can be asked.
    assert.ok(typeof outcome !== "bigint" || at > 1 || outcome < 2n ** 32n, `seed ${seed}: block ${outcome}`);
    node.damage = (text) => [text];
    await clock.advance(61_000);
    assert.deepEqual(await clock.run(asks[at]?.() ?? assert.fail()), right[at], `seed ${seed}`);
  }
  assert.ok(faults > SEEDS / 4, `${faults} faults`);
  assert.deepEqual(log.lines.filter(({ level }) => level === "error"), []);
});

Deno.test("damaged answers: a block number of more than 32 bits is no header, and an error without a code no refusal", async () => {
  const { chain, clock, node } = scriptHub({});
  const answers = [{ ...Object(headerJson(1)), number: "0x100000000" }, {
    ...Object(headerJson(1)),
    number: -1,
  }];
  for (const header of answers) {
    node.answer("chain_getHeader", () => header);
    await assert.rejects(clock.run(chain.reads.fetchHeight(signal)), { code: "malformed" });
  }
  node.damage = () => ['{"jsonrpc":"2.0","id":3,"error":{"reason":"?"}}'];
  await assert.rejects(clock.run(chain.reads.fetchHeight(signal)), { code: "malformed" });
});
