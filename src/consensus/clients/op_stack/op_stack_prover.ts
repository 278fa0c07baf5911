/**
 * Prover of OP stack chains: claims are dispute games, or outputs of an oracle on chains without games. Source:
 * polytope-labs/hyperbridge: tesseract/consensus/op-host/src/host.rs; docs/protocol/evm-consensus.md section 7.
 */
import { consensusClientIds } from "../../../core/ismp/consensus_clients.ts";
import type { CheckFinding } from "../../../core/chains/check_finding.ts";
import {
  initialOpStackState,
  type OpStackConsensusState,
  opStackConsensusStateCodec,
} from "./spec/consensus_state.ts";
import {
  type DisputeGameRules,
  disputeGameRulesCodec,
  disputeGameRulesKey,
  outputOracleKey,
} from "./spec/hub_storage.ts";
import { decodeOpStackState } from "./spec/verify_update.ts";
import { type Address, addressCodec } from "../../../core/evm/address.ts";
import { type StateMachineId, stateMachineIdKey } from "../../../core/ismp/state_machine.ts";
import type { ConsensusProver } from "../../prover.ts";
import type { ClaimFinding } from "../../rollup/claim_dry_run.ts";
import { compareContract, readStored } from "../../rollup/hub_contract.ts";
import type { OpStackOptions, RollupDeps } from "../../rollup/rollup_options.ts";
import { type RollupKind, RollupProver, type RollupView } from "../../rollup/rollup_prover.ts";
import { DisputeGames } from "./dispute_games.ts";
import { Outputs } from "./outputs.ts";

/** Creates the prover of a configured chain. Sends no request before its first method is called. */
export function createOpStackProver(deps: RollupDeps, options: OpStackOptions): ConsensusProver {
  const surroundings = { ...deps, log: deps.log.with({ chain: options.stateMachine }) };
  return new RollupProver(surroundings, options, new OpStack(surroundings, options));
}

/** Contracts of one rollup as the hub stores them. */
interface Stored {
  readonly games: DisputeGameRules | undefined;
  readonly oracle: Address | undefined;
}

class OpStack implements RollupKind<OpStackConsensusState> {
  readonly clientId = consensusClientIds.opStack;
  readonly decodeState = decodeOpStackState;
  readonly #deps: RollupDeps;
  readonly #options: OpStackOptions;
  readonly #games: DisputeGames;
  readonly #outputs: Outputs;

  constructor(deps: RollupDeps, options: OpStackOptions) {
    this.#deps = deps;
    this.#options = options;
    this.#games = new DisputeGames(deps, options);
    this.#outputs = new Outputs(deps, options);
  }

  async findClaim(view: RollupView<OpStackConsensusState>, signal: AbortSignal): Promise<ClaimFinding> {
    const { games, oracle } = await this.#fetchStored(view.state.stateMachineId, signal);
    const prefersOracle = view.state.consensusType === "OpL2Oracle" || games === undefined;
    if (oracle !== undefined && prefersOracle) return await this.#outputs.find(view, oracle, signal);
    if (games !== undefined) return await this.#games.find(view, games, signal);
    // The hub would accept any update and ignore it.
    const id = stateMachineIdKey(view.state.stateMachineId);
    return {
      kind: "nothing",
      reason: `the hub holds no dispute game factory and no output oracle for ${id}`,
    };
  }

  async checkContracts(id: StateMachineId, signal: AbortSignal): Promise<readonly CheckFinding[]> {
    const { games, oracle } = await this.#fetchStored(id, signal);
    const { disputeGameFactory, l2Oracle, respectedGameType } = this.#options;
    const name = stateMachineIdKey(id);
    if (games === undefined && oracle === undefined) {
      const text =
        `${name}: the hub holds no dispute game factory and no output oracle: it ignores all updates ` +
        "until governance sets one";
      return [{ severity: "warning", event: "rollup_contract_missing", text }];
    }
    const findings: CheckFinding[] = [
      ...compareContract(id, "dispute_game_factory", {
        configured: disputeGameFactory,
        stored: games?.factory,
      }),
      ...compareContract(id, "l2_oracle", { configured: l2Oracle, stored: oracle }),
    ];
    const types = games?.gameTypes.map(({ gameType }) => gameType);
    if (types !== undefined && respectedGameType !== undefined && !types.includes(respectedGameType)) {
      const listed = types.length === 0 ? "no type" : types.join(", ");
      findings.push({
        severity: "warning",
        event: "game_type_unlisted",
        text: `${name}: respected_game_type is ${respectedGameType}, and the hub lists ${listed}: games of ` +
          "all types that the hub lists are used",
      });
    }
    return findings;
  }

  encodeInitialState(
    at: {
      readonly height: bigint;
      readonly stateMachineId: StateMachineId;
      readonly l1StateMachineId: StateMachineId;
    },
  ): Uint8Array {
    return opStackConsensusStateCodec.enc(initialOpStackState(at));
  }

  async #fetchStored(id: StateMachineId, signal: AbortSignal): Promise<Stored> {
    const keys = [disputeGameRulesKey(id), outputOracleKey(id)];
    const [games, oracle] = await this.#deps.hub.reads.fetchStorage(keys, signal);
    return {
      games: readStored(id, { what: "dispute game factory", codec: disputeGameRulesCodec }, games),
      oracle: readStored(id, { what: "output oracle", codec: addressCodec }, oracle),
    };
  }
}
