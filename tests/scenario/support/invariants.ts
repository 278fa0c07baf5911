/**
 * What must hold after every run, whatever was done to the relayers: their databases and logs are held against what
 * the chains say. Source: docs/architecture/messaging.md, I1 to I15; those of a
 * database alone are in `tests/support/relayer_invariants.ts`, those of money in `money_invariants.ts`, those that logs
 * show in `run_invariants.ts`. Start reading at {@link assertInvariants}.
 */
import assert from "node:assert/strict";
import { toAddress } from "../../../src/core/evm/address.ts";
import { type ChainHistory, type HandledEvent, readHistory } from "../../../devnet/traffic/chain_history.ts";
import type { Devnet } from "../../../devnet/devnet.ts";
import { DEVNET_ACCOUNTS, DEVNET_KEYS, type DevnetRole } from "../../../devnet/evm/accounts.ts";
import {
  attemptsDouble,
  cursorsAhead,
  deliveriesWrong,
  endsUnreasoned,
  endsUntrue,
  noncesDouble,
  repeated,
  rowsMissing,
  spendingWrong,
} from "../../support/relayer_invariants.ts";
import { type MinedTransaction, readTransactionsOf } from "./consensus_hosts.ts";
import { type HubBooks, readBooks } from "./hub_books.ts";
import { readLedger } from "./ledger_reader.ts";
import type { Facts, RelayerTrace } from "./invariant_facts.ts";
import { claimsUntrue, creditGone } from "./money_invariants.ts";
import type { LineMatch, RelayerProcess } from "./relayer_process.ts";
import { failuresSpread, waitsSilent } from "./run_invariants.ts";

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
  const told = (source: string, target: string): bigint => {
    const from = historyOf({ histories }, source).chain;
    const to = historyOf({ histories }, target).chain;
    // What the hub has proven to itself travels to EVM hosts in front of the messages.
    return devnet.oracle.lastHeight(
      devnet.prover !== undefined && from === hub ? { from, to: hub } : { from, to },
    );
  };
  const violations = [...handledTwice(histories)];
  const { accounts = new Map<string, string>(), creditBefore: before = new Map() } = options;
  for (const trace of traces) {
    const mined = new Map<string, readonly MinedTransaction[]>();
    for (const { stateMachine, host } of devnet.chains) {
      const account = toAddress(accounts.get(stateMachine) ?? DEVNET_ACCOUNTS[trace.role].address);
      mined.set(stateMachine, await readTransactionsOf(host, account, since(stateMachine)));
    }
    const money = { ...books, before };
    const facts: Facts = { hub, histories, told, trace, mined, money, accounts };
    const found = [...violationsOf(facts), ...tooManyReverts(facts, options.mostReverts ?? 0)];
    violations.push(...found.map((violation) => `${trace.role}: ${violation}`));
    for (const process of trace.processes) process.assertNoErrors(options.allowedErrors ?? []);
  }
  assert.deepEqual(violations, [], violations.slice(0, 20).join("\n"));
}

/**
 * I15 alone, for a relayer that is no part of a scene; its process has ended.
 * @throws {assert.AssertionError} that lists every violation.
 */
export async function assertSpending(
  devnet: Pick<Devnet, "chains">,
  { dbPath }: Pick<RelayerProcess, "dbPath">,
  role: DevnetRole = "relayer",
): Promise<void> {
  const ledger = await readLedger(dbPath);
  const mined = new Map<string, readonly MinedTransaction[]>();
  for (const { stateMachine, host } of devnet.chains) {
    mined.set(stateMachine, await readTransactionsOf(host, toAddress(DEVNET_ACCOUNTS[role].address), 0n));
  }
  assert.deepEqual([...spendingWrongIn({ trace: { ledger }, mined })], []);
}

