/**
 * The simulated beacon chain: builds a block and its state on the head for each execution block it is given, and
 * remembers what a node can be asked for. Knows neither HTTP nor time.
 */
import type { Node } from "@chainsafe/persistent-merkle-tree";
import type { phase0 } from "@lodestar/types";
import { type Hash256, toHash256 } from "../../src/core/encoding/bytes.ts";
import {
  type BeaconNetwork,
  SYNC_COMMITTEE_SIZE,
} from "../../src/consensus/clients/sync_committee/spec/beacon_network.ts";
import { BeaconFault } from "./beacon_options.ts";
import {
  type BeaconRecord,
  BlockBuilder,
  type BuilderOptions,
  type ExecutionBlock,
} from "./block_builder.ts";
import type { ChainRules } from "./state_transition.ts";
import { valueOf } from "./state_tree.ts";
import { ValidatorKeys } from "./validator_keys.ts";

/** Blocks of which a light client update tells: `signature` holds the aggregate over its parent `attested`. */
export interface UpdateRecords {
  readonly attested: BeaconRecord;
  readonly finalized: BeaconRecord;
  readonly signature: BeaconRecord;
}

/** What a chain is made with; see `BeaconOptions` for their meaning. */
export interface ChainOptions extends BuilderOptions {
  readonly network: BeaconNetwork;
  readonly startEpoch: number;
  readonly blocksPerEpoch: number;
  readonly validators: number;
}

/** Blocks whose states can be asked for, beside those that light client updates refer to. */
const KEPT_BLOCKS = 256;
/** Epochs with a block each before the one of the start: the first of them is final at the start. */
export const epochsBefore = 3;

/** Periods whose best updates are kept. */
const keptPeriods = 64;

/** The chain from its first block on. */
export class BeaconChain {
  readonly rules: ChainRules;
  readonly #options: ChainOptions;
  readonly #builder: BlockBuilder;
  readonly #blocks: BeaconRecord[] = [];
  readonly #firstOfPeriod = new Map<number, BeaconRecord>();
  readonly #bestUpdates = new Map<number, UpdateRecords>();
  readonly #planned: number[] = [];

  constructor(options: ChainOptions) {
    const { network } = options;
    const fulu = network.forks.find((fork) => fork.name === "fulu");
    if (fulu === undefined || BigInt(options.startEpoch - epochsBefore) < fulu.epoch) {
      throw new BeaconFault("fulu_only");
    }
    this.#options = options;
    const keys = new ValidatorKeys(options.validators);
    this.rules = {
      network,
      slotsPerEpoch: Number(network.slotsPerEpoch),
      epochsPerPeriod: Number(network.epochsPerPeriod),
      gloasEpoch: Number(network.forks.find((fork) => fork.name === "gloas")?.epoch ?? -1n),
      committee: (period) => keys.committee(period),
    };
    this.#builder = new BlockBuilder(this.rules, keys, options);
    for (let epoch = options.startEpoch - epochsBefore; epoch <= options.startEpoch; epoch++) {
      this.#planned.push(epoch * this.rules.slotsPerEpoch);
    }
  }

  /** All blocks of the head's chain that are still known, ascending. Empty before the first one. */
  get blocks(): readonly BeaconRecord[] {
    return this.#blocks;
  }

  get head(): BeaconRecord {
    const head = this.#blocks.at(-1);
    if (head === undefined) throw new Error("The chain has no block yet");
    return head;
  }

  /** The block of a state's finalized checkpoint; undefined when it is no longer, or was never, known. */
  finalizedBy(record: BeaconRecord): BeaconRecord | undefined {
    return this.byRoot(toHash256(this.checkpoint(record.state, "finalizedCheckpoint").root));
  }

  checkpoint(
    state: Node,
    name: "finalizedCheckpoint" | "currentJustifiedCheckpoint" | "previousJustifiedCheckpoint",
  ): phase0.Checkpoint {
    return valueOf(state, name);
  }

  /** Blocks of the head's chain and those that updates refer to. */
  *known(): Iterable<BeaconRecord> {
    yield* this.#blocks.toReversed();
    yield* this.#firstOfPeriod.values();
    for (const update of this.#bestUpdates.values()) {
      yield* [update.attested, update.finalized, update.signature];
    }
  }

  byRoot(root: Hash256): BeaconRecord | undefined {
    for (const record of this.known()) if (record.root === root) return record;
    return undefined;
  }

  epochOf(slot: number): number {
    return Math.floor(slot / this.rules.slotsPerEpoch);
  }

  periodOf(slot: number): number {
    return Math.floor(this.epochOf(slot) / this.rules.epochsPerPeriod);
  }

