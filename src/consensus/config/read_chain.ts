/**
 * Reads the section of one chain of the consensus relayer's file, of whichever type, with its host section. Source:
 * docs/specification.md, "Consensus relayer configuration"; docs/protocol/evm-consensus.md sections 2 and 3.
 */
import { type KnownSection, toKnown } from "../../core/config/chain_checks.ts";
import type { SourceLocation } from "../../core/config/diagnostics.ts";
import { liveHints } from "../../core/config/live_network.ts";
import { readSection, type SectionResult } from "../../core/config/schema.ts";
import { type ConfigDocument, type NamedTable, readInner, reportType } from "../../core/config/sections.ts";
import { isTable, type TomlTable } from "../../core/config/toml.ts";
import { evmStateMachine } from "../../core/ismp/state_machine.ts";
import { checkBscNetwork, checkChainOfType, hasBeaconChain, type KnownL1, ownRollupId } from "./checks.ts";
import {
  type ConsensusChainConfig,
  type EvmChainType,
  type EvmConsensusChainConfig,
  evmTypes,
  type EvmValues,
  type RollupHostValues,
  unsupportedTypes,
} from "./chain_schema.ts";
import type { consensusSections } from "./schema.ts";

/** Sections of this file. */
export type Sections = ReturnType<typeof consensusSections>;

/** Chain types, as shown in messages. */
export const CHAIN_TYPES = '"evm", "op_stack", "arbitrum_orbit", "bsc" or "substrate"';

/** Result of reading a chain's section. */
export interface ChainReading {
  readonly known: KnownSection;
  /** L1 of a rollup. */
  readonly l1: KnownL1 | undefined;
  readonly config: ConsensusChainConfig | undefined;
}

/** A chain's section without its host section. */
interface ChainEntry extends NamedTable {
  readonly section: string;
  readonly known: KnownSection;
  readonly complete: EvmValues | undefined;
}

/** Reads the section of a chain with its host section. */
export function readChain(
  sections: Sections,
  { name, table }: NamedTable,
  document: ConfigDocument,
): ChainReading {
  const location = document.diagnostics.section([name]);
  const { consensus, type } = table;
  if (consensus !== undefined && isTable(consensus)) return reportNewerLayout(consensus, location);
  if (type === "substrate") return readFollower(sections, table, location);
  const kind = typeof type === "string" ? findKind(type) : undefined;
  if (typeof type !== "string" || kind === undefined) {
    reportType(type, location.child("type"), {
      expected: CHAIN_TYPES,
      words: [...Object.keys(evmTypes), "substrate"],
      advice: unsupportedTypes,
    });
    return nothingKnown(location);
  }
  const { partial, complete } = readSection(table, location, sections.evm, liveHints(table));
  const known = toKnown(location, partial);
  checkChainOfType(known, type, kind.chainId === undefined ? undefined : evmStateMachine(kind.chainId));
  const { section } = location;
  return readKind(sections, kind.is, { name, section, table, known, complete }, document);
}

function findKind(type: string): { readonly is: EvmChainType; readonly chainId?: number } | undefined {
  return Object.entries(evmTypes).find(([name]) => name === type)?.[1];
}

function nothingKnown(location: SourceLocation): ChainReading {
  return { known: toKnown(location, {}), l1: undefined, config: undefined };
}

/**
 * Reports the layout of the network's newer documents, which puts consensus keys into `[<chain>.consensus]` and omits
 * what their program derives (polytope-labs/hyperbridge: docs/content/developers/network/relayer.mdx). One problem
 * explains what to write instead; keys that are missing as a consequence are not listed.
 */
function reportNewerLayout(consensus: TomlTable, location: SourceLocation): ChainReading {
  const { type } = consensus;
  const isKnown = typeof type === "string" && Object.hasOwn(evmTypes, type);
  const meant = isKnown ? `type = "${type}"` : `type = ${CHAIN_TYPES}`;
  const { section } = location;
  location.child("consensus").problem(
    "a section of the layout in the network's newer documents",
    `${meant} in [${section}], and the other keys of this section in [${section}.host]`,
    `also write state_machine, consensus_state_id, ismp_host, etherscan_api_key and signer into [${section}]: ` +
      "nothing is derived",
  );
  return nothingKnown(location);
}

/** Reads the section of a chain that follows the hub. */
function readFollower({ substrate }: Sections, table: TomlTable, location: SourceLocation): ChainReading {
  const { partial, complete } = readSection(table, location, substrate);
  const config = complete && { section: location.section, ...complete };
  return { known: toKnown(location, partial), l1: undefined, config };
}

function readKind(
  sections: Sections,
  type: EvmChainType,
  entry: ChainEntry,
  document: ConfigDocument,
): ChainReading {
  switch (type) {
    case "evm":
      return readEvm(sections, entry, document);
    case "bsc": {
      checkBscNetwork(entry.known);
      const { complete } = readInner(entry, "host", sections.bscHost, document);
      return alone(entry, complete && { type, host: complete });
    }
    case "op_stack": {
      const host = readInner(entry, "host", sections.opStackHost, document);
      return rollup(entry, host, (own) => host.complete && { ...own, type, host: host.complete });
    }
    case "arbitrum_orbit": {
      const host = readInner(entry, "host", sections.arbitrumHost, document);
      return rollup(entry, host, (own) => host.complete && { ...own, type, host: host.complete });
    }
  }
}

function readEvm(sections: Sections, entry: ChainEntry, document: ConfigDocument): ChainReading {
  if (!hasBeaconChain(entry.known.stateMachine)) {
    if (Object.hasOwn(entry.table, "host")) {
      document.diagnostics.section([entry.name, "host"]).warning(
        "a section without effect",
        "no such section",
        "the hub has no client for this chain's finality; only 1, 11155111, 100 and 10200 have a beacon chain",
      );
    }
    return alone(entry, { type: "receive_only" });
  }
  const { complete } = readInner(entry, "host", sections.beaconHost, document);
  return alone(entry, complete && { type: "evm", host: complete });
}

/** Values that a kind of chain adds to the common ones. */
type Addition<C> = C extends EvmConsensusChainConfig ? Omit<C, Exclude<keyof EvmValues, "type"> | "section">
  : never;

function alone(entry: ChainEntry, addition: Addition<EvmConsensusChainConfig> | undefined): ChainReading {
  const { section, known, complete } = entry;
  return { known, l1: undefined, config: complete && addition && { section, ...complete, ...addition } };
}

function rollup(
  entry: ChainEntry,
  host: SectionResult<RollupHostValues> & { readonly location: SourceLocation },
  complete: (own: EvmValues & { readonly section: string }) => ConsensusChainConfig | undefined,
): ChainReading {
  const { l1StateMachine, l1ConsensusStateId } = host.partial;
  const l1 = { host: host.location, stateMachine: l1StateMachine, consensusStateId: l1ConsensusStateId };
  const ownId = ownRollupId(entry.known, l1);
  const { section, known } = entry;
  const config = entry.complete && ownId && complete({ ...entry.complete, section, consensusStateId: ownId });
  return { known, l1, config: config || undefined };
}
