/**
 * Reads the TOML file of the consensus relayer into a {@link ConsensusConfig}, or lists all of its problems. Offline:
 * checks that need the chains run at start-up. Source: docs/specification.md, "Consensus relayer configuration";
 * docs/protocol/hub-consensus.md section 3.2 and docs/protocol/evm-consensus.md sections 2 and 3.
 */
import {
  checkDistinct,
  checkLiveIds,
  checkNetworks,
  checkTries,
  type KnownSection,
  toKnown,
} from "../../core/config/chain_checks.ts";
import { usualHubId } from "../../core/config/chains.ts";
import type { ConfigResult, SourceLocation } from "../../core/config/diagnostics.ts";
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
import { checkLimits, type KnownL1, noteUnconfiguredL1 } from "./checks.ts";
import { HUB_TYPES, hubClients, type HubConsensusConfig, type HubType } from "../registry.ts";
import { type ChainReading, readChain, type Sections, SHOWN_TYPES } from "./read_chain.ts";
import type { ConsensusConfig, ConsensusHubConfig, ConsensusRelayerConfig } from "./schema.ts";
import { consensusSections } from "./schema.ts";

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
  const entries = findChainSections(document, SHOWN_TYPES);
  const hubName = hub?.known.stateMachine;
  const chains = entries.map((entry) => readChain({ sections, document, hub: hubName }, entry));

  checkTogether({ hub, relayer, chains }, document);
  const configs = chains.flatMap(({ config }) => config ?? []);
  if (hub?.config === undefined || relayer === undefined) return undefined;
  return { hub: hub.config, relayer, chains: configs };
}

/** Checks that involve several sections. */
function checkTogether(
  { hub, relayer, chains }: {
    readonly hub: HubReading | undefined;
    readonly relayer: ConsensusRelayerConfig | undefined;
    readonly chains: readonly ChainReading[];
  },
  { diagnostics }: ConfigDocument,
): void {
  const known = chains.map((chain) => chain.known);
  checkDistinct(hub?.known, known);
  checkNetworks(hub?.known, known);
  for (const { l1 } of chains) if (l1 !== undefined) noteUnconfiguredL1(l1, known);
  checkLiveIds(chains.flatMap((chain) => chain.l1 === undefined ? [chain.known] : []));
  checkLiveIds(
    chains.flatMap((chain) => chain.l1 === undefined ? [] : [storedAs(chain.known, chain.l1)]),
    "l1_consensus_state_id",
  );
  checkTries(chains.filter(({ type }) => type !== "substrate_evm").map((chain) => chain.known));
  if (relayer === undefined) return;
  const listing = diagnostics.section(["relayer"]).child("maximum_update_intervals");
  checkLimits(relayer.maximumUpdateIntervals, listing, {
    hub: hub?.known.stateMachine,
    chains: chains.map((chain) => chain.l1 === undefined ? chain.known : storedAs(chain.known, chain.l1)),
  });
}

/** Returns a rollup as the hub stores its heights: under the L1's id. */
function storedAs(rollup: KnownSection, l1: KnownL1): KnownSection {
  return { ...rollup, location: l1.host, consensusStateId: l1.consensusStateId };
}

interface HubReading {
  readonly known: KnownSection;
  readonly config: ConsensusHubConfig | undefined;
}

function readHub(sections: Sections, document: ConfigDocument): HubReading | undefined {
  const hub = findHubSection(document);
  if (hub === undefined) return undefined;
  const consensus = readHubConsensus(sections, hub, document);
  const { location, partial, complete } = readInner(hub, {
    name: "substrate",
    section: sections.hubSubstrate,
  }, document);
  const known = toKnown(location, partial);
  const place = (section: string): SourceLocation => document.diagnostics.section([hub.name, section]);
  const ofHub = consensus && known.stateMachine && addHub(consensus, known.stateMachine, place);
  if (ofHub === undefined || complete === undefined) return { known, config: undefined };
  const consensusStateId = complete.consensusStateId ?? usualHubId(complete.stateMachine);
  if (complete.consensusStateId === undefined) location.derived("consensus_state_id", consensusStateId);
  const config = { section: hub.name, consensus: ofHub, substrate: { ...complete, consensusStateId } };
  return { known, config };
}

/** Adds the hub to the values of its light client. @param place returns the location of a section in `[hub]`. */
function addHub(
  consensus: HubConsensusConfig,
  hub: StateMachine,
  place: (section: string) => SourceLocation,
): HubConsensusConfig {
  const { type } = consensus;
  const client = hubClients[type];
  return { type, values: client.addHub(consensus.values, hub, place(client.sectionName)) };
}

/** Reads `type` of the hub, and the section of that type. */
function readHubConsensus(
  sections: Sections,
  hub: NamedTable,
  document: ConfigDocument,
): HubConsensusConfig | undefined {
  const given = HUB_TYPES.find((type) => type === hub.table["type"]);
  const idle = new Map(
    given === undefined ? [] : HUB_TYPES.filter((type) => type !== given)
      .map((type) => [hubClients[type].sectionName, `only used with type = "${type}"`]),
  );
  const { complete } = readSection(hub.table, document.diagnostics.section([hub.name]), {
    ...sections.hub,
    inner: sections.hub.inner.filter((key) => !idle.has(key)),
    foreign: { ...sections.hub.foreign, ...Object.fromEntries(idle) },
  });
  return complete && readHubClient(complete.type, hub, document);
}

function readHubClient(
  type: HubType,
  hub: NamedTable,
  document: ConfigDocument,
): HubConsensusConfig | undefined {
  const { sectionName, section, withoutSection } = hubClients[type];
  if (withoutSection !== undefined && !Object.hasOwn(hub.table, sectionName)) {
    return { type, values: withoutSection.values };
  }
  const values = readInner(hub, { name: sectionName, section }, document).complete;
  return values && { type, values };
}

/** Reads the section; if it is missing, its defaults apply. */
function readRelayer(
  { relayer, notify }: Sections,
  document: ConfigDocument,
): ConsensusRelayerConfig | undefined {
  const { sections, diagnostics } = document;
  const table = sections.get("relayer") ?? {};
  if (sections.has("relayer") && sections.get("relayer") === undefined) return undefined;
  const { complete } = readSection(table, diagnostics.section(["relayer"]), relayer);
  const notified = readOptional({ name: "relayer", table }, { name: "notify", section: notify }, document);
  return complete && notified && { ...complete, ...notified.config && { notify: notified.config } };
}
