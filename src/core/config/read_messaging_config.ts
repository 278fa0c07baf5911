/**
 * Reads the TOML file of the messaging relayer into a {@link MessagingConfig}, or says everything that is wrong
 * with it. Offline: what only the chains can tell is checked at start-up. Source: spec.md, "Messaging relayer
 * configuration"; 04-messaging-flow section 3.
 */
import type { TomlTable } from "smol-toml";
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
import type { ConfigReading } from "./problem.ts";
import type { Place, Report } from "./report.ts";
import { readSection, type SectionReading } from "./section.ts";
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
import type { ConfigFiles } from "./toml_file.ts";

const CHAIN_TYPES = '"evm" or "substrate"';

/** Reads and checks the file at `path`. A file that cannot be read is a problem too, not an exception. */
export function readMessagingConfig(files: ConfigFiles, path: string): ConfigReading<MessagingConfig> {
  return readConfigFile(files, path, (text) => parseMessagingConfig(files, text));
}

/** Checks the text of a file. `files` is asked only for keys that the text names by path. */
export function parseMessagingConfig(files: ConfigFiles, text: string): ConfigReading<MessagingConfig> {
  return readDocument(text, (table, report) => readSections(files, table, report));
}

function readSections(files: ConfigFiles, table: TomlTable, report: Report): MessagingConfig | undefined {
  const sections = findSections(table, report);
  const hub = readHub(files, sections, report);
  const relayer = readRelayer(sections, report);
  const chains = readChains(files, sections, report);

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
  report: Report,
): HubReading | undefined {
  const found = findHubSection(sections, report);
  if (found === undefined) return undefined;
  const { name, table } = found;
  const place = report.section([name]);
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
  readonly place: Place;
  readonly table: TomlTable;
  readonly reading: SectionReading<RelayerFileValues>;
}

function readRelayer(
  sections: Sections,
  report: Report,
): RelayerReading | undefined {
  if (!sections.has("relayer")) reportMissing("relayer", sections, report);
  const table = sections.get("relayer");
  if (table === undefined) return undefined;
  const place = report.section(["relayer"]);
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
  report: Report,
): readonly ChainReading[] {
  const entries = findChainSections(sections, report, CHAIN_TYPES);
  return entries.flatMap(([name, table]) => readChain(files, table, report.section([name])));
}

function readChain(files: ConfigFiles, table: TomlTable, place: Place): ChainReading {
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
  place: Place,
  reading: SectionReading<Pick<KnownSection, "stateMachine" | "consensusStateId">>,
): KnownSection {
  const { stateMachine, consensusStateId } = reading.good;
  return { place, stateMachine, consensusStateId };
}
