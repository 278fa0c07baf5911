/**
 * Reads the section of one chain of the consensus relayer's file, of whichever type, with its host section.
 * Source: docs/specification.md, "Consensus relayer configuration"; docs/protocol/evm-consensus.md sections 2 and 3.
 */
import { isTable, type TomlTable } from "./toml.ts";
import { evmStateMachine } from "../protocol/ismp/state_machine.ts";
import type { KnownSection } from "./chain_checks.ts";
import { evmFields, type EvmValues, substrateFields } from "./chain_fields.ts";
import {
  checkBscNetwork,
  checkChainOfType,
  hasBeaconChain,
  type KnownL1,
  ownRollupId,
} from "./consensus_checks.ts";
import type { ConsensusChainConfig, EvmConsensusChainConfig, RollupHostValues } from "./consensus_config.ts";
import {
  arbitrumHostFields,
  beaconHostFields,
  bscHostFields,
  chainIgnored,
  hostIgnored,
  opStackHostFields,
  toldIgnored,
  unsupportedTypes,
} from "./consensus_fields.ts";
import { liveHints } from "./live_network.ts";
import type { Diagnostics, SourceLocation } from "./diagnostics.ts";
import { readSection, type SectionResult } from "./section.ts";
import { readInner, reportType } from "./sections.ts";
import type { ConfigFiles } from "./toml.ts";

/** The types of chains, as messages name them. */
export const CHAIN_TYPES = '"evm", "op_stack", "arbitrum_orbit", "bsc" or "substrate"';

/** Values of `type`, and the chain that a name of a network stands for. */
const chainTypes: Readonly<Record<string, { readonly is: ChainType; readonly chainId?: number }>> = {
  evm: { is: "evm" },
  op_stack: { is: "op_stack" },
  arbitrum_orbit: { is: "arbitrum_orbit" },
  bsc: { is: "bsc" },
  ethereum: { is: "evm", chainId: 1 },
  sepolia: { is: "evm", chainId: 11155111 },
  gnosis: { is: "evm", chainId: 100 },
  chiado: { is: "evm", chainId: 10200 },
  bsc_testnet: { is: "bsc", chainId: 97 },
};

type ChainType = "evm" | "op_stack" | "arbitrum_orbit" | "bsc";

/** What a section says of its chain. */
export interface ChainReading {
  readonly known: KnownSection;
  /** Of rollups. */
  readonly l1: KnownL1 | undefined;
  readonly config: ConsensusChainConfig | undefined;
}

/** Where a chain is read from. */
export interface ChainContext {
  readonly files: ConfigFiles;
  readonly diagnostics: Diagnostics;
  /** Of its section. */
  readonly name: string;
}

/** A chain's section without its host section. */
interface ChainEntry {
  readonly name: string;
  readonly section: string;
  readonly table: TomlTable;
  readonly known: KnownSection;
  readonly whole: EvmValues | undefined;
}

/** Reads the section of a chain with its host section. */
export function readChain(context: ChainContext, table: TomlTable): ChainReading {
  const { files, diagnostics, name } = context;
  const place = diagnostics.section([name]);
  const { consensus } = table;
  if (consensus !== undefined && isTable(consensus)) return reportNewerLayout(consensus, place);
  const type = table["type"];
  if (type === "substrate") return readTold(context, table, place);
  const kind = typeof type === "string" && Object.hasOwn(chainTypes, type) ? chainTypes[type] : undefined;
  if (typeof type !== "string" || kind === undefined) {
    reportType(type, place.child("type"), {
      expected: CHAIN_TYPES,
      words: [...Object.keys(chainTypes), "substrate"],
      advice: unsupportedTypes,
    });
    return nothingKnown(place);
  }
  const traits = { ignored: chainIgnored, others: ["type", "host"], hintFor: liveHints(table) };
  const { good, whole } = readSection(table, place, evmFields(files), traits);
  const known = { place, stateMachine: good.stateMachine, consensusStateId: good.consensusStateId };
  checkChainOfType(known, type, kind.chainId === undefined ? undefined : evmStateMachine(kind.chainId));
  return readKind(kind.is, { name, section: place.section, table, known, whole }, diagnostics);
}

function nothingKnown(place: SourceLocation): ChainReading {
  const known = { place, stateMachine: undefined, consensusStateId: undefined };
  return { known, l1: undefined, config: undefined };
}