  /** Best update of a period: signed by enough, with finality of the same period, the earliest of equals. */
  bestUpdate(period: number): UpdateRecords | undefined {
    return this.#bestUpdates.get(period);
  }

  /** The update that the aggregate of the head makes; undefined while the attested state has no known final block. */
  get latestUpdate(): UpdateRecords | undefined {
    return this.#updateAt(this.#blocks.length - 1);
  }

  /** Slots that the next blocks have to take, before blocks continue at their usual distance. */
  plan(slots: readonly number[]): void {
    this.#planned.push(...slots);
  }

  /** Number of the execution block that the first block from an epoch on will carry, if each block carries the next. */
  executionBlockAt(epoch: number): number {
    const { slot, execution } = this.head;
    let { number } = execution;
    for (let next = slot; this.epochOf(next) < epoch; next = this.#slotAfter(next)) number++;
    return number;
  }

  /** Adds the block that carries `execution`. */
  add(execution: ExecutionBlock): void {
    const slot = this.#nextSlot();
    const parent = this.#blocks.at(-1);
    const record = this.#builder.build(execution, slot, parent);
    this.#blocks.push(record);
    const period = this.periodOf(slot);
    if (!this.#firstOfPeriod.has(period)) this.#firstOfPeriod.set(period, record);
    this.#considerUpdate(this.latestUpdate);
    this.#forgetOld();
  }

  /** Drops the last blocks. @returns them. @throws {BeaconFault} when one of them is final. */
  undo(count: number): BeaconRecord[] {
    const first = this.#blocks.at(-count);
    const final = this.finalizedBy(this.head);
    if (first === undefined || (final !== undefined && first.slot <= final.slot)) {
      throw new BeaconFault("finalized");
    }
    const undone = this.#blocks.splice(this.#blocks.length - count);
    const roots = new Set(undone.map((record) => record.root));
    for (const [period, record] of this.#firstOfPeriod) {
      if (roots.has(record.root)) this.#firstOfPeriod.delete(period);
    }
    for (const [period, update] of this.#bestUpdates) {
      if (roots.has(update.signature.root)) this.#bestUpdates.delete(period);
    }
    this.#blocks.forEach((_, at) => this.#considerUpdate(this.#updateAt(at)));
    this.#planned.unshift(this.#slotAfter(undone.at(-1)?.slot ?? 0));
    return undone;
  }

  #updateAt(index: number): UpdateRecords | undefined {
    const [signature, attested] = [this.#blocks[index], this.#blocks[index - 1]];
    if (signature === undefined || attested === undefined) return undefined;
    const finalized = this.finalizedBy(attested);
    return finalized === undefined ? undefined : { attested, finalized, signature };
  }

  #considerUpdate(update: UpdateRecords | undefined): void {
    if (update === undefined) return;
    const period = this.periodOf(update.attested.slot);
    if (period !== this.periodOf(update.signature.slot)) return;
    const best = this.#bestUpdates.get(period);
    if (best === undefined || this.#worth(update) > this.#worth(best)) this.#bestUpdates.set(period, update);
  }

  #worth(update: UpdateRecords): number {
    const { syncCommitteeBits } = update.signature.signed.message.body.syncAggregate;
    const signers = syncCommitteeBits.getTrueBitIndexes().length;
    const isEnough = signers * 3 >= SYNC_COMMITTEE_SIZE * 2;
    const isSamePeriod = this.periodOf(update.finalized.slot) === this.periodOf(update.attested.slot);
    return Number(isEnough) * 2 ** 11 + Number(isSamePeriod) * 2 ** 10 + signers;
  }

  #forgetOld(): void {
    const surplus = this.#blocks.length - KEPT_BLOCKS;
    if (surplus > 0) this.#blocks.splice(0, surplus);
    for (const map of [this.#firstOfPeriod, this.#bestUpdates]) {
      for (const period of map.keys()) {
        if (map.size <= keptPeriods) break;
        map.delete(period);
      }
    }
  }

  #nextSlot(): number {
    return this.#planned.shift() ?? this.#slotAfter(this.head.slot);
  }

  #slotAfter(slot: number): number {
    const { slotsPerEpoch } = this.rules;
    const epochStart = this.epochOf(slot) * slotsPerEpoch;
    for (let at = 0; at < this.#options.blocksPerEpoch; at++) {
      const candidate = epochStart + Math.floor(at * slotsPerEpoch / this.#options.blocksPerEpoch);
      if (candidate > slot) return candidate;
    }
    return epochStart + slotsPerEpoch;
  }
}
