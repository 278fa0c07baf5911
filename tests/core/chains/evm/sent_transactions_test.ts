import assert from "node:assert/strict";
import { WITNESS_TIMEOUT_MS } from "../../../../src/core/chains/evm/rpc_batch.ts";
import type {
  SignedSubmission,
  SigningInput,
  SubmissionOutcome,
} from "../../../../src/core/chains/submission.ts";
import { toHash256 } from "../../../../src/core/encoding/bytes.ts";
import { catchFault } from "../../../support/rpc_faults.ts";
import { type Answerer, hang, ScriptedError, type ScriptedRpc } from "../../../support/scripted_rpc.ts";
import { never } from "./chain_fixture.ts";
import { blockHash, chainAt, chainOn, node, sign, trySign } from "./scripted_node.ts";
import { kindOf } from "../../../support/chain_calls.ts";

type Methods = Readonly<Record<string, Answerer>>;
type Nodes = ReturnType<typeof chainAt> & { readonly rpcs: readonly ScriptedRpc[] };
type Hints = Partial<Pick<SigningInput, "nonceAtLeast" | "heldNonces">>;

/** A chain at nodes of which each differs in some methods. */
function chainAtNodes(nodes: readonly Methods[]): Nodes {
  const rpcs = nodes.map((methods) => node(methods));
  return { ...chainAt(rpcs), rpcs };
}

