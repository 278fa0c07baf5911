/**
 * Reads the TOML file of the consensus relayer into a {@link ConsensusConfig}, or lists all of its problems. Offline:
 * checks that need the chains run at start-up. Source: docs/specification.md, "Consensus relayer configuration";
 * docs/protocol/hub-consensus.md section 3.2 and docs/protocol/evm-consensus.md sections 2 and 3.
 */
import { checkChains, type KnownSection, type SectionReading } from "../../core/config/chain_checks.ts";
import { withHubId } from "../../core/config/chains.ts";
import type { ConfigResult } from "../../core/config/diagnostics.ts";
import { readSection } from "../../core/config/schema.ts";
import {
  type ConfigDocument,
  findChainSections,
  findHubSection,
  type NamedTable,
  readConfigFile,
  readDocument,
  readInner,
  readOptional,
} from "../../core/config/sections.ts";
import type { ConfigFiles } from "../../core/config/toml.ts";
import type { StateMachine } from "../../core/ismp/state_machine.ts";
import { checkLimits, noteUnconfiguredL1 } from "./checks.ts";
import { HUB_TYPES, hubClients, type HubConsensusConfig } from "../registry.ts";
import { type ChainReading, readChain, type Sections } from "./read_chain.ts";
import type { ConsensusConfig, ConsensusHubConfig, ConsensusRelayerConfig } from "./schema.ts";
import { chainTypeName, consensusSections } from "./schema.ts";

/** Reads and checks the file at `path`. An unreadable file is reported as a problem, not thrown. */
export function readConsensusConfig(files: ConfigFiles, path: string): ConfigResult<ConsensusConfig> {
  return readConfigFile(files, path, parseConsensusConfig);
}

/** Checks the text of a file. `files` reads only keys that the text names by path. */
export function parseConsensusConfig(files: ConfigFiles, text: string): ConfigResult<ConsensusConfig> {
  return readDocument(files, text, (document) => readSections(consensusSections(files), document));
}

function readSections(sections: Sections, document: ConfigDocument): ConsensusConfig | undefined {
  const hub = readHub(sections, document);
  const relayer = readRelayer(sections, document);
  const hubName = hub?.known.stateMachine;
  const chains = findChainSections(document, chainTypeName.expected)
    .map((entry) => readChain(sections, document, entry));
  const known = chains.map((chain) => chain.known);
  const stored = chains.map(storedAs);
  checkChains(hub?.known, known, stored);
  for (const { l1 } of chains) if (l1 !== undefined) noteUnconfiguredL1(l1, known);
  const listing = document.diagnostics.section("relayer").child("maximum_update_intervals");
  checkLimits(relayer?.maximumUpdateIntervals ?? [], listing, { hub: hubName, chains: stored });
  if (hub?.config === undefined || relayer === undefined) return undefined;
  return { hub: hub.config, relayer, chains: chains.flatMap(({ config }) => config ?? []) };
}

/** Returns a chain as the hub stores its heights: a rollup under the L1's id. */
function storedAs({ known, l1 }: ChainReading): KnownSection {
  if (l1 === undefined) return known;
  const { host: location, consensusStateId } = l1;
  return { ...known, location, consensusStateId, idKey: "l1_consensus_state_id" };
}

function readHub(
  sections: Sections,
  document: ConfigDocument,
): SectionReading<ConsensusHubConfig> | undefined {
  const hub = findHubSection(document);
  if (hub === undefined) return undefined;
  const inner = { name: "substrate", section: sections.hubSubstrate };
  const { known, complete } = readInner(hub, inner, document);
  const consensus = readHubConsensus(sections, hub, { document, hub: known.stateMachine });
  if (consensus === undefined || complete === undefined) return { known, config: undefined };
  const substrate = withHubId(complete, known.location);
  return { known, config: { section: hub.name, consensus, substrate } };
}

/** Reads `type` of the hub, and the section of that type, to whose values the hub is added. */
function readHubConsensus(
  sections: Sections,
  { name, table }: NamedTable,
  { document, hub }: { readonly document: ConfigDocument; readonly hub: StateMachine | undefined },
): HubConsensusConfig | undefined {
  const { diagnostics } = document;
  const { complete } = readSection(table, diagnostics.section(name), sections.hub);
  if (complete === undefined) return undefined;
  const { type } = complete;
  const { sectionName, section, withoutSection, addHub } = hubClients[type];
  for (const other of HUB_TYPES) {
    if (other === type || table[hubClients[other].sectionName] === undefined) continue;
    const reason = `only used with type = "${other}"`;
    diagnostics.section(name, hubClients[other].sectionName)
      .warning("a section without effect", undefined, reason);
  }
  const isLeftOut = withoutSection !== undefined && table[sectionName] === undefined;
  const values = isLeftOut
    ? withoutSection.values
    : readInner({ name, table }, { name: sectionName, section }, document).complete;
  if (hub === undefined || (values === undefined && !isLeftOut)) return undefined;
  return { type, values: addHub(values, hub, diagnostics.section(name, sectionName)) };
}

/** Reads the section; if it is missing, its defaults apply. */
function readRelayer(
  { relayer, notify }: Sections,
  document: ConfigDocument,
): ConsensusRelayerConfig | undefined {
  const { sections, diagnostics } = document;
  const table = sections.get("relayer") ?? {};
  const { complete } = readSection(table, diagnostics.section("relayer"), relayer);
  const posting = readOptional({ name: "relayer", table }, { name: "notify", section: notify }, document);
  return complete && { ...complete, ...posting && { notify: posting } };
}
