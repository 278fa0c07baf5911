/**
 * Reads the TOML file of the messaging relayer into a {@link MessagingConfig}, or reports everything that is wrong with
 * it. Offline: what requires a connection to the chains is checked at start-up. Source: docs/specification.md,
 * "Messaging relayer configuration"; docs/protocol/messaging.md section 3. Checks across sections use the valid values,
 * so that they report what they can even when other values of the file are invalid.
 */
import {
  checkDistinct,
  checkLiveIds,
  checkNetworks,
  type KnownSection,
  toKnown,
} from "../../core/config/chain_checks.ts";
import { type NotifyConfig, usualHubId } from "../../core/config/chains.ts";
import type { ConfigResult, SourceLocation } from "../../core/config/diagnostics.ts";
import { findLiveChain, findOtherTrie, liveHints } from "../../core/config/live_network.ts";
import { readSection, type SectionResult } from "../../core/config/schema.ts";
import {
  type ConfigDocument,
  findChainSections,
  findHubSection,
  readConfigFile,
  readDocument,
  readOptional,
  reportMissing,
  reportType,
} from "../../core/config/sections.ts";
import type { ConfigFiles, TomlTable, TomlValue } from "../../core/config/toml.ts";
import {
  type ChainConfig,
  type EvmChainConfig,
  FLEET_SECTION,
  type FleetConfig,
  type HubConfig,
  type MessagingConfig,
  messagingSections,
  type RelayerConfig,
  type RelayerValues,
  unsupportedTypes,
} from "./schema.ts";
import { isPolkadotHub, polkadotHubAs } from "../../core/ismp/polkadot_hub.ts";
import type { StateMachine } from "../../core/ismp/state_machine.ts";

const CHAIN_TYPES = ["evm", "substrate_evm", "substrate"] as const;
const SHOWN_TYPES = '"evm", "substrate_evm" or "substrate"';

/** Sections of this file. */
type Sections = ReturnType<typeof messagingSections>;

/** Reads and checks the file at `path`. An unreadable file is reported as a diagnostic, not thrown. */
export function readMessagingConfig(files: ConfigFiles, path: string): ConfigResult<MessagingConfig> {
  return readConfigFile(files, path, parseMessagingConfig);
}

/** Checks the text of a file. `files` is only used for keys that the text references by path. */
export function parseMessagingConfig(files: ConfigFiles, text: string): ConfigResult<MessagingConfig> {
  return readDocument(files, text, (document) => readSections(messagingSections(files), document));
}

function readSections(sections: Sections, document: ConfigDocument): MessagingConfig | undefined {
  const hub = readHub(sections, document);
  const relayer = readRelayer(sections, document);
  const chains = findChainSections(document, SHOWN_TYPES)
    .map(({ name, table }) => readChain(sections, table, document.diagnostics.section([name])));

  const known = chains.map((chain) => chain.known);
  checkDistinct(hub?.known, known);
  checkChainKinds(hub?.known, known);
  checkLiveIds(known);
  checkNetworks(hub?.known, known);
  checkProvenTries(known);
  checkBuffers(relayer?.partial.minimumProfitPercent, known);
  const policy = relayer && completeRelayer(relayer, {
    hub: hub?.known.stateMachine,
    chains: known,
    isComplete: [hub?.known, ...known].every((section) => section?.stateMachine !== undefined),
  });
  if (hub?.config === undefined || policy === undefined) return undefined;
  return { hub: hub.config, relayer: policy, chains: chains.flatMap((chain) => chain.config ?? []) };
}

interface HubReading {
  readonly known: KnownSection;
  readonly config: HubConfig | undefined;
}

function readHub({ hub }: Sections, document: ConfigDocument): HubReading | undefined {
  const found = findHubSection(document);
  if (found === undefined) return undefined;
  const { name: section, table } = found;
  const location = document.diagnostics.section([section]);
  const { partial, complete } = readSection(table, location, hub);
  const config = complete && {
    ...complete,
    section,
    consensusStateId: complete.consensusStateId ?? usualHubId(complete.stateMachine),
  };
  if (complete?.consensusStateId === undefined) {
    location.derived("consensus_state_id", config?.consensusStateId);
  }
  return { known: toKnown(location, partial), config };
}

interface RelayerReading extends SectionResult<RelayerValues> {
  /** `undefined` when the section is wrong. */
  readonly fleet: { readonly config: FleetConfig | undefined } | undefined;
  readonly notify: { readonly config: NotifyConfig | undefined } | undefined;
  readonly location: SourceLocation;
  readonly table: TomlTable;
}

function readRelayer(
  { relayer, fleet, notify }: Sections,
  document: ConfigDocument,
): RelayerReading | undefined {
  if (!document.sections.has("relayer")) reportMissing("relayer", document);
  const given = document.sections.get("relayer");
  if (given === undefined) return undefined;
  const listed = given["delivery_endpoints"];
  const table = listed === undefined
    ? given
    : { ...given, delivery_endpoints: resolveNames(listed, document) };
  const location = document.diagnostics.section(["relayer"]);
  return {
    location,
    table,
    ...readSection(table, location, relayer),
    fleet: readFleet(fleet, table, document),
    notify: readOptional({ name: "relayer", table }, { name: "notify", section: notify }, document),
  };
}

