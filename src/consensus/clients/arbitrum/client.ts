/** Light client of Arbitrum chains, as the registry lists it. */
import { contractAddress } from "../../../core/config/values.ts";
import { optional, type SectionValues } from "../../../core/config/schema.ts";
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
import { createArbitrumProver, fetchRollupCore } from "./arbitrum_prover.ts";

const hostKeys = {
  ...rollupHostKeys,
  rollupCore: optional(contractAddress, {
    name: "rollup_core",
    description: "The RollupCore contract on the L1. Default: the one that the hub stores.",
    example: "0x4DCeB440657f21083db8aDd07665f8ddBe1DCfc0",
  }),
};

/** `type = "arbitrum_orbit"`: assertions or nodes on the L1. */
export const arbitrumClient: ChainClient<SectionValues<typeof hostKeys>> = {
  knownChains: [42161, 421614],
  networks: {},
  host: {
    description: "Of type `arbitrum_orbit`: assertions of the rollup contract on the L1.",
    keys: hostKeys,
    foreign: hostForeign,
  },
  nodeKeys: ["beacon_rpc_url"],
  example: {
    section: "arbitrum",
    comment: "An Arbitrum Orbit chain. Optional keys as above.",
    stateMachine: "EVM-42161",
    consensusStateId: "ARB0",
  },
  findL1,
  createChecks: (deps, section) =>
    checkRollup(deps, section, {
      l1: section.host.rollupCore ??
        ((signal) => unlessUnreadable(fetchRollupCore(deps.hub, section, signal))),
    }),
  createProver: (context, section) =>
    createArbitrumProver(openRollup(context, section), {
      ...toRollupOptions(section),
      rollupCore: section.host.rollupCore,
    }),
};
