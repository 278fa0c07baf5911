import assert from "node:assert/strict";
import { waitUntil } from "../../../../devnet/waiting.ts";
import { WITNESS_TIMEOUT_MS } from "../../../../src/core/chains/evm/rpc_batch.ts";
import type {
  SignedSubmission,
  SigningInput,
  SigningResult,
  SubmissionOutcome,
} from "../../../../src/core/chains/submission.ts";
import { toHash256 } from "../../../../src/core/encoding/bytes.ts";
import { FakeClock } from "../../../support/fake_clock.ts";
import { catchFault } from "../../../support/rpc_faults.ts";
import { type Answerer, ScriptedError, type ScriptedRpc } from "../../../support/scripted_rpc.ts";
import { type ChainUnderTest, never } from "./chain_fixture.ts";
import { blockHash, chainAt, node, sign, trySign } from "./scripted_node.ts";

type Methods = Readonly<Record<string, Answerer>>;
type Nodes = ChainUnderTest & { readonly rpcs: readonly ScriptedRpc[]; readonly clock: FakeClock };
type Hints = Partial<Pick<SigningInput, "nonceAtLeast" | "heldNonces">>;

/** A chain at nodes of which each differs in some methods. */
async function withNodes(nodes: readonly Methods[], work: (on: Nodes) => Promise<void>): Promise<void> {
  const rpcs = nodes.map((methods) => node(methods));
  const clock = new FakeClock();
  try {
    await work({ ...chainAt(rpcs, {}, clock), rpcs, clock });
  } finally {
    for (const rpc of rpcs) await rpc[Symbol.asyncDispose]();
  }
}

/** The same, once a transaction is signed, at nodes that had nothing to say until then. */
function withSigned(
  nodes: readonly Methods[],
  work: (submission: SignedSubmission, on: Nodes) => Promise<void>,
): Promise<void> {
  return withNodes(nodes.map(() => ({})), async (on) => {
    const submission = await sign(on.chain, { nonceAtLeast: 5n });
    for (const [index, methods] of nodes.entries()) {
      for (const [method, answer] of Object.entries(methods)) on.rpcs[index]?.on(method, answer);
    }
    await work(submission, on);
  });
}

const otherHash = toHash256(new Uint8Array(32).fill(8));
const receipt = { blockNumber: "0xe0", blockHash, status: "0x1", gasUsed: "0x5208", logs: [] };

/** A node with this receipt of ours, which counts this nonce of the account. */
function holding(found: unknown, count = "0x6", isKnown = false): Methods {
  return {
    eth_getTransactionReceipt: () => found,
    eth_getTransactionByHash: () => isKnown ? { hash: blockHash } : null,
    eth_getTransactionCount: () => count,
  };
}

/** A node on another branch, or behind. */
const blockOf = (hash: string, final = "0xf0"): Methods => ({
  eth_getBlockByNumber: ([tag]) => ({
    number: tag === "finalized" ? final : tag,
    hash: tag === "0xe0" ? hash : blockHash,
    timestamp: "0x10",
  }),
});

function describe(outcome: SubmissionOutcome): string {
  if (outcome.kind !== "included") return outcome.kind;
  return `${outcome.succeeded ? "included" : "reverted"}${outcome.isFinal ? " final" : ""}`;
}

/** Per row: the nodes after signing, and the outcomes at once, after 60 s, 100 s and half an hour. */
const outcomes: readonly (readonly [string, readonly Methods[], readonly string[]])[] = [
  ["a receipt in the chain's final block", [holding(receipt)], ["included final"]],
  ["its block is final at one of two endpoints only", [
    holding(receipt),
    { ...holding(receipt), ...blockOf(blockHash, "0xd0") },
  ], [
    "included",
    "included",
    "included",
    "included final",
  ]],
  ["a second endpoint has another block there", [holding(receipt), {
    ...holding(receipt),
    ...blockOf(otherHash),
  }], [
    "included",
    "included",
    "included",
    "included final",
  ]],
  ["the receipt of a block that was reorganised away, the nonce unused", [
    holding({ ...receipt, blockHash: otherHash }, "0x5"),
  ], ["unknown"]],
  ["such a receipt, while a second endpoint has it in its pool", [
    holding({ ...receipt, blockHash: otherHash }, "0x5"),
    holding(null, "0x6", true),
  ], ["pending"]],
  ["the receipt of a block that no endpoint has yet", [
    {
      ...holding(receipt),
      eth_getBlockByNumber: ([tag]) =>
        tag === "0xe0" ? null : { number: "0xf0", hash: blockHash, timestamp: "0x1" },
    },
  ], ["pending"]],
  ["a block whose receipts come a minute late", [holding(null, "0x6", true)], [
    "pending",
    "pending",
    "pending",
  ]],
  ["nothing but a used nonce, at one endpoint", [holding(null)], ["pending", "pending", "replaced"]],
  ["nothing but a used nonce, at two", [holding(null), holding(null)], ["pending", "pending", "replaced"]],
  ["a used nonce at one of two", [holding(null), holding(null, "0x5")], [
    "pending",
    "pending",
    "pending",
    "replaced",
  ]],
  ["nothing, and the nonce unused", [holding(null, "0x5")], ["unknown"]],
  ["an endpoint that is behind, and one with the receipt", [holding(null), holding(receipt)], [
    "included final",
  ]],
  ["a revert at one of two", [holding({ ...receipt, status: "0x0" }), holding(receipt)], ["included final"]],
  ["a revert at two, before a third one", [
    holding({ ...receipt, status: "0x0" }),
    holding({ ...receipt, status: "0x0" }),
    holding(receipt),
  ], ["reverted final"]],
  ["a revert at the only endpoint that answers", [holding({ ...receipt, status: "0x0" }), {
    eth_getTransactionReceipt: () => new ScriptedError(-32603, "bad gateway"),
  }], ["reverted final"]],
  ["gas beyond all chains at one of two", [
    holding({ ...receipt, gasUsed: `0x1${"0".repeat(18)}` }),
    holding(receipt),
  ], [
    "included final",
  ]],
];

