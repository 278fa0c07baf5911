/**
 * Checks across sections of the messaging configuration. They use the valid values, so that they report what they can
 * even when other values of the file are invalid.
 */
import type { KnownSection } from "../../core/config/chain_checks.ts";
import type { SourceLocation } from "../../core/config/diagnostics.ts";
import { findLiveChain, findOtherTrie } from "../../core/config/live_network.ts";
import { isPolkadotHub, polkadotHubAs } from "../../core/ismp/polkadot_hub.ts";
import type { StateMachine } from "../../core/ismp/state_machine.ts";

/** Checks that one instance serves either solochains or parachains: the hub has one consensus state id per process. */
export function checkChainKinds(hub: KnownSection | undefined, chains: readonly KnownSection[]): void {
  const parachain = chains.find((chain) => /^(POLKADOT|KUSAMA)-/.test(chain.stateMachine ?? ""));
  const solochain = chains.find((chain) => chain.stateMachine?.startsWith("SUBSTRATE-"));
  if (parachain === undefined) return;
  const name = `[${parachain.location.section}] with "${parachain.stateMachine}"`;
  if (hub?.consensusStateId !== undefined) {
    hub.location.child("consensus_state_id").problem(
      `"${hub.consensusStateId}", which is for solochains, beside the parachain ${name}`,
      "either solochains or parachains in one file",
      "remove it, or run one relayer for the solochains and one for the parachains",
    );
  } else if (solochain !== undefined) {
    solochain.location.child("state_machine").warning(
      `the solochain "${solochain.stateMachine}" beside the parachain ${name}`,
      "either solochains or parachains in one file",
      "run one relayer for the solochains and one for the parachains",
    );
  }
}

/** What the type of a section says of the chain's state. */
export interface ProvenTrie {
  /** `ethereum`: in Ethereum's trie. `contracts`: in tries of contracts on a Substrate chain. */
  readonly trie?: "ethereum" | "contracts";
}

/**
 * Refuses chains whose state this program cannot prove to the hub, or not in the way of their section: whatever is
 * delivered there is never paid for.
 */
export function checkProvenTries(chains: readonly (KnownSection & ProvenTrie)[]): void {
  for (const { location, stateMachine, trie } of chains) {
    if (stateMachine === undefined) continue;
    const [at, type] = [location.child("state_machine"), location.child("type")];
    const storedAs = polkadotHubAs(stateMachine);
    if (storedAs !== undefined) {
      at.problem(
        `"${stateMachine}", which is Polkadot Hub`,
        `"${storedAs}", as which the hub stores it`,
        'write type = "substrate_evm", the keys of an EVM chain, and the node of this section as ws_url',
      );
    }
    if (trie === undefined) continue;
    const other = findOtherTrie(stateMachine);
    if (isPolkadotHub(stateMachine)) {
      if (trie === "contracts") continue;
      type.problem(
        `"evm" for ${stateMachine} (Polkadot Hub), whose state is not in Ethereum's trie`,
        '"substrate_evm"',
        "its state is proved by a node with Substrate's RPC: add that as ws_url",
      );
    } else if (other !== undefined) {
      at.problem(
        `"${stateMachine}" (${other}), whose state is neither in Ethereum's trie nor in those of Polkadot Hub`,
        "a chain whose state this program can prove",
        "fees and rewards for deliveries to it could never be claimed; remove the section",
      );
    } else if (trie === "contracts" && findLiveChain(stateMachine) !== undefined) {
      type.problem(
        `"substrate_evm" for ${stateMachine}, whose state is in Ethereum's trie`,
        '"evm"',
        "remove ws_url",
      );
    }
  }
}

/**
 * Warns when the gas price buffer is larger than the required profit: near the threshold a delivery at the buffered
 * price would cost more than its fee.
 */
export function checkBuffers(
  profitPercent: number | undefined,
  chains: readonly {
    readonly location: SourceLocation;
    readonly gasPriceBufferPercent?: number | undefined;
  }[],
): void {
  if (profitPercent === undefined || profitPercent === 0) return; // everything is delivered at any price
  for (const { location, gasPriceBufferPercent } of chains) {
    if (gasPriceBufferPercent === undefined || gasPriceBufferPercent <= profitPercent) continue;
    location.child("gas_price_buffer").warning(
      `${gasPriceBufferPercent}, above minimum_profit_percentage = ${profitPercent}`,
      "no more than minimum_profit_percentage",
      "barely profitable messages are sent with a smaller buffer, since with all of it they would be delivered at a loss",
    );
  }
}

/** A chain's section, and whether the chain is only a source. */
export interface KnownChain extends KnownSection {
  readonly inboundOnly?: boolean | undefined;
}

/** Configured chains, as far as they are known. */
export interface KnownChains {
  readonly hub: StateMachine | undefined;
  readonly chains: readonly KnownChain[];
  /** False when a section has no valid chain: then no chain can be reported as missing. */
  readonly isComplete: boolean;
}

/** Selects the listed chains that requests can be delivered to, and warns about the others. `undefined` means all. */
export function selectEndpoints(
  listed: readonly StateMachine[],
  listing: { readonly location: SourceLocation; readonly raw: unknown },
  known: KnownChains,
): readonly StateMachine[] | undefined {
  if (listed.length === 0) return undefined;
  const chainOf = (machine: StateMachine): KnownChain | undefined =>
    known.chains.find(({ stateMachine }) => stateMachine === machine);
  const usable = listed.filter((machine) => chainOf(machine)?.inboundOnly === false && machine !== known.hub);
  for (const machine of listed) {
    const isSource = chainOf(machine)?.inboundOnly === true;
    const isKnown = machine === known.hub || isSource;
    if (usable.includes(machine) || !isKnown && !known.isComplete) continue;
    const index = Array.isArray(listing.raw) ? listing.raw.indexOf(machine) : -1;
    const other = isSource ? "a chain with inbound_only = true" : "a chain without a section in this file";
    const what = machine === known.hub ? "the hub" : other;
    const at = index === -1 ? listing.location : listing.location.child(index);
    at.warning(`"${machine}", ${what}, which is ignored`, "a configured chain other than the hub");
  }
  if (usable.length === 0 && known.isComplete) {
    listing.location.warning(
      "no configured chain",
      "at least one of the configured chains",
      "nothing is delivered from the hub to any chain",
    );
  }
  return usable;
}
