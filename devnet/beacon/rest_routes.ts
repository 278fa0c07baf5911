/**
 * The REST routes of a beacon node over the chain. Source of paths and shapes: ethereum/beacon-APIs: apis;
 * ChainSafe/lodestar: packages/api/src/beacon/routes/proof.ts.
 */
import {
  type BeaconNetwork,
  forkAtEpoch,
} from "../../src/consensus/clients/sync_committee/spec/beacon_network.ts";
import type { Node } from "@chainsafe/persistent-merkle-tree";
import { fromHex, type Hash256, toHash256, toHex } from "../../src/core/encoding/bytes.ts";
import type { BeaconRecord } from "./block_builder.ts";
import type { BeaconChain, UpdateRecords } from "./chain.ts";
import { compactProof, RestRefusal, type ServedAnswer, stateProof } from "./rest_answer.ts";
import { processSlots } from "./state_transition.ts";
import { ssz } from "@lodestar/types";
import type { BeaconRoute } from "./beacon_options.ts";
import { genesisTimeSec } from "./first_state.ts";
import { bootstrapOf, finalityUpdateOf, updateOf } from "./light_client.ts";
import { valueOf } from "./state_tree.ts";

/** Values as nodes write them: numbers in decimal, bytes in hex. */
function specOf(network: BeaconNetwork): Record<string, string> {
  const [genesis, ...forks] = network.forks;
  return {
    PRESET_BASE: "mainnet",
    CONFIG_NAME: network.chainId === 1 ? "mainnet" : "sepolia",
    SECONDS_PER_SLOT: String(network.slotSec),
    SLOTS_PER_EPOCH: String(network.slotsPerEpoch),
    EPOCHS_PER_SYNC_COMMITTEE_PERIOD: String(network.epochsPerPeriod),
    SYNC_COMMITTEE_SIZE: "512",
    SLOTS_PER_HISTORICAL_ROOT: "8192",
    MAX_REQUEST_LIGHT_CLIENT_UPDATES: "128",
    DEPOSIT_CHAIN_ID: String(network.chainId),
    DEPOSIT_NETWORK_ID: String(network.chainId),
    GENESIS_FORK_VERSION: genesis.version,
    ...Object.fromEntries(forks.flatMap((fork) => [
      [`${fork.name.toUpperCase()}_FORK_VERSION`, fork.version],
      [`${fork.name.toUpperCase()}_FORK_EPOCH`, String(fork.epoch)],
    ])),
  };
}

/** A state with its slot, which may be an empty one. */
interface FoundState {
  readonly state: Node;
  readonly slot: number;
}

/** Finds what the chain still knows. */
class ChainIds {
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
function decimal(text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw new RestRefusal(400, `Not a number: ${text}`);
  return Number(text);
}

/** A root of a path. @throws {RestRefusal} 400 */
function parsedRoot(text: string): Hash256 {
  if (!/^0x[0-9a-fA-F]{64}$/.test(text)) throw new RestRefusal(400, `Not a root: ${text}`);
  return toHash256(text.toLowerCase());
}

const maxUpdates = 128;

/** A path that the node knows, with what stands in it. */
export interface RouteMatch {
  readonly route: BeaconRoute;
  answer(): ServedAnswer;
}

/** The routes of one node. */
export class RestRoutes {
  readonly #chain: BeaconChain;
  readonly #ids: ChainIds;
  readonly #isSyncing: () => boolean;

  constructor(chain: BeaconChain, isSyncing: () => boolean) {
    this.#chain = chain;
    this.#ids = new ChainIds(chain);
    this.#isSyncing = isSyncing;
  }

