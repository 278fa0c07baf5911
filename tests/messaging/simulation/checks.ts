/** What every seed is held against: while it runs, when it may end, and at its end. */
import { unresolvedSubmissionStates } from "../../../src/messaging/ledger/ledger.ts";
import { equalBytes, type Hash256, toHex } from "../../../src/core/encoding/bytes.ts";
import { type StateMachine, stateMachineIdKey } from "../../../src/core/ismp/state_machine.ts";
import { findDestination, toReceiptKey, toRequest } from "../../../src/messaging/relay/decisions/route.ts";
import type { Message } from "../../../src/core/ismp/message.ts";
import { parsePayment } from "../../../src/messaging/fees/withdrawals/payment_scan.ts";
import { type LedgerSnapshot, readLedger } from "../../scenario/support/ledger_reader.ts";
import type { MemoryBlock } from "../../support/memory_block.ts";
import type { MemoryNode } from "../../support/memory_node.ts";
import {
  attemptsDouble,
  cursorsAhead,
  deliveriesWrong,
  endsUnreasoned,
  endsUntrue,
  type HandledFacts,
  lossBeyondLimit,
  noncesDouble,
  type OutdatedFacts,
  type PaidFacts,
  repeated,
  rowsMissing,
  type SentFacts,
  signedForOldHandler,
  spendingWrong,
} from "../../support/relayer_invariants.ts";
import { chainNames, type Course, PRICE_27, type Sent } from "./course.ts";
import type { MessagePlan } from "./plan.ts";

/** Why a message waits whose receiving module fails; its fee may not be worth it besides. */
const FAILED: ReadonlySet<string> = new Set([
  "simulation_failed",
  "not_executed",
  "unprofitable",
  "reverted",
  "untraceable",
  "suspended",
]);

/** Time within which a loss counts, on a bad day, ms. */
const LOSS_NOTICED_MS = 60_000;

/** Time within which a replaced handler is known: an endpoint four slow blocks behind, and a bad day's delays, ms. */
const HANDLER_NOTICED_MS = 90_000;

/** True when the row of the ledger says that spending on a chain has been stopped. */
function isStopped(text: string | undefined): boolean {
  return text !== undefined && text !== "";
}

/** True for messages that cannot arrive, or not for sure. */
function isBad({ isDeceived, isFailing, isSpoiling, isUntraceable }: MessagePlan): boolean {
  return isFailing || isDeceived === true || isSpoiling === true || isUntraceable === true;
}

/** Watches one course. */
export class Checks {
  readonly #course: Course;
  readonly #path: string;
  readonly #cursors = new Map<string, bigint>();
  /** {@link Course.freshStarts} at the last look: some processes come and go between two polls. */
  #freshStarts = 0;
  /** Highest height of a source that a target ever knew. */
  readonly #knownHeights = new Map<string, bigint>();
  readonly #violations: string[] = [];
  /** Chains to which nothing is sent any more, since too much was lost there. */
  readonly #stopped = new Set<StateMachine>();

  constructor(course: Course, path: string) {
    this.#course = course;
    this.#path = path;
  }

