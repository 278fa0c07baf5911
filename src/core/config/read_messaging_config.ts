/**
 * Reads the TOML file of the messaging relayer into a {@link MessagingConfig}, or says everything that is wrong
 * with it. Offline: what only the chains can tell is checked at start-up. Source: spec.md, "Messaging relayer
 * configuration"; 04-messaging-flow section 3.
 */
import type { TomlTable } from "smol-toml";
import { IdentifierError, parseStateMachine, toConsensusStateId } from "../protocol/ismp/state_machine.ts";
import { findLiveChain } from "./live_network.ts";
import {
  checkChainKinds,
  checkDistinct,
  checkLiveIds,
  type KnownChains,
  type KnownSection,
  selectEndpoints,
} from "./messaging_checks.ts";
import type { ChainConfig, HubConfig, MessagingConfig, RelayerConfig } from "./messaging_config.ts";
import {
  evmFields,
  evmIgnored,
  hubFields,
  type HubFileValues,
  hubIgnored,
  relayerFields,
  type RelayerFileValues,
  relayerIgnored,
  substrateFields,
  substrateIgnored,
  unsupportedTypes,
} from "./messaging_fields.ts";
import type { ConfigReading, Problem } from "./problem.ts";
import { shownText } from "./redact.ts";
import { type Place, Report } from "./report.ts";
import { readSection, type SectionReading } from "./section.ts";
import { nearestWord } from "./spelling.ts";
import { type ConfigFiles, parseToml, readTextFile } from "./toml_file.ts";
import { describeKind, isTable } from "./value_readers.ts";

/** Names of the hub's section: the spec's and that of the reference's files. */
const HUB_SECTIONS = ["hub", "hyperbridge"] as const;
const CHAIN_TYPES = '"evm" or "substrate"';

/** Reads and checks the file at `path`. A file that cannot be read is a problem too, not an exception. */
export function readMessagingConfig(files: ConfigFiles, path: string): ConfigReading<MessagingConfig> {
  const file = readTextFile(files, path);
  return "problem" in file ? unreadable(file.problem) : parseMessagingConfig(files, file.text);
}

/** Checks the text of a file. `files` is asked only for keys that the text names by path. */
export function parseMessagingConfig(files: ConfigFiles, text: string): ConfigReading<MessagingConfig> {
  const document = parseToml(text);
  if ("problem" in document) return unreadable(document.problem);
  const report = new Report(document.lineOf);
  const config = readDocument(files, document.table, report);
  const { problems, warnings, notes } = report;
  return { config: problems.length === 0 ? config : undefined, problems, warnings, notes };
}

function unreadable(problem: Problem): ConfigReading<MessagingConfig> {
  return { config: undefined, problems: [problem], warnings: [], notes: [] };
}

function readDocument(files: ConfigFiles, table: TomlTable, report: Report): MessagingConfig | undefined {
  const sections = findSections(table, report);
  const hub = readHub(files, sections, report);
  const relayer = readRelayer(sections, report);
  const chains = readChains(files, sections, report);

  const known = chains.map((chain) => chain.known);
  checkDistinct(hub?.known, known);
  checkChainKinds(hub?.known, known);
  checkLiveIds(known);
  const policy = relayer && completeRelayer(relayer, {
    hub: hub?.known.stateMachine,
    chains: known,
    isComplete: [hub?.known, ...known].every((section) => section?.stateMachine !== undefined),
  });
  const configs = chains.flatMap((chain) => chain.config ?? []);
  if (hub?.config === undefined || policy === undefined) return undefined;
  return { hub: hub.config, relayer: policy, chains: configs };
}

/** Top-level tables by name. Every other top-level key is a problem. */
function findSections(table: TomlTable, report: Report): ReadonlyMap<string, TomlTable | undefined> {
  const sections = new Map<string, TomlTable | undefined>();
  for (const [name, value] of Object.entries(table)) {
    const section = isTable(value) ? value : undefined;
    sections.set(name, section);
    if (section === undefined) {
      const isArrayOfTables = Array.isArray(value) && value.length > 0 && value.every(isTable);
      report.file.child(name).problem(
        isArrayOfTables
          ? "an array of sections (double brackets)"
          : `${describeKind(value)} outside of any section`,
        "a section in single brackets",
      );
    }
  }
  return sections;
}

interface HubReading {
  readonly known: KnownSection;
  readonly config: HubConfig | undefined;
}