for (const [name, nodes, expected] of outcomes) {
  Deno.test(`outcome: ${name}`, () =>
    withSigned(nodes, async (submission, on) => {
      const found: string[] = [];
      for (const waitMs of [0, 60_000, 40_000, 1_700_000].slice(0, expected.length)) {
        await on.clock.advance(waitMs);
        found.push(describe(await on.chain.outcomes.fetchOutcome(submission, never)));
      }
      assert.deepEqual(found, expected);
    }));
}

for (
  const [name, odd] of [
    ["a height of 64 bits", { blockNumber: "0x10000000000000000" }],
    ["gas of 72 bits", { gasUsed: `0x1${"0".repeat(18)}` }],
    ["a price of more than 128 bits", { effectiveGasPrice: `0x1${"0".repeat(32)}` }],
    ["the hash of another transaction", { transactionHash: otherHash }],
  ] as const
) {
  Deno.test(`outcome: a receipt with ${name} is no answer`, () =>
    withSigned([holding({ ...receipt, ...odd })], async (submission, { chain }) => {
      const fault = await catchFault(chain.outcomes.fetchOutcome(submission, never));
      assert.deepEqual([fault.code, fault.reaction], ["malformed", "retry"]);
    }));
}

const refuse = (message: string, code = -32000): Methods => ({
  eth_sendRawTransaction: () => new ScriptedError(code, message),
});
const take: Methods = { eth_sendRawTransaction: () => blockHash };
const poor = (height: string): Methods => ({ eth_getBalance: () => "0x1", eth_blockNumber: () => height });

/** Per row: what the pools say, the balances read after signing, and the result. */
const broadcasts: readonly (readonly [string, readonly Methods[], string])[] = [
  ["both take it", [take, take], "sent"],
  ["the second one has it already", [take, refuse("already known")], "sent"],
  ["the first one has a fee cap", [
    refuse("tx fee (1.2 ether) exceeds the configured cap (1.00 ether)"),
    take,
  ], "sent"],
  ["all have a fee cap", [
    refuse("tx fee (1.31 ether) exceeds the configured cap (1.00 ether)"),
    refuse("tx fee (1.31 ether) exceeds the configured cap (1.00 ether)"),
  ], "unspecified"],
  [
    "two refuse it, and a third one takes it",
    [refuse("txpool is full"), refuse("txpool is full"), take],
    "sent",
  ],
  ["a pool that is not synced sees no funds, the balance is there", [
    refuse("insufficient funds for gas * price + value"),
  ], "fault insufficient_funds"],
  ["the same, and the endpoint that is behind has no balance either", [
    { ...refuse("insufficient funds"), ...poor("0x1") },
    refuse("insufficient funds"),
  ], "fault insufficient_funds"],
  ["no funds at the endpoint that is ahead", [
    refuse("insufficient funds"),
    { ...refuse("insufficient funds"), ...poor("0x200") },
  ], "insufficient_funds"],
  ["it is there already", [refuse("already known")], "alreadyKnown"],
  ["it is too large", [refuse("oversized data")], "too_large"],
  ["it has too much gas", [refuse("exceeds block gas limit")], "unspecified"],
  [
    "it would revert",
    [{ eth_sendRawTransaction: () => new ScriptedError(3, "", "0x2ad4ae2e") }],
    "duplicate",
  ],
  ["a nonce that one pool calls used", [refuse("nonce too low: next nonce 9, tx nonce 5"), take], "sent"],
  ["a nonce that all pools call used", [refuse("nonce too low"), refuse("nonce too low")], "nonceUsed"],
  ["one does not answer, and one calls it underpriced", [
    refuse("bad gateway", -32603),
    refuse("replacement transaction underpriced"),
  ], "underpriced"],
  ["none answers", [refuse("bad gateway", -32603), refuse("bad gateway", -32603)], "fault server_error"],
];

