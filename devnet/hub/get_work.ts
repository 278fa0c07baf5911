/** GET requests in tests: questions of the sender about storage of the receiver. */
import type { Hex } from "../../src/core/encoding/bytes.ts";
import { contractSlotKey, requestSenderSlot, word } from "../../src/core/evm/host_storage.ts";
import { commitmentOfGet, type GetRequest } from "../../src/core/ismp/message.ts";
import type { GetRequestsWithProof } from "../../src/core/ismp/ismp_message.ts";
import { receiver, sender, senderHost, startTestHub } from "./deliveries.ts";
import type { Hub, HubOptions } from "./hub.ts";
import { commitBlock, receiverHost } from "./relayer_work.ts";

/** Who answers. */
export const address = new Uint8Array(32).fill(0x51);
/** Slots that are asked for. */
export const slots = [word(3n), word(4n)];
/** The only one that holds a value, 77. */
export const heldSlot = word(3n);

/** A hub that knows the hosts of the sender and of the receiver. */
export function startGetHub(options: HubOptions = {}): Promise<Hub> {
  return startTestHub({
    hosts: new Map([[sender.stateMachine, senderHost], [receiver.stateMachine, receiverHost]]),
    now: () => 1_800_000_000_000,
    pool: { banMs: 0 },
    ...options,
  });
}

/** A question about two slots, the higher key first: the answer is in the order of keys. */
export function question(nonce: bigint, change: Partial<GetRequest> = {}): GetRequest {
  return {
    source: sender.stateMachine,
    dest: receiver.stateMachine,
    nonce,
    from: new Uint8Array(20).fill(1),
    keys: slots.map((slot) => contractSlotKey(receiverHost, slot)).reverse(),
    height: 20n,
    context: new Uint8Array(),
    timeoutTimestampSec: 0n,
    ...change,
  };
}

/**
 * Asks on the sender (its height 10); the receiver holds one slot (20).
 * @param proved slots that the answer is about
 */
export async function askQuestions(
  hub: Hub,
  requests: readonly GetRequest[],
  proved: readonly Hex[] = slots,
): Promise<GetRequestsWithProof> {
  const asked = requests.map((get) => requestSenderSlot(commitmentOfGet(get)));
  const source = await commitBlock(hub, sender, 10n, asked.map((slot) => [slot, senderHost]));
  const dest = await commitBlock(hub, receiver, 20n, [[heldSlot, 77n]]);
  return {
    requests,
    source: { height: { id: sender, height: 10n }, proof: await source.proveSlots(asked) },
    response: { height: { id: receiver, height: 20n }, proof: await dest.proveSlots(proved) },
    address,
  };
}
