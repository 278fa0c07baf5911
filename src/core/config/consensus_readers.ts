/**
 * Readers of values that only the consensus relayer's file has: ids as arrays of bytes, and pairs of a chain and a
 * period.
 */
import { isTable, type TomlTable, type TomlValue } from "./toml.ts";
import type { ConsensusStateId } from "../protocol/ismp/state_machine.ts";
import { stateMachineIdKey } from "../protocol/ismp/state_machine.ts";
import { anyStateMachine, consensusStateId } from "./chain_readers.ts";
import type { UpdateLimit } from "./consensus_config.ts";
import type { SourceLocation } from "./diagnostics.ts";
import type { Accepted, Reader } from "./section.ts";
import { describeKind, listOf, wideSeconds } from "./value_readers.ts";

/** As {@link consensusStateId}; files of 2025 write it as an array of its four bytes. */
export const byteConsensusStateId: Reader<ConsensusStateId> = {
  expected: `${consensusStateId.expected}, or an array of its 4 bytes`,
  read: (value, place) => {
    if (!Array.isArray(value)) return consensusStateId.read(value, place);
    const text = printableText(value);
    if (text !== undefined) return consensusStateId.read(text, place);
    const expected = "an array of 4 bytes that are ASCII characters";
    place.problem(`an array of ${value.length} elements that are not such bytes`, expected);
    return undefined;
  },
};

function printableText(bytes: readonly TomlValue[]): string | undefined {
  const isText = bytes.every((byte) => typeof byte === "bigint" && byte >= 0x20n && byte <= 0x7en);
  return isText && bytes.length === 4 ? String.fromCharCode(...bytes.map(Number)) : undefined;
}

const PAIR_EXPECTED =
  'a pair such as [{ state_id = "EVM-1", consensus_state_id = "ETH0" }, 500] or [["EVM-1", "ETH0"], 500]';

const updateLimit: Reader<UpdateLimit> = {
  expected: PAIR_EXPECTED,
  read: (value, place): Accepted<UpdateLimit> => {
    if (!Array.isArray(value)) {
      place.problem(describeKind(value), PAIR_EXPECTED);
      return undefined;
    }
    const [first, second, ...rest] = value;
    if (first === undefined || second === undefined || rest.length > 0) {
      place.problem(`an array of ${value.length}`, PAIR_EXPECTED);
      return undefined;
    }
    const id = readId(first, place.child(0));
    const max = wideSeconds.read(second, place.child(1));
    return id && max && { value: { id: id.value, maxSec: max.value } };
  },
};

function readId(value: TomlValue, place: SourceLocation): Accepted<UpdateLimit["id"]> {
  const names = Array.isArray(value) ? pairNames(value, place) : isTable(value) ? value : undefined;
  if (names === undefined) {
    if (!Array.isArray(value)) place.problem(describeKind(value), PAIR_EXPECTED);
    return undefined;
  }
  const step = (key: string, index: number): SourceLocation =>
    place.child(Array.isArray(value) ? index : key);
  const machine = readName(names, anyStateMachine, { key: "state_id", at: step("state_id", 0) });
  const consensus = readName(names, byteConsensusStateId, {
    key: "consensus_state_id",
    at: step("consensus_state_id", 1),
  });
  return machine && consensus &&
    { value: { stateMachine: machine.value, consensusStateId: consensus.value } };
}

/** The short form as the long one. */
function pairNames(value: readonly TomlValue[], place: SourceLocation): TomlTable | undefined {
  const [machine, consensus, ...rest] = value;
  if (machine !== undefined && consensus !== undefined && rest.length === 0) {
    return { state_id: machine, consensus_state_id: consensus };
  }
  place.problem(
    `an array of ${value.length}`,
    'a chain and its consensus state id such as ["EVM-1", "ETH0"]',
  );
  return undefined;
}

function readName<T>(
  names: TomlTable,
  reader: Reader<T>,
  { key, at }: { readonly key: string; readonly at: SourceLocation },
): Accepted<T> {
  const value = Object.hasOwn(names, key) ? names[key] : undefined;
  if (value !== undefined) return reader.read(value, at);
  at.problem("nothing", reader.expected);
  return undefined;
}

/** Pairs of a chain and the longest time between its updates. */
export const updateLimits: Reader<readonly UpdateLimit[]> = listOf(updateLimit, {
  expected: "an array of pairs (empty: no chain is watched)",
  identity: ({ id }) => stateMachineIdKey(id),
});
