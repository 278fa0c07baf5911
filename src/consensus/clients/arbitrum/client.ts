/** Light client of Arbitrum chains, as the registry lists it. */
import { type ArbitrumClaim, arbitrumClaims } from "./arbitrum_claims.ts";
import { type ArbitrumConsensusState, arbitrumConsensusStateCodec, rollupCoreKey } from "./spec/update.ts";
import { decodeArbitrumState } from "./spec/verify_update.ts";
import type { ConsensusProver } from "../../prover.ts";
import { Claims, type RollupClaim, type RollupDeps } from "../../rollup/claims.ts";
import { decodeContract, defineRollup, readStored, rollupHostKeys } from "../../rollup/rollup_section.ts";
import { type RollupKind, type RollupOptions, RollupProver } from "../../rollup/rollup_prover.ts";
import { optional, type SectionValues } from "../../../core/config/schema.ts";
import { contractAddress } from "../../../core/config/values.ts";
import type { Address } from "../../../core/evm/address.ts";
import { consensusClientIds } from "../../../core/ismp/consensus_clients.ts";
import type { StateMachineId } from "../../../core/ismp/state_machine.ts";

const hostKeys = {
  ...rollupHostKeys,
  rollupCore: optional("rollup_core", contractAddress, {
    description: "The RollupCore contract on the L1. Default: the one that the hub stores.",
    example: "0x4DCeB440657f21083db8aDd07665f8ddBe1DCfc0",
  }),
};

/** `type = "arbitrum_orbit"`: assertions or nodes on the L1. */
export const arbitrumClient = defineRollup<SectionValues<typeof hostKeys>>({
  knownChains: [42161, 421614],
  description: "Of type `arbitrum_orbit`: assertions of the rollup contract on the L1.",
  keys: hostKeys,
  contractsOf: ({ rollupCore: l1 }) => ({ l1 }),
  findContract: fetchRollupCore,
  createProver: (deps, options, { rollupCore }) => createArbitrumProver(deps, { ...options, rollupCore }),
});

/** Configured options of an Arbitrum chain. */
export interface ArbitrumOptions extends RollupOptions {
  /** Rollup contract on the L1. The hub's own address takes precedence; this one is compared with it. */
  readonly rollupCore: Address | undefined;
}

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
): RollupKind<ArbitrumConsensusState, Address | undefined> {
  const claims = new Claims<ArbitrumClaim & RollupClaim>(deps);
  return {
    clientId: consensusClientIds.arbitrum,
    noun: "assertions of BoLD",
    contractNoun: "rollup contract",
    decodeState: decodeArbitrumState,
    encodeInitialState: (at) => arbitrumConsensusStateCodec.enc({ ...at, consensusType: "ArbitrumBold" }),
    fetchStored: (id, signal) => fetchRollupCore(deps.hub, id, signal),
    contractsOf: (stored) => [{ key: "rollup_core", configured: rollupCore, stored }],
    findClaim: ({ state, stored }, view, signal) =>
      stored && claims.find(arbitrumClaims(deps, state, stored), view, signal),
  };
}
