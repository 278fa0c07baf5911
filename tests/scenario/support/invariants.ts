/**
 * What must hold after every run, whatever was done to the relayers: their databases and logs are held against what
 * the chains say. Source: 04-messaging-flow section 21.3 of the protocol notes (I1 to I14); those of money are in
 * `money_invariants.ts`, those that logs show in `run_invariants.ts`. Start reading at {@link assertInvariants}.
 */
import assert from "node:assert/strict";
import { type Hash256, toHash256 } from "../../../src/core/protocol/bytes.ts";
import { toAddress } from "../../../src/core/protocol/evm/address.ts";
import { toFee18 } from "../../../src/messaging/decisions/money.ts";
import { type ChainHistory, type HandledEvent, readHistory } from "../../devnet/chain_history.ts";
import type { Devnet } from "../../devnet/devnet.ts";
import { DEVNET_ACCOUNTS, DEVNET_KEYS, type DevnetRole } from "../../devnet/evm/accounts.ts";
import { HOST_ABI } from "../../devnet/evm/abi.ts";
import type { IsmpHost } from "../../devnet/evm/deploy.ts";
import { type MinedTransaction, readTransactionsOf } from "./account_history.ts";
import { type HubBooks, readBooks } from "./hub_books.ts";
import type { LedgerMessage, LedgerSnapshot } from "./ledger_reader.ts";
import {
  claimsUntrue,
  creditGone,
  deliveredAtLoss,
  minimumProfit,
  type MoneyFacts,
} from "./money_invariants.ts";
import type { LineMatch, RelayerProcess } from "./relayer_process.ts";
import { decisionsUnfounded, failuresSpread, waitsSilent } from "./run_invariants.ts";

/** What is looked at of a process; `endedAtMs`: milliseconds since 1970, `undefined` while it runs. */
export type ProcessTrace = Pick<RelayerProcess, "lines" | "text" | "endedAtMs">;

/** One relayer: an account, a database, and every process that ran with them, in order. */
export interface RelayerTrace {
  readonly role: DevnetRole;
  readonly ledger: LedgerSnapshot;
  readonly processes: readonly (ProcessTrace & Pick<RelayerProcess, "assertNoErrors">)[];
}

/** What a scenario allows. */
export interface InvariantOptions {
  /** Most reverted transactions of each relayer, on all chains together. Default 0. */
  readonly mostReverts?: number;
  /** Error lines that belong to the scenario. */
  readonly allowedErrors?: readonly LineMatch[];
  /** What happened up to these heights is left out, by chain. */
  readonly since?: ReadonlyMap<string, bigint>;
  /** Credit on the hub when the scene began. Default none. */
  readonly creditBefore?: HubBooks["credit"];
  /** Names of the relayers on chains that do not know them by the address of their role, lower-case hex, by chain. */
  readonly accounts?: ReadonlyMap<string, string>;
}

/** What the invariants of one relayer are checked against. */
export interface Facts {
  readonly hub: string;
  readonly histories: ReadonlyMap<string, ChainHistory>;
  /** Height of `source` that `sink` knows. */
  readonly told: (source: string, sink: string) => bigint;
  readonly trace: Pick<RelayerTrace, "role" | "ledger"> & {
    readonly processes: readonly ProcessTrace[];
  };
  /** The relayer's transactions by EVM chain. */
  readonly mined: ReadonlyMap<string, readonly MinedTransaction[]>;
  readonly money: MoneyFacts;
  /** See {@link InvariantOptions.accounts}. */
  readonly accounts?: ReadonlyMap<string, string>;
}

