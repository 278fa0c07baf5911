import assert from "node:assert/strict";
import { concatBytes, fromHex, toHash256 } from "../../../src/core/encoding/bytes.ts";
import { postMessage } from "../../../src/core/ismp/message.ts";
import { parseStateMachine } from "../../../src/core/ismp/state_machine.ts";
import { WITHDRAWAL_MODULE } from "../../../src/messaging/fees/withdrawals/payment_scan.ts";
import type { ChainHistory } from "../../../devnet/traffic/chain_history.ts";
import { DEVNET_ACCOUNTS, DEVNET_KEYS } from "../../../devnet/evm/accounts.ts";
import { lossBeyondLimit } from "../../support/relayer_invariants.ts";
import type { Facts } from "./invariant_facts.ts";
import { handledTwice, tooManyReverts, violationsOf } from "./invariants.ts";
import { creditKey } from "./hub_books.ts";
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

function row(source: string, target: string): LedgerMessage {
  return {
    commitment,
    target,
    source,
    kind: "post",
    requestCommitment: commitment,
    requestDest: B,
    nonce: 7n,
    seenAtHeight: 5n,
    state: "delivered",
    reason: "handled_by_us",
    detail: undefined,
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
    items: [{ commitment, requestCommitment: commitment, target: chain, outcome: "handled" }],
  };
}

function spent(
  id: number,
  chain: string,
  changes: Partial<LedgerSnapshot["spending"][number]> = {},
): LedgerSnapshot["spending"][number] {
  return {
    chain,
    hash: hash(id),
    purpose: "delivery",
    rule: "no_minimum",
    result: "delivered",
    maxCostWei: 2_000n,
    gasUsed: 100n,
    gasPriceWei: 10n,
    dataCostWei: 0n,
    costWei: 1_000n,
    costUsd18: 1_000n,
    offeredUsd18: undefined,
    revenueUsd18: undefined,
    lossMicroUsd: 0n,
    minedAtMs: 1_000,
    createdAtMs: 0,
    ...changes,
  };
}

function delivery(id: number, dest: string, blockHeight: bigint): LedgerSnapshot["deliveries"][number] {
  const claim = { fee: undefined, claimState: "unclaimed", claimHubBlock: undefined };
  return { commitment, dest, source: A, relayer: us, txHash: hash(id), blockHeight, isFinal: true, ...claim };
}

