/**
 * Checks over the sections of all chains that both programs make. They work on the values that were good, so that
 * they say what they know even when other values of the file are wrong.
 */
import type { ConsensusStateId, StateMachine } from "../protocol/ismp/state_machine.ts";
import { findLiveChain } from "./live_network.ts";
import type { Place } from "./report.ts";

/** What the checks know of a section: where it is and which names in it are good. */
export interface KnownSection {
  readonly place: Place;
  readonly stateMachine: StateMachine | undefined;
  readonly consensusStateId: ConsensusStateId | undefined;
}

/** No chain may be configured twice, nor be the hub: one instance of a chain per process. */
export function checkDistinct(hub: KnownSection | undefined, chains: readonly KnownSection[]): void {
  const seen = new Map<StateMachine, Place>();
  for (const chain of chains) {
    const machine = chain.stateMachine;
    if (machine === undefined) continue;
    const at = chain.place.child("state_machine");
    if (machine === hub?.stateMachine) {
      at.problem(`"${machine}", which is the hub`, "a chain other than the hub");
    }
    const first = seen.get(machine);
    if (first === undefined) seen.set(machine, chain.place);
    else at.problem(`"${machine}", which ${sectionAt(first)} has already`, "each chain in one section only");
  }
}

function sectionAt(place: Place): string {
  return `[${place.section}]${place.line === undefined ? "" : ` (line ${place.line})`}`;
}

/** Warns where the live hub stores a chain under another id: an update under that id never comes. */
export function checkLiveIds(chains: readonly KnownSection[], key = "consensus_state_id"): void {
  for (const { place, stateMachine, consensusStateId } of chains) {
    if (stateMachine === undefined || consensusStateId === undefined) continue;
    if (!stateMachine.startsWith("EVM-")) continue;
    const live = findLiveChain(stateMachine);
    if (live === undefined || live.consensusStateId === consensusStateId) continue;
    place.child(key).warning(
      `"${consensusStateId}"`,
      `"${live.consensusStateId}", which is what the live hub uses for ${stateMachine}`,
    );
  }
}
