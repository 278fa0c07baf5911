/** The commented example files, from the schemas. Pure. */
import {
  CHAIN_TYPES,
  chainClients,
  type ChainType,
  HUB_TYPES,
  type HubType,
} from "../../../src/consensus/registry.ts";
import { type CommentedSection, writeCommentedFile } from "../../../src/core/config/commented_file.ts";
import { clientIdOf, typeOfNamed } from "../../../src/consensus/config/config_file.ts";
import { namedChains } from "../../../src/core/config/live_network.ts";
import { evmStateMachine } from "../../../src/core/ismp/state_machine.ts";
import { consensus, hubSection, messaging } from "./config_files.ts";

/** Type of the example's hub; sections of others are comments. */
const EXAMPLE_HUB: HubType = "grandpa";

const HOW_TO_READ =
  "How to read this file: `key = value` is a setting that you will want to look at. `#key = value` is " +
  'an optional one; "default" behind it means that leaving it commented out is the same. Unknown keys are warned about, ' +
  "wrong values are listed all at once before anything is started. Keys (`signer`) are hex, the path of a file or keystore that " +
  "holds it, or the URL of a Web3Signer: those keep them out of here. `${NAME}` in a text is replaced from the environment, which keeps API keys " +
  "out; with keys of any kind in here: chmod 600.";

const GENERATED = "Generated from the schema of the configuration, like the reference in docs/configuration.";

const NOTIFY = {
  comment: "Changes of readiness are posted to a chat (docs/operations/monitoring.md):",
  header: "relayer.notify",
  section: messaging.notify,
  isComment: true,
};

/** `config.example.toml`. */
export function messagingExample(): string {
  return write("messaging", [
    "Configuration of `causeway`, the messaging relayer:",
    "  causeway --config=relayer.toml --db=relayer.db",
    "The consensus relayer, `causeway-consensus`, reads another file with other sections: consensus.example.toml.",
    `${HOW_TO_READ} One whole fee token counts as one dollar. ${GENERATED}`,
  ], [
    { title: "The hub", header: "hub", section: messaging.hub },
    { title: "The relayer", header: "relayer", section: messaging.relayer },
    {
      comment: "Several relayers of one operator (docs/operations/fleet.md):",
      header: "relayer.fleet",
      section: messaging.fleet,
      isComment: true,
    },
    NOTIFY,
    {
      title: "Chains: one section each, the name is yours",
      comment:
        "A chain that has no section gets nothing delivered to it, and nothing that it sends is delivered " +
        "anywhere. An EVM chain, with every key:",
      header: "ethereum",
      section: messaging.evm,
    },
    {
      comment:
        "An L2 of Ethereum: ETH0 and the same explorer key. Its node must keep old state (an archive node): the " +
        "hub's view of an L2 is behind by more than other nodes remember.",
      header: "base",
      section: messaging.evm,
      shows: "required",
      values: {
        state_machine: "EVM-8453",
        rpc_urls: ["https://base.example.org/v1/YOUR-KEY"],
        signer: "/run/secrets/base-key",
      },
    },
    {
      comment: "BSC: another native token, so a key of its own and its own consensus state id.",
      header: "bsc",
      section: messaging.evm,
      shows: "required",
      values: {
        state_machine: "EVM-56",
        rpc_urls: ["https://bsc.example.org/v1/YOUR-KEY"],
        consensus_state_id: "BSC0",
        etherscan_api_key: "YOUR-BSC-KEY",
        signer: "/run/secrets/bsc-key",
      },
    },
    {
      comment: "Polkadot Hub: an EVM chain on Substrate, with the node that proves its state.",
      header: "polkadot-hub",
      section: messaging.substrate_evm,
      shows: "required",
      values: {
        state_machine: "EVM-420420419",
        rpc_urls: ["https://polkadot-hub.example.org/v1/YOUR-KEY"],
        consensus_state_id: "DOT0",
        etherscan_api_key: "",
        signer: "/run/secrets/polkadot-hub-key",
      },
    },
    { comment: "A Substrate chain, with every key:", header: "parachain", section: messaging.substrate },
  ]);
}

/** `consensus.example.toml`. */
export function consensusExample(): string {
  return write("consensus", [
    "Configuration of `causeway-consensus`, the consensus relayer. `causeway`, the messaging relayer, refuses it: its " +
    "own example is config.example.toml.",
    `${HOW_TO_READ} ${GENERATED}`,
  ], [
    { title: "The hub", header: "hub", section: consensus.hub },
    ...HUB_TYPES.map((type) => ({ ...hubSection(type), isComment: type !== EXAMPLE_HUB })),
    { header: "hub.substrate", section: consensus.hubSubstrate },
    {
      title: "The relayer",
      header: "relayer",
      section: consensus.relayer,
      switchedOn: ["maximum_update_intervals", "enable_hub_consensus"],
      values: { maximum_update_intervals: [] },
    },
    NOTIFY,
    ...CHAIN_TYPES.flatMap(chainExample),
    { header: "solochain", section: consensus.substrate },
  ]);
}

/** The sections of a chain of one type, the first one that can be named; the first of the file shows every key. */
function chainExample(type: ChainType, index: number): readonly CommentedSection[] {
  const chain = namedChains.find((each) => typeOfNamed(each) === type);
  if (chain === undefined) return [];
  const { name, chainId } = chain;
  const title = "Chains: one section each with a `.host` section, the name is yours";
  return [
    {
      ...index === 0 ? { title } : { shows: "required" },
      comment: `Of type \`${type}\`${
        index === 0 ? ", with every key that EVM chains have:" : ". Optional keys as above."
      }`,
      header: name,
      section: consensus.evm,
      values: {
        type,
        state_machine: evmStateMachine(chainId),
        rpc_urls: [`https://${name}.example.org/v1/YOUR-KEY`],
        consensus_state_id: clientIdOf(chain),
        signer: `/run/secrets/${name}-consensus-key`,
      },
    },
    { header: `${name}.host`, section: chainClients[type].host },
  ];
}

function write(
  schema: "messaging" | "consensus",
  head: readonly string[],
  sections: readonly CommentedSection[],
): string {
  return writeCommentedFile({ schema: `./docs/configuration/${schema}.schema.json`, head, sections });
}
