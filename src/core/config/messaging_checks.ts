/**
 * Checks that look at several sections of the messaging configuration at once. They work on the values that were
 * good, so that they say what they know even when other values of the file are wrong.
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

/** One instance serves either solochains or parachains: the hub has one consensus state id per process. */
export function checkChainKinds(hub: KnownSection | undefined, chains: readonly KnownSection[]): void {
  const parachain = chains.find((chain) => /^(POLKADOT|KUSAMA)-/.test(chain.stateMachine ?? ""));
  const solochain = chains.find((chain) => chain.stateMachine?.startsWith("SUBSTRATE-"));
  if (parachain === undefined) return;
  const name = `[${parachain.place.section}] with "${parachain.stateMachine}"`;
  if (hub?.consensusStateId !== undefined) {
    hub.place.child("consensus_state_id").problem(
      `"${hub.consensusStateId}", which is for solochains, beside the parachain ${name}`,
      "either solochains or parachains in one file",
      "remove it, or run one relayer for the solochains and one for the parachains",
    );
  } else if (solochain !== undefined) {
    solochain.place.child("state_machine").warning(
      `the solochain "${solochain.stateMachine}" beside the parachain ${name}`,
      "either solochains or parachains in one file",
      "run one relayer for the solochains and one for the parachains",
    );
  }
}

/** Which chains are configured, as far as it is known. */
export interface KnownChains {
  readonly hub: StateMachine | undefined;
  readonly chains: readonly KnownSection[];
  /** False when a section does not tell its chain: then no chain can be said to be missing. */
  readonly isComplete: boolean;
}

/** The listed chains that requests can be delivered to; the others are warned about. `undefined` means all. */
export function selectEndpoints(
  listed: readonly StateMachine[],
  listing: { readonly place: Place; readonly raw: unknown },
  known: KnownChains,
): readonly StateMachine[] | undefined {
  if (listed.length === 0) {
    listing.place.warning(
      "an empty array",
      "the chains to deliver to",
      "requests to all configured chains are delivered",
    );
    return undefined;
  }
  const configured = new Set(known.chains.map((chain) => chain.stateMachine));
  const usable = listed.filter((machine) => configured.has(machine) && machine !== known.hub);
  for (const machine of listed) {
    if (usable.includes(machine) || (machine !== known.hub && !known.isComplete)) continue;
    const index = Array.isArray(listing.raw) ? listing.raw.indexOf(machine) : -1;
    const what = machine === known.hub ? "the hub" : "a chain without a section in this file";
    const at = index === -1 ? listing.place : listing.place.child(index);
    at.warning(`"${machine}", ${what}, which is ignored`, "a configured chain other than the hub");
  }
  if (usable.length === 0 && known.isComplete) {
    listing.place.warning(
      "no configured chain",
      "at least one of the configured chains",
      "nothing is delivered from the hub to any chain",
    );
  }
  return usable;
}

/** Warns where the live hub stores a chain under another id: an update under that id never comes. */
export function checkLiveIds(chains: readonly KnownSection[]): void {
  for (const { place, stateMachine, consensusStateId } of chains) {
    if (stateMachine === undefined || consensusStateId === undefined) continue;
    if (!stateMachine.startsWith("EVM-")) continue;
    const live = findLiveChain(stateMachine);
    if (live === undefined || live.consensusStateId === consensusStateId) continue;
    place.child("consensus_state_id").warning(
      `"${consensusStateId}"`,
      `"${live.consensusStateId}", which is what the live hub uses for ${stateMachine}`,
    );
  }
}
