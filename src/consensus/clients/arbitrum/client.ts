/** Light client of Arbitrum chains, as the registry lists it. */
import type { ChainClient } from "../../client.ts";
import { assertionClaims, nodeClaims } from "./arbitrum_claims.ts";
import { type ArbitrumConsensusState, arbitrumConsensusStateCodec, rollupCoreKey } from "./spec/update.ts";
import { decodeArbitrumState } from "./spec/verify_update.ts";
import { hostForeign } from "../../config/keys.ts";
import type { ConsensusProver } from "../../prover.ts";
import { type ArbitrumOptions, Claims, type RollupDeps } from "../../rollup/claims.ts";
import {
  checkRollup,
  compareContract,
  decodeContract,
  findL1,
  openRollup,
  readStored,
  rollupHostKeys,
  toRollupOptions,
  unlessUnreadable,
  warning,
} from "../../rollup/rollup_section.ts";
import { type RollupKind, RollupProver } from "../../rollup/rollup_prover.ts";
import { optional, type SectionValues } from "../../../core/config/schema.ts";
import { contractAddress } from "../../../core/config/values.ts";
import type { Address } from "../../../core/evm/address.ts";
import { consensusClientIds } from "../../../core/ismp/consensus_clients.ts";
import { type StateMachineId, stateMachineIdKey } from "../../../core/ismp/state_machine.ts";

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

/** Creates the prover of a configured chain. Sends no request before its first method is called. */
export function createArbitrumProver(deps: RollupDeps, options: ArbitrumOptions): ConsensusProver {
  return new RollupProver(deps, options, (deps) => arbitrumKind(deps, options));
}

/** Fetches the rollup contract that the hub stores. */
async function fetchRollupCore(
  { reads }: RollupDeps["hub"],
  id: StateMachineId,
  signal: AbortSignal,
): Promise<Address | undefined> {
  const [rollup] = await reads.fetchStorage([rollupCoreKey(id)], signal);
  return readStored(id, { what: "rollup contract", decode: decodeContract }, rollup);
}

function arbitrumKind(
  deps: RollupDeps,
  { rollupCore }: ArbitrumOptions,
): RollupKind<ArbitrumConsensusState> {
  const assertions = new Claims(deps, assertionClaims(deps));
  const nodes = new Claims(deps, nodeClaims(deps));
  return {
    clientId: consensusClientIds.arbitrum,
    noun: "assertions of BoLD",
    decodeState: decodeArbitrumState,
    encodeInitialState: (at) => arbitrumConsensusStateCodec.enc({ ...at, consensusType: "ArbitrumBold" }),
    findClaim: async (view, signal) => {
      const id = view.state.stateMachineId;
      const contract = await fetchRollupCore(deps.hub, id, signal);
      if (contract === undefined) {
        // The hub would accept any update and ignore it.
        return {
          kind: "nothing",
          reason: `the hub holds no rollup contract for ${stateMachineIdKey(id)}`,
        };
      }
      const poll = { view, contract, rules: undefined, signal };
      return await (view.state.consensusType === "ArbitrumOrbit" ? nodes : assertions).find(poll);
    },
    checkContracts: async (state, signal) => {
      const id = state.stateMachineId;
      const stored = await fetchRollupCore(deps.hub, id, signal);
      if (stored === undefined) {
        const text = "the hub holds no rollup contract: it ignores all updates until governance sets one";
        return [warning(id, "rollup_contract_missing", text)];
      }
      return compareContract(id, "rollup_core", { configured: rollupCore, stored });
    },
  };
}