for (const [name, nodes, expected] of broadcasts) {
  Deno.test(`broadcast: ${name}`, () =>
    withSigned(nodes, async (submission, on) => {
      const sending = on.chain.sender.broadcast(submission, never);
      if (expected.startsWith("fault ")) {
        assert.equal(`fault ${(await catchFault(sending)).code}`, expected);
        return;
      }
      const result = await sending;
      assert.equal(result.kind === "refused" ? result.refusal.code : result.kind, expected);
      const asked = on.rpcs.map(({ calls }) =>
        calls.some(({ method }) => method === "eth_sendRawTransaction")
      );
      assert.deepEqual(asked, nodes.map(() => true));
    }));
}

for (const slow of [0, 1]) {
  Deno.test(`broadcast: endpoint ${slow + 1} of two is not waited for when the other one has taken it`, () =>
    withSigned([take, take], async (submission, on) => {
      on.rpcs[slow]?.failAlways({ kind: "hang" });
      const sending = on.chain.sender.broadcast(submission, never);
      let isSent = false;
      const startMs = on.clock.now();
      sending.then(() => void (isSent = true));
      await waitUntil("one has taken it", async () => {
        await on.clock.advance(20);
        return isSent;
      }, { everyMs: 10 });
      assert.deepEqual(await sending, { kind: "sent" });
      assert.ok(on.clock.now() - startMs < WITNESS_TIMEOUT_MS);
    }));
}

const counts = (latest: number, pending = latest): Methods => ({
  eth_getTransactionCount: ([, tag]) => `0x${(tag === "pending" ? pending : latest).toString(16)}`,
});

/** Per row: what the nodes count, what the journal holds, and the nonces signed at once and after a minute. */
const nonces: readonly (readonly [string, readonly Methods[], Hints, readonly unknown[]])[] = [
  ["as the journal expects", [counts(5), counts(5)], { nonceAtLeast: 5n, heldNonces: [] }, [5n]],
  ["ours wait", [counts(5, 7)], { nonceAtLeast: 7n, heldNonces: [5n, 6n] }, [7n]],
  ["ours wait where the pool is not shown", [counts(5)], { nonceAtLeast: 7n, heldNonces: [5n, 6n] }, [7n]],
  ["the journal is ahead, and does not say what waits", [counts(5)], { nonceAtLeast: 9n }, [9n]],
  ["a wallet's transaction waits", [counts(5, 6), counts(5, 6)], { nonceAtLeast: 5n, heldNonces: [] }, [6n]],
  ["a wallet's transaction waits, one endpoint", [counts(5, 6)], { nonceAtLeast: 5n, heldNonces: [] }, [6n]],
  ["a wallet's transaction was mined", [counts(6), counts(6)], { nonceAtLeast: 5n, heldNonces: [] }, [6n]],
  ["one answer is 400 too high, the second and the journal are not", [counts(405), counts(5)], {
    nonceAtLeast: 5n,
    heldNonces: [],
  }, [5n]],
  ["one answer is 400 too high, and the journal is empty", [counts(405), counts(5)], {}, ["not_ready", 5n]],
  [
    "journal and endpoints name three nonces",
    [counts(405), counts(5)],
    { nonceAtLeast: 3n, heldNonces: [] },
    [
      "not_ready",
      5n,
    ],
  ],
  ["a lower one is free again, since nothing of ours was mined with it", [counts(5), counts(5)], {
    nonceAtLeast: 9n,
    heldNonces: [],
  }, [5n]],
  ["an endpoint is behind", [counts(3), counts(5)], { nonceAtLeast: 5n, heldNonces: [] }, [5n]],
  ["no other endpoint answers", [counts(6), {
    eth_getTransactionCount: () => new ScriptedError(-32603, "bad gateway"),
  }], {
    nonceAtLeast: 5n,
    heldNonces: [],
  }, [6n]],
];

function nonceOf(result: SigningResult): unknown {
  return result.kind === "signed" ? result.submission.nonce : result.kind;
}

for (const [name, nodes, hints, expected] of nonces) {
  Deno.test(`nonce: ${name}`, () =>
    withNodes(nodes, async (on) => {
      for (const each of expected) {
        const result = await trySign(on.chain, hints);
        assert.equal(result.kind === "refused" ? result.refusal.code : nonceOf(result), each);
        await on.clock.advance(60_000);
      }
    }));
}

Deno.test("nonce: a blip of the only endpoint signs nothing", () =>
  withNodes([{}], async (on) => {
    let asked = 0;
    on.rpcs[0]?.on("eth_getTransactionCount", () => ++asked <= 2 ? "0x195" : "0x5");
    assert.equal((await sign(on.chain, { nonceAtLeast: 5n, heldNonces: [] })).nonce, 5n);
  }));