/** Replaces names of sections in a list by the state machines of the sections. */
function resolveNames(listed: TomlValue, { sections }: ConfigDocument): TomlValue {
  if (!Array.isArray(listed)) return listed;
  return listed.map((name: TomlValue) => {
    const machine = typeof name === "string" ? sections.get(name)?.["state_machine"] : undefined;
    return typeof machine === "string" ? machine : name;
  });
}

function readFleet(
  section: Sections["fleet"],
  relayer: TomlTable,
  document: ConfigDocument,
): RelayerReading["fleet"] {
  const reading = readOptional(
    { name: "relayer", table: relayer },
    { name: FLEET_SECTION, section },
    document,
  );
  if (reading?.config === undefined) return reading;
  const { index, count } = reading.config;
  if (index < count) return reading;
  reading.location?.child("index").problem(`${index}`, `an integer from 0 to ${count - 1}, below count`);
  return undefined;
}

function completeRelayer(
  { location, table, partial, complete, fleet, notify }: RelayerReading,
  known: KnownChains,
): RelayerConfig | undefined {
  const listed = partial.deliveryEndpoints;
  const listing = { location: location.child("delivery_endpoints"), raw: table["delivery_endpoints"] };
  const deliveryEndpoints = listed && selectEndpoints(listed, listing, known);
  if (complete === undefined || fleet === undefined || notify === undefined) return undefined;
  const { moduleFilter } = complete;
  return {
    ...complete,
    fleet: fleet.config,
    ...notify.config && { notify: notify.config },
    deliveryEndpoints,
    moduleFilter: moduleFilter.length === 0 ? undefined : moduleFilter,
  };
}

interface ChainSnapshot {
  readonly known: KnownChain & ProvenTrie & { readonly gasPriceBufferPercent?: number | undefined };
  readonly config: ChainConfig | undefined;
}

function readChain(sections: Sections, table: TomlTable, location: SourceLocation): ChainSnapshot {
  const { section } = location;
  switch (CHAIN_TYPES.find((name) => name === table["type"])) {
    case "evm": {
      const { partial, complete } = readSection(table, location.withHints(liveHints(table)), sections.evm);
      const known = knownOf(location, partial, { trie: "ethereum" });
      return { known, config: complete && { section, ...complete } };
    }
    case "substrate_evm": {
      const hinting = location.withHints(liveHints(table));
      const { partial, complete } = readSection(table, hinting, sections.substrate_evm);
      const known = knownOf(location, partial, { trie: "contracts" });
      return { known, config: complete && { section, ...complete } };
    }
    case "substrate": {
      const { partial, complete } = readSection(table, location, sections.substrate);
      return { known: knownOf(location, partial, {}), config: complete && { section, ...complete } };
    }
    case undefined:
      reportType(table["type"], location.child("type"), {
        expected: SHOWN_TYPES,
        words: CHAIN_TYPES,
        advice: unsupportedTypes,
      });
      return { known: toKnown(location, {}), config: undefined };
  }
}

function knownOf(
  location: SourceLocation,
  partial: Partial<Omit<EvmChainConfig, "type" | "signer">>,
  trie: ProvenTrie,
): ChainSnapshot["known"] {
  const { gasPriceBufferPercent, inboundOnly } = partial;
  return { ...toKnown(location, partial), gasPriceBufferPercent, inboundOnly, ...trie };
}

/**
 * Keeps what the open database depends on: it belongs to one hub, and how its log is written back is set when it is
 * opened. `fixed` names the keys that have changed.
 */
export function keepFixed(
  { hub: { stateMachine, consensusStateId }, relayer: { leaveCheckpoints } }: MessagingConfig,
  after: MessagingConfig,
): { readonly config: MessagingConfig; readonly fixed: readonly string[] } {
  const { hub } = after;
  const fixed = [
    ...hub.stateMachine === stateMachine ? [] : [`[${hub.section}].state_machine`],
    ...hub.consensusStateId === consensusStateId ? [] : [`[${hub.section}].consensus_state_id`],
    ...after.relayer.leaveCheckpoints === leaveCheckpoints ? [] : ["[relayer].leave_checkpoints"],
  ];
  const config = {
    ...after,
    hub: { ...hub, stateMachine, consensusStateId },
    relayer: { ...after.relayer, leaveCheckpoints },
  };
  return { config, fixed };
}

/** Checks that one instance serves either solochains or parachains: the hub has one consensus state id per process. */
function checkChainKinds(hub: KnownSection | undefined, chains: readonly KnownSection[]): void {
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
interface ProvenTrie {
  /** `ethereum`: in Ethereum's trie. `contracts`: in tries of contracts on a Substrate chain. */
  readonly trie?: "ethereum" | "contracts";
}

/**
 * Refuses chains whose state this program cannot prove to the hub, or not in the way of their section: whatever is
 * delivered there is never paid for.
 */
function checkProvenTries(chains: readonly (KnownSection & ProvenTrie)[]): void {
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
function checkBuffers(
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
interface KnownChains {
  readonly hub: StateMachine | undefined;
  readonly chains: readonly KnownChain[];
  /** False when a section has no valid chain: then no chain can be reported as missing. */
  readonly isComplete: boolean;
}

/** Selects the listed chains that requests can be delivered to, and warns about the others. `undefined` means all. */
function selectEndpoints(
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