  /** @returns undefined for unknown paths. */
  find(url: URL): RouteMatch | undefined {
    const patterns: readonly (readonly [BeaconRoute, RegExp, (id: string) => ServedAnswer])[] = [
      ["finalityUpdate", /^\/eth\/v1\/beacon\/light_client\/finality_update$/, () => this.#finalityUpdate()],
      ["updates", /^\/eth\/v1\/beacon\/light_client\/updates$/, () => this.#updates(url.searchParams)],
      ["bootstrap", /^\/eth\/v1\/beacon\/light_client\/bootstrap\/([^/]+)$/, (id) => this.#bootstrap(id)],
      [
        "finalityCheckpoints",
        /^\/eth\/v1\/beacon\/states\/([^/]+)\/finality_checkpoints$/,
        (id) => this.#checkpoints(id),
      ],
      ["header", /^\/eth\/v1\/beacon\/headers\/([^/]+)$/, (id) => this.#header(id)],
      ["block", /^\/eth\/v2\/beacon\/blocks\/([^/]+)$/, (id) => this.#block(id)],
      [
        "blindedBlock",
        /^\/eth\/v1\/beacon\/blinded_blocks\/([^/]+)$/,
        (id) => this.#blindedBlock(id),
      ],
      ["debugState", /^\/eth\/v2\/debug\/beacon\/states\/([^/]+)$/, (id) => this.#debugState(id)],
      [
        "lodestarProof",
        /^\/eth\/v0\/beacon\/proof\/state\/([^/]+)$/,
        (id) => this.#stateProof(id, url.searchParams.get("format") ?? ""),
      ],
      ["syncing", /^\/eth\/v1\/node\/syncing$/, () => this.#syncing()],
      ["version", /^\/eth\/v1\/node\/version$/, () => plain({ version: "Simulated/v1.0.0/devnet" })],
      ["spec", /^\/eth\/v1\/config\/spec$/, () => plain(specOf(this.#chain.rules.network))],
      ["genesis", /^\/eth\/v1\/beacon\/genesis$/, () => this.#genesis()],
    ];
    for (const [route, pattern, answer] of patterns) {
      const match = pattern.exec(url.pathname);
      if (match !== null) return { route, answer: () => answer(match[1] ?? "") };
    }
    return undefined;
  }

  #finalityUpdate(): ServedAnswer {
    const update = this.#chain.latestUpdate;
    if (update === undefined) throw new RestRefusal(404, "No light client finality update is available");
    const version = this.#forkAt(update.attested.slot);
    return { version, json: () => ({ version, data: finalityUpdateOf(update) }) };
  }

  #updates(query: URLSearchParams): ServedAnswer {
    const start = decimal(query.get("start_period") ?? "");
    const count = Math.min(decimal(query.get("count") ?? ""), maxUpdates);
    const found: UpdateRecords[] = [];
    for (let period = start; period < start + count; period++) {
      const update = this.#chain.bestUpdate(period);
      if (update !== undefined) found.push(update);
    }
    return {
      version: undefined,
      json: () =>
        found.map((update) => ({
          version: this.#forkAt(update.attested.slot),
          data: updateOf(update),
        })),
    };
  }

  #bootstrap(id: string): ServedAnswer {
    const record = this.#chain.byRoot(parsedRoot(id));
    const final = this.#ids.finalSlot;
    if (record === undefined || record.slot > final) {
      throw new RestRefusal(404, "No light client bootstrap is available for this root");
    }
    const version = this.#forkAt(record.slot);
    return { version, json: () => ({ version, data: bootstrapOf(record) }) };
  }

  #checkpoints(id: string): ServedAnswer {
    const { state, slot } = this.#ids.state(id);
    const type = ssz.phase0.Checkpoint;
    return this.#located(slot, {
      previous_justified: type.toJson(this.#chain.checkpoint(state, "previousJustifiedCheckpoint")),
      current_justified: type.toJson(this.#chain.checkpoint(state, "currentJustifiedCheckpoint")),
      finalized: type.toJson(this.#chain.checkpoint(state, "finalizedCheckpoint")),
    });
  }

  #header(id: string): ServedAnswer {
    const record = this.#ids.block(id);
    return this.#located(record.slot, {
      root: record.root,
      canonical: true,
      header: {
        message: ssz.phase0.BeaconBlockHeader.toJson(record.header),
        signature: toHex(record.signed.signature),
      },
    });
  }

  #block(id: string): ServedAnswer {
    const record = this.#ids.block(id);
    const version = this.#forkAt(record.slot);
    const { message: { body }, signature } = record.signed;
    const message = { ...record.signed.message };
    const data = (): unknown =>
      "executionPayload" in body
        ? ssz.fulu.SignedBeaconBlock.toJson({ message: { ...message, body }, signature })
        : ssz.gloas.SignedBeaconBlock.toJson({ message: { ...message, body }, signature });
    return { version, json: () => ({ version, ...this.#finality(record.slot), data: data() }) };
  }

  /** The block with the header of its payload, which leaves its root as it is. There are none from Gloas on. */
  #blindedBlock(id: string): ServedAnswer {
    const record = this.#ids.block(id);
    const type = ssz.fulu.SignedBlindedBeaconBlock;
    const version = this.#forkAt(record.slot);
    const { message, signature } = record.signed;
    if (!("executionPayload" in message.body)) {
      throw new RestRefusal(404, `NOT_FOUND: no blinded block ${id}`);
    }
    const { executionPayload: _, ...body } = message.body;
    const executionPayloadHeader = valueOf(record.state, "latestExecutionPayloadHeader");
    const value = { message: { ...message, body: { ...body, executionPayloadHeader } }, signature };
    return { version, json: () => ({ version, ...this.#finality(record.slot), data: type.toJson(value) }) };
  }

  #debugState(id: string): ServedAnswer {
    const { state, slot } = this.#ids.state(id);
    const version = this.#forkAt(slot);
    const { serialize, json } = version === "gloas"
      ? stateForms(ssz.gloas.BeaconState, state)
      : stateForms(ssz.fulu.BeaconState, state);
    return { version, ssz: serialize, json: () => ({ version, ...this.#finality(slot), data: json() }) };
  }

  #stateProof(id: string, format: string): ServedAnswer {
    if (!/^0x([0-9a-f]{2})+$/.test(format)) throw new RestRefusal(400, "format must be a descriptor");
    const { state, slot } = this.#ids.state(id);
    const proof = compactProof(state, fromHex(format));
    const version = this.#forkAt(slot);
    return { version, json: () => ({ version, data: stateProof.toJson(proof) }) };
  }

  #syncing(): ServedAnswer {
    return plain({
      head_slot: String(this.#chain.head.slot),
      sync_distance: this.#isSyncing() ? "1000" : "0",
      is_syncing: this.#isSyncing(),
      is_optimistic: false,
      el_offline: false,
    });
  }

  #genesis(): ServedAnswer {
    const { network } = this.#chain.rules;
    return plain({
      genesis_time: String(genesisTimeSec),
      genesis_validators_root: network.genesisValidatorsRoot,
      genesis_fork_version: network.forks[0].version,
    });
  }

  #forkAt(slot: number): string {
    return forkAtEpoch(this.#chain.rules.network, BigInt(this.#chain.epochOf(slot))).name;
  }

  #finality(slot: number): { execution_optimistic: boolean; finalized: boolean } {
    return { execution_optimistic: false, finalized: slot <= this.#ids.finalSlot };
  }

  #located(slot: number, data: unknown): ServedAnswer {
    return { version: undefined, json: () => ({ ...this.#finality(slot), data }) };
  }
}

function plain(data: unknown): ServedAnswer {
  return { version: undefined, json: () => ({ data }) };
}

/** Both forms of a state, each made when it is asked for. */
function stateForms<V, D extends { serialize(): Uint8Array; toValue(): V }>(
  type: { getViewDU(node: Node): D; toJson(value: V): unknown },
  state: Node,
): { readonly serialize: () => Uint8Array; readonly json: () => unknown } {
  return {
    serialize: () => type.getViewDU(state).serialize(),
    json: () => type.toJson(type.getViewDU(state).toValue()),
  };
}