  /** Looks at the database of the running process: what holds at every moment. */
  watch(): void {
    this.#noteHeights();
    const ledger = this.#course.program?.ledger;
    if (ledger === undefined) return;
    for (const { id: { stateMachine: chain } } of this.#course.nodes) {
      const open = ledger.submissions.listUnresolved(chain)
        .filter(({ kind, state }) => kind === "delivery" && state !== "included")
        .map((row) => ({ ...row.submission, ...row, items: ledger.submissions.itemsOf(row.id) }));
      const undecided = open.map((row) => ({
        ...row,
        items: row.items.filter(({ outcome }) => outcome === undefined),
      }));
      this.#violations.push(...attemptsDouble(undecided));
    }
    if (this.#course.hasInitialHeight || this.#course.freshStarts !== this.#freshStarts) {
      this.#cursors.clear();
    }
    this.#freshStarts = this.#course.freshStarts;
    for (const { source, target } of this.#legs()) {
      const scanned = ledger.cursors.find(source, target);
      if (scanned === undefined) continue;
      const leg = `${source} -> ${target}`;
      const before = this.#cursors.get(leg) ?? 0n;
      if (scanned < before) {
        this.#violations.push(`I2: ${leg} went back from ${before} to ${scanned}`);
      }
      if (!this.#course.hasInitialHeight) this.#cursors.set(leg, scanned);
    }
    const { accounts } = this.#hub().head.state;
    for (const { commitment } of ledger.deliveries.listByClaimState("claimed", { limit: 1_000 })) {
      // A reorganisation may have taken the claim away for a moment, never for good: see the end.
      if (!accounts.claimed.has(commitment) && !this.#isInReorg()) {
        this.#violations.push(`I7: ${commitment} counts as claimed, the hub does not know`);
      }
    }
  }

  /** Why the seed has not ended yet; `undefined`: it has. */
  whatIsOpen(): string | undefined {
    const ledger = this.#course.program?.ledger;
    if (ledger === undefined) return "no process";
    for (const { id: { stateMachine: chain } } of this.#course.nodes) {
      if (isStopped(ledger.meta.find(`losses on ${chain}`))) this.#stopped.add(chain);
      else this.#stopped.delete(chain);
    }
    for (const sent of this.#course.sent) {
      // Its answers and payments may wait for a chain that gets nothing any more.
      if (this.#stopped.has(sent.dest.id.stateMachine) && !this.#hasArrived(sent)) continue;
      const isOver = this.#hasArrived(sent) ? this.#isNoted(sent) : this.#hasEndedOtherwise(sent);
      if (!isOver) return this.#describe(sent);
    }
    for (const { id: { stateMachine: chain } } of this.#course.nodes) {
      // What is mined is settled in the end, whatever else may wait forever.
      const open = ledger.submissions.listUnresolved(chain).filter(({ id, state }) =>
        state === "included" ||
        (!this.#stopped.has(chain) && !this.#carriesOnlyBad(ledger.submissions.itemsOf(id)))
      );
      if (open.length > 0) {
        return `${open.length} open submissions to ${chain}: ${open[0]?.kind} ${open[0]?.state}`;
      }
    }
    const withdrawal = ledger.withdrawals.listOpen().find(({ amount, chain, state }) =>
      !this.#stopped.has(chain) && (state !== "dispatched" || !this.#isTooDear(chain, amount))
    );
    if (withdrawal !== undefined) return `withdrawal ${withdrawal.id} is ${withdrawal.state}`;
    for (const node of this.#course.nodes.slice(0, 2)) {
      // A database that was lost knows nothing of an order that was under way; the hub pays anyway.
      const [payment] = this.#missingPayments(node);
      if (payment !== undefined) return `payment ${payment} is on its way to ${node.id.stateMachine}`;
    }
    for (const claimState of ["unclaimed", "claiming", "lost", "unclaimable"] as const) {
      const [row] = ledger.deliveries.listByClaimState(claimState, { limit: 1 });
      if (row !== undefined) return `delivery ${row.commitment} to ${row.dest} is ${claimState}`;
    }
    return undefined;
  }

  /** Everything that is wrong at the end, when the process is gone. */
  async atEnd(): Promise<readonly string[]> {
    this.#noteHeights();
    const ledger = await readLedger(this.#path);
    const histories = new Map<string, readonly MemoryBlock[]>(
      this.#course.nodes.map((node) => [node.id.stateMachine, canonical(node)]),
    );
    return [
      ...this.#violations,
      ...this.#course.programs.flatMap(({ violations }) => violations),
      ...this.#ledgerWrong(ledger, histories),
      ...this.#deliveredTwice(),
      ...this.#soldTooCheap(),
      ...this.#unpaid(),
      ...this.#moneyLost(histories),
      ...this.#complaints(),
    ];
  }

  #ledgerWrong(
    ledger: LedgerSnapshot,
    histories: ReadonlyMap<string, readonly MemoryBlock[]>,
  ): readonly string[] {
    const blocksOf = (chain: string): readonly MemoryBlock[] => histories.get(chain) ?? [];
    const handled = [...histories].flatMap(([chain, blocks]) => handledIn(chain, blocks));
    const ourself = new Map<string, string>(
      chainNames.map((chain) => [chain, toHex(this.#course.relayerOn(chain))]),
    );
    const relayers = new Map(
      handled.map(({ chain, commitment, relayer }) => [`${commitment} ${chain}`, relayer]),
    );
    const waiting = new Set(
      ledger.submissions.filter(({ state }) => state === "signed" || state === "broadcast").map(({ hash }) =>
        hash
      ),
    );
    return [
      ...rowsMissing({
        ...ledger,
        hub: chainNames[2],
        sentFrom: (source) => sentIn(blocksOf(source)),
        startOf: () => 0n,
      }),
      ...cursorsAhead(
        ledger.cursors,
        (source, target) => this.#knownHeights.get(`${source} ${target}`) ?? 0n,
      ),
      ...deliveriesWrong(
        ledger.deliveries,
        // A seed may end while one of bad messages waits: mined as the process ends, it is recorded by the next one.
        handled.filter(({ chain, relayer, transaction }) =>
          relayer === ourself.get(chain) && !waiting.has(transaction)
        ),
        { wasLost: this.#course.losses > 0 },
      ),
      ...attemptsDouble(ledger.submissions),
      ...endsUnreasoned(ledger.messages),
      ...endsUntrue(ledger.messages, {
        relayerOf: (commitment, chain) => relayers.get(`${commitment} ${chain}`),
        ourselfOn: (chain) => ourself.get(chain) ?? "nobody",
      }),
      ...noncesDouble(ledger.submissions),
      ...spendingWrong({ ...ledger, paid: this.#paid() }),
      ...this.#lostTooMuch(ledger),
      ...signedForOldHandler(ledger.spending, this.#outdated(histories), HANDLER_NOTICED_MS),
      ...ledger.submissions.filter(({ chain, items, state }) =>
        unresolvedSubmissionStates.some((open) => open === state) && !this.#isStopped(chain) &&
        !this.#carriesOnlyBad(items)
      )
        .map(({ id, state }) => `Submission ${id} is ${state} at the end`),
    ];
  }

  #carriesOnlyBad(items: readonly { readonly commitment: string }[]): boolean {
    const bad = new Set<string>(
      this.#course.sent.filter(({ plan }) => isBad(plan)).map(({ message }) => message.commitment),
    );
    return items.length > 0 && items.every(({ commitment }) => bad.has(commitment));
  }

  #isStopped(chain: string): boolean {
    return [...this.#stopped].some((name) => name === chain);
  }

  #lostTooMuch(ledger: LedgerSnapshot): Iterable<string> {
    const { maximumDailyLoss } = this.#course.plan;
    if (maximumDailyLoss === undefined) return [];
    const microUsd = BigInt(Math.round(maximumDailyLoss * 1e6));
    return lossBeyondLimit(ledger.spending, { microUsd, withinMs: LOSS_NOTICED_MS });
  }

  /** What our accounts paid for on the EVM chains. */
  #paid(): readonly PaidFacts[] {
    return this.#course.nodes.slice(0, 2).flatMap((node) => {
      const chain = node.id.stateMachine;
      return node.paidBy(toHex(this.#course.relayerOn(chain))).map(({ hash, isReverted, ...spent }) => ({
        chain,
        hash,
        isReverted,
        costWei: spent.gasUsed * spent.gasPriceWei + spent.dataCostWei,
      }));
    });
  }

  /** What our accounts paid for at handlers that the host had no more. */
  #outdated(histories: ReadonlyMap<string, readonly MemoryBlock[]>): readonly OutdatedFacts[] {
    return this.#course.nodes.slice(0, 2).flatMap((node) => {
      const chain = node.id.stateMachine;
      const blocks = histories.get(chain) ?? [];
      const replacedAtMs = new Map(blocks.flatMap(({ state: { handler }, timeSec }, index) => {
        const before = blocks[index - 1]?.state.handler ?? handler;
        return before === handler ? [] : [[before, Number(timeSec) * 1_000] as const];
      }));
      return node.paidBy(toHex(this.#course.relayerOn(chain))).flatMap(
        ({ blockTimeSec, handler, hash, isReverted }): OutdatedFacts[] => {
          const atMs = handler === undefined ? undefined : replacedAtMs.get(handler);
          const isOutdated = isReverted && atMs !== undefined && atMs <= Number(blockTimeSec) * 1_000;
          return isOutdated ? [{ chain, hash, replacedAtMs: atMs }] : [];
        },
      );
    });
  }

  #deliveredTwice(): readonly string[] {
    return this.#course.nodes.flatMap((node) =>
      repeated(node.deliveries().map(({ commitment }) => commitment)).map((twice) =>
        `Delivered twice: ${twice} on ${node.id.stateMachine}`
      )
    );
  }

