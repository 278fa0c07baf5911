/**
 * Storage of the hub's pallets for OP stack chains: keys and values. Source: polytope-labs/hyperbridge:
 * modules/ismp/clients/ismp-optimism/src/pallet.rs, modules/pallets/fishermen/src/lib.rs.
 */
import { compact, enhanceCodec } from "scale-ts";
import { concatBytes } from "../../../../core/encoding/bytes.ts";
import { type Address, addressCodec } from "../../../../core/evm/address.ts";
import type { StateMachineId } from "../../../../core/ismp/state_machine.ts";
import { blake2Concat } from "../../../../core/ismp/storage_keys.ts";
import {
  type Codec,
  decodeLoose,
  list,
  pair,
  ScaleError,
  Tuple,
  u32,
  u8,
} from "../../../../core/encoding/scale.ts";
import { rollupKey } from "../../../rollup/spec/rollup_client.ts";
import { type GameTypeConfig, gameTypeConfigCodec } from "./consensus_state.ts";

/** The contract in which games are created, and the types of games that count. */
export interface DisputeGameRules {
  readonly factory: Address;
  /** The types of known kinds. */
  readonly gameTypes: readonly GameTypeConfig[];
}

/** A type of games whose kind is newer than this program. */
export interface UnknownGameType extends Omit<GameTypeConfig, "kind"> {
  /** Index of the kind in the hub's enum. */
  readonly kind: number;
}

/** Rules as the hub stores them, with everything in them that this program does not know. */
export interface StoredGameRules extends DisputeGameRules {
  readonly unknown: readonly UnknownGameType[];
  /** Number of listed types after the first unknown one that cannot be read. */
  readonly unread: number;
}

/** SCALE of {@link DisputeGameRules}, value of {@link disputeGameRulesKey}, where all kinds are known. */
export const disputeGameRulesCodec: Codec<DisputeGameRules> = enhanceCodec(
  pair(addressCodec, list(gameTypeConfigCodec)),
  ({ factory, gameTypes }) => [factory, gameTypes] as const,
  ([factory, gameTypes]) => ({ factory, gameTypes }),
);

const headCodec: Codec<[number, Address, number]> = Tuple(u32, addressCodec, u8);
const HEAD_BYTES = 25;
const MAX_ITEM_BYTES = 45;
const KNOWN_KINDS = 5;
/** Lengths that the payload of an unknown kind may have: nothing, a number, an address, a word. */
const PAYLOAD_BYTES = [0, 4, 8, 20, 32];

/**
 * Decodes the rules of a chain and keeps everything that is known. The payload of an unknown kind has an unknown length:
 * the length with which all items fit and most of them are known is taken, and where several are as good the types after
 * it are lost. Bytes after the list are ignored. @throws {ScaleError} when not even the list's beginning is readable.
 */
export function decodeGameRules(stored: Uint8Array): StoredGameRules {
  try {
    return { ...decodeLoose(disputeGameRulesCodec, stored, "game rules"), unknown: [], unread: 0 };
  } catch (error) {
    if (!(error instanceof ScaleError) || error.code !== "invalid") throw error;
  }
  const factory = decodeLoose(addressCodec, stored, "dispute game factory");
  const rest = stored.slice(addressCodec.enc(factory).length);
  const count = Number(decodeLoose(compact, rest, "game types"));
  const items = rest.slice(compact.enc(count).length);
  const fitting = PAYLOAD_BYTES.flatMap((bytes) => {
    try {
      const read = readGameTypes(items, count, bytes);
      return read.end === items.length ? [read] : [];
    } catch {
      return []; // of another length
    }
  });
  const [best, second] = fitting.toSorted((a, b) => b.gameTypes.length - a.gameTypes.length);
  const isClear = best !== undefined && best.gameTypes.length !== second?.gameTypes.length;
  const { gameTypes, unknown, unread } = isClear ? best : readGameTypes(items, count, undefined);
  return { factory, gameTypes, unknown, unread };
}

/** @param payloadBytes of unknown kinds; `undefined`: the first of them ends the list. @throws {ScaleError} */
function readGameTypes(
  items: Uint8Array,
  count: number,
  payloadBytes: number | undefined,
): Omit<StoredGameRules, "factory"> & { readonly end: number } {
  const gameTypes: GameTypeConfig[] = [];
  const unknown: UnknownGameType[] = [];
  let end = 0;
  for (let at = 0; at < count; at++) {
    const item = items.slice(end, end + MAX_ITEM_BYTES);
    const [gameType, expectedImplementation, kind] = decodeLoose(headCodec, item, "game type");
    if (kind < KNOWN_KINDS) {
      const config = decodeLoose(gameTypeConfigCodec, item, "game type");
      gameTypes.push(config);
      end += gameTypeConfigCodec.enc(config).length;
      continue;
    }
    unknown.push({ gameType, expectedImplementation, kind });
    if (payloadBytes === undefined) return { gameTypes, unknown, unread: count - at - 1, end };
    end += HEAD_BYTES + payloadBytes;
  }
  return { gameTypes, unknown, unread: 0, end };
}

/**
 * Key of the rules of a chain. Absent: the hub accepts every dispute game and ignores it.
 * @param id under the chain's own client, as throughout this file.
 */
export function disputeGameRulesKey(id: StateMachineId): Uint8Array {
  return rollupKey("IsmpOptimism", "StateMachinesDisputeGameFactoriesTypes", id);
}

/** Key of the oracle's address (SCALE `H160`). Absent: the hub accepts every output and ignores it. */
export function outputOracleKey(id: StateMachineId): Uint8Array {
  return rollupKey("IsmpOptimism", "StateMachinesOracleAddresses", id);
}

/** Key that exists when fishermen blacklisted a game. */
export function blacklistedGameKey(id: StateMachineId, proxy: Address): Uint8Array {
  return concatBytes(
    rollupKey("Fishermen", "BlacklistedDisputeGames", id),
    blake2Concat(addressCodec.enc(proxy)),
  );
}