/** @throws {assert.AssertionError} that lists every violation. */
export async function assertInvariants(
  devnet: Devnet,
  traces: readonly RelayerTrace[],
  options: InvariantOptions = {},
): Promise<void> {
  // Before the histories, which then hold every payment that the books know of.
  const books = readBooks(
    devnet,
    new Set(traces.flatMap(({ ledger }) => ledger.deliveries.map(({ commitment }) => commitment))),
  );
  const since = (chain: string): bigint => options.since?.get(chain) ?? 0n;
  const histories = await readHistoriesSince(devnet, since);
  const hub = devnet.hub.identity.stateMachine;
  const told = (source: string, sink: string): bigint => {
    const from = historyOf({ histories }, source).chain;
    const to = historyOf({ histories }, sink).chain;
    // What the hub has proven to itself travels to EVM hosts in front of the messages.
    return devnet.oracle.told(devnet.prover !== undefined && from === hub ? { from, to: hub } : { from, to });
  };
  const violations = [...handledTwice(histories)];
  const { accounts = new Map<string, string>(), creditBefore: before = new Map() } = options;
  for (const trace of traces) {
    const mined = new Map<string, readonly MinedTransaction[]>();
    for (const { stateMachine, host } of devnet.chains) {
      const account = toAddress(accounts.get(stateMachine) ?? DEVNET_ACCOUNTS[trace.role].address);
      mined.set(stateMachine, await readTransactionsOf(host, account, since(stateMachine)));
    }
    const fees = await readFees(devnet, trace);
    const money = { ...books, before, fees };
    const facts: Facts = { hub, histories, told, trace, mined, money, accounts };
    const found = [...violationsOf(facts), ...tooManyReverts(facts, options.mostReverts ?? 0)];
    violations.push(...found.map((violation) => `${trace.role}: ${violation}`));
    for (const process of trace.processes) process.assertNoErrors(options.allowedErrors ?? []);
  }
  assert.deepEqual(violations, [], violations.slice(0, 20).join("\n"));
}

/** What requests offer on their source chains, where a relayer asked for profit. */
async function readFees(devnet: Devnet, trace: RelayerTrace): Promise<MoneyFacts["fees"]> {
  if (minimumProfit({ trace }) === 0n) return new Map();
  const requests = new Map(
    trace.ledger.messages.map(({ requestCommitment, requestSource }) => [requestCommitment, requestSource]),
  );
  const reads = [...requests].flatMap(([text, source]) => {
    const commitment = toHash256(text);
    const chain = devnet.chains.find(({ stateMachine }) => stateMachine === source);
    if (chain !== undefined) return [readFee(chain.host, commitment)];
    const substrate = devnet.substrateChains.find(({ stateMachine }) => stateMachine === source);
    const fee = substrate?.node.governance.feeOf(commitment);
    if (substrate === undefined || fee === undefined) return [];
    return [Promise.resolve([text, toFee18(fee, substrate.feeTokenDecimals)] as const)];
  });
  return new Map(await Promise.all(reads));
}

async function readFee(host: IsmpHost, commitment: Hash256): Promise<readonly [string, bigint]> {
  const { fee } = await host.reader.readContract({
    address: host.addresses.host,
    abi: HOST_ABI,
    functionName: "requestCommitments",
    args: [commitment],
  });
  return [commitment, fee];
}

/** Every violation by one relayer, each a sentence that begins with the invariant's number. */
export function violationsOf(facts: Facts): readonly string[] {
  return [
    ...rowsMissing(facts),
    ...cursorsAhead(facts),
    ...journalGaps(facts),
    ...deliveriesWrong(facts),
    ...attemptsDouble(facts),
    ...endsUnreasoned(facts),
    ...endsUntrue(facts),
    ...noncesDouble(facts),
    ...secretsTold(facts),
    ...claimsUntrue(facts),
    ...creditGone(facts),
    ...deliveredAtLoss(facts),
    ...waitsSilent(facts),
    ...failuresSpread(facts),
    ...decisionsUnfounded(facts),
  ];
}

async function readHistoriesSince(
  devnet: Devnet,
  since: (chain: string) => bigint,
): Promise<ReadonlyMap<string, ChainHistory>> {
  const histories = await readHistory(devnet);
  return new Map(histories.map((history) => {
    const isRecent = ({ height }: { readonly height: bigint }): boolean => height > since(history.chain);
    const { sent, handled } = history;
    return [history.chain, { ...history, sent: sent.filter(isRecent), handled: handled.filter(isRecent) }];
  }));
}

function historyOf({ histories }: Pick<Facts, "histories">, chain: string): ChainHistory {
  const found = histories.get(chain);
  if (found === undefined) throw new Error(`No history of ${chain}`);
  return found;
}

function addressOf({ trace, accounts }: Facts, chain: string): string {
  return accounts?.get(chain) ?? DEVNET_ACCOUNTS[trace.role].address.toLowerCase();
}

