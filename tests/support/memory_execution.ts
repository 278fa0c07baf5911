/** What transactions do in blocks of a chain in memory: messages, answers to GET requests, and calls of the hub. */
import type { ChainEvent } from "../../src/core/chains/reads.ts";
import { collectMessages, type Delivery } from "../../src/core/chains/submission.ts";
import { type Hash256, type Hex, toHex } from "../../src/core/encoding/bytes.ts";
import type { Address } from "../../src/core/evm/address.ts";
import { applyAnswer, refusalOfAnswer } from "./memory_answers.ts";
import { type MemoryTransaction, messagesOf } from "./memory_block.ts";
import { applyDelivery, type Execution, type HostRules, type HostState, tryDelivery } from "./memory_host.ts";

/** What makes blocks differ from simulations. */
export interface BlockRules extends HostRules {
  /** Messages that make the whole transaction fail. */
  readonly spoiling: ReadonlySet<Hash256>;
  /** Modules, hex, that fail. */
  readonly deceivers: ReadonlySet<Hex>;
}

/** What a transaction does when its turn comes in a block. */
export function mineIn(
  rules: BlockRules,
  state: HostState,
  transaction: MemoryTransaction,
  nowSec: bigint,
): Execution {
  const isSpoilt = messagesOf(transaction).some(({ commitment }) => rules.spoiling.has(commitment));
  return isSpoilt
    ? { kind: "refused", refusal: { code: "unspecified", detail: "ran out of gas" } }
    : tryIn(rules, state, transaction, nowSec);
}

/** What a transaction would do; the pool asks this of extrinsics. */
export function tryIn(
  rules: BlockRules,
  state: HostState,
  { answer, call, delivery, handler }: MemoryTransaction,
  nowSec: bigint,
): Execution {
  if (call !== undefined) {
    const refusal = call.refusalIn(state, nowSec);
    return refusal === undefined ? { kind: "done", handled: [] } : { kind: "refused", refusal };
  }
  if (answer === undefined) {
    return refusalOfHandler(state, handler) ??
      tryDelivery(rulesFor(rules, delivery), state, delivery, nowSec);
  }
  const refusal = refusalOfAnswer({ ...rules, nowSec }, state, answer);
  if (refusal !== undefined) return { kind: "refused", refusal };
  return { kind: "done", handled: answer.requests.map(() => true) };
}

/** Writes what a transaction does that {@link mineIn} lets pass; returns the events. */
export function applyIn(
  rules: BlockRules,
  state: HostState,
  { answer, call, delivery }: MemoryTransaction,
  by: Parameters<typeof applyDelivery>[3],
): readonly ChainEvent[] {
  if (call !== undefined) return call.apply(state, by.at);
  if (answer !== undefined) return applyAnswer(state, answer, by);
  return applyDelivery(rulesFor(rules, delivery), state, delivery, by);
}

/** The host takes messages from its handler alone; `undefined`: from that one. */
export function refusalOfHandler(state: HostState, handler: Address | undefined): Execution | undefined {
  if (handler === undefined || handler === state.handler) return undefined;
  return { kind: "refused", refusal: { code: "handler_replaced", detail: "UnauthorizedAction" } };
}

/** Modules that deceive fail as well. */
function rulesFor(rules: BlockRules, delivery: Delivery): HostRules {
  if (rules.deceivers.size === 0) return rules;
  const deceived = collectMessages(delivery)
    .filter((message) => message.kind === "post" && rules.deceivers.has(toHex(message.request.to)))
    .map(({ commitment }) => commitment);
  return { ...rules, failing: new Set([...rules.failing, ...deceived]) };
}