  /** I9; where proofs travel along, rich messages of a batch may carry poor ones. */
  #soldTooCheap(): readonly string[] {
    const { chains, minimumProfitPercent } = this.#course.plan;
    if (minimumProfitPercent === 0) return [];
    return this.#course.sent.filter(({ plan, message, dest, source }) => {
      const receipt = dest.head.state.receipts.get(message.commitment);
      const isPoor = plan.fee === 1n && source.head.state.fees.get(message.commitment) === 1n;
      const isOurs = receipt !== undefined &&
        equalBytes(receipt, this.#course.relayerOn(dest.id.stateMachine));
      return isPoor && isOurs && chains[1 - plan.from]?.driver === "updates";
    }).map(({ message }) => `I9: ${message.commitment} was delivered for less than it costs`);
  }

  /** Every own delivery that earned something is claimed on the hub. */
  #unpaid(): readonly string[] {
    const { claimed } = finalState(this.#hub()).accounts;
    return this.#earned().filter(({ message }) => !claimed.has(message.commitment)).map(({ message }) =>
      `Our delivery of ${message.commitment} was never claimed`
    );
  }

  /** What was earned is on our accounts or paid out, to the last unit: nothing was credited twice (I8). */
  #moneyLost(histories: ReadonlyMap<string, readonly MemoryBlock[]>): readonly string[] {
    const { balances } = finalState(this.#hub()).accounts;
    const ours = [...new Set(chainNames.map((chain) => toHex(this.#course.relayerOn(chain))))];
    const hub = chainNames[2];
    return this.#course.nodes.slice(0, 2).flatMap((node) => {
      const chain = node.id.stateMachine;
      const earned = this.#earned().filter(({ source }) => source === node);
      // What is added after the delivery may be too late for the claim; what was there before is not.
      const least = earned.reduce((sum, sent) => sum + feeWhenDelivered(sent), 0n);
      const most = earned.reduce(
        (sum, { message }) => sum + (node.head.state.fees.get(message.commitment) ?? 0n),
        0n,
      );
      const held = ours.reduce((sum, each) => sum + (balances.get(`${chain} ${each}`) ?? 0n), 0n);
      const payments = paymentsIn(histories.get(hub) ?? [], chain);
      const paid = payments.reduce((sum, { amount }) => sum + amount, 0n);
      const own = this.#course.relayerOn(chain);
      return [
        ...held + paid >= least && held + paid <= most
          ? []
          : [`${chain}: earned ${least} to ${most}, but ${held} held and ${paid} paid out`],
        ...payments.filter(({ beneficiary }) => !equalBytes(beneficiary, own))
          .map(({ commitment }) => `${chain}: payment ${commitment} goes to another account`),
        ...this.#missingPayments(node).map((commitment) => `${chain}: payment ${commitment} did not arrive`),
      ];
    });
  }

  /** Payments of the hub that a chain could have by now. */
  #missingPayments(node: MemoryNode): readonly string[] {
    const chain = node.id.stateMachine;
    if (this.#stopped.has(chain)) return [];
    return paymentsIn(canonical(this.#hub()), chain).filter(({ amount, commitment }) =>
      !finalState(node).receipts.has(commitment) && !this.#isTooDear(chain, amount)
    ).map(({ commitment }) => commitment);
  }

  /** A payment waits while bringing it costs more than a tenth of it, with proofs of the hub where they are needed. */
  #isTooDear(chain: string, amount: bigint): boolean {
    const index = chainNames.findIndex((name) => name === chain);
    const node = this.#course.nodes[index];
    if (node === undefined) throw new Error(`No chain ${chain}`);
    const gas = node.messageGas + this.#proofsFor(node) * node.proofGas;
    const costUsd18 = gas * node.priceWei * PRICE_27 / 10n ** 27n;
    return costUsd18 * 10n >= amount;
  }

  /** Lines that tell of a defect: no trouble of the outside world is an error. */
  #complaints(): readonly string[] {
    return this.#course.programs.flatMap(({ log }) =>
      log.lines.filter(({ level }) => level === "error").filter(({ event }) =>
        event !== "hub_unavailable" && event !== "start_refused"
      ).map(({ event, fields }) => `Error line: ${event} ${Deno.inspect(fields)}`)
    );
  }

  /** Posts with a fee that carry our receipt on their destination. */
  #earned(): readonly Sent[] {
    return this.#course.sent.filter(({ message, dest, source }) => {
      const receipt = finalState(dest).receipts.get(message.commitment);
      const fee = source.head.state.fees.get(message.commitment) ?? 0n;
      const isPaid = message.kind === "post" && fee > 0n && receipt !== undefined;
      return isPaid && equalBytes(receipt, this.#course.relayerOn(dest.id.stateMachine));
    });
  }

  #hasArrived({ message, dest }: Sent): boolean {
    return finalState(dest).receipts.has(toReceiptKey(message));
  }

  /** The relayer knows what it delivered itself, also with a new database: it has looked for the receipts. */
  #isNoted({ message, dest }: Sent): boolean {
    const ledger = this.#course.program?.ledger;
    if (ledger === undefined) return false;
    return [dest, this.#hub()].every((node) => {
      const target = node.id.stateMachine;
      const receipt = finalState(node).receipts.get(toReceiptKey(message));
      if (receipt === undefined || !equalBytes(receipt, this.#course.relayerOn(target))) return true;
      return ledger.deliveries.find(toReceiptKey(message), target) !== undefined;
    });
  }

  /** Ended without a delivery, for the reason that the seed gave it. */
  #hasEndedOtherwise({ plan, message, dest, source }: Sent): boolean {
    const ledger = this.#course.program?.ledger;
    if (ledger === undefined) return false;
    const rows = [dest.id.stateMachine, chainNames[2]].flatMap((target) => {
      const row = ledger.messages.find(message.commitment, target);
      return row === undefined ? [] : [row];
    });
    const isPoor = plan.fee === 1n && (source.head.state.fees.get(message.commitment) ?? 0n) === 1n;
    const answer = message.kind === "get"
      ? ledger.messages.findResponse(message.commitment, chainNames[2], dest.id.stateMachine)
      : undefined;
    if (answer !== undefined) rows.push(answer);
    return rows.some(({ attempts, state, reason }) =>
      (plan.timeoutSec !== undefined && state === "timed_out" && reason === "expired") ||
      // Tried again and again, as the operator wants it.
      (isBad(plan) && state === "submitted" && attempts > 0) ||
      (isBad(plan) && state === "held" && reason !== undefined && FAILED.has(reason)) ||
      (isPoor && state === "held" && reason === "unprofitable") ||
      (state === "held" && reason === "consensus_proofs_unprofitable" && !this.#paysForProofs(dest)) ||
      (state === "held" && reason === "height_unknown" && this.#mayLoseHeights())
    );
  }

  /** Answers that the hub refuses for long are made too late: it keeps a height for some minutes only. */
  #mayLoseHeights(): boolean {
    return this.#course.plan.troubles.some(({ kind }) => kind === "badProofs" || kind === "bandwidth");
  }

  /** Maximum of proofs of the hub that must go ahead of messages: the rotations that the chain lacks, and one more. */
  #proofsFor(chain: MemoryNode): bigint {
    const { setId } = chain.head.state;
    return setId === undefined ? 0n : this.#hub().head.state.proofs.setId - setId + 1n;
  }

  /** True when what waits for a chain pays for the proofs of the hub that must go ahead of it. */
  #paysForProofs(dest: MemoryNode): boolean {
    const { minimumProfitPercent } = this.#course.plan;
    const nowSec = BigInt(Math.floor(this.#course.clock.now() / 1_000));
    const waiting = this.#course.sent.filter((sent) =>
      sent.dest === dest && !this.#hasArrived(sent) && !isBad(sent.plan) && !hasTimedOut(sent.message, nowSec)
    );
    const offered = waiting.reduce(
      (sum, { message, source }) => sum + (source.head.state.fees.get(message.commitment) ?? 0n),
      0n,
    );
    // What cannot be simulated before the chain knows the proof is estimated, at twice of what it is here.
    const gas = this.#proofsFor(dest) * dest.proofGas + BigInt(waiting.length) * 2n * dest.messageGas;
    const costUsd18 = gas * dest.priceWei * PRICE_27 / 10n ** 27n;
    return offered * 100n >= costUsd18 * BigInt(100 + minimumProfitPercent);
  }

  #describe({ plan, message, dest }: Sent): string {
    const ledger = this.#course.program?.ledger;
    const rows = [chainNames[2], dest.id.stateMachine].map((target: StateMachine) => {
      const row = ledger?.messages.find(message.commitment, target);
      return `${target}: ${row?.state} ${row?.reason ?? ""} ${row?.detail ?? ""} ${row?.attempts}`;
    });
    const what = `${message.kind} ${message.commitment} to ${findDestination(message)}`;
    return `${what} is not over (${rows.join("; ")}; ${Deno.inspect(plan, { breakLength: 200 })})`;
  }

  #noteHeights(): void {
    for (const target of this.#course.nodes) {
      for (const source of this.#course.nodes) {
        const known = target.head.state.counterparties.get(stateMachineIdKey(source.id))?.latest ?? 0n;
        // Proofs that the hub accepted make a chain accept their height.
        const proven = source === this.#hub() && target.head.state.setId !== undefined
          ? this.#hub().head.state.proofs.list.at(-1)?.height ?? 0n
          : 0n;
        const key = `${source.id.stateMachine} ${target.id.stateMachine}`;
        const most = [known, proven, this.#knownHeights.get(key) ?? 0n].reduce((a, b) => a > b ? a : b);
        this.#knownHeights.set(key, most);
      }
    }
  }

  #isInReorg(): boolean {
    return this.#course.isTroubled;
  }

  #hub(): MemoryNode {
    return this.#course.nodes[2];
  }

  #legs(): readonly { readonly source: StateMachine; readonly target: StateMachine }[] {
    const [one, two, hub] = chainNames;
    return [[one, hub], [two, hub], [hub, one], [hub, two]].flatMap(([source, target]) =>
      source === undefined || target === undefined ? [] : [{ source, target }]
    );
  }
}

