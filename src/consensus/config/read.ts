/**
 * Reads the TOML file of the consensus relayer into a {@link ConsensusConfig}, or lists all of its problems. Offline:
 * checks that need the chains run at start-up. Source: docs/specification.md, "Consensus relayer configuration";
 * docs/protocol/hub-consensus.md section 3.2 and docs/protocol/evm-consensus.md sections 2 and 3.
 */
import {
  checkDistinct,
  checkLiveIds,
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
} from "../../core/config/sections.ts";
import type { ConfigFiles } from "../../core/config/toml.ts";
import type { StateMachine } from "../../core/ismp/state_machine.ts";
import { checkLimits, type KnownL1, noteUnconfiguredL1, withHubPara } from "./checks.ts";
import { CHAIN_TYPES, type ChainReading, readChain, type Sections } from "./read_chain.ts";
import type { ConsensusHubConfig, HubConsensusConfig } from "./hub_schema.ts";
import { type ConsensusConfig, type ConsensusRelayerConfig, consensusSections } from "./schema.ts";

/** Reads and checks the file at `path`. An unreadable file is reported as a problem, not thrown. */
export function readConsensusConfig(files: ConfigFiles, path: string): ConfigResult<ConsensusConfig> {
  return readConfigFile(files, path, (text) => parseConsensusConfig(files, text));
}

/** Checks the text of a file. `files` reads only keys that the text names by path. */
export function parseConsensusConfig(files: ConfigFiles, text: string): ConfigResult<ConsensusConfig> {
  return readDocument(text, (document) => readSections(consensusSections(files), document));
}

function readSections(sections: Sections, document: ConfigDocument): ConsensusConfig | undefined {
  const hub = readHub(sections, document);
  const relayer = readRelayer(sections, document);
  const entries = findChainSections(document, CHAIN_TYPES);
  const chains = entries.map((entry) => readChain(sections, entry, document));

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
  for (const { l1 } of chains) if (l1 !== undefined) noteUnconfiguredL1(l1, known);
  checkLiveIds(chains.flatMap((chain) => chain.l1 === undefined ? [chain.known] : []));
  checkLiveIds(
    chains.flatMap((chain) => chain.l1 === undefined ? [] : [storedAs(chain.known, chain.l1)]),
    "l1_consensus_state_id",
  );
  checkTries(known);
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
  const { location, partial, complete } = readInner(hub, "substrate", sections.hubSubstrate, document);
  const known = toKnown(location, partial);
  const listing = (name: string): SourceLocation =>
    document.diagnostics.section([hub.name, name]).child("para_ids");
  const ofHub = consensus && known.stateMachine && withHub(consensus, known.stateMachine, listing);
  if (ofHub === undefined || complete === undefined) return { known, config: undefined };
  const consensusStateId = complete.consensusStateId ?? usualHubId(complete.stateMachine);
  const config = { section: hub.name, consensus: ofHub, substrate: { ...complete, consensusStateId } };
  return { known, config };
}

/** Adds the hub's own parachain to those whose heads are proved. @param listing location of a section's list. */
function withHub(
  consensus: HubConsensusConfig,
  hub: StateMachine,
  listing: (section: string) => SourceLocation,
): HubConsensusConfig {
  if (consensus.type === "grandpa") {
    const paraIds = withHubPara(consensus.grandpa.paraIds, hub, listing("grandpa"));
    return { ...consensus, grandpa: { ...consensus.grandpa, paraIds } };
  }
  const { prover } = consensus;
  if (prover === undefined) return consensus;
  const paraIds = withHubPara(prover.paraIds, hub, listing("prover"));
  return { ...consensus, prover: { ...prover, paraIds } };
}

function readHubConsensus(
  sections: Sections,
  hub: NamedTable,
  document: ConfigDocument,
): HubConsensusConfig | undefined {
  const type = hub.table["type"];
  const idle: Readonly<Record<string, string>> = type === "grandpa"
    ? { prover: 'only used with type = "beefy"' }
    : type === "beefy"
    ? { grandpa: 'only used with type = "grandpa"' }
    : {};
  const { complete } = readSection(hub.table, document.diagnostics.section([hub.name]), {
    ...sections.hub,
    inner: sections.hub.inner.filter((key) => !Object.hasOwn(idle, key)),
    foreign: { ...sections.hub.foreign, ...idle },
  });
  if (complete?.type === "grandpa") {
    const grandpa = readInner(hub, "grandpa", sections.grandpa, document).complete;
    return grandpa && { type: "grandpa", grandpa };
  }
  if (complete?.type !== "beefy") return undefined;
  if (!Object.hasOwn(hub.table, "prover")) return { type: "beefy", prover: undefined };
  const prover = readInner(hub, "prover", sections.prover, document).complete;
  return prover && { type: "beefy", prover };
}

/** Reads the section; if it is missing, its defaults apply. */
function readRelayer(
  { relayer }: Sections,
  { sections, diagnostics }: ConfigDocument,
): ConsensusRelayerConfig | undefined {
  if (sections.has("relayer") && sections.get("relayer") === undefined) return undefined;
  return readSection(sections.get("relayer") ?? {}, diagnostics.section(["relayer"]), relayer).complete;
}