/** The same, once a transaction is signed, at nodes that had nothing to say until then. */
async function afterSigning(
  nodes: readonly Methods[],
): Promise<Nodes & { readonly submission: SignedSubmission }> {
  const on = chainAtNodes(nodes.map(() => ({})));
  const submission = await sign(on.chain, { nonceAtLeast: 5n });
  on.rpcs.forEach((rpc, index) => rpc.onAll(nodes[index] ?? {}));
  return { ...on, submission };
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

function answering(method: string, message: string, code = -32000): Methods {
  return { [method]: () => new ScriptedError(code, message) };
}

function describe(outcome: SubmissionOutcome): string {
  if (outcome.kind !== "included") return outcome.kind;
  return `${outcome.succeeded ? "included" : "reverted"}${outcome.isFinal ? " final" : ""}`;
}

const mined = holding(receipt);
const reverted = holding({ ...receipt, status: "0x0" });
const silent = answering("eth_getTransactionReceipt", "bad gateway", -32603);
const final = ["included final"];
const later = ["included", "included", "included", "included final"];
const pending = ["pending", "pending"];

/** Per row: the nodes after signing, and the outcomes at once, after 60 s, 100 s and half an hour. */
const outcomes: readonly (readonly [string, readonly Methods[], readonly string[]])[] = [
  ["a receipt in the chain's final block", [mined], final],
  [
    "its block is final at one of two endpoints only",
    [mined, { ...mined, ...blockOf(blockHash, "0xd0") }],
    later,
  ],
  ["a second endpoint has another block there", [mined, { ...mined, ...blockOf(otherHash) }], later],
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
  ["a block whose receipts come a minute late", [holding(null, "0x6", true)], [...pending, "pending"]],
  ["nothing but a used nonce, at one endpoint", [holding(null)], [...pending, "replaced"]],
  ["nothing but a used nonce, at two", [holding(null), holding(null)], [...pending, "replaced"]],
  ["a used nonce at one of two", [holding(null), holding(null, "0x5")], [...pending, "pending", "replaced"]],
  ["nothing, and the nonce unused", [holding(null, "0x5")], ["unknown"]],
  ["an endpoint that is behind, and one with the receipt", [holding(null), mined], final],
  ["a revert at one of two", [reverted, mined], final],
  ["a revert at two, before a third one", [reverted, reverted, mined], ["reverted final"]],
  ["a revert at the only endpoint that answers", [reverted, silent], ["reverted final"]],
  [
    "gas beyond all chains at one of two",
    [holding({ ...receipt, gasUsed: `0x1${"0".repeat(18)}` }), mined],
    final,
  ],
];

for (const [name, nodes, expected] of outcomes) {
  Deno.test(`outcome: ${name}`, async () => {
    const { chain, clock, submission } = await afterSigning(nodes);
    const found: string[] = [];
    for (const waitMs of [0, 60_000, 40_000, 1_700_000].slice(0, expected.length)) {
      await clock.advance(waitMs);
      found.push(describe(await chain.outcomes.fetchOutcome(submission, never)));
    }
    assert.deepEqual(found, expected);
  });
}

Deno.test("outcome: a receipt of values that no chain has, or of another transaction, is no answer", async () => {
  for (
    const odd of [
      { blockNumber: "0x10000000000000000" },
      { gasUsed: `0x1${"0".repeat(18)}` },
      { effectiveGasPrice: `0x1${"0".repeat(32)}` },
      { transactionHash: otherHash },
    ]
  ) {
    const { chain, submission } = await afterSigning([holding({ ...receipt, ...odd })]);
    const fault = await catchFault(chain.outcomes.fetchOutcome(submission, never));
    assert.deepEqual([fault.code, fault.reaction], ["malformed", "retry"], JSON.stringify(odd));
  }
});

const refuse = (message: string, code?: number): Methods =>
  answering("eth_sendRawTransaction", message, code);
const take: Methods = { eth_sendRawTransaction: () => blockHash };
const feeCap = refuse("tx fee (1.2 ether) exceeds the configured cap (1.00 ether)");
const full = refuse("txpool is full");
const [noFunds, tooLow] = [refuse("insufficient funds for gas * price + value"), refuse("nonce too low")];
const dead = refuse("bad gateway", -32603);
const reverting: Methods = { eth_sendRawTransaction: () => new ScriptedError(3, "", "0x2ad4ae2e") };
const poor = (height: string): Methods => ({ eth_getBalance: () => "0x1", eth_blockNumber: () => height });

/** Per row: what the pools say, the balances read after signing, and the result. */
const broadcasts: readonly (readonly [string, readonly Methods[], string])[] = [
  ["both take it", [take, take], "sent"],
  ["the second one has it already", [take, refuse("already known")], "sent"],
  ["the first one has a fee cap", [feeCap, take], "sent"],
  ["all have a fee cap", [feeCap, feeCap], "unspecified"],
  ["two refuse it, and a third one takes it", [full, full, take], "sent"],
  ["a pool that is not synced sees no funds, the balance is there", [noFunds], "fault insufficient_funds"],
  [
    "the same, and the endpoint that is behind has no balance either",
    [{ ...noFunds, ...poor("0x1") }, noFunds],
    "fault insufficient_funds",
  ],
  [
    "no funds at the endpoint that is ahead",
    [noFunds, { ...noFunds, ...poor("0x200") }],
    "insufficient_funds",
  ],
  ["it is there already", [refuse("already known")], "alreadyKnown"],
  ["it is too large", [refuse("oversized data")], "too_large"],
  ["it has too much gas", [refuse("exceeds block gas limit")], "unspecified"],
  ["it would revert", [reverting], "duplicate"],
  ["a nonce that one pool calls used", [refuse("nonce too low: next nonce 9, tx nonce 5"), take], "sent"],
  ["a nonce that all pools call used", [tooLow, tooLow], "nonceUsed"],
  [
    "one does not answer, and one calls it underpriced",
    [dead, refuse("replacement transaction underpriced")],
    "underpriced",
  ],
  ["none answers", [dead, dead], "fault server_error"],
];

for (const [name, nodes, expected] of broadcasts) {
  Deno.test(`broadcast: ${name}`, async () => {
    const { chain, rpcs, submission } = await afterSigning(nodes);
    const sending = chain.sender.broadcast(submission, never);
    if (expected.startsWith("fault ")) {
      assert.equal(`fault ${(await catchFault(sending)).code}`, expected);
      return;
    }
    assert.equal(kindOf(await sending), expected);
    assert.deepEqual(rpcs.map((rpc) => rpc.countOf("eth_sendRawTransaction") > 0), nodes.map(() => true));
  });
}

for (const slow of [0, 1]) {
  Deno.test(`broadcast: endpoint ${slow + 1} of two is not waited for when the other one has taken it`, async () => {
    const { chain, clock, rpcs, submission } = await afterSigning([take, take]);
    Object.assign(rpcs[slow] ?? {}, { fault: hang });
    const startMs = clock.now();
    assert.deepEqual(await clock.run(chain.sender.broadcast(submission, never)), { kind: "sent" });
    assert.ok(clock.now() - startMs < WITNESS_TIMEOUT_MS);
  });
}

const counts = (latest: number, pending = latest): Methods => ({
  eth_getTransactionCount: ([, tag]) => `0x${(tag === "pending" ? pending : latest).toString(16)}`,
});
const [five, blip] = [counts(5), counts(405)];
const idle: Hints = { nonceAtLeast: 5n, heldNonces: [] };
const waiting: Hints = { nonceAtLeast: 7n, heldNonces: [5n, 6n] };
const uncounted = answering("eth_getTransactionCount", "bad gateway", -32603);

/** Per row: what the nodes count, what the journal holds, and the nonces signed at once and after a minute. */
const nonces: readonly (readonly [string, readonly Methods[], Hints, readonly unknown[]])[] = [
  ["as the journal expects", [five, five], idle, [5n]],
  ["ours wait", [counts(5, 7)], waiting, [7n]],
  ["ours wait where the pool is not shown", [five], waiting, [7n]],
  ["the journal is ahead, and does not say what waits", [five], { nonceAtLeast: 9n }, [9n]],
  ["a wallet's transaction waits", [counts(5, 6), counts(5, 6)], idle, [6n]],
  ["a wallet's transaction waits, one endpoint", [counts(5, 6)], idle, [6n]],
  ["a wallet's transaction was mined", [counts(6), counts(6)], idle, [6n]],
  ["one answer is 400 too high, the second and the journal are not", [blip, five], idle, [5n]],
  ["one answer is 400 too high, and the journal is empty", [blip, five], {}, ["not_ready", 5n]],
  ["journal and endpoints name three nonces", [blip, five], { ...idle, nonceAtLeast: 3n }, ["not_ready", 5n]],
  ["a lower one is free again, nothing of ours was mined with it", [five, five], {
    ...idle,
    nonceAtLeast: 9n,
  }, [5n]],
  ["an endpoint is behind", [counts(3), five], idle, [5n]],
  ["no other endpoint answers", [counts(6), uncounted], idle, [6n]],
];

for (const [name, nodes, hints, expected] of nonces) {
  Deno.test(`nonce: ${name}`, async () => {
    const { chain, clock } = chainAtNodes(nodes);
    for (const each of expected) {
      const result = await trySign(chain, hints);
      assert.equal(result.kind === "signed" ? result.submission.nonce : kindOf(result), each);
      await clock.advance(60_000);
    }
  });
}

Deno.test("nonce: a blip of the only endpoint signs nothing", async () => {
  let asked = 0;
  const { chain } = chainOn({ eth_getTransactionCount: () => ++asked <= 2 ? "0x195" : "0x5" });
  assert.equal((await sign(chain, idle)).nonce, 5n);
});