/** Fee on the source when the destination took the message. */
function feeWhenDelivered({ message: { commitment }, source, dest }: Sent): bigint {
  const taken = canonical(dest).find(({ events }) =>
    events.some((event) => event.kind === "handled" && event.commitment === commitment)
  );
  if (taken === undefined) throw new Error(`${commitment} was not delivered`);
  const before = canonical(source).findLast(({ timeSec }) => timeSec <= taken.timeSec);
  return before?.state.fees.get(commitment) ?? 0n;
}

/** Blocks of a chain as it is now. */
function canonical(node: MemoryNode): readonly MemoryBlock[] {
  const blocks: MemoryBlock[] = [];
  for (let height = 1n; height <= node.head.height; height++) {
    const block = node.block(height);
    if (block !== undefined) blocks.push(block);
  }
  return blocks;
}

function finalState(node: MemoryNode): MemoryBlock["state"] {
  const block = node.block(node.finalHeight);
  if (block === undefined) throw new Error("A chain has a final block");
  return block.state;
}

/** What the hub has ordered a chain to pay. */
function paymentsIn(
  blocks: readonly MemoryBlock[],
  chain: StateMachine,
): readonly { readonly commitment: Hash256; readonly beneficiary: Uint8Array; readonly amount: bigint }[] {
  return blocks.flatMap(({ events }) => events).flatMap((event) => {
    if (event.kind !== "message" || event.message.kind !== "post") return [];
    const payment = parsePayment(event.message.request, { hub: chainNames[2], chain });
    return payment === undefined ? [] : [{ ...payment, commitment: event.message.commitment }];
  });
}

function handledIn(chain: string, blocks: readonly MemoryBlock[]): readonly HandledFacts[] {
  return blocks.flatMap(({ height, events }) =>
    events.flatMap((event) =>
      event.kind !== "handled" ? [] : [{
        chain,
        commitment: event.commitment,
        relayer: toHex(event.relayer),
        transaction: String(event.at.transaction),
        height,
      }]
    )
  );
}

function sentIn(blocks: readonly MemoryBlock[]): readonly SentFacts[] {
  return blocks.flatMap(({ height, events }) =>
    events.flatMap((event) =>
      event.kind !== "message"
        ? []
        : [{ commitment: event.message.commitment, dest: findDestination(event.message), height }]
    )
  );
}

/** What has timed out pays for nothing any more. */
function hasTimedOut(message: Message, nowSec: bigint): boolean {
  const { timeoutTimestampSec } = toRequest(message);
  return timeoutTimestampSec > 0n && timeoutTimestampSec <= nowSec;
}
