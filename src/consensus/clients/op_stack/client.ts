/** Light client of OP stack chains, as the registry lists it. */
import { contractAddress, integer, UINT32_MAX } from "../../../core/config/values.ts";
import { optional, required, type SectionValues } from "../../../core/config/schema.ts";
import { toAddress } from "../../../core/evm/address.ts";
import type { ChainClient } from "../../client.ts";
import { hostForeign } from "../../config/shared_keys.ts";
import { unlessUnreadable } from "../../rollup/hub_contract.ts";
import {
  checkRollup,
  findL1,
  openRollup,
  rollupHostKeys,
  toRollupOptions,
} from "../../rollup/rollup_section.ts";
import { createOpStackProver, fetchOpStackContracts } from "./op_stack_prover.ts";

const hostKeys = {
  ...rollupHostKeys,
  disputeGameFactory: optional(contractAddress, {
    name: "dispute_game_factory",
    description:
      "The DisputeGameFactory contract on the L1. Games of every type that the hub lists are used. Default: the " +
      "one that the hub stores.",
    example: "0xe5965Ab5962eDc7477C8520243A95517CD252fA9",
  }),
  respectedGameType: optional(integer(0, UINT32_MAX), {
    name: "respected_game_type",
    description: "The type of games to try first.",
    example: 0,
  }),
  messageParser: required(contractAddress, {
    name: "message_parser",
    description: "The message passer (`L2ToL1MessagePasser`) on the L2 itself.",
    example: "0x4200000000000000000000000000000000000016",
  }),
  l2Oracle: optional(contractAddress, {
    name: "l2_oracle",
    description: "The L2OutputOracle contract on the L1, for chains that have no dispute games yet.",
    example: "0xdfe97868233d1aa22e815a266982f2cf17685a27",
  }),
};

/** `type = "op_stack"`: dispute games or outputs on the L1. */
export const opStackClient: ChainClient<SectionValues<typeof hostKeys>> = {
  networks: {},
  host: {
    description: "Of type `op_stack`: dispute games on the L1.",
    keys: hostKeys,
    foreign: hostForeign,
  },
  nodeKeys: ["beacon_rpc_url"],
  example: {
    section: "optimism",
    comment: "An OP-stack chain. Optional keys as above.",
    stateMachine: "EVM-10",
    consensusStateId: "OPT0",
  },
  findL1,
  createChecks: (deps, section) =>
    checkRollup(deps, section, {
      l1: section.host.disputeGameFactory ?? ((signal) =>
        unlessUnreadable(
          fetchOpStackContracts(deps.hub, section, signal).then(({ games, oracle }) =>
            games?.factory ?? oracle
          ),
        )),
      l2: toAddress(section.host.messageParser),
    }),
  createProver: (context, section) => {
    const { disputeGameFactory, respectedGameType, messageParser, l2Oracle } = section.host;
    const contracts = { disputeGameFactory, messageParser, l2Oracle };
    const options = { ...toRollupOptions(section), ...contracts, respectedGameType };
    return createOpStackProver(openRollup(context, section), options);
  },
};
