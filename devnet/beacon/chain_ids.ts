/** Blocks and states by what stands for them in paths: head, finalized, justified, a slot, a root. */
import type { Node } from "@chainsafe/persistent-merkle-tree";
import { type Hash256, toHash256 } from "../../src/core/encoding/bytes.ts";
import type { BeaconRecord } from "./block_builder.ts";
import type { BeaconChain } from "./chain.ts";
import { RestRefusal } from "./rest_answer.ts";
import { processSlots } from "./state_transition.ts";

/** A state with its slot, which may be an empty one. */
export interface FoundState {
  readonly state: Node;
  readonly slot: number;
}

/** Finds what the chain still knows. */
export class ChainIds {
  readonly #chain: BeaconChain;

  constructor(chain: BeaconChain) {
    this.#chain = chain;
  }

  /** Slot of the newest final block. */
  get finalSlot(): number {
    return this.#chain.finalizedBy(this.#chain.head)?.slot ?? -1;
  }

  #named(id: string): BeaconRecord | undefined {
    if (id === "head") return this.#chain.head;
    if (id === "finalized") return this.#chain.finalizedBy(this.#chain.head);
    if (id !== "justified") return undefined;
    const { head } = this.#chain;
    return this.#chain.byRoot(
      toHash256(this.#chain.checkpoint(head.state, "currentJustifiedCheckpoint").root),
    );
  }

  /** @throws {RestRefusal} 404, 400 */
  block(id: string): BeaconRecord {
    const record = /^0x/.test(id)
      ? this.#chain.byRoot(parsedRoot(id))
      : /^\d+$/.test(id)
      ? this.#atSlot(decimal(id))
      : this.#named(id);
    if (record === undefined) throw new RestRefusal(404, `NOT_FOUND: beacon block ${id}`);
    return record;
  }

  #atSlot(slot: number): BeaconRecord | undefined {
    for (const record of this.#chain.known()) if (record.slot === slot) return record;
    return undefined;
  }

  /** @throws {RestRefusal} 404, 400 */
  state(id: string): FoundState {
    if (/^\d+$/.test(id)) return this.#stateAtSlot(decimal(id));
    if (!/^0x/.test(id)) {
      const record = this.#named(id);
      if (record !== undefined) return record;
    } else {
      const stateRoot = parsedRoot(id);
      for (const record of this.#chain.known()) if (record.stateRoot === stateRoot) return record;
    }
    throw new RestRefusal(404, `NOT_FOUND: beacon state ${id}`);
  }

  /** Of an empty slot: the state of the block before it, moved on. */
  #stateAtSlot(slot: number): FoundState {
    const before = this.#chain.blocks.findLast((record) => record.slot <= slot);
    const exact = before?.slot === slot ? before : this.#atSlot(slot);
    if (exact !== undefined) return exact;
    if (before === undefined || slot > this.#chain.head.slot) {
      throw new RestRefusal(404, `NOT_FOUND: beacon state at slot ${slot}`);
    }
    return { state: processSlots(this.#chain.rules, before.state, slot), slot };
  }
}

/** A number of a path or query. @throws {RestRefusal} 400 */
export function decimal(text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw new RestRefusal(400, `Not a number: ${text}`);
  return Number(text);
}

/** A root of a path. @throws {RestRefusal} 400 */
export function parsedRoot(text: string): Hash256 {
  if (!/^0x[0-9a-fA-F]{64}$/.test(text)) throw new RestRefusal(400, `Not a root: ${text}`);
  return toHash256(text.toLowerCase());
}
