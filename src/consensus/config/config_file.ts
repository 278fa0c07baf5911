/** The consensus relayer's file, for the commands that both programs have. */
import type { ConfigFileKind, ConfiguredAccount } from "../../core/config/config_file.ts";
import { readConsensusConfig } from "./read.ts";
import { type ConsensusConfig, consensusSections } from "./schema.ts";
import { type JsonSchema, noFiles, objectByType, objectOf, writeSchema } from "../../core/config/schema.ts";
import { CHAIN_TYPES, chainClients, type ChainType, HUB_TYPES, hubClients } from "../registry.ts";
import {
  accountBlanks,
  accountKeys,
  type CommentedSection,
  describeChain,
  type InitAnswers,
  type InitFile,
  writeCommentedFile,
} from "../../core/config/commented_file.ts";
import { liveHubs, type NamedChain } from "../../core/config/live_network.ts";
import { evmStateMachine, toConsensusStateId } from "../../core/ismp/state_machine.ts";
import { findRollupClient, knownClaimContract } from "../rollup/spec/rollup_client.ts";

/** Its reader and its descriptions. */
export const consensusFile: ConfigFileKind = {
  read: readConsensusConfig,
  writeJsonSchema: writeConsensusSchema,
  writeInit: writeConsensusInit,
  readAccounts: (files, path) => {
    const reading = readConsensusConfig(files, path);
    return { ...reading, config: reading.config && accountsOf(reading.config) };
  },
};

function accountsOf({ hub, chains }: ConsensusConfig): readonly ConfiguredAccount[] {
  return [
    { ...hub.substrate, kind: "substrate", section: `${hub.section}.substrate` },
    ...chains.map((chain): ConfiguredAccount =>
      chain.type === "substrate" ? { ...chain, kind: "substrate" } : { ...chain, kind: "evm" }
    ),
  ];
}

/** Also at `docs/configuration/consensus.schema.json`. */
export function writeConsensusSchema(): string {
  const sections = consensusSections(noFiles);
  const hub = objectOf(sections.hub, {
    ...Object.fromEntries(
      HUB_TYPES.map((type) => [hubClients[type].sectionName, objectOf(hubClients[type].section)]),
    ),
    substrate: objectOf(sections.hubSubstrate),
  });
  const chain = (type: ChainType): JsonSchema => {
    const { host, networks } = chainClients[type];
    const whole = objectOf(sections.evm, { host: objectOf(host) });
    const types = [type, ...Object.keys(networks)];
    return {
      ...whole,
      properties: { ...whole.properties, type: { ...whole.properties["type"], enum: types } },
    };
  };
  return writeSchema("Configuration file of causeway-consensus", {
    properties: {
      hub,
      hyperbridge: hub,
      relayer: objectOf(sections.relayer, { notify: objectOf(sections.notify) }),
    },
    additionalProperties: objectByType([...CHAIN_TYPES.map(chain), objectOf(sections.substrate)]),
  });
}

/** Client of the L1 of all known rollups, on either hub. */
const L1_CLIENT = "ETH0";

/** Keys of a blank that are lists. */
const LISTS: ReadonlySet<string> = new Set(["beacon_http_urls", "beacon_rpc_url"]);

/** How a named chain's finality is proved. */
function typeOf({ chainId, isRollup }: NamedChain): ChainType {
  const known = CHAIN_TYPES.find((type) => chainClients[type].knownChains?.includes(chainId));
  return known ?? (isRollup ? "op_stack" : "evm");
}

function nodeKeysOf(type: ChainType): readonly string[] {
  return chainClients[type].nodeKeys ?? [];
}

/** Writes the file. */
export function writeConsensusInit(answers: InitAnswers): InitFile {
  const { network, chains, hubUrl, urls } = answers;
  const { hub, hubSubstrate, relayer, evm } = consensusSections(noFiles);
  const l1 = network === "mainnet" ? 1 : 11155111;
  const typed = chains.map((chain) => ({ ...chain, type: typeOf(chain) }));
  const sections: readonly CommentedSection[] = [
    {
      title: "The hub",
      header: "hub",
      section: hub,
      values: { type: "beefy" },
    },
    {
      header: "hub.substrate",
      section: hubSubstrate,
      values: { state_machine: liveHubs[network], rpc_ws: hubUrl ?? "", signer: "" },
    },
    { title: "The relayer", header: "relayer", section: relayer, values: { maximum_update_intervals: [] } },
    ...typed.flatMap((chain, index): readonly CommentedSection[] => [
      {
        ...index === 0 ? { title: "Chains: each with a `.host` section" } : { shows: "required" },
        comment: describeChain(chain),
        header: chain.name,
        section: evm,
        values: {
          type: chain.type,
          state_machine: evmStateMachine(chain.chainId),
          rpc_urls: urls.get(chain.name) ?? [],
          consensus_state_id: clientIdOf(chain),
          etherscan_api_key: "",
          ismp_host: chain.ismpHost,
          ...accountKeys(answers, chain.name),
        },
        switchedOn: Object.keys(accountKeys(answers, chain.name)),
      },
      {
        header: `${chain.name}.host`,
        section: chainClients[chain.type].host,
        values: {
          ...Object.fromEntries(nodeKeysOf(chain.type).map((key) => [key, LISTS.has(key) ? [] : ""])),
          l1_state_machine: evmStateMachine(l1),
          l1_consensus_state_id: L1_CLIENT,
          // Known of every named rollup; a section has one of the two keys at most.
          dispute_game_factory: knownClaimContract(chain.chainId) ?? "",
          rollup_core: knownClaimContract(chain.chainId) ?? "",
        },
        switchedOn: ["dispute_game_factory", "rollup_core"],
      },
    ]),
  ];
  const blanks = [
    ...hubUrl === undefined ? ["[hub.substrate].rpc_ws"] : [],
    "[hub.substrate].signer",
    ...typed.flatMap(({ name, type }) => [
      ...urls.has(name) ? [] : [`[${name}].rpc_urls`],
      ...accountBlanks(answers, name),
      ...nodeKeysOf(type).map((key) => `[${name}.host].${key}`),
    ]),
  ];
  const head = [
    "Configuration of `causeway-consensus`, the consensus relayer, written by `causeway-consensus config init`:",
    "  causeway-consensus --config=FILE config check",
    'Empty values are to be filled in. `#key = value` is optional; "default" behind it means that leaving it ' +
    "commented out is the same. `${NAME}` in a text is replaced from the environment.",
  ];
  return { text: writeCommentedFile({ schema: "./causeway-consensus.schema.json", head, sections }), blanks };
}

/** The id of the chain's own client on the hub: of a rollup not the L1's, which stores its heights. */
function clientIdOf({ chainId, consensusStateId, isRollup }: NamedChain): string {
  const id = toConsensusStateId(consensusStateId);
  if (!isRollup) return id;
  const rollup = { stateMachine: evmStateMachine(chainId), consensusStateId: id };
  return findRollupClient(rollup, toConsensusStateId(L1_CLIENT), undefined) ?? "";
}
