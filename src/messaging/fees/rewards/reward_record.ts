/**
 * Records deliveries of ours that the hub's treasury may reward: a rotation of its authority set, or a request of one
 * of its listed modules. Called by settling. Source: docs/protocol/messaging.md section 17.
 */
import type { Ledger } from "../../ledger/ledger.ts";
import { type Hash256, type Hex, toHex } from "../../../core/encoding/bytes.ts";
import { type Message, postRequestCodec } from "../../../core/ismp/message.ts";
import type { StateMachine } from "../../../core/ismp/state_machine.ts";

/** Delivery of ours that is recorded on its chain. */
export interface RewardedDelivery {
  /** Chain on which it was delivered. */
  readonly chain: StateMachine;
  /** Block of the delivery. */
  readonly height: bigint;
}

/**
 * Records the reward for a request of the hub, if its module is listed. Call it within the ledger transaction that
 * records the delivery.
 * @param facts.listed modules with a reward above 0; `undefined`: not loaded yet
 */
export function recordRequestReward(
  ledger: Pick<Ledger, "rewards">,
  delivery: RewardedDelivery & { readonly message: Message },
  facts: { readonly hub: StateMachine; readonly listed: Pick<ReadonlySet<Hex>, "has"> | undefined },
): void {
  const { message, chain, height } = delivery;
  if (message.kind !== "post" || message.request.source !== facts.hub) return;
  if (facts.listed?.has(toHex(message.request.from)) !== true) return;
  const payload = postRequestCodec.enc(message.request);
  ledger.rewards.record({ kind: "request", chain, reference: message.commitment, height, payload });
}

/**
 * Records the reward for rotating a chain's client to authority set `setId`: the host named us in `NewEpoch`. Call
 * it within the ledger transaction that records the delivery, or the event.
 */
export function recordRotationReward(
  ledger: Pick<Ledger, "rewards">,
  { chain, height, setId }: RewardedDelivery & { readonly setId: bigint },
): void {
  const reference = setId.toString();
  ledger.rewards.record({ kind: "rotation", chain, reference, height, payload: new Uint8Array() });
}

/** Derives the 32-byte key of a reward in the journal: the commitment, or the set id as a word. */
export function toRewardItem(
  row: { readonly kind: "rotation" | "request"; readonly reference: string },
): Hash256 {
  if (row.kind === "rotation") return `0x${BigInt(row.reference).toString(16).padStart(64, "0")}`;
  return `0x${row.reference.slice(2)}`;
}
