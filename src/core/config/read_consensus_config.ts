/**
 * Reads the TOML file of the consensus relayer into a {@link ConsensusConfig}, or says everything that is wrong
 * with it. Offline: what only the chains can tell is checked at start-up. Source: docs/specification.md, "Consensus
 * relayer configuration"; docs/protocol/hub-consensus.md section 3.2 and docs/protocol/evm-consensus.md sections 2 and
 * 3.
 */
import type { TomlTable } from "./toml.ts";
import { checkDistinct, checkLiveIds, checkTries, type KnownSection } from "./chain_checks.ts";
import { usualHubId } from "./chain_fields.ts";
import { checkLimits, type KnownL1, noteForeignL1, withHubPara } from "./consensus_checks.ts";
import type {
  ConsensusConfig,
  ConsensusHubConfig,
  ConsensusRelayerConfig,
  HubConsensusConfig,
} from "./consensus_config.ts";
import {
  grandpaFields,
  hubFields,
  hubIgnored,
  hubSubstrateFields,
  type HubSubstrateFileValues,
  proverFields,
  proverIgnored,
  relayerFields,
  relayerIgnored,
} from "./consensus_fields.ts";
import type { ConfigResult } from "./diagnostics.ts";
import { CHAIN_TYPES, type ChainReading, readChain } from "./read_consensus_chain.ts";
import type { StateMachine } from "../protocol/ismp/state_machine.ts";
import type { Diagnostics, SourceLocation } from "./diagnostics.ts";
import { readSection } from "./section.ts";
import {
  findChainSections,
  findHubSection,
  findSections,
  readConfigFile,
  readDocument,
  readInner,
  type Sections,
} from "./sections.ts";
import type { ConfigFiles } from "./toml.ts";

/** Reads and checks the file at `path`. A file that cannot be read is a problem too, not an exception. */
export function readConsensusConfig(files: ConfigFiles, path: string): ConfigResult<ConsensusConfig> {
  return readConfigFile(files, path, (text) => parseConsensusConfig(files, text));
}

/** Checks the text of a file. `files` is asked only for keys that the text names by path. */
export function parseConsensusConfig(files: ConfigFiles, text: string): ConfigResult<ConsensusConfig> {
  return readDocument(text, (table, diagnostics) => readSections(files, table, diagnostics));
}

function readSections(
  files: ConfigFiles,
  table: TomlTable,
  diagnostics: Diagnostics,
): ConsensusConfig | undefined {
  const sections = findSections(table, diagnostics);
  const hub = readHub(files, sections, diagnostics);
  const relayer = readRelayer(sections, diagnostics);
  const entries = findChainSections(sections, diagnostics, CHAIN_TYPES);
  const chains = entries.map(([name, entry]) => readChain({ files, diagnostics, name }, entry));

  checkTogether({ hub, relayer, chains }, diagnostics);
  const configs = chains.flatMap(({ config }) => config ?? []);
  if (hub?.config === undefined || relayer === undefined) return undefined;
  return { hub: hub.config, relayer, chains: configs };
}

/** What only several sections together can tell. */
function checkTogether(
  { hub, relayer, chains }: {
    readonly hub: HubReading | undefined;
    readonly relayer: ConsensusRelayerConfig | undefined;
    readonly chains: readonly ChainReading[];
  },
  diagnostics: Diagnostics,
): void {
  const known = chains.map((chain) => chain.known);
  checkDistinct(hub?.known, known);
  for (const { l1 } of chains) if (l1 !== undefined) noteForeignL1(l1, known);
  checkLiveIds(chains.flatMap((chain) => chain.l1 === undefined ? [chain.known] : []));
  checkLiveIds(
    chains.flatMap((chain) => chain.l1 === undefined ? [] : [storedAs(chain.known, chain.l1)]),
    "l1_consensus_state_id",
  );
  checkTries(known);
  if (relayer === undefined) return;
  checkLimits(
    relayer.maximumUpdateIntervals,
    diagnostics.section(["relayer"]).child("maximum_update_intervals"),
    {
      hub: hub?.known.stateMachine,
      chains: chains.map((chain) => chain.l1 === undefined ? chain.known : storedAs(chain.known, chain.l1)),
    },
  );
}

/** A rollup as the hub stores its heights: under the L1's id. */
function storedAs(rollup: KnownSection, l1: KnownL1): KnownSection {
  return { ...rollup, place: l1.host, consensusStateId: l1.consensusStateId };
}

interface HubReading {
  readonly known: KnownSection;
  readonly config: ConsensusHubConfig | undefined;
}

function readHub(files: ConfigFiles, sections: Sections, diagnostics: Diagnostics): HubReading | undefined {
  const hub = findHubSection(sections, diagnostics);
  if (hub === undefined) return undefined;
  const consensus = readHubConsensus(hub, diagnostics);
  const substrate = readInner(hub, { name: "substrate", fields: hubSubstrateFields(files) }, diagnostics);
  const { stateMachine, consensusStateId } = substrate.good;
  const listing = (section: string): SourceLocation =>
    diagnostics.section([hub.name, section]).child("para_ids");
  const ofHub = consensus && stateMachine && withHub(consensus, stateMachine, listing);
  const config = ofHub && completeHub(hub.name, ofHub, substrate.whole);
  return { known: { place: substrate.place, stateMachine, consensusStateId }, config };
}

/** The hub's own parachain is among those whose heads are proved. @param listing place of a section's list. */
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

function completeHub(
  section: string,
  consensus: HubConsensusConfig,
  values: HubSubstrateFileValues | undefined,
): ConsensusHubConfig | undefined {
  if (values === undefined) return undefined;
  const consensusStateId = values.consensusStateId ?? usualHubId(values.stateMachine);
  return { section, consensus, substrate: { ...values, consensusStateId } };
}

function readHubConsensus(
  hub: { readonly name: string; readonly table: TomlTable },
  diagnostics: Diagnostics,
): HubConsensusConfig | undefined {
  const place = diagnostics.section([hub.name]);
  const type = hub.table["type"];
  const idle = type === "grandpa"
    ? { prover: 'only used with type = "beefy"' }
    : type === "beefy"
    ? { grandpa: 'only used with type = "grandpa"' }
    : {};
  const reading = readSection(hub.table, place, hubFields, {
    others: ["substrate", "grandpa", "prover"].filter((key) => !Object.hasOwn(idle, key)),
    ignored: { ...hubIgnored, ...idle },
  });
  if (reading.whole?.type === "grandpa") {
    const { whole } = readInner(hub, { name: "grandpa", fields: grandpaFields }, diagnostics);
    return whole && { type: "grandpa", grandpa: whole };
  }
  if (reading.whole?.type !== "beefy") return undefined;
  if (!Object.hasOwn(hub.table, "prover")) return { type: "beefy", prover: undefined };
  const inner = { name: "prover", fields: proverFields, ignored: proverIgnored };
  const { whole } = readInner(hub, inner, diagnostics);
  return whole && { type: "beefy", prover: whole };
}

/** The section may be missing; then its defaults apply. */
function readRelayer(sections: Sections, diagnostics: Diagnostics): ConsensusRelayerConfig | undefined {
  if (sections.has("relayer") && sections.get("relayer") === undefined) return undefined;
  const table = sections.get("relayer") ?? {};
  return readSection(table, diagnostics.section(["relayer"]), relayerFields, { ignored: relayerIgnored })
    .whole;
}
