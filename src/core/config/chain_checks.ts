/**
 * Checks over the sections of all chains that both programs make. They work on the values that were good, so that
 * they say what they know even when other values of the file are wrong.
 */
import type { Hex } from "../encoding/bytes.ts";
import { isPolkadotHub, polkadotHubAs } from "../ismp/polkadot_hub.ts";
import type { ConsensusStateId, StateMachine } from "../ismp/state_machine.ts";
import { findNamedChain, findOtherTrie, liveHubs, namedChains, networks } from "./live_network.ts";
import type { SourceLocation } from "./diagnostics.ts";

/** What the checks know of a section: where it is, and its valid values. */
export interface KnownSection {
  readonly location: SourceLocation;
  readonly stateMachine?: StateMachine | undefined;
  readonly consensusStateId?: ConsensusStateId | undefined;
  /** Key that names it; default `consensus_state_id`. */
  readonly idKey?: string;
  readonly type?: string | undefined;
  readonly ismpHost?: Hex | undefined;
  readonly inboundOnly?: boolean | undefined;
  readonly gasPriceBufferPercent?: number | undefined;
}

/** What was read of a section. */
export interface SectionReading<C> {
  readonly known: KnownSection;
  /** `undefined`: a value is missing or wrong. */
  readonly config: C | undefined;
}

/** The checks of all chains. @param stored the chains as the hub stores their heights; default: as they are */
export function checkChains(
  hub: KnownSection | undefined,
  chains: readonly KnownSection[],
  stored = chains,
): void {
  checkDistinct(hub, chains);
  checkLiveIds(stored);
  checkNetworks(hub, chains);
  checkTries(chains);
}

/** No chain may be configured twice, nor be the hub: one instance of a chain per process. */
function checkDistinct(hub: KnownSection | undefined, chains: readonly KnownSection[]): void {
  const seen = new Map<StateMachine, SourceLocation>();
  for (const chain of chains) {
    const machine = chain.stateMachine;
    if (machine === undefined) continue;
    const at = chain.location.child("state_machine");
    if (machine === hub?.stateMachine) {
      at.problem(`"${machine}", which is the hub`, "a chain other than the hub");
    }
    const first = seen.get(machine);
    if (first === undefined) seen.set(machine, chain.location);
    else at.problem(`"${machine}", which ${sectionAt(first)} has already`, "each chain in one section only");
  }
}

function sectionAt(location: SourceLocation): string {
  return `[${location.section}]${location.line === undefined ? "" : ` (line ${location.line})`}`;
}

/** Warns where the live hub stores a chain under another id: an update under that id never comes. */
function checkLiveIds(chains: readonly KnownSection[]): void {
  for (const { location, stateMachine, consensusStateId, idKey = "consensus_state_id" } of chains) {
    if (stateMachine === undefined || consensusStateId === undefined) continue;
    const live = findNamedChain(stateMachine);
    if (live === undefined || live.consensusStateId === consensusStateId) continue;
    location.child(idKey).warning(
      `"${consensusStateId}"`,
      `"${live.consensusStateId}", which is what the live hub uses for ${stateMachine}`,
    );
  }
}

/**
 * Warns where a section names the host contract of the other network, and where a chain of one network stands beside the
 * hub of the other: nothing is ever delivered there.
 */
function checkNetworks(hub: KnownSection | undefined, chains: readonly KnownSection[]): void {
  const network = networks.find((each) => liveHubs[each] === hub?.stateMachine);
  for (const { location, stateMachine, ismpHost } of chains) {
    if (stateMachine === undefined) continue;
    const named = findNamedChain(stateMachine);
    if (named === undefined) continue;
    if (ismpHost !== named.ismpHost && namedChains.some((other) => other.ismpHost === ismpHost)) {
      const expected = `${named.ismpHost}, the live host of this chain`;
      location.child("ismp_host").warning("the host of another network", expected);
    }
    if (network === undefined || named.network === network) continue;
    location.child("state_machine").warning(
      `"${stateMachine}" (${named.name}), a chain of the ${named.network}`,
      `chains of the ${network}, as ${hub?.stateMachine} is the hub of that`,
      "each network has a hub and a file of its own",
    );
  }
}

/**
 * Refuses chains whose state cannot be proved to the hub, or not as their section says: whatever is delivered there is
 * never paid for. Polkadot Hub is stored as an EVM chain under either of its names, and has a type of its own.
 */
function checkTries(chains: readonly KnownSection[]): void {
  for (const { location, stateMachine, type } of chains) {
    if (stateMachine === undefined) continue;
    const at = location.child("type");
    const hubAs = isPolkadotHub(stateMachine) ? stateMachine : polkadotHubAs(stateMachine);
    const other = findOtherTrie(stateMachine);
    if (hubAs !== undefined) {
      if (type === "substrate_evm") continue;
      at.problem(
        `a type that Polkadot Hub ("${stateMachine}") does not have`,
        `type = "substrate_evm" with state_machine = "${hubAs}"`,
        "it has the keys of an EVM chain, and a node with Substrate's RPC",
      );
    } else if (other !== undefined) {
      location.child("state_machine").problem(
        `"${stateMachine}" (${other}), whose state is neither in Ethereum's trie nor in those of Polkadot Hub`,
        "a chain whose state this program can prove",
        "fees and rewards for deliveries to it could never be claimed; remove the section",
      );
    } else if (type === "substrate_evm" && findNamedChain(stateMachine) !== undefined) {
      at.problem(
        `"substrate_evm" for ${stateMachine}, whose state is in Ethereum's trie`,
        'for messages "evm", for consensus the type of its finality',
      );
    }
  }
}
