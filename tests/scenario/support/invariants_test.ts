import assert from "node:assert/strict";
import { toHash256 } from "../../../src/core/protocol/bytes.ts";
import { postMessage } from "../../../src/core/protocol/ismp/commitment.ts";
import { parseStateMachine } from "../../../src/core/protocol/ismp/state_machine.ts";
import type { ChainHistory } from "../../devnet/chain_history.ts";
import { DEVNET_ACCOUNTS, DEVNET_KEYS } from "../../devnet/evm/accounts.ts";
import { type Facts, handledTwice, tooManyReverts, violationsOf } from "./invariants.ts";
import type { LedgerMessage, LedgerSnapshot, LedgerSubmission } from "./ledger_reader.ts";

const HUB = parseStateMachine("KUSAMA-4009");
const A = parseStateMachine("EVM-1");
const B = parseStateMachine("EVM-2");
const us = toHex(DEVNET_ACCOUNTS.relayer.address);
const other = toHex(DEVNET_ACCOUNTS.relayer2.address);

const { commitment, request } = postMessage({
  source: A,
  dest: B,
  nonce: 7n,
  from: new Uint8Array(20),
  to: new Uint8Array(20),
  timeoutTimestampSec: 0n,
  body: new Uint8Array(),
});

/** Lower-case text of an address. */
function toHex(address: string): `0x${string}` {
  return `0x${address.slice(2).toLowerCase()}`;
}

function hash(byte: number): ReturnType<typeof toHash256> {
  return toHash256(new Uint8Array(32).fill(byte));
}

function row(source: string, sink: string): LedgerMessage {
  return {
    commitment,
    sink,
    source,
    kind: "post",
    requestCommitment: commitment,
    requestSource: A,
    requestDest: B,
    nonce: 7n,
    seenAtHeight: 5n,
    state: "delivered",
    reason: "handled_by_us",
    detail: undefined,
    requiredUsd18: undefined,
    offeredUsd18: undefined,
    attempts: 1,
  };
}

function submission(id: number, chain: string, nonce: bigint | undefined): LedgerSubmission {
  return {
    id,
    chain,
    kind: "delivery",
    account: nonce === undefined ? undefined : us,
    nonce,
    hash: hash(id),
    state: "final",
    replaces: undefined,
    items: [{ commitment, requestCommitment: commitment, sink: chain, outcome: "handled" }],
  };
}

function delivery(id: number, dest: string, blockHeight: bigint): LedgerSnapshot["deliveries"][number] {
  const claim = { claimState: "unclaimed", claimHubBlock: undefined };
  return { commitment, dest, source: A, relayer: us, txHash: hash(id), blockHeight, isFinal: true, ...claim };
}

/** One message went from A over the hub to B, carried by us. */
const ledger: LedgerSnapshot = {
  meta: new Map(),
  cursors: [{ source: A, sink: HUB, scanned: 6n }, { source: HUB, sink: B, scanned: 8n }],
  messages: [row(A, HUB), row(HUB, B)],
  submissions: [submission(1, HUB, undefined), submission(2, B, 0n)],
  deliveries: [delivery(1, HUB, 8n), delivery(2, B, 9n)],
  bytes: new TextEncoder().encode("SQLite format 3"),
};

function history(
  chain: ChainHistory["chain"],
  parts: Partial<ChainHistory>,
): readonly [string, ChainHistory] {
  return [chain, { chain, head: 20n, final: 18n, sent: [], handled: [], pongs: [], ...parts }];
}

const handledOnHub = { commitment, relayer: us, transaction: hash(1), height: 8n };
const handledOnB = { commitment, relayer: us, transaction: hash(2), height: 9n };
const histories = new Map([
  history(A, { sent: [{ commitment, dest: request.dest, height: 5n }] }),
  history(B, { handled: [handledOnB], pongs: [{ source: A, nonce: 7n, body: "0x" }] }),
  history(HUB, { sent: [{ commitment, dest: request.dest, height: 8n }], handled: [handledOnHub] }),
]);

function startLine(
  leg: string,
  afterBlock: number,
  because: string,
): Facts["trace"]["processes"][number]["lines"][0] {
  const record = { message: "Leg starts", leg, after_block: `${afterBlock}`, because };
  return { atMs: 0, stream: "stdout", text: JSON.stringify(record), record, level: "info" };
}

const starts = [startLine(`${A} -> ${HUB}`, 1, "first_start"), startLine(`${HUB} -> ${B}`, 1, "first_start")];

const facts: Facts = {
  hub: HUB,
  histories,
  told: () => 9n,
  trace: { role: "relayer", ledger, processes: [{ lines: starts, text: "" }] },
  mined: new Map([[B, [{ hash: hash(2), nonce: 0n, height: 9n, isReverted: false }]]]),
};

/** Numbers of the invariants that are broken once the ledger, the lines or the chains are changed. */
function broken(
  changes: Partial<LedgerSnapshot>,
  more: Partial<Facts> = {},
  process: Partial<Facts["trace"]["processes"][number]> = {},
): readonly string[] {
  const processes = [{ lines: starts, text: "", ...process }];
  const trace = { role: "relayer", ledger: { ...ledger, ...changes }, processes } as const;
  const found = violationsOf({ ...facts, trace, ...more });
  return [...new Set(found.map((violation) => violation.split(/[: ]/)[0] ?? ""))];
}

