/** What an unkind world may cost at most: time for honest messages, money for attacks, requests for everything. */
import type { StateMachine } from "../../../src/core/ismp/state_machine.ts";
import { toRequest } from "../../../src/messaging/relay/decisions/route.ts";
import { messagesOf } from "../../support/memory_block.ts";
import type { HostState } from "../../support/memory_host.ts";
import type { MemoryNode } from "../../support/memory_node.ts";
import { LOSS_ALLOWED, lossBounds } from "./attacks.ts";
import { canonical, isBad } from "./chain_facts.ts";
import type { Course, Sent } from "./course.ts";
import type { MoneyChecks } from "./money_checks.ts";

/** Chain time within which an honest message arrives that pays alone, once nothing else goes wrong, seconds. */
const HONEST_WITHIN_SEC = 20 * 60;
/** The same while somebody races for messages: each lost race makes the next attempt wait longer (rule A7). */
const RACED_WITHIN_SEC = 40 * 60;
/** Time after which a relayer knows what a chain holds: an endpoint blocks behind, delays of a bad day, seconds. */
const KNOWN_AFTER_SEC = 90;
/** Requests to EVM chains that a relayer makes at most: for each second of chain time, message and start. */
const REQUESTS = { perSec: 3, perMessage: 400, perStart: 1_000 } as const;

/** Checks of one course. */
export class WorldChecks {
  readonly #course: Course;

  constructor(course: Course) {
    this.#course = course;
  }

  /** Why a transaction was certain to revert when it left; `undefined`: it was not. */
  certainRevert(chain: StateMachine, hash: `0x${string}`): string | undefined {
    const node = this.#course.nodes.find(({ id }) => id.stateMachine === chain);
    const transaction = node?.knownTransaction(hash);
    if (node === undefined || transaction === undefined) return undefined;
    const nowSec = BigInt(Math.floor(this.#course.clock.now() / 1_000));
    const known = this.#knownState(node, nowSec - BigInt(KNOWN_AFTER_SEC));
    for (const message of messagesOf(transaction)) {
      if (known?.receipts.has(message.commitment) === true) {
        return `${message.commitment} had its receipt already`;
      }
      const endSec = toRequest(message).timeoutTimestampSec;
      const isLate = message.kind === "post" && endSec > 0n && endSec + BigInt(KNOWN_AFTER_SEC) <= nowSec;
      if (isLate) return `${message.commitment} had timed out`;
    }
    return undefined;
  }

  #knownState(node: MemoryNode, atSec: bigint): HostState | undefined {
    for (let { height } = node.head; height > 0n; height--) {
      const block = node.block(height);
      if (block === undefined || block.timeSec > atSec) continue;
      return block.state;
    }
    return undefined;
  }

  /** Messages of honest senders that came late, or not. */
  late(stopped: ReadonlySet<StateMachine>): readonly string[] {
    const startSec = Number(this.#course.nodes[2].block(1n)?.timeSec);
    const isRaced = (this.#course.plan.attack?.frontRunPercent ?? 0) > 0;
    const withinSec = isRaced ? RACED_WITHIN_SEC : HONEST_WITHIN_SEC;
    return this.#course.sent.filter((sent) => this.#isHonest(sent) && !stopped.has(sent.dest.id.stateMachine))
      .flatMap(({ message: { commitment }, plan, dest }) => {
        const arrived = canonical(dest).find(({ state }) => state.receipts.has(commitment));
        // What waits by a clock that is ahead waits for as much longer once that is set back.
        const dueSec = Math.max(plan.atSec, plan.raisedAfterSec ?? 0, this.#calmSec()) + withinSec +
          this.#course.clockAheadMs / 1_000;
        // Whether something may be missing at the end is asked elsewhere.
        const tookSec = arrived === undefined ? 0 : Number(arrived.timeSec) - startSec;
        return tookSec <= dueSec
          ? []
          : [`World (a): honest ${commitment} to ${dest.id.stateMachine} took ${tookSec} s`];
      });
  }

  #calmSec(): number {
    const { plan: { calmAfterSec, faultPercent, troubles } } = this.#course;
    return troubles.length === 0 && faultPercent === 0 ? 0 : calmAfterSec;
  }

  #isHonest({ plan }: Sent): boolean {
    return plan.kind === "post" && !isBad(plan) && plan.timeoutSec === undefined &&
      plan.raisedAfterSec === undefined &&
      plan.fee >= 10n ** 18n && this.#course.plan.attack !== undefined;
  }

  /** More was lost than the attack's kind allows. */
  lost(money: MoneyChecks): readonly string[] {
    const found = money.attacked();
    if (found === undefined) return [];
    const { kind, lost, spent } = found;
    const most = lossBounds[kind] * spent + LOSS_ALLOWED;
    return lost <= most
      ? []
      : [`World (c): "${kind}" cost ${spent.toFixed(2)} dollars and made us lose ${lost.toFixed(2)}`];
  }

  /** More requests than a relayer needs. */
  greedy(): readonly string[] {
    const { lives: { programs }, clock, nodes, sent } = this.#course;
    const seconds = clock.now() / 1_000 - Number(nodes[2].block(1n)?.timeSec);
    const made = programs.reduce((sum, { requests }) => sum + requests, 0);
    const most = REQUESTS.perSec * seconds + REQUESTS.perMessage * sent.length +
      REQUESTS.perStart * programs.length;
    return made <= most ? [] : [`World (f): ${made} requests, at most ${Math.round(most)} are needed`];
  }
}
