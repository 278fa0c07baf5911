/** The consensus relayer's file, for the commands that both programs have. */
import type { ConfigFileKind } from "../../core/config/config_file.ts";
import { readConsensusConfig } from "./read.ts";
import { consensusSections } from "./schema.ts";
import { type JsonSchema, noFiles, objectOf, writeSchema } from "../../core/config/schema.ts";
import { CHAIN_TYPES, chainClients, type ChainType } from "../registry.ts";
import { type InitAnswers, type InitFile, writeInitFile } from "../../core/config/commented_file.ts";
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
    const { hub, chains = [] } = reading.config ?? {};
    return {
      ...reading,
      config: hub && [{ ...hub.substrate, section: `${hub.section}.substrate` }, ...chains],
    };
  },
};

/** Also at `docs/configuration/consensus.schema.json`. */
export function writeConsensusSchema(): string {
  const { hub, relayer, evm, substrate } = consensusSections(noFiles);
  const chain = (type: ChainType): JsonSchema => {
    const { host, networks } = chainClients[type];
    const whole = objectOf({ ...evm, inner: { host } });
    const types = [type, ...Object.keys(networks)];
    return {
      ...whole,
      properties: { ...whole.properties, type: { ...whole.properties["type"], enum: types } },
    };
  };
  const chains = [...CHAIN_TYPES.map(chain), objectOf(substrate)];
  return writeSchema("Configuration file of causeway-consensus", { hub, relayer, chains });
}

/** Client of the L1 of all known rollups, on either hub. */
const L1_CLIENT = "ETH0";

/** How a named chain's finality is proved. */
export function typeOfNamed({ chainId, isRollup }: NamedChain): ChainType {
  const known = CHAIN_TYPES.find((type) => chainClients[type].knownChains?.includes(chainId));
  return known ?? (isRollup ? "op_stack" : "evm");
}

/** Writes the file. */
export function writeConsensusInit(answers: InitAnswers): InitFile {
  const { network, hubUrl } = answers;
  const { hub, hubSubstrate, relayer, evm } = consensusSections(noFiles);
  const l1 = evmStateMachine(network === "mainnet" ? 1 : 11155111);
  return writeInitFile(answers, {
    program: "causeway-consensus",
    role: "the consensus relayer",
    title: "Chains: each with a `.host` section",
    before: [
      { title: "The hub", header: "hub", section: hub, values: { type: "beefy" } },
      {
        header: "hub.substrate",
        section: hubSubstrate,
        values: { state_machine: liveHubs[network], rpc_ws: hubUrl, signer: undefined },
      },
      { title: "The relayer", header: "relayer", section: relayer, values: { maximum_update_intervals: [] } },
    ],
    ofChain: (chain) => {
      const type = typeOfNamed(chain);
      const { host, nodeKeys = [] } = chainClients[type];
      // Known of every named rollup; a section has one of the two keys at most.
      const contract = knownClaimContract(chain.chainId);
      return {
        section: evm,
        values: { type, rpc_urls: chain.urls, consensus_state_id: clientIdOf(chain) },
        host: {
          section: host,
          values: {
            ...Object.fromEntries(nodeKeys.map((key) => [key, undefined])),
            l1_state_machine: l1,
            l1_consensus_state_id: L1_CLIENT,
            ...contract !== undefined && { dispute_game_factory: contract, rollup_core: contract },
          },
          switchedOn: contract === undefined ? [] : ["dispute_game_factory", "rollup_core"],
        },
      };
    },
  });
}

/** The id of the chain's own client on the hub: of a rollup not the L1's, which stores its heights. */
export function clientIdOf({ chainId, consensusStateId, isRollup }: NamedChain): string {
  const id = toConsensusStateId(consensusStateId);
  if (!isRollup) return id;
  const rollup = { stateMachine: evmStateMachine(chainId), consensusStateId: id };
  return findRollupClient(rollup, toConsensusStateId(L1_CLIENT), undefined) ?? "";
}