/** One message went from A over the hub to B, carried by us. */
const ledger: LedgerSnapshot = {
  meta: new Map(),
  cursors: [{ source: A, target: HUB, scanned: 6n }, { source: HUB, target: B, scanned: 8n }],
  messages: [row(A, HUB), row(HUB, B)],
  submissions: [submission(1, HUB, undefined), submission(2, B, 0n)],
  deliveries: [delivery(1, HUB, 8n), delivery(2, B, 9n)],
  withdrawals: [],
  rewards: [],
  spending: [spent(1, HUB, { rule: "free", costWei: 0n, maxCostWei: 0n }), spent(2, B)],
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

type Line = Facts["trace"]["processes"][number]["lines"][0];

function line(record: Line["record"], atMs = 0): Line {
  return { atMs, stream: "stdout", text: "", record, level: "info" };
}

function startLine(leg: string, afterBlock: number, because: string): Line {
  return line({ event: "leg_started", leg, after_block: `${afterBlock}`, because });
}

const starts = [startLine(`${A} -> ${HUB}`, 1, "first_start"), startLine(`${HUB} -> ${B}`, 1, "first_start")];

/** The hub has paid for nothing, and owes nothing. */
const money: Facts["money"] = {
  at: 20n,
  claimed: new Map([[commitment, false]]),
  credit: new Map([[creditKey(A, us), 0n]]),
  before: new Map(),
};

const facts: Facts = {
  hub: HUB,
  histories,
  told: () => 9n,
  trace: { role: "relayer", ledger, processes: [{ lines: starts, text: "", endedAtMs: undefined }] },
  mined: new Map([[B, [{ hash: hash(2), nonce: 0n, height: 9n, isReverted: false, costWei: 1_000n }]]]),
  money,
};

/** The hub has paid for the message, so that the relayer's credit went from `before` to `now`. */
function credited(now: bigint, before = 0n): Facts["money"] {
  const key = creditKey(A, us);
  return {
    ...money,
    claimed: new Map([[commitment, true]]),
    credit: new Map([[key, now]]),
    before: new Map([[key, before]]),
  };
}

/** The hub has ordered A to pay us. */
function paidOut(
  amount: bigint,
  height: bigint,
): { readonly histories: Facts["histories"]; readonly payment: string } {
  const words = [fromHex(us), fromHex(`0x${amount.toString(16).padStart(2, "0")}`)];
  const padded = words.map((word) => concatBytes(new Uint8Array(32 - word.length), word));
  const post = postMessage({
    source: HUB,
    dest: A,
    nonce: 3n,
    from: WITHDRAWAL_MODULE,
    to: new Uint8Array(20),
    timeoutTimestampSec: 0n,
    body: concatBytes(Uint8Array.of(0), ...padded),
  });
  const sent = histories.get(HUB)?.sent ?? [];
  const payment = { commitment: post.commitment, dest: A, height, post: post.request };
  return {
    histories: new Map([
      ...histories,
      history(HUB, { sent: [...sent, payment], handled: [handledOnHub] }),
    ]),
    payment: post.commitment,
  };
}

/** Numbers of the invariants that are broken once the ledger, the lines or the chains are changed. */
function broken(
  changes: Partial<LedgerSnapshot>,
  more: Partial<Facts> = {},
  process: Partial<Facts["trace"]["processes"][number]> = {},
): readonly string[] {
  const processes = [{ lines: starts, text: "", endedAtMs: undefined, ...process }];
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

Deno.test("invariants: I2, a cursor beyond what the target knows, or one that went back", () => {
  assert.deepEqual(broken({}, { told: () => 7n }), ["I2"]);
  const back = [...starts, startLine(`${A} -> ${HUB}`, 0, "cursor")];
  assert.deepEqual(broken({}, {}, { lines: back }), ["I2"]);
  const wanted = [...starts, startLine(`${A} -> ${HUB}`, 0, "initial_height")];
  assert.deepEqual(broken({}, {}, { lines: wanted }), []);
});

Deno.test("invariants: I3 and I4, an own transaction without a journal row, an own delivery without its record", () => {
  assert.deepEqual(broken({ submissions: [submission(1, HUB, undefined)] }), ["I3"]);
  const silent = { hash: hash(9), nonce: 1n, height: 9n, isReverted: true, costWei: 0n };
  const mined = new Map([[B, [...facts.mined.get(B) ?? [], silent]]]);
  assert.ok(broken({}, { mined }).includes("I3"), "one that delivered nothing");
  assert.deepEqual(broken({ deliveries: [delivery(1, HUB, 8n)] }), ["I4"]);
  assert.deepEqual(broken({ deliveries: [delivery(1, HUB, 8n), delivery(3, B, 9n)] }), ["I4"]);
  assert.deepEqual(broken({ deliveries: [delivery(1, HUB, 8n), delivery(2, B, 7n)] }), ["I4"]);
  assert.deepEqual(broken({ deliveries: [...ledger.deliveries, delivery(2, A, 9n)] }), ["I4"]);
});

Deno.test("invariants: I5 and I10, a message in two open transactions, a nonce in two that count", () => {
  const openWith = (outcome: string | undefined) => (id: number, nonce: bigint): LedgerSubmission => {
    const row = submission(id, B, nonce);
    return { ...row, state: "broadcast", items: row.items.map((item) => ({ ...item, outcome })) };
  };
  const open = openWith(undefined);
  assert.deepEqual(broken({ submissions: [...ledger.submissions, open(3, 1n), open(4, 2n)] }), ["I5"]);
  const reorganised = openWith("not_handled")(3, 1n);
  assert.deepEqual(broken({ submissions: [...ledger.submissions, reorganised, open(4, 2n)] }), []);
  assert.deepEqual(broken({ submissions: [...ledger.submissions, open(3, 0n)] }), ["I10"]);
  const dropped = { ...open(3, 0n), state: "dropped" };
  assert.deepEqual(broken({ submissions: [...ledger.submissions, dropped] }), []);
});

Deno.test("invariants: I6, an end or a wait without a reason", () => {
  assert.deepEqual(broken(withMessage({ reason: undefined })), ["I6"]);
});

Deno.test("invariants: I7, a claim that the hub does not know, one of a block that is not final, one that was given up", () => {
  type Row = LedgerSnapshot["deliveries"][number];
  const claimed: Row = { ...delivery(2, B, 9n), claimState: "claimed", fee: 5n, claimHubBlock: 10n };
  const withClaim = (changes: Partial<Row> = {}): Partial<LedgerSnapshot> => {
    return { deliveries: [delivery(1, HUB, 8n), { ...claimed, ...changes }] };
  };
  const paid = { money: credited(5n) };
  assert.deepEqual(broken(withClaim(), paid), []);
  assert.deepEqual(broken(withClaim()), ["I7"]);
  assert.deepEqual(broken(withClaim({ claimHubBlock: 19n }), paid), ["I7"]);
  for (const claimState of ["no_fee", "lost", "unclaimable"]) {
    assert.deepEqual(broken(withClaim({ claimState, claimHubBlock: undefined }), paid), ["I7"], claimState);
  }
  // A process that died before it found out.
  for (const claimState of ["claiming", "unclaimed"]) {
    assert.deepEqual(broken(withClaim({ claimState, claimHubBlock: undefined }), paid), [], claimState);
  }
});

Deno.test("invariants: I8, credit that is missing, and money paid out without a withdrawal on record before", () => {
  const claimed = { ...delivery(2, B, 9n), claimState: "claimed", fee: 5n, claimHubBlock: 10n };
  const earned = { deliveries: [delivery(1, HUB, 8n), claimed] };
  assert.deepEqual(broken(earned, { money: credited(4n) }), ["I8"]);
  assert.deepEqual(broken(earned, { money: credited(5n, 3n) }), ["I8"]);
  assert.deepEqual(broken(earned, { money: credited(8n, 3n) }), []);
  // Credited to an account of nobody.
  const stranger = { ...credited(0n), credit: new Map([[creditKey(A, other), 5n], [creditKey(A, us), 0n]]) };
  assert.deepEqual(broken(earned, { money: stranger }), ["I8"]);

  const { histories: withPayment, payment } = paidOut(5n, 12n);
  const out = { money: credited(0n), histories: withPayment };
  assert.deepEqual(broken(earned, out), ["I8"]);
  const row = {
    id: 1,
    chain: A,
    address: us,
    nonce: 0n,
    amount: 5n,
    hubBlock: 11n,
    state: "done",
    commitment: payment,
    dispatchHubBlock: 12n,
  };
  const searching = { ...row, state: "requested", commitment: undefined, dispatchHubBlock: undefined };
  // The row of the payment itself is I1's business.
  const isFine = (withdrawals: LedgerSnapshot["withdrawals"]): boolean =>
    !broken({ ...earned, withdrawals }, out).includes("I8");
  assert.ok(isFine([row]));
  assert.ok(isFine([searching]));
  assert.ok(!isFine([{ ...row, hubBlock: 12n }]), "recorded after the hub was asked");
  assert.ok(!isFine([{ ...row, commitment: hash(8) }]), "recorded for another payment");
  assert.ok(isFine([{ ...row, nonce: undefined, hubBlock: 12n }]), "ordered elsewhere and found");
});

Deno.test("invariants: I15, a cost that was not recorded, not paid, or not allowed", () => {
  const spending = (changes: Partial<LedgerSnapshot["spending"][number]>): readonly string[] =>
    broken({ spending: [spent(2, B, changes)] });
  const free = { result: undefined, costWei: undefined, minedAtMs: undefined };
  assert.deepEqual(spending({}), []);
  assert.deepEqual(spending({ costWei: 999n }), ["I15"], "another cost");
  assert.deepEqual(spending(free), ["I15"], "no cost");
  const open = {
    submissions: [submission(1, HUB, undefined), { ...submission(2, B, 0n), state: "broadcast" }],
  };
  assert.deepEqual(broken({ ...open, spending: [spent(2, B, free)] }), [], "mined in the last moment");
  assert.deepEqual(spending({ result: "reverted" }), ["I15"], "it was not reverted");
  assert.deepEqual(broken({}, { mined: new Map() }), ["I15"], "nobody paid for it");
  assert.deepEqual(spending({ maxCostWei: 999n }), ["I15"], "more than was signed for");
  assert.deepEqual(spending({ maxCostWei: 999n, dataCostWei: 1n }), [], "data on another chain comes on top");
  assert.deepEqual(
    spending({ rule: "profit", offeredUsd18: 749n }),
    ["I15"],
    "more than a third above the fees",
  );
  assert.deepEqual(spending({ rule: "profit", offeredUsd18: 750n }), []);
  assert.deepEqual(spending({ rule: "free" }), ["I15"], "what is free costs nothing");
});

Deno.test("invariants: I15, a message that is paid for again and again without effect", () => {
  const tries = (count: number): readonly string[] => {
    const ids = Array.from({ length: count }, (_, index) => 2 + index);
    const mined = ids.map((id) => ({
      hash: hash(id),
      nonce: BigInt(id),
      height: 9n,
      isReverted: false,
      costWei: 1_000n,
    }));
    return broken({
      spending: ids.map((id) => spent(id, B, { result: "not_executed" })),
      submissions: [
        submission(1, HUB, undefined),
        ...ids.map((id) => submission(id, B, BigInt(id))),
      ],
    }, { mined: new Map([[B, mined]]) });
  };
  assert.deepEqual(tries(3), []);
  assert.deepEqual(tries(4), ["I15"]);
});

Deno.test("invariants: I15, signed although the limit of losses was reached", () => {
  const lost = spent(2, B, { lossMicroUsd: 600n, minedAtMs: 1_000 });
  const found = (changes: Partial<LedgerSnapshot["spending"][number]>): number =>
    [...lossBeyondLimit([lost, spent(3, B, { lossMicroUsd: 0n, ...changes })], {
      microUsd: 600n,
      withinMs: 500,
    })].length;
  assert.equal(found({ createdAtMs: 1_501 }), 1);
  assert.equal(found({ createdAtMs: 1_500 }), 0, "it needs its time");
  assert.equal(found({ createdAtMs: 1_501, rule: "free" }), 0);
  assert.equal(found({ createdAtMs: 1_501, chain: A }), 0, "another chain");
  assert.equal(found({ createdAtMs: 86_401_001 }), 0, "a day later");
});

Deno.test("invariants: I11, a long silence, and an end that takes long", () => {
  const at = (atMs: number, event = "something"): Line => line({ event }, atMs);
  const minuteMs = 60_000;
  assert.deepEqual(broken({}, {}, { lines: [...starts, at(10 * minuteMs)] }), []);
  assert.deepEqual(broken({}, {}, { lines: [...starts, at(11 * minuteMs)] }), ["I11"]);
  assert.deepEqual(broken({}, {}, { endedAtMs: 11 * minuteMs }), ["I11"]);
  const told = [...starts, at(1_000, "program_stopping")];
  assert.deepEqual(broken({}, {}, { lines: told, endedAtMs: 2 * minuteMs }), []);
  assert.deepEqual(broken({}, {}, { lines: told, endedAtMs: 3 * minuteMs }), ["I11"]);
});

Deno.test("invariants: I12, a leg that failed for another chain's fault, and one that never began", () => {
  const failed = (leg: string, chain: string): readonly Line[] => {
    const error = { name: "RpcFault", message: `eth_call on ${chain} via 127.0.0.1: timeout` };
    return [...starts, line({ event: "poll_failed", leg, error }, 1)];
  };
  assert.deepEqual(broken({}, {}, { lines: failed(`${HUB} -> ${B}`, B) }), []);
  assert.deepEqual(broken({}, {}, { lines: failed(`${HUB} -> ${B}`, HUB) }), []);
  assert.deepEqual(broken({}, {}, { lines: failed(`${HUB} -> ${B}`, A) }), ["I12"]);
  const error = { message: `eth_call on ${A} via 127.0.0.1: timeout` };
  const worker = line({ event: "worker_restarting", worker: "claims", error }, 1);
  assert.deepEqual(broken({}, {}, { lines: [...starts, worker] }), ["I12"]);

  const chains = { chains: `${A}, ${B}`, deliversTo: B };
  const relaying = line({ event: "program_started", ...chains, minimumProfit: "0 %" });
  const without = starts.filter(({ record }) => record?.leg !== `${A} -> ${HUB}`);
  const begun = [relaying, ...starts, startLine(`${B} -> ${HUB}`, 1, "first_start")];
  assert.deepEqual(broken({}, {}, { lines: begun, endedAtMs: 70_000 }), []);
  assert.deepEqual(broken({}, {}, { lines: [relaying, ...starts], endedAtMs: 70_000 }), ["I12"]);
  assert.deepEqual(
    broken({}, {}, { lines: [relaying, ...without], endedAtMs: 20_000 }),
    [],
    "too early to tell",
  );
  const down = line({ event: "chain_suspended", chain: B });
  assert.deepEqual(broken({}, {}, { lines: [relaying, down, ...starts], endedAtMs: 70_000 }), []);
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
  const reverted = { hash: hash(9), nonce: 1n, height: 9n, isReverted: true, costWei: 1n };
  const mined = new Map([[B, [reverted, { ...reverted, isReverted: false }]]]);
  assert.deepEqual([...tooManyReverts({ ...facts, mined }, 1)], []);
  assert.equal([...tooManyReverts({ ...facts, mined }, 0)].length, 1);
});