/** Deliveries and callbacks that happened twice. */
export function* handledTwice(histories: ReadonlyMap<string, ChainHistory>): Iterable<string> {
  for (const { chain, handled, pongs } of histories.values()) {
    const commitments = handled.map(({ commitment }) => commitment);
    for (const twice of repeated(commitments)) yield `no double delivery: ${twice} on ${chain}`;
    const callbacks = pongs.map(({ source, nonce }) => `${source} ${nonce}`);
    for (const twice of repeated(callbacks)) yield `no double callback: ${twice} on ${chain}`;
  }
}

function repeated(values: readonly string[]): readonly string[] {
  return values.filter((value, at) => values.indexOf(value) !== at);
}

interface LegStart {
  readonly leg: string;
  readonly afterBlock: bigint;
  readonly because: string;
}

/** Where the legs began to read, as the log tells, in order. */
function legStarts({ trace }: Facts): readonly LegStart[] {
  return trace.processes.flatMap(({ lines }) => lines).flatMap(({ record }) => {
    if (record?.message !== "Leg starts") return [];
    return [{
      leg: String(record.leg),
      afterBlock: BigInt(String(record.after_block)),
      because: String(record.because),
    }];
  });
}

/** I1. */
function* rowsMissing(facts: Facts): Iterable<string> {
  const { hub, trace } = facts;
  const rows = new Set(trace.ledger.messages.map(({ commitment, sink }) => `${commitment} ${sink}`));
  const starts = legStarts(facts);
  for (const { source, sink, scanned } of trace.ledger.cursors) {
    const first = starts.filter(({ leg }) => leg === `${source} -> ${sink}`).map(({ afterBlock }) =>
      afterBlock
    );
    if (first.length === 0) {
      // A process that died between the cursor's first commit and its log line; its successor tells a later start.
      continue;
    }
    const after = first.reduce((a, b) => a < b ? a : b);
    for (const { commitment, dest, height } of historyOf(facts, source).sent) {
      if (height <= after || height > scanned) continue;
      const isOfLeg = sink === hub || dest === sink;
      if (isOfLeg && !rows.has(`${commitment} ${sink}`)) {
        yield `I1: no row for ${commitment} of block ${height} on ${source} -> ${sink} (read to ${scanned})`;
      }
    }
  }
}

/** I2. */
function* cursorsAhead(facts: Facts): Iterable<string> {
  for (const { source, sink, scanned } of facts.trace.ledger.cursors) {
    const known = facts.told(source, sink);
    if (scanned > known) yield `I2: ${source} -> ${sink} is read to ${scanned}, the sink knows ${known}`;
  }
  const last = new Map<string, bigint>();
  for (const { leg, afterBlock, because } of legStarts(facts)) {
    if (because === "cursor" && afterBlock < (last.get(leg) ?? 0n)) {
      yield `I2: the cursor of ${leg} went back`;
    }
    last.set(leg, afterBlock);
  }
}

/** Deliveries of this relayer that its chain has recorded. */
function ownHandled(facts: Facts): readonly (HandledEvent & { readonly chain: string })[] {
  return [...facts.histories.values()].flatMap(({ chain, handled }) =>
    handled.filter(({ relayer }) => relayer === addressOf(facts, chain)).map((event) => ({ ...event, chain }))
  );
}

/** I3: on EVM chains every transaction of the account, on the hub every extrinsic that named us. */
function* journalGaps(facts: Facts): Iterable<string> {
  const { trace, mined } = facts;
  const journal = new Set(trace.ledger.submissions.map(({ chain, hash }) => `${chain} ${hash}`));
  for (const [chain, transactions] of mined) {
    for (const { hash } of transactions) {
      if (!journal.has(`${chain} ${hash}`)) yield `I3: ${hash} on ${chain} is not in the journal`;
    }
  }
  for (const { chain, transaction } of ownHandled(facts)) {
    if (!journal.has(`${chain} ${transaction}`)) yield `I3: ${transaction} on ${chain} is not in the journal`;
  }
}

