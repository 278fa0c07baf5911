/**
 * Prover of Arbitrum chains: claims are assertions of a rollup with BoLD, or nodes of an older rollup. Source:
 * polytope-labs/hyperbridge: tesseract/consensus/arb-host/src/host.rs; docs/protocol/evm-consensus.md section 8.
 */
import { consensusClientIds } from "../../../core/ismp/consensus_clients.ts";
import type { Address } from "../../../core/evm/address.ts";
import { type StateMachineId, stateMachineIdKey } from "../../../core/ismp/state_machine.ts";
import type { ConsensusProver } from "../../prover.ts";
import { Claims } from "../../rollup/claims.ts";
import { compareContract, decodeContract, readStored, warning } from "../../rollup/hub_contract.ts";
import type { ArbitrumOptions, RollupDeps } from "../../rollup/rollup_options.ts";
import { createRollupProver, type RollupKind } from "../../rollup/rollup_prover.ts";
import { assertionClaims, nodeClaims } from "./arbitrum_claims.ts";
import { type ArbitrumConsensusState, arbitrumConsensusStateCodec } from "./spec/consensus_state.ts";
import { rollupCoreKey } from "./spec/hub_storage.ts";
import { decodeArbitrumState } from "./spec/verify_update.ts";

/** Creates the prover of a configured chain. Sends no request before its first method is called. */
export function createArbitrumProver(deps: RollupDeps, options: ArbitrumOptions): ConsensusProver {
  return createRollupProver(deps, options, (deps) => arbitrumKind(deps, options));
}

/** Fetches the rollup contract that the hub stores. */
export async function fetchRollupCore(
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
