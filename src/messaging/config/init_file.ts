/** The file that `config init` writes for the messaging relayer. Pure. */
import { type CommentedSection, writeCommentedFile } from "../../core/config/commented_file.ts";
import { noFiles } from "../../core/config/json_schema.ts";
import {
  accountBlanks,
  accountKeys,
  describeChain,
  type InitAnswers,
  type InitFile,
} from "../../core/config/init_answers.ts";
import { liveChainOf, liveHubs } from "../../core/config/live_chains.ts";
import { evmStateMachine } from "../../core/ismp/state_machine.ts";
import { messagingSections } from "./schema.ts";

/** Writes the file. */
export function writeMessagingInit(answers: InitAnswers): InitFile {
  const { network, chains, hubUrl, urls } = answers;
  const { hub, relayer, evm } = messagingSections(noFiles);
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
    ...chains.map((chain, index): CommentedSection => ({
      ...index === 0 ? { title: "Chains" } : { shows: "required" },
      comment: describeChain(chain),
      header: chain.name,
      section: evm,
      values: {
        state_machine: evmStateMachine(chain.chainId),
        rpc_urls: urls.get(chain.name) ?? [],
        consensus_state_id: liveChainOf(chain).consensusStateId,
        etherscan_api_key: "",
        ismp_host: liveChainOf(chain).ismpHost,
        ...accountKeys(answers, chain.name),
      },
      switchedOn: Object.keys(accountKeys(answers, chain.name)),
    })),
  ];
  const blanks = [
    ...hubUrl === undefined ? ["[hub].rpc_ws"] : [],
    ...chains.flatMap(({ name }) => [
      ...urls.has(name) ? [] : [`[${name}].rpc_urls`],
      ...accountBlanks(answers, name),
    ]),
  ];
  const head = [
    "Configuration of `causeway`, the messaging relayer, written by `causeway config init`:",
    "  causeway --config=FILE config check",
    'Empty values of `rpc_ws`, `rpc_urls` and `signer` are to be filled in. `#key = value` is optional; "default" ' +
    "behind it means that leaving it commented out is the same. `${NAME}` in a text is replaced from the environment.",
  ];
  return { text: writeCommentedFile({ schema: "./causeway.schema.json", head, sections }), blanks };
}