/** Every violation by one relayer, each a sentence that begins with the invariant's number. */
export function violationsOf(facts: Facts): readonly string[] {
  const { cursors, deliveries, messages, submissions } = facts.trace.ledger;
  return [
    ...rowsMissingIn(facts),
    ...cursorsAhead(cursors, facts.told),
    ...cursorsBack(facts),
    ...journalGaps(facts),
    ...deliveriesWrong(deliveries, ownHandled(facts), { wasLost: hasLost(facts) }),
    ...attemptsDouble(submissions),
    ...endsUnreasoned(messages),
    ...endsUntrueIn(facts),
    ...noncesDouble(submissions),
    ...loggedSecrets(facts),
    ...claimsUntrue(facts),
    ...creditGone(facts),
    ...spendingWrongIn(facts),
    ...waitsSilent(facts),
    ...failuresSpread(facts),
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

interface LegStart {
  readonly leg: string;
  readonly afterBlock: bigint;
  readonly because: string;
}

/** Where the legs began to read, as the log tells, in order. */
function legStarts({ trace }: Facts): readonly LegStart[] {
  return trace.processes.flatMap(({ lines }) => lines).flatMap(({ record }) => {
    if (record?.event !== "leg_started") return [];
    return [{
      leg: String(record.leg),
      afterBlock: BigInt(String(record.after_block)),
      because: String(record.because),
    }];
  });
}

/** I1. */
function rowsMissingIn(facts: Facts): Iterable<string> {
  const starts = legStarts(facts);
  return rowsMissing({
    ...facts.trace.ledger,
    hub: facts.hub,
    sentFrom: (source) => historyOf(facts, source).sent,
    // A process may die between the cursor's first commit and its log line; its successor tells a later start.
    startOf: ({ source, target }) =>
      starts.filter(({ leg }) => leg === `${source} -> ${target}`).map(({ afterBlock }) => afterBlock)
        .reduce<bigint | undefined>((a, b) => a === undefined || b < a ? b : a, undefined),
  });
}

/** True when a replica that was behind took the database's part. */
function hasLost({ trace: { lost = [] } }: Facts): boolean {
  return lost.length > 0;
}

/** I2. */
function* cursorsBack(facts: Facts): Iterable<string> {
  if (hasLost(facts)) return; // a replica has the cursors of its time
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
  const journals = [trace.ledger, ...trace.lost ?? []].flatMap(({ submissions }) => submissions);
  const journal = new Set(journals.map(({ chain, hash }) => `${chain} ${hash}`));
  for (const [chain, transactions] of mined) {
    for (const { hash } of transactions) {
      if (!journal.has(`${chain} ${hash}`)) yield `I3: ${hash} on ${chain} is not in the journal`;
    }
  }
  for (const { chain, transaction } of ownHandled(facts)) {
    if (!journal.has(`${chain} ${transaction}`)) yield `I3: ${transaction} on ${chain} is not in the journal`;
  }
}

/** The ends that rows tell are those that the chains tell. */
function endsUntrueIn(facts: Facts): Iterable<string> {
  const relayers = new Map<string, string>(
    [...facts.histories.values()].flatMap(({ chain, handled }) =>
      handled.map(({ commitment, relayer }) => [`${commitment} ${chain}`, relayer] as const)
    ),
  );
  return endsUntrue(facts.trace.ledger.messages, {
    relayerOf: (requestCommitment, chain) => relayers.get(`${requestCommitment} ${chain}`),
    ourselfOn: (chain) => addressOf(facts, chain),
  });
}

/** I15. */
function spendingWrongIn(
  { trace, mined }: Pick<Facts, "mined"> & { readonly trace: Pick<RelayerTrace, "ledger"> },
): Iterable<string> {
  const paid = [...mined].flatMap(([chain, transactions]) =>
    transactions.map((each) => ({ ...each, chain }))
  );
  return spendingWrong({ ...trace.ledger, paid });
}

/** I13. */
function* loggedSecrets({ trace }: Facts): Iterable<string> {
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
