/** Keys shared by several sections of the consensus relayer's file, and those that only the other program uses. */
import { type Key, withDefault } from "../../core/config/schema.ts";
import type { SourceLocation } from "../../core/config/diagnostics.ts";
import { cappedSeconds, integer, UINT32_MAX } from "../../core/config/values.ts";
import { type StateMachine, toParaId } from "../../core/ismp/state_machine.ts";

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

/** Describes a key that only the messaging relayer uses. */
export function unused<T>(key: Key<T>, why: string): Key<T> {
  return { ...key, description: `Has no effect in this program: ${why}.` };
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
