/**
 * Checks that look at several sections of the messaging configuration at once. They work on the values that were
 * good, so that they say what they know even when other values of the file are wrong.
 */
import type { KnownSection } from "../../core/config/chain_checks.ts";
import type { SourceLocation } from "../../core/config/diagnostics.ts";
import type { StateMachine } from "../../core/ismp/state_machine.ts";

/** One instance serves either solochains or parachains: the hub has one consensus state id per process. */
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

/**
 * Warns where the buffer of the gas price is larger than the profit that is asked for: near the threshold a delivery at
 * the buffered price would cost more than its fee.
 */
export function checkBuffers(
  profitPercent: number | undefined,
  chains: readonly {
    readonly location: SourceLocation;
    readonly gasPriceBufferPercent?: number | undefined;
  }[],
): void {
  if (profitPercent === undefined || profitPercent === 0) return; // everything is wanted at any price
  for (const { location, gasPriceBufferPercent } of chains) {
    if (gasPriceBufferPercent === undefined || gasPriceBufferPercent <= profitPercent) continue;
    location.child("gas_price_buffer").warning(
      `${gasPriceBufferPercent}, above minimum_profit_percentage = ${profitPercent}`,
      "no more than minimum_profit_percentage",
      "messages that hardly pay are sent with a smaller buffer, since with all of it they would be delivered at a loss",
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
  listing: { readonly location: SourceLocation; readonly raw: unknown },
  known: KnownChains,
): readonly StateMachine[] | undefined {
  if (listed.length === 0) {
    listing.location.warning(
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
