/** What every seed is held against: while it runs, when it may end, and at its end. */
import { unresolvedSubmissionStates } from "../../../src/messaging/ledger/ledger.ts";
import { toHex } from "../../../src/core/encoding/bytes.ts";
import { type StateMachine, stateMachineIdKey } from "../../../src/core/ismp/state_machine.ts";
import { type LedgerSnapshot, readLedger } from "../../scenario/support/ledger_reader.ts";
import type { MemoryBlock } from "../../support/memory_block.ts";
import type { MemoryNode } from "../../support/memory_node.ts";
import {
  attemptsDouble,
  cursorsAhead,
  deliveriesWrong,
  endsUnreasoned,
  endsUntrue,
  lossBeyondLimit,
  noncesDouble,
  type OutdatedFacts,
  repeated,
  rowsMissing,
  signedForOldHandler,
  spendingWrong,
} from "../../support/relayer_invariants.ts";
import { canonical, handledIn, isBad, sentIn } from "./chain_facts.ts";
import { chainNames, type Course, PRICE_27 } from "./course.ts";
import { type AttackCost, MoneyChecks } from "./money_checks.ts";
import { OpenMessages } from "./open_messages.ts";
import { WorldChecks } from "./world_checks.ts";
import * as z from "zod";

/** Time within which a loss counts, on a bad day, ms. */
const LOSS_NOTICED_MS = 60_000;

/** Time within which a replaced handler is known: an endpoint four slow blocks behind, and a bad day's delays, ms. */
const HANDLER_NOTICED_MS = 90_000;

/** Watches one course. */
export class Checks {
  readonly #course: Course;
  readonly #path: string;
  readonly #cursors = new Map<string, bigint>();
  /** How often legs had begun again at the last look: some processes come and go between two polls. */
  #restarts = 0;
  /** Highest height of a source that a target ever knew. */
  readonly #knownHeights = new Map<string, bigint>();
  readonly #violations: string[] = [];
  /** Chains to which nothing is sent any more, since too much was lost there. */
  readonly #stopped = new Set<StateMachine>();

  readonly #messages: OpenMessages;
  readonly #money: MoneyChecks;
  readonly #world: WorldChecks;