function withMessage(changes: Partial<LedgerMessage>): Partial<LedgerSnapshot> {
  return { messages: [row(A, HUB), { ...row(HUB, B), ...changes }] };
}

Deno.test("invariants: a run that went well shows no violation", () => {
  assert.deepEqual(violationsOf(facts), []);
  assert.deepEqual([...handledTwice(histories)], []);
});

Deno.test("invariants: a message delivered or called back twice is found", () => {
  const pong = { source: A, nonce: 7n, body: "0x" } as const;
  const twice = new Map([history(B, { handled: [handledOnB, handledOnB], pongs: [pong, pong] })]);
  assert.equal([...handledTwice(twice)].length, 2);
});

Deno.test("invariants: I1, a block was read and its message has no row; what lies before the start has none", () => {
  assert.deepEqual(broken({ messages: [row(A, HUB)] }), ["I1"]);
  const later = [
    startLine(`${A} -> ${HUB}`, 1, "first_start"),
    startLine(`${HUB} -> ${B}`, 8, "first_start"),
  ];
  assert.deepEqual(broken({ messages: [row(A, HUB)] }, {}, { lines: later }), []);
});

Deno.test("invariants: I2, a cursor beyond what the sink knows, or one that went back", () => {
  assert.deepEqual(broken({}, { told: () => 7n }), ["I2"]);
  const back = [...starts, startLine(`${A} -> ${HUB}`, 0, "cursor")];
  assert.deepEqual(broken({}, {}, { lines: back }), ["I2"]);
  const wanted = [...starts, startLine(`${A} -> ${HUB}`, 0, "initial_height")];
  assert.deepEqual(broken({}, {}, { lines: wanted }), []);
});

Deno.test("invariants: I3 and I4, an own transaction without a journal row, an own delivery without its record", () => {
  assert.deepEqual(broken({ submissions: [submission(1, HUB, undefined)] }), ["I3"]);
  assert.deepEqual(broken({ deliveries: [delivery(1, HUB, 8n)] }), ["I4"]);
  assert.deepEqual(broken({ deliveries: [delivery(1, HUB, 8n), delivery(3, B, 9n)] }), ["I4"]);
  assert.deepEqual(broken({ deliveries: [delivery(1, HUB, 8n), delivery(2, B, 7n)] }), ["I4"]);
  assert.deepEqual(broken({ deliveries: [...ledger.deliveries, delivery(2, A, 9n)] }), ["I4"]);
});

Deno.test("invariants: I5 and I10, a message in two open transactions, a nonce in two that count", () => {
  const open = (id: number, nonce: bigint): LedgerSubmission => ({
    ...submission(id, B, nonce),
    state: "broadcast",
  });
  assert.deepEqual(broken({ submissions: [...ledger.submissions, open(3, 1n), open(4, 2n)] }), ["I5"]);
  assert.deepEqual(broken({ submissions: [...ledger.submissions, open(3, 0n)] }), ["I10"]);
  const dropped = { ...open(3, 0n), state: "dropped" };
  assert.deepEqual(broken({ submissions: [...ledger.submissions, dropped] }), []);
});

Deno.test("invariants: I6, an end or a wait without a reason", () => {
  assert.deepEqual(broken(withMessage({ reason: undefined })), ["I6"]);
});

Deno.test("invariants: I7, a claim that nobody made", () => {
  const claimed = { ...delivery(2, B, 9n), claimState: "claimed" };
  assert.deepEqual(broken({ deliveries: [delivery(1, HUB, 8n), claimed] }), ["I7"]);
});

Deno.test("invariants: I13, a key in the output, or in the database as text or as bytes", () => {
  const key = DEVNET_KEYS.relayer;
  assert.deepEqual(broken({}, {}, { text: `key ${key.toUpperCase()}` }), ["I13"]);
  assert.deepEqual(broken({ bytes: new TextEncoder().encode(`x${key}`) }), ["I13"]);
  assert.deepEqual(broken({ bytes: Uint8Array.fromHex(`00${key.slice(2)}00`) }), ["I13"]);
});

Deno.test("invariants: the ledger claims what the chains do not say", () => {
  const byOther = new Map([...histories, history(B, { handled: [{ ...handledOnB, relayer: other }] })]);
  assert.deepEqual(broken({}, { histories: byOther }), ["I4", "Row"]);
  assert.deepEqual(broken(withMessage({ state: "delivered_by_other" })), ["Row"]);
  assert.deepEqual(broken(withMessage({ state: "held", reason: "race" })), ["Row"]);
});

Deno.test("invariants: reverted transactions are counted", () => {
  const reverted = { hash: hash(9), nonce: 1n, height: 9n, isReverted: true };
  const mined = new Map([[B, [reverted, { ...reverted, isReverted: false }]]]);
  assert.deepEqual([...tooManyReverts({ ...facts, mined }, 1)], []);
  assert.equal([...tooManyReverts({ ...facts, mined }, 0)].length, 1);
});
