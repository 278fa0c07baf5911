/** Keys shared by several sections of the consensus relayer's file, and those that only the other program uses. */
import {
  type Accepted,
  describeValue,
  type Key,
  readValue,
  replacing,
  type Type,
  withDefault,
} from "../../core/config/schema.ts";
import type { SourceLocation } from "../../core/config/diagnostics.ts";
import {
  anyStateMachine,
  cappedSeconds,
  consensusStateIdOf,
  integer,
  listOf,
  UINT32_MAX,
  wideSeconds,
} from "../../core/config/values.ts";
import { isTable, type TomlValue } from "../../core/config/toml.ts";
import type { ConsensusStateId, StateMachine, StateMachineId } from "../../core/ismp/state_machine.ts";
import { stateMachineIdKey, toParaId } from "../../core/ismp/state_machine.ts";

/** Interval between consensus updates. */
export const updateFrequency = {
  name: "consensus_update_frequency",
  description: "How often the chain is polled for a consensus update.",
};

/** polytope-labs/hyperbridge: tesseract/consensus/{grandpa,bsc,op-host,arb-host}, `consensus_update_frequency`. */
export const frequencyKey = withDefault(cappedSeconds, 300, updateFrequency);

const OF_THE_ENTRY = "given in the chain's own section already";

/** Keys of host sections in files of other relayers. */
export const hostForeign = {
  state_machine: OF_THE_ENTRY,
  rpc_urls: OF_THE_ENTRY,
  evm_config: OF_THE_ENTRY,
  proposer_config: "this relayer proposes no dispute games",
};

/** Begins the description of a key that only the messaging relayer uses. */
export const UNUSED = "Has no effect in this program: ";

/** Describes a key that only the messaging relayer uses. */
export function unused<T>(key: Key<T>, why: string): Key<T> {
  return { ...key, description: `${UNUSED}${why}.` };
}

/** Reason that keys about messages have no effect. */
export const NO_MESSAGES = "it reads no messages";

/** Id of a parachain. */
export const paraId = integer(0, UINT32_MAX);

/**
 * Adds the hub to the parachains whose heads are proved: it is a parachain itself, and would not be proved otherwise.
 * @param listed location of the list.
 */
export function withHubPara(
  paraIds: readonly number[],
  hub: StateMachine,
  listed: SourceLocation,
): readonly number[] {
  const own = toParaId(hub);
  if (paraIds.includes(own)) return paraIds;
  listed.warning(`a list without ${own}`, `${own}, the hub's own id, among them`, "it is added");
  return [...paraIds, own];
}

/** A consensus state id; files of 2025 write it as an array of its four bytes. */
export const byteConsensusStateId: Type<ConsensusStateId> = {
  ...replacing(
    consensusStateIdOf(
      'a consensus state id of exactly 4 ASCII characters such as "ETH0", or an array of its 4 bytes',
    ),
    bytesToText,
  ),
  json: { type: ["string", "array"] },
};

function bytesToText(given: TomlValue): TomlValue {
  const isText = Array.isArray(given) &&
    given.every((byte) => typeof byte === "bigint" && byte >= 0x20n && byte <= 0x7en);
  return isText ? String.fromCharCode(...given.map(Number)) : given;
}

/** Maximum time between two updates of a chain before the program ends. */
export interface UpdateLimit {
  /** The chain, and the id under which its heights are stored. */
  readonly id: StateMachineId;
  readonly maxSec: bigint;
}

const PAIR_EXPECTED =
  'a pair such as [{ state_id = "EVM-1", consensus_state_id = "ETH0" }, 500] or [["EVM-1", "ETH0"], 500]';

const limitedId: Type<StateMachineId> = {
  expected: PAIR_EXPECTED,
  json: {
    type: ["object", "array"],
    properties: { state_id: anyStateMachine.json, consensus_state_id: byteConsensusStateId.json },
    required: ["state_id", "consensus_state_id"],
  },
  read: (given, at, section) => {
    const isShort = Array.isArray(given) && given.length === 2;
    const named = isShort ? { state_id: given[0], consensus_state_id: given[1] } : given;
    if (!isTable(named)) {
      at.problem(describeValue(named), PAIR_EXPECTED);
      return undefined;
    }
    const part = <T>(type: Type<T>, name: string): Accepted<T> | undefined =>
      readValue({ type }, named[name], { table: section, location: at.child(name) });
    const stateMachine = part(anyStateMachine, "state_id");
    const id = part(byteConsensusStateId, "consensus_state_id");
    return stateMachine && id &&
      { value: { stateMachine: stateMachine.value, consensusStateId: id.value } };
  },
};

const updateLimit: Type<UpdateLimit> = {
  expected: PAIR_EXPECTED,
  json: {
    type: "array",
    prefixItems: [limitedId.json, wideSeconds.json],
    items: false,
    minItems: 2,
    maxItems: 2,
  },
  read: (given, at, section) => {
    if (!Array.isArray(given) || given.length !== 2) {
      at.problem(describeValue(given), PAIR_EXPECTED);
      return undefined;
    }
    const id = limitedId.read(given[0], at.child(0), section);
    const maxSec = wideSeconds.read(given[1], at.child(1), section);
    return id && maxSec && { value: { id: id.value, maxSec: maxSec.value } };
  },
};

/** Pairs of a chain and the maximum time between its updates, each id once. */
export const updateLimits: Type<readonly UpdateLimit[]> = listOf(updateLimit, {
  expected: "an array of pairs (empty: no chain is watched)",
  identity: ({ id }) => stateMachineIdKey(id),
});
