/**
 * Reads the section of one chain of the consensus relayer's file, of whichever type, with its host section. Source:
 * docs/specification.md, "Consensus relayer configuration"; docs/protocol/evm-consensus.md sections 2 and 3.
 */
import type { KnownSection, SectionReading } from "../../core/config/chain_checks.ts";
import type { SourceLocation } from "../../core/config/diagnostics.ts";
import { liveHints } from "../../core/config/live_network.ts";
import { readSection } from "../../core/config/schema.ts";
import { type ConfigDocument, type NamedTable, readInner, readType } from "../../core/config/sections.ts";
import { isTable } from "../../core/config/toml.ts";
import { chainClients, type ChainType, type ProvedChainConfig } from "../registry.ts";
import type { EvmChainSection, ReceiveOnlyConfig } from "./keys.ts";
import { checkChainOfType, type KnownL1, ownRollupId } from "./checks.ts";
import { chainTypeName, type ConsensusChainConfig, type consensusSections, EVM_TYPES } from "./schema.ts";

/** Sections of this file. */
export type Sections = ReturnType<typeof consensusSections>;

/** Result of reading a chain's section. */
export interface ChainReading<C = ConsensusChainConfig> extends SectionReading<C> {
  /** L1 of a rollup. */
  readonly l1?: KnownL1 | undefined;
}

/** Reads the section of a chain with its host section. */
export function readChain(
  sections: Sections,
  document: ConfigDocument,
  { name, table }: NamedTable,
): ChainReading {
  const location = document.diagnostics.section(name);
  if (isTable(table["consensus"])) {
    reportNewerLayout(location);
    return { known: { location }, config: undefined };
  }
  const type = readType({ name, table }, chainTypeName, document);
  if (type === "substrate") {
    const { known, complete } = readSection(table, location, sections.substrate);
    return { known, config: complete && { section: location.section, ...complete } };
  }
  const kind = type === undefined ? undefined : EVM_TYPES.get(type);
  if (type === undefined || kind === undefined) return { known: { location }, config: undefined };
  const evm = { ...sections.evm, hintFor: liveHints(table), inner: { host: chainClients[kind.is].host } };
  const { known: values, complete } = readSection(table, location, evm);
  const known = { ...values, type: kind.is };
  checkChainOfType(known, type, kind.chainIds);
  const entry = { name, table, known, complete: complete && { ...complete, section: location.section } };
  return readEvmChain(kind.is, entry, document);
}

/**
 * Reports the layout of the network's newer documents, which puts consensus keys into `[<chain>.consensus]` and omits
 * what their program derives (polytope-labs/hyperbridge: docs/content/developers/network/relayer.mdx). One problem
 * explains what to write instead; keys that are missing as a consequence are not listed.
 */
function reportNewerLayout(location: SourceLocation): void {
  const { section } = location;
  location.child("consensus").problem(
    "a section of the layout in the network's newer documents",
    `its type in [${section}], and its other keys in [${section}.host]`,
    `also write state_machine, consensus_state_id, ismp_host, etherscan_api_key and signer into [${section}]: ` +
      "nothing is derived",
  );
}

/** A chain's section without its host section. */
interface ChainEntry extends NamedTable {
  readonly known: KnownSection;
  readonly complete: EvmChainSection | undefined;
}

/** Reads what the chain's light client asks for. */
function readEvmChain(
  type: ChainType,
  entry: ChainEntry,
  document: ConfigDocument,
): ChainReading<ProvedChainConfig | ReceiveOnlyConfig> {
  const client = chainClients[type];
  const { known, complete } = entry;
  const reason = known.stateMachine && client.findUnprovable?.(known.stateMachine);
  if (reason !== undefined) {
    if (entry.table["host"] !== undefined) {
      document.diagnostics.section(entry.name, "host").warning("a section without effect", undefined, reason);
    }
    return { known, config: complete && { ...complete, type: "receive_only" } };
  }
  const host = readInner(entry, { name: "host", section: client.host }, document);
  const l1 = client.findL1 && {
    stateMachine: undefined,
    consensusStateId: undefined,
    ...client.findL1(host.known),
    host: host.known.location,
  };
  const consensusStateId = l1 === undefined ? complete?.consensusStateId : ownRollupId(known, l1);
  const isComplete = complete !== undefined && consensusStateId !== undefined && host.complete !== undefined;
  return {
    known,
    l1,
    config: isComplete ? { ...complete, consensusStateId, type, host: host.complete } : undefined,
  };
}
