/** The messaging relayer's file, for the commands that both programs have. */
import type { ConfigFileKind } from "../../core/config/config_file.ts";
import { readMessagingConfig } from "./read.ts";
import { messagingSections } from "./schema.ts";
import { noFiles, objectOf, writeSchema } from "../../core/config/schema.ts";
import {
  type InitAnswers,
  type InitChain,
  type InitFile,
  writeInitFile,
} from "../../core/config/commented_file.ts";
import { liveHubs } from "../../core/config/live_network.ts";
import { isPolkadotHub } from "../../core/ismp/polkadot_hub.ts";
import { evmStateMachine } from "../../core/ismp/state_machine.ts";

/** Its reader and its descriptions. */
export const messagingFile: ConfigFileKind = {
  read: readMessagingConfig,
  writeJsonSchema: writeMessagingSchema,
  writeInit: writeMessagingInit,
  readAccounts: (files, path) => {
    const reading = readMessagingConfig(files, path);
    const { hub, chains = [] } = reading.config ?? {};
    return { ...reading, config: hub && [{ ...hub, hashing: "Keccak" }, ...chains] };
  },
};

/** Also at `docs/configuration/messaging.schema.json`. */
export function writeMessagingSchema(): string {
  const { hub, relayer, evm, substrate_evm: substrateEvm, substrate } = messagingSections(noFiles);
  const chains = [evm, substrateEvm, substrate].map(objectOf);
  return writeSchema("Configuration file of causeway", { hub, relayer, chains, required: ["relayer"] });
}

/** The nodes of a chain: of Polkadot Hub the Substrate node is recognized by its scheme. */
function nodesOf(
  { chainId, urls = [] }: InitChain,
): Readonly<Record<string, string | readonly string[] | undefined>> {
  const isSocket = (url: string): boolean => /^wss?:/i.test(url);
  const isBoth = isPolkadotHub(evmStateMachine(chainId));
  const rpcUrls = isBoth ? urls.filter((url) => !isSocket(url)) : urls;
  return {
    rpc_urls: rpcUrls.length === 0 ? undefined : rpcUrls,
    ...isBoth && { ws_url: urls.find(isSocket) },
  };
}

/** Writes the file. */
export function writeMessagingInit(answers: InitAnswers): InitFile {
  const { network, chains, hubUrl } = answers;
  const { hub, relayer, evm, substrate_evm: substrateEvm } = messagingSections(noFiles);
  const values = {
    minimum_profit_percentage: network === "mainnet" ? 10 : 0,
    delivery_endpoints: chains.map(({ chainId }) => evmStateMachine(chainId)),
  };
  return writeInitFile(answers, {
    program: "causeway",
    role: "the messaging relayer",
    title: "Chains",
    before: [
      {
        title: "The hub",
        header: "hub",
        section: hub,
        values: { state_machine: liveHubs[network], rpc_ws: hubUrl },
      },
      { title: "The relayer", header: "relayer", section: relayer, values },
    ],
    ofChain: (chain) => {
      const nodes = nodesOf(chain);
      return { section: "ws_url" in nodes ? substrateEvm : evm, values: nodes };
    },
  });
}