  constructor(course: Course, path: string) {
    this.#course = course;
    this.#path = path;
    this.#messages = new OpenMessages(course);
    this.#money = new MoneyChecks(course, this.#stopped);
    this.#world = new WorldChecks(course);
    course.onSent = (chain, hash): void => {
      const why = this.#world.certainRevert(chain, hash);
      if (why !== undefined) this.#violations.push(`World (e): ${hash} to ${chain} left, although ${why}`);
    };
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
      this.#violations.push(...attemptsDouble(open));
    }
    const restarts = this.#course.lives.freshStarts + this.#course.lives.restores;
    if (this.#course.lives.initialHeight !== undefined || restarts !== this.#restarts) this.#cursors.clear();
    this.#restarts = restarts;
    for (const { source, target } of this.#legs()) {
      const scanned = ledger.cursors.find(source, target);
      if (scanned === undefined) continue;
      const leg = `${source} -> ${target}`;
      const before = this.#cursors.get(leg) ?? 0n;
      if (scanned < before) {
        this.#violations.push(`I2: ${leg} went back from ${before} to ${scanned}`);
      }
      if (this.#course.lives.initialHeight === undefined) this.#cursors.set(leg, scanned);
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
      // What does not fit into the limit waits, the chain as a whole or a single message.
      const isHeld = this.#course.nodes.some(({ id: { stateMachine: source } }) =>
        ledger.messages.listHeldSenders({ source, target: chain, reason: "loss_limit", nowMs: 0, limit: 1 })
          .length > 0
      );
      if (
        isHeld || this.#isLimitUsedUp(chain) ||
        ledger.notes.find("loss_stop", chain, z.unknown()) !== undefined
      ) {
        this.#stopped.add(chain);
      } else this.#stopped.delete(chain);
    }
    for (const sent of this.#course.sent) {
      // Its answers and payments may wait for a chain that gets nothing any more.
      const isStuck = this.#stopped.has(sent.dest.id.stateMachine) && !this.#messages.hasArrived(sent);
      if (isStuck && this.#messages.isNoted(sent)) continue;
      if (!this.#messages.isOver(sent)) return this.#messages.describe(sent);
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
      !this.#stopped.has(chain) && (state !== "dispatched" || !this.#money.isTooDear(chain, amount))
    );
    if (withdrawal !== undefined) return `withdrawal ${withdrawal.id} is ${withdrawal.state}`;
    for (const node of this.#course.nodes.slice(0, 2)) {
      // A database that was lost knows nothing of an order that was under way; the hub pays anyway.
      const [payment] = this.#money.missingPayments(node);
      if (payment !== undefined) return `payment ${payment} is on its way to ${node.id.stateMachine}`;
    }
    for (const claimState of ["unclaimed", "claiming", "lost", "unclaimable"] as const) {
      const [row] = ledger.deliveries.listByClaimState(claimState, { limit: 1 });
      if (row !== undefined) return `delivery ${row.commitment} to ${row.dest} is ${claimState}`;
    }
    return undefined;
  }

  /** A limit that is below what a transfer costs leaves no way to free a nonce. */
  #isLimitUsedUp(chain: StateMachine): boolean {
    const { maximumDailyLoss } = this.#course.plan;
    const node = this.#course.nodes.find(({ id }) => id.stateMachine === chain);
    if (maximumDailyLoss === undefined || node === undefined) return false;
    const transferUsd18 = 21_000n * node.priceWei * 2n * PRICE_27 / 10n ** 27n;
    return Number(transferUsd18) / 1e18 > maximumDailyLoss;
  }

  /** What the attack of the course cost both sides. */
  attacked(): AttackCost | undefined {
    return this.#money.attacked();
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
      ...this.#course.lives.programs.flatMap(({ violations }) => violations),
      ...this.#ledgerWrong(ledger, histories),
      ...this.#deliveredTwice(),
      ...this.#money.soldTooCheap(),
      ...this.#money.unpaid(),
      ...this.#money.lost(histories),
      ...this.#complaints(),
      ...this.#world.late(this.#stopped),
      ...this.#world.lost(this.#money),
      ...this.#world.greedy(),
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
        { wasLost: this.#course.lives.losses > 0 },
      ),
      ...attemptsDouble(ledger.submissions),
      ...endsUnreasoned(ledger.messages),
      ...endsUntrue(ledger.messages, {
        relayerOf: (commitment, chain) => relayers.get(`${commitment} ${chain}`),
        ourselfOn: (chain) => ourself.get(chain) ?? "nobody",
      }),
      ...noncesDouble(ledger.submissions),
      ...spendingWrong({ ...ledger, paid: this.#money.paid() }),
      ...this.#lostTooMuch(ledger),
      ...signedForOldHandler(
        ledger.spending,
        this.#outdated(histories),
        HANDLER_NOTICED_MS + this.#course.clockAheadMs,
      ),
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
        ({ handler, hash, refusal }): OutdatedFacts[] => {
          const atMs = handler === undefined ? undefined : replacedAtMs.get(handler);
          return refusal !== "handler_replaced" || atMs === undefined
            ? []
            : [{ chain, hash, replacedAtMs: atMs }];
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

  /** Lines that tell of a defect: no trouble of the outside world is an error. */
  #complaints(): readonly string[] {
    return this.#course.lives.programs.flatMap(({ log }) =>
      log.lines.filter(({ level }) => level === "error").filter(({ event }) =>
        event !== "hub_unavailable" &&
        !(this.#hasDiskTrouble && (event.startsWith("database") || event === "worker_restarting"))
      )
        .map(({ event, fields }) =>
          `Error line: ${event} ${Deno.inspect(fields, { breakLength: 1e6 }).slice(0, 400)}`
        )
    );
  }

  get #hasDiskTrouble(): boolean {
    return this.#course.plan.troubles.some(({ kind }) => kind === "disk");
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