/**
 * The network's newer documents put what is about consensus into `[<chain>.consensus]` and leave out what their program
 * finds out by itself (polytope-labs/hyperbridge: docs/content/developers/network/relayer.mdx). One problem says what
 * to write instead; what else is missing for that reason is not listed.
 */
function reportNewerLayout(consensus: TomlTable, place: SourceLocation): ChainReading {
  const { type } = consensus;
  const isKnown = typeof type === "string" && Object.hasOwn(chainTypes, type);
  const meant = isKnown ? `type = "${type}"` : `type = ${CHAIN_TYPES}`;
  const { section } = place;
  place.child("consensus").problem(
    "a section of the layout in the network's newer documents",
    `${meant} in [${section}], and the other keys of this section in [${section}.host]`,
    `also write state_machine, consensus_state_id, ismp_host, etherscan_api_key and signer into [${section}]: ` +
      "nothing is derived",
  );
  return nothingKnown(place);
}

/** A chain that is told of the hub: nothing else is done for it. */
function readTold({ files }: ChainContext, table: TomlTable, place: SourceLocation): ChainReading {
  const { good, whole } = readSection(table, place, substrateFields(files), {
    ignored: toldIgnored,
    others: ["type"],
  });
  const known = { place, stateMachine: good.stateMachine, consensusStateId: good.consensusStateId };
  const config = whole && { type: "substrate" as const, section: place.section, ...whole };
  return { known, l1: undefined, config };
}

function readKind(type: ChainType, entry: ChainEntry, diagnostics: Diagnostics): ChainReading {
  switch (type) {
    case "evm":
      return readEvm(entry, diagnostics);
    case "bsc": {
      checkBscNetwork(entry.known);
      const host = readInner(
        entry,
        { name: "host", fields: bscHostFields, ignored: hostIgnored },
        diagnostics,
      );
      return alone(entry, host.whole && { type, host: host.whole });
    }
    case "op_stack": {
      const host = readInner(
        entry,
        { name: "host", fields: opStackHostFields, ignored: hostIgnored },
        diagnostics,
      );
      return rollup(entry, host, (own) => host.whole && { type, host: host.whole, ...own });
    }
    case "arbitrum_orbit": {
      const host = readInner(
        entry,
        { name: "host", fields: arbitrumHostFields, ignored: hostIgnored },
        diagnostics,
      );
      return rollup(entry, host, (own) => host.whole && { type, host: host.whole, ...own });
    }
  }
}

function readEvm(entry: ChainEntry, diagnostics: Diagnostics): ChainReading {
  if (!hasBeaconChain(entry.known.stateMachine)) {
    if (Object.hasOwn(entry.table, "host")) {
      diagnostics.section([entry.name, "host"]).warning(
        "a section without effect",
        "no such section",
        "the hub has no client for this chain's finality; only 1, 11155111, 100 and 10200 have a beacon chain",
      );
    }
    return alone(entry, { type: "held" });
  }
  const inner = { name: "host", fields: beaconHostFields, ignored: hostIgnored };
  const { whole } = readInner(entry, inner, diagnostics);
  return alone(entry, whole && { type: "evm", host: whole });
}

/** What a kind of chain adds to the values that all have. */
type Addition<C> = C extends EvmConsensusChainConfig ? Omit<C, keyof EvmValues | "section"> : never;

function alone(entry: ChainEntry, addition: Addition<EvmConsensusChainConfig> | undefined): ChainReading {
  const { section, known, whole } = entry;
  const config = whole && addition && { section, ...whole, ...addition };
  return { known, l1: undefined, config };
}

function rollup(
  entry: ChainEntry,
  host: SectionResult<RollupHostValues> & { readonly place: SourceLocation },
  complete: (
    own: EvmValues & { readonly section: string },
  ) => ConsensusChainConfig | undefined,
): ChainReading {
  const { l1StateMachine, l1ConsensusStateId } = host.good;
  const l1 = { host: host.place, stateMachine: l1StateMachine, consensusStateId: l1ConsensusStateId };
  const ownId = ownRollupId(entry.known, l1);
  const { section, known, whole } = entry;
  const config = whole && ownId && complete({ ...whole, section, consensusStateId: ownId });
  return { known, l1, config: config || undefined };
}
