/**
 * Prover of Arbitrum chains: claims are assertions of a rollup with BoLD, or nodes of an older rollup. Source:
 * polytope-labs/hyperbridge: tesseract/consensus/arb-host/src/host.rs; docs/protocol/evm-consensus.md section 8.
 */
import { consensusClientIds } from "../../../core/ismp/consensus_clients.ts";
import type { CheckFinding } from "../../../core/chains/check_finding.ts";
import {
  type ArbitrumConsensusState,
  arbitrumConsensusStateCodec,
  initialArbitrumState,
} from "./spec/consensus_state.ts";
import type { AssertionCreated, NodeCreated } from "./spec/claim_events.ts";
import { rollupCoreKey } from "./spec/hub_storage.ts";
import { decodeArbitrumState } from "./spec/verify_update.ts";
import { type Address, addressCodec } from "../../../core/evm/address.ts";
import { type StateMachineId, stateMachineIdKey } from "../../../core/ismp/state_machine.ts";
import type { ConsensusProver } from "../../prover.ts";
import type { ClaimFinding } from "../../rollup/claim_dry_run.ts";
import { compareContract, readStored } from "../../rollup/hub_contract.ts";
import type { ArbitrumOptions, RollupDeps } from "../../rollup/rollup_options.ts";
import { type RollupKind, RollupProver, type RollupView } from "../../rollup/rollup_prover.ts";
import { assertionClaims } from "./assertion_claims.ts";
import { nodeClaims } from "./node_claims.ts";
import { RollupClaims } from "./rollup_claims.ts";

/** Creates the prover of a configured chain. Sends no request before its first method is called. */
export function createArbitrumProver(deps: RollupDeps, options: ArbitrumOptions): ConsensusProver {
  const surroundings = { ...deps, log: deps.log.with({ chain: options.stateMachine }) };
  return new RollupProver(surroundings, options, new Arbitrum(surroundings, options));
}

class Arbitrum implements RollupKind<ArbitrumConsensusState> {
  readonly clientId = consensusClientIds.arbitrum;
  readonly decodeState = decodeArbitrumState;
  readonly #deps: RollupDeps;
  readonly #options: ArbitrumOptions;
  readonly #assertions: RollupClaims<AssertionCreated>;
  readonly #nodes: RollupClaims<NodeCreated>;

  constructor(deps: RollupDeps, options: ArbitrumOptions) {
    this.#deps = deps;
    this.#options = options;
    this.#assertions = new RollupClaims(deps, assertionClaims);
    this.#nodes = new RollupClaims(deps, nodeClaims);
  }

  async findClaim(view: RollupView<ArbitrumConsensusState>, signal: AbortSignal): Promise<ClaimFinding> {
    const rollup = await this.#fetchStored(view.state.stateMachineId, signal);
    if (rollup === undefined) {
      // The hub would accept any update and ignore it.
      const id = stateMachineIdKey(view.state.stateMachineId);
      return { kind: "nothing", reason: `the hub holds no rollup contract for ${id}` };
    }
    const claims = view.state.consensusType === "ArbitrumBold" ? this.#assertions : this.#nodes;
    return await claims.find(view, rollup, signal);
  }

  async checkContracts(id: StateMachineId, signal: AbortSignal): Promise<readonly CheckFinding[]> {
    const rollup = await this.#fetchStored(id, signal);
    if (rollup !== undefined) {
      return compareContract(id, "rollup_core", { configured: this.#options.rollupCore, stored: rollup });
    }
    const text = `${stateMachineIdKey(id)}: the hub holds no rollup contract: it ignores all updates until ` +
      "governance sets one";
    return [{ severity: "warning", event: "rollup_contract_missing", text }];
  }

  encodeInitialState(
    at: {
      readonly height: bigint;
      readonly stateMachineId: StateMachineId;
      readonly l1StateMachineId: StateMachineId;
    },
  ): Uint8Array {
    return arbitrumConsensusStateCodec.enc(initialArbitrumState(at));
  }

  async #fetchStored(id: StateMachineId, signal: AbortSignal): Promise<Address | undefined> {
    const [rollup] = await this.#deps.hub.reads.fetchStorage([rollupCoreKey(id)], signal);
    return readStored(id, { what: "rollup contract", codec: addressCodec }, rollup);
  }
}
