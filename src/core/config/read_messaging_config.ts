/**
 * Reads the TOML file of the messaging relayer into a {@link MessagingConfig}, or says everything that is wrong
 * with it. Offline: what only the chains can tell is checked at start-up. Source: docs/specification.md, "Messaging
 * relayer configuration"; docs/protocol/messaging.md section 3.
 */
import type { TomlTable } from "./toml.ts";
import { checkDistinct, checkLiveIds, checkTries, type KnownSection } from "./chain_checks.ts";
import { evmFields, substrateFields, usualHubId } from "./chain_fields.ts";
import { liveHints } from "./live_network.ts";
import { checkBuffers, checkChainKinds, type KnownChains, selectEndpoints } from "./messaging_checks.ts";
import type { ChainConfig, HubConfig, MessagingConfig, RelayerConfig } from "./messaging_config.ts";
import {
  evmIgnored,
  hubFields,
  type HubFileValues,
  hubIgnored,
  relayerFields,
  type RelayerFileValues,
  relayerIgnored,
  substrateIgnored,
  unsupportedTypes,
} from "./messaging_fields.ts";
import type { ConfigResult } from "./diagnostics.ts";
import type { Diagnostics, SourceLocation } from "./diagnostics.ts";
import { readSection, type SectionResult } from "./section.ts";
import {
  findChainSections,
  findHubSection,
  findSections,
  readConfigFile,
  readDocument,
  reportMissing,
  reportType,
  type Sections,
} from "./sections.ts";
import type { ConfigFiles } from "./toml.ts";

const CHAIN_TYPES = '"evm" or "substrate"';

/** Reads and checks the file at `path`. A file that cannot be read is a problem too, not an exception. */
export function readMessagingConfig(files: ConfigFiles, path: string): ConfigResult<MessagingConfig> {
  return readConfigFile(files, path, (text) => parseMessagingConfig(files, text));
}

/** Checks the text of a file. `files` is asked only for keys that the text names by path. */
export function parseMessagingConfig(files: ConfigFiles, text: string): ConfigResult<MessagingConfig> {
  return readDocument(text, (table, diagnostics) => readSections(files, table, diagnostics));
}

function readSections(
  files: ConfigFiles,
  table: TomlTable,
  diagnostics: Diagnostics,
): MessagingConfig | undefined {
  const sections = findSections(table, diagnostics);
  const hub = readHub(files, sections, diagnostics);
  const relayer = readRelayer(sections, diagnostics);
  const chains = readChains(files, sections, diagnostics);

  const known = chains.map((chain) => chain.known);
  checkDistinct(hub?.known, known);
  checkChainKinds(hub?.known, known);
  checkLiveIds(known);
  checkTries(known);
  checkBuffers(relayer?.reading.good.minimumProfitPercent, chains.map((chain) => chain.known));
  const policy = relayer && completeRelayer(relayer, {
    hub: hub?.known.stateMachine,
    chains: known,
    isComplete: [hub?.known, ...known].every((section) => section?.stateMachine !== undefined),
  });
  const configs = chains.flatMap((chain) => chain.config ?? []);
  if (hub?.config === undefined || policy === undefined) return undefined;
  return { hub: hub.config, relayer: policy, chains: configs };
}

interface HubReading {
  readonly known: KnownSection;
  readonly config: HubConfig | undefined;
}

function readHub(
  files: ConfigFiles,
  sections: Sections,
  diagnostics: Diagnostics,
): HubReading | undefined {
  const found = findHubSection(sections, diagnostics);
  if (found === undefined) return undefined;
  const { name, table } = found;
  const place = diagnostics.section([name]);
  const reading = readSection(table, place, hubFields(files), { ignored: hubIgnored });
  return { known: knownSection(place, reading), config: completeHub(name, reading.whole) };
}

function completeHub(section: string, values: HubFileValues | undefined): HubConfig | undefined {
  if (values === undefined) return undefined;
  return {
    ...values,
    section,
    consensusStateId: values.consensusStateId ?? usualHubId(values.stateMachine),
    isForSolochains: values.consensusStateId !== undefined,
  };
}

interface RelayerReading {
  readonly place: SourceLocation;
  readonly table: TomlTable;
  readonly reading: SectionResult<RelayerFileValues>;
}

function readRelayer(
  sections: Sections,
  diagnostics: Diagnostics,
): RelayerReading | undefined {
  if (!sections.has("relayer")) reportMissing("relayer", sections, diagnostics);
  const table = sections.get("relayer");
  if (table === undefined) return undefined;
  const place = diagnostics.section(["relayer"]);
  return { place, table, reading: readSection(table, place, relayerFields, { ignored: relayerIgnored }) };
}

function completeRelayer(
  { place, table, reading }: RelayerReading,
  known: KnownChains,
): RelayerConfig | undefined {
  const listed = reading.good.deliveryEndpoints;
  const listing = { place: place.child("delivery_endpoints"), raw: table["delivery_endpoints"] };
  const deliveryEndpoints = listed && selectEndpoints(listed, listing, known);
  if (reading.whole === undefined) return undefined;
  const { moduleFilter } = reading.whole;
  return {
    ...reading.whole,
    deliveryEndpoints,
    moduleFilter: moduleFilter.length === 0 ? undefined : moduleFilter,
  };
}

interface ChainReading {
  readonly known: KnownSection & { readonly gasPriceBufferPercent?: number | undefined };
  readonly config: ChainConfig | undefined;
}

function readChains(
  files: ConfigFiles,
  sections: Sections,
  diagnostics: Diagnostics,
): readonly ChainReading[] {
  const entries = findChainSections(sections, diagnostics, CHAIN_TYPES);
  return entries.flatMap(([name, table]) => readChain(files, table, diagnostics.section([name])));
}

function readChain(files: ConfigFiles, table: TomlTable, place: SourceLocation): ChainReading {
  const section = place.section;
  if (table["type"] === "evm") {
    const traits = { ignored: evmIgnored, others: ["type"], hintFor: liveHints(table) };
    const reading = readSection(table, place, evmFields(files), traits);
    return {
      known: {
        ...knownSection(place, reading),
        gasPriceBufferPercent: reading.good.gasPriceBufferPercent,
      },
      config: reading.whole && { type: "evm", section, ...reading.whole },
    };
  }
  if (table["type"] === "substrate") {
    const traits = { ignored: substrateIgnored, others: ["type"] };
    const reading = readSection(table, place, substrateFields(files), traits);
    return {
      known: knownSection(place, reading),
      config: reading.whole && { type: "substrate", section, ...reading.whole },
    };
  }
  reportType(table["type"], place.child("type"), {
    expected: CHAIN_TYPES,
    words: ["evm", "substrate"],
    advice: unsupportedTypes,
  });
  return { known: { place, stateMachine: undefined, consensusStateId: undefined }, config: undefined };
}

function knownSection(
  place: SourceLocation,
  reading: SectionResult<Pick<KnownSection, "stateMachine" | "consensusStateId">>,
): KnownSection {
  const { stateMachine, consensusStateId } = reading.good;
  return { place, stateMachine, consensusStateId };
}