function readHub(
  files: ConfigFiles,
  sections: ReadonlyMap<string, TomlTable | undefined>,
  report: Report,
): HubReading | undefined {
  const [name, other] = HUB_SECTIONS.filter((candidate) => sections.has(candidate));
  if (name === undefined) {
    reportMissing("hub", sections, report);
    return undefined;
  }
  if (other !== undefined) {
    report.section([other]).problem(
      `a second section for the hub beside [${name}]`,
      `either [${name}] or [${other}]`,
    );
  }
  const table = sections.get(name);
  if (table === undefined) return undefined;
  const place = report.section([name]);
  const reading = readSection(table, place, hubFields(files), { ignored: hubIgnored });
  return { known: knownSection(place, reading), config: completeHub(name, reading.whole) };
}

/** Applies the default id of the live hubs: PAS0 on Paseo, DOT0 on Polkadot (03-hub-substrate section 0). */
function completeHub(section: string, values: HubFileValues | undefined): HubConfig | undefined {
  if (values === undefined) return undefined;
  const usual = toConsensusStateId(values.stateMachine.startsWith("KUSAMA-") ? "PAS0" : "DOT0");
  return {
    ...values,
    section,
    consensusStateId: values.consensusStateId ?? usual,
    isForSolochains: values.consensusStateId !== undefined,
  };
}

interface RelayerReading {
  readonly place: Place;
  readonly table: TomlTable;
  readonly reading: SectionReading<RelayerFileValues>;
}

function readRelayer(
  sections: ReadonlyMap<string, TomlTable | undefined>,
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

function reportMissing(
  name: string,
  sections: ReadonlyMap<string, TomlTable | undefined>,
  report: Report,
): void {
  const untyped = [...sections].flatMap(([other, table]) =>
    table && !Object.hasOwn(table, "type") ? [other] : []
  );
  const misspelt = nearestWord(name, untyped);
  const hint = misspelt === undefined ? undefined : `is [${report.section([misspelt]).section}] meant?`;
  report.section([name]).problem("no such section", `a section [${name}]`, hint);
}

interface ChainReading {
  readonly known: KnownSection;
  readonly config: ChainConfig | undefined;
}

function readChains(
  files: ConfigFiles,
  sections: ReadonlyMap<string, TomlTable | undefined>,
  report: Report,
): readonly ChainReading[] {
  const reserved = new Set<string>([...HUB_SECTIONS, "relayer"]);
  const entries = [...sections].filter(([name]) => !reserved.has(name));
  if (entries.length === 0) {
    report.file.problem("no chain", `at least one section of a chain (type = ${CHAIN_TYPES})`);
  }
  return entries.flatMap(([name, table]) =>
    table === undefined ? [] : readChain(files, table, report.section([name]))
  );
}

function readChain(files: ConfigFiles, table: TomlTable, place: Place): ChainReading {
  const section = place.section;
  if (table["type"] === "evm") {
    const traits = { ignored: evmIgnored, others: ["type"], hintFor: liveHints(table) };
    const reading = readSection(table, place, evmFields(files), traits);
    return {
      known: knownSection(place, reading),
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
  reportType(table["type"], place.child("type"));
  return { known: { place, stateMachine: undefined, consensusStateId: undefined }, config: undefined };
}

function reportType(type: TomlTable[string] | undefined, at: Place): void {
  if (type === undefined) at.problem("nothing", CHAIN_TYPES);
  else if (typeof type !== "string") at.problem(describeKind(type), CHAIN_TYPES);
  else {
    const meant = nearestWord(type, ["evm", "substrate"]);
    const advice = Object.hasOwn(unsupportedTypes, type) ? unsupportedTypes[type] : undefined;
    at.problem(
      advice === undefined ? shownText(type) : `the unsupported type "${type}"`,
      CHAIN_TYPES,
      advice ?? (meant && `did you mean "${meant}"?`),
    );
  }
}

/** What the live hub uses for the chain that the entry names, as advice for missing and wrong values. */
function liveHints(table: TomlTable): (key: string) => string | undefined {
  const live = typeof table["state_machine"] === "string" ? findLive(table["state_machine"]) : undefined;
  return (key) => {
    if (live === undefined) return undefined;
    if (key === "consensus_state_id") return `the live hub uses "${live.consensusStateId}" for this chain`;
    return key === "ismp_host" ? `the live host of this chain is ${live.ismpHost}` : undefined;
  };
}

function findLive(stateMachine: string): ReturnType<typeof findLiveChain> {
  if (!stateMachine.startsWith("EVM-")) return undefined;
  try {
    return findLiveChain(parseStateMachine(stateMachine));
  } catch (error) {
    if (error instanceof IdentifierError) return undefined;
    throw error;
  }
}

function knownSection(
  place: Place,
  reading: SectionReading<Pick<KnownSection, "stateMachine" | "consensusStateId">>,
): KnownSection {
  const { stateMachine, consensusStateId } = reading.good;
  return { place, stateMachine, consensusStateId };
}