/** I4, and that nothing else is recorded as a delivery. */
function* deliveriesWrong(facts: Facts): Iterable<string> {
  const recorded = new Map(
    facts.trace.ledger.deliveries.map((delivery) => [`${delivery.commitment} ${delivery.dest}`, delivery]),
  );
  for (const { chain, commitment, transaction, height } of ownHandled(facts)) {
    const key = `${commitment} ${chain}`;
    const found = recorded.get(key);
    recorded.delete(key);
    if (found === undefined) yield `I4: our delivery of ${commitment} on ${chain} is not recorded`;
    else if (found.txHash !== transaction) {
      yield `I4: ${key} is recorded with ${found.txHash}, not ${transaction}`;
    } else if (found.blockHeight !== height) {
      yield `I4: ${key} is recorded at ${found.blockHeight}, not ${height}`;
    } else if (found.relayer !== addressOf(facts, chain)) yield `I4: ${key} is recorded for ${found.relayer}`;
  }
  for (const key of recorded.keys()) yield `I4: ${key} is recorded, but the chain does not know it as ours`;
}

/** I5. */
function* attemptsDouble({ trace }: Facts): Iterable<string> {
  const open = trace.ledger.submissions.filter(({ state }) => state === "signed" || state === "broadcast")
    .flatMap(({ items }) => items.map(({ commitment, sink }) => `${commitment} ${sink}`));
  for (const twice of repeated(open)) yield `I5: ${twice} is in two open transactions`;
}

/** I6, and that what waits says why. */
function* endsUnreasoned({ trace }: Facts): Iterable<string> {
  const silent = new Set(["held", "delivered", "delivered_by_other", "timed_out", "rejected", "gone"]);
  for (const { commitment, sink, state, reason } of trace.ledger.messages) {
    if (silent.has(state) && reason === undefined) {
      yield `I6: ${commitment} to ${sink} is ${state} without a reason`;
    }
  }
}

/** The ends that rows tell are those that the chains tell. */
function* endsUntrue(facts: Facts): Iterable<string> {
  const relayers = new Map<string, string>(
    [...facts.histories.values()].flatMap(({ chain, handled }) =>
      handled.map(({ commitment, relayer }) => [`${commitment} ${chain}`, relayer] as const)
    ),
  );
  const isTrue = ({ state, sink }: LedgerMessage, relayer: string | undefined): boolean => {
    const ourself = addressOf(facts, sink);
    if (state === "delivered") return relayer === ourself;
    if (state === "delivered_by_other") return relayer !== undefined && relayer !== ourself;
    return state === "submitted" || relayer === undefined || relayer !== ourself;
  };
  for (const row of facts.trace.ledger.messages) {
    const relayer = relayers.get(`${row.requestCommitment} ${row.sink}`);
    if (!isTrue(row, relayer)) {
      yield `Row of ${row.commitment} to ${row.sink} is ${row.state}, the chain names ${relayer ?? "nobody"}`;
    }
  }
}

/** I10. */
function* noncesDouble({ trace }: Facts): Iterable<string> {
  const firsts = trace.ledger.submissions.filter(({ nonce, replaces, state }) =>
    nonce !== undefined && replaces === undefined && state !== "dropped" && state !== "replaced"
  );
  for (const twice of repeated(firsts.map(({ chain, account, nonce }) => `${chain} ${account} ${nonce}`))) {
    yield `I10: nonce used twice: ${twice}`;
  }
}

/** I13. */
function* secretsTold({ trace }: Facts): Iterable<string> {
  const digits = DEVNET_KEYS[trace.role].slice(2);
  for (const { text } of trace.processes) {
    if (text.toLowerCase().includes(digits)) yield "I13: the key is in the log";
  }
  const file = trace.ledger.bytes.toHex();
  const asText = new TextEncoder().encode(digits).toHex();
  if (file.includes(digits) || file.includes(asText)) yield "I13: the key is in the database";
}

/** Reverted transactions, when there are more than `most`. */
export function* tooManyReverts({ mined }: Facts, most: number): Iterable<string> {
  const reverted = [...mined].flatMap(([chain, transactions]) =>
    transactions.filter(({ isReverted }) => isReverted).map(({ hash }) => `${hash} on ${chain}`)
  );
  if (reverted.length > most) yield `${reverted.length} reverted transactions: ${reverted.join(", ")}`;
}
