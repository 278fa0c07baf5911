/** Facts about the chains of a simulation that its checks compare. */
import { type Hash256, toHex } from "../../../src/core/encoding/bytes.ts";
import type { Message } from "../../../src/core/ismp/message.ts";
import type { StateMachine } from "../../../src/core/ismp/state_machine.ts";
import { parsePayment } from "../../../src/messaging/fees/withdrawals/payment_scan.ts";
import { findDestination, toRequest } from "../../../src/messaging/relay/decisions/route.ts";
import type { MemoryBlock } from "../../support/memory_block.ts";
import type { MemoryNode } from "../../support/memory_node.ts";
import type { HandledFacts, SentFacts } from "../../support/relayer_invariants.ts";
import { chainNames, type Sent } from "./course.ts";
import { isMisbehaving, type MessagePlan } from "./plan.ts";

/** True for messages that cannot arrive, or not for sure. */
export function isBad({ isHostile, isUntraceable, module }: MessagePlan): boolean {
  return isHostile === true || isUntraceable === true || isMisbehaving(module);
}

/** Bytes of a delivery beside the body. */
const CALL_BYTES = 1_200n;

/** What a delivery by itself costs, with so many proofs of the hub ahead of it, wei. */
export function costAloneWei(
  plan: Pick<MessagePlan, "bodyBytes" | "module">,
  node: MemoryNode,
  proofs = 0n,
): bigint {
  const bytes = CALL_BYTES * (1n + proofs) + BigInt(plan.bodyBytes ?? 3);
  return (gasAlone(plan, node) + proofs * node.proofGas) * node.priceWei + bytes * node.dataWeiPerByte;
}

/** Gas of a message's delivery by itself, with what its bytes and its module take. */
export function gasAlone(
  { bodyBytes = 3, module }: Pick<MessagePlan, "bodyBytes" | "module">,
  { messageGas }: MemoryNode,
): bigint {
  const ofModule = typeof module?.gas === "bigint" ? module.gas * 65n / 64n : 0n;
  return messageGas + 46n * BigInt(bodyBytes) + ofModule;
}

/** Maximum of proofs of the hub that must go ahead of messages: the rotations that the chain lacks, and one more. */
export function mostProofsFor(chain: MemoryNode, hub: MemoryNode): bigint {
  const { setId } = chain.head.state;
  return setId === undefined ? 0n : hub.head.state.proofs.setId - setId + 1n;
}

/** Fee on the source when the destination took the message. */
export function feeWhenDelivered({ message: { commitment }, source, dest }: Sent): bigint {
  const taken = canonical(dest).find(({ events }) =>
    events.some((event) => event.kind === "handled" && event.commitment === commitment)
  );
  if (taken === undefined) throw new Error(`${commitment} was not delivered`);
  const before = canonical(source).findLast(({ timeSec }) => timeSec <= taken.timeSec);
  return before?.state.fees.get(commitment) ?? 0n;
}

/** Blocks of a chain as it is now. */
export function canonical(node: MemoryNode): readonly MemoryBlock[] {
  const blocks: MemoryBlock[] = [];
  for (let height = 1n; height <= node.head.height; height++) {
    const block = node.block(height);
    if (block !== undefined) blocks.push(block);
  }
  return blocks;
}

/** State that no reorganisation takes away. */
export function finalState(node: MemoryNode): MemoryBlock["state"] {
  const block = node.block(node.finalHeight);
  if (block === undefined) throw new Error("A chain has a final block");
  return block.state;
}

/** What the hub has ordered a chain to pay. */
export function paymentsIn(
  blocks: readonly MemoryBlock[],
  chain: StateMachine,
): readonly { readonly commitment: Hash256; readonly beneficiary: Uint8Array; readonly amount: bigint }[] {
  return blocks.flatMap(({ events }) => events).flatMap((event) => {
    if (event.kind !== "message" || event.message.kind !== "post") return [];
    const payment = parsePayment(event.message.request, { hub: chainNames[2], chain });
    return payment === undefined ? [] : [{ ...payment, commitment: event.message.commitment }];
  });
}

/** Deliveries in blocks. */
export function handledIn(chain: string, blocks: readonly MemoryBlock[]): readonly HandledFacts[] {
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

/** Messages that left in blocks. */
export function sentIn(blocks: readonly MemoryBlock[]): readonly SentFacts[] {
  return blocks.flatMap(({ height, events }) =>
    events.flatMap((event) =>
      event.kind !== "message"
        ? []
        : [{ commitment: event.message.commitment, dest: findDestination(event.message), height }]
    )
  );
}

/** What has timed out pays for nothing any more. */
export function hasTimedOut(message: Message, nowSec: bigint): boolean {
  const { timeoutTimestampSec } = toRequest(message);
  return timeoutTimestampSec > 0n && timeoutTimestampSec <= nowSec;
}
