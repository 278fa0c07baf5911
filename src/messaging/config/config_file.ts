/** The messaging relayer's file, for the commands that both programs have. */
import type { ConfigFileKind, ConfiguredAccount } from "../../core/config/config_file.ts";
import { readMessagingConfig } from "./read.ts";
import { FLEET_SECTION, type MessagingConfig, messagingSections } from "./schema.ts";
import { noFiles, objectByType, objectOf, writeSchema } from "../../core/config/schema.ts";
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
import { isPolkadotHub } from "../../core/ismp/polkadot_hub.ts";
import { evmStateMachine } from "../../core/ismp/state_machine.ts";

/** Its reader and its descriptions. */
export const messagingFile: ConfigFileKind = {
  read: readMessagingConfig,
  writeJsonSchema: writeMessagingSchema,
  writeInit: writeMessagingInit,
  readAccounts: (files, path) => {
    const reading = readMessagingConfig(files, path);
    return { ...reading, config: reading.config && accountsOf(reading.config) };
  },
};

function accountsOf({ hub, chains }: MessagingConfig): readonly ConfiguredAccount[] {
  return [
    { ...hub, kind: "substrate", hashing: "Keccak" },
    ...chains.map((chain): ConfiguredAccount =>
      chain.type === "substrate" ? { ...chain, kind: "substrate" } : { ...chain, kind: "evm" }
    ),
  ];
}

/** Also at `docs/configuration/messaging.schema.json`. */
export function writeMessagingSchema(): string {
  const sections = messagingSections(noFiles);
  const hub = objectOf(sections.hub);
  return writeSchema("Configuration file of causeway", {
    properties: {
      hub,
      hyperbridge: hub,
      relayer: objectOf(sections.relayer, {
        [FLEET_SECTION]: objectOf(sections.fleet),
        notify: objectOf(sections.notify),
      }),
    },
    required: ["relayer"],
    additionalProperties: objectByType([
      objectOf(sections.evm),
      objectOf(sections.substrate_evm),
      objectOf(sections.substrate),
    ]),
  });
}

/** The nodes of a chain: of Polkadot Hub the Substrate node is told by its scheme. */
function nodesOf(
  { chainId }: NamedChain,
  urls: readonly string[] = [],
): { readonly rpc_urls: readonly string[]; readonly ws_url?: string } {
  if (!isPolkadotHub(evmStateMachine(chainId))) return { rpc_urls: urls };
  const isSocket = (url: string): boolean => /^wss?:/i.test(url);
  return { rpc_urls: urls.filter((url) => !isSocket(url)), ws_url: urls.find(isSocket) ?? "" };
}

/** Writes the file. */
export function writeMessagingInit(answers: InitAnswers): InitFile {
  const { network, chains, hubUrl, urls } = answers;
  const { hub, relayer, evm, substrate_evm: substrateEvm } = messagingSections(noFiles);
  const parts = chains.map((chain) => ({ chain, nodes: nodesOf(chain, urls.get(chain.name)) }));
  const sections: readonly CommentedSection[] = [
    {
      title: "The hub",
      header: "hub",
      section: hub,
      values: { state_machine: liveHubs[network], rpc_ws: hubUrl ?? "" },
    },
    {
      title: "The relayer",
      header: "relayer",
      section: relayer,
      values: {
        minimum_profit_percentage: network === "mainnet" ? 10 : 0,
        delivery_endpoints: chains.map(({ chainId }) => evmStateMachine(chainId)),
      },
    },
    ...parts.map(({ chain, nodes }, index): CommentedSection => ({
      ...index === 0 ? { title: "Chains" } : { shows: "required" },
      comment: describeChain(chain),
      header: chain.name,
      section: nodes.ws_url === undefined ? evm : substrateEvm,
      values: {
        state_machine: evmStateMachine(chain.chainId),
        ...nodes,
        consensus_state_id: chain.consensusStateId,
        etherscan_api_key: "",
        ismp_host: chain.ismpHost,
        ...accountKeys(answers, chain.name),
      },
      switchedOn: Object.keys(accountKeys(answers, chain.name)),
    })),
  ];
  const blanks = [
    ...hubUrl === undefined ? ["[hub].rpc_ws"] : [],
    ...parts.flatMap(({ chain: { name }, nodes }) => [
      ...nodes.rpc_urls.length > 0 ? [] : [`[${name}].rpc_urls`],
      ...nodes.ws_url === "" ? [`[${name}].ws_url`] : [],
      ...accountBlanks(answers, name),
    ]),
  ];
  const head = [
    "Configuration of `causeway`, the messaging relayer, written by `causeway config init`:",
    "  causeway --config=FILE config check",
    'Empty values of `rpc_ws`, `rpc_urls`, `ws_url` and `signer` are to be filled in. `#key = value` is optional; "default" ' +
    "behind it means that leaving it commented out is the same. `${NAME}` in a text is replaced from the environment.",
  ];
  return { text: writeCommentedFile({ schema: "./causeway.schema.json", head, sections }), blanks };
}
