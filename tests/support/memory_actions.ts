/** What tests let happen on a chain in memory beside transactions: each action belongs to the next block. */
import { type Hash256, toHex } from "../../src/core/encoding/bytes.ts";
import type { Message } from "../../src/core/ismp/message.ts";
import { type StateMachineId, stateMachineIdKey } from "../../src/core/ismp/state_machine.ts";
import { toReceiptKey } from "../../src/messaging/relay/decisions/route.ts";
import type { Action, MemoryBlock } from "./memory_block.ts";
import { noteAccepted } from "./memory_consensus.ts";
import { handlerAfter } from "./memory_host.ts";

/** A chain whose heights others store. */
export interface KnownChain {
  readonly id: StateMachineId;
  readonly finalHeight: bigint;
  block(height: bigint): Pick<MemoryBlock, "hash"> | undefined;
}

/** Commitments of one counterparty that are kept. */
const KEPT_HEIGHTS = 64;

/** A chain on which something may happen. */
export abstract class MemoryActions {
  abstract readonly family: "evm" | "substrate";
  /** What the next block does, in order. */
  protected readonly planned: Action[] = [];
  /** What other accounts sent: a reorganisation may make everybody forget it. */
  protected readonly foreign = new WeakSet<Action>();

  abstract get finalHeight(): bigint;

  /** A message leaves from an application of this chain in the next block, with a fee in units of the fee token. */
  dispatch(message: Message, fee = 0n): void {
    this.planned.push((state, { height }) => {
      state.sent.set(message.commitment, BigInt(state.sent.size));
      state.fees.set(message.commitment, fee);
      return [{ kind: "message", message, at: { height, transaction: undefined } }];
    });
  }

  /** Another relayer delivers a message in the next block, ahead of everything that waits. */
  deliverFirst(message: Message, relayer: Uint8Array): void {
    this.planned.push((state, { height }) => {
      const commitment = toReceiptKey(message);
      if (state.receipts.has(commitment)) return;
      state.receipts.set(commitment, relayer);
      const of = message.kind === "post" ? "post" : "get";
      return [{ kind: "handled", of, commitment, relayer, at: { height, transaction: undefined } }];
    });
  }

  /** On the hub: a sender may send that many bytes; `undefined`: as many as it likes. */
  meter(sender: Uint8Array, bytes: bigint | undefined): void {
    this.planned.push(({ bandwidth }) => {
      if (bytes === undefined) bandwidth.delete(toHex(sender));
      else bandwidth.set(toHex(sender), bytes);
    });
  }

  /** Somebody adds to the fee of a request. */
  fund(commitment: Hash256, more: bigint): void {
    this.planned.push((state, { height }) => {
      const fee = (state.fees.get(commitment) ?? 0n) + more;
      state.fees.set(commitment, fee);
      return [{ kind: "funded", commitment, fee, at: { height, transaction: undefined } }];
    });
  }

  /** The chain forgets a request, as after its timeout was handled. */
  forget(commitment: Hash256): void {
    this.planned.push((state) => {
      state.fees.delete(commitment);
      state.sent.delete(commitment);
    });
  }

  /** The hub accepts a proof of its own `height` (the final one when absent) in the next block. */
  acceptProof(kind: "messaging" | "rotation", height: bigint = this.finalHeight): void {
    this.planned.push((state, { height: atBlock }) => {
      noteAccepted(state.proofs, { height, atBlock, isRotation: kind === "rotation" });
    });
  }

  /** The hub does not keep the rotation to that set any more. */
  dropRotation(setId: bigint): void {
    this.planned.push((state) => {
      state.proofs.rotations.delete(setId);
    });
  }

  /** The consensus client stores `height` of `source` (its final height when absent) in the next block. */
  accept(source: KnownChain, height: bigint = source.finalHeight): void {
    const root = source.block(height)?.hash;
    if (root === undefined) throw new Error(`No block ${height}`);
    const key = stateMachineIdKey(source.id);
    this.planned.push((state, { height: at, nowSec }) => {
      const old = state.counterparties.get(key) ?? { latest: 0n, heights: new Map() };
      if (height <= old.latest) return;
      const heights = [...old.heights, [height, { root, updatedAtSec: nowSec }] as const];
      state.counterparties.set(key, { latest: height, heights: new Map(heights.slice(-KEPT_HEIGHTS)) });
      const { stateMachine } = source.id;
      return [{
        kind: "updated",
        stateMachine,
        id: source.id,
        height,
        at: { height: at, transaction: undefined },
      }];
    });
  }

  /** A fisherman takes the newest height of `source` away: EVM hosts fall to 1, others to the height before. */
  veto(source: Pick<KnownChain, "id">): void {
    const key = stateMachineIdKey(source.id);
    this.planned.push((state, { height }) => {
      const old = state.counterparties.get(key);
      if (old === undefined) return;
      const heights = new Map([...old.heights].filter(([stored]) => stored !== old.latest));
      const before = [...heights.keys()].reduce((a, b) => a > b ? a : b, 0n);
      state.counterparties.set(key, { latest: this.family === "evm" ? 1n : before, heights });
      return [{
        kind: "vetoed",
        stateMachine: source.id.stateMachine,
        height: old.latest,
        at: { height, transaction: undefined },
      }];
    });
  }

  /** The client forgets the newest height of `source`, which it still names as the newest. */
  evict(source: Pick<KnownChain, "id">): void {
    const key = stateMachineIdKey(source.id);
    this.planned.push((state) => {
      const old = state.counterparties.get(key);
      if (old === undefined) return;
      const heights = new Map([...old.heights].filter(([stored]) => stored !== old.latest));
      state.counterparties.set(key, { ...old, heights });
    });
  }

  /** The host refuses (or takes) messages from the next block on. */
  freeze(isFrozen: boolean): void {
    this.planned.push((state) => {
      state.isFrozen = isFrozen;
    });
  }

  /** Governance puts another handler in the place of the host's in the next block: what calls the old one reverts. */
  replaceHandler(): void {
    this.planned.push((state) => {
      state.handler = handlerAfter(state.handler);
    });
  }

  /** An account of ours uses its next nonce for something else. */
  useNonce(account: string): void {
    const action: Action = (state) => {
      state.nonces.set(account, (state.nonces.get(account) ?? 0n) + 1n);
    };
    this.foreign.add(action);
    this.planned.push(action);
  }
}
