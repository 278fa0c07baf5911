/**
 * Reads the TOML file of the messaging relayer into a {@link MessagingConfig}, or reports everything that is wrong with
 * it. Offline: what requires a connection to the chains is checked at start-up. Source: docs/specification.md,
 * "Messaging relayer configuration"; docs/protocol/messaging.md section 3.
 */
import { checkDistinct, checkLiveIds, type KnownSection, toKnown } from "../../core/config/chain_checks.ts";
import { usualHubId } from "../../core/config/chains.ts";
import type { ConfigResult, SourceLocation } from "../../core/config/diagnostics.ts";
import { liveHints } from "../../core/config/live_network.ts";
import { readSection, type SectionResult } from "../../core/config/schema.ts";
import {
  type ConfigDocument,
  findChainSections,
  findHubSection,
  readConfigFile,
  readDocument,
  readInner,
  reportMissing,
  reportType,
} from "../../core/config/sections.ts";
import type { ConfigFiles, TomlTable } from "../../core/config/toml.ts";
import {
  checkBuffers,
  checkChainKinds,
  checkProvenTries,
  type KnownChain,
  type KnownChains,
  type ProvenTrie,
  selectEndpoints,
} from "./checks.ts";
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
  readonly location: SourceLocation;
  readonly table: TomlTable;
}

function readRelayer(
  { relayer, fleet }: Sections,
  document: ConfigDocument,
): RelayerReading | undefined {
  if (!document.sections.has("relayer")) reportMissing("relayer", document);
  const table = document.sections.get("relayer");
  if (table === undefined) return undefined;
  const location = document.diagnostics.section(["relayer"]);
  return {
    location,
    table,
    ...readSection(table, location, relayer),
    fleet: Object.hasOwn(table, FLEET_SECTION) ? readFleet(fleet, table, document) : { config: undefined },
  };
}

function readFleet(
  section: Sections["fleet"],
  relayer: TomlTable,
  document: ConfigDocument,
): RelayerReading["fleet"] {
  const outer = { name: "relayer", table: relayer };
  const { location, complete } = readInner(outer, { name: FLEET_SECTION, section }, document);
  if (complete === undefined) return undefined;
  const { index, count } = complete;
  if (index < count) return { config: complete };
  location.child("index").problem(`${index}`, `an integer from 0 to ${count - 1}, below count`);
  return undefined;
}

function completeRelayer(
  { location, table, partial, complete, fleet }: RelayerReading,
  known: KnownChains,
): RelayerConfig | undefined {
  const listed = partial.deliveryEndpoints;
  const listing = { location: location.child("delivery_endpoints"), raw: table["delivery_endpoints"] };
  const deliveryEndpoints = listed && selectEndpoints(listed, listing, known);
  if (complete === undefined || fleet === undefined) return undefined;
  const { moduleFilter } = complete;
  return {
    ...complete,
    fleet: fleet.config,
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
