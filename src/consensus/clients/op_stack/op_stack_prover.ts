/**
 * Prover of OP stack chains: claims are dispute games, or outputs of an oracle on chains without games. Source:
 * polytope-labs/hyperbridge: tesseract/consensus/op-host/src/host.rs; docs/protocol/evm-consensus.md section 7.
 */
import type { CheckRow } from "../../../core/checks/check_row.ts";
import type { Address } from "../../../core/evm/address.ts";
import { consensusClientIds } from "../../../core/ismp/consensus_clients.ts";
import { type StateMachineId, stateMachineIdKey } from "../../../core/ismp/state_machine.ts";
import { RpcFault } from "../../../core/rpc/call.ts";
import type { ConsensusProver } from "../../prover.ts";
import { Claims } from "../../rollup/claims.ts";
import { compareContract, decodeContract, readStored, warning } from "../../rollup/hub_contract.ts";
import type { OpStackOptions, RollupDeps } from "../../rollup/rollup_options.ts";
import { createRollupProver, type RollupKind } from "../../rollup/rollup_prover.ts";
import { DisputeGames } from "./dispute_games.ts";
import { fetchUnlistedGames } from "./game_reads.ts";
import { outputClaims } from "./outputs.ts";
import { type OpStackConsensusState, opStackConsensusStateCodec } from "./spec/consensus_state.ts";
import {
  decodeGameRules,
  disputeGameRulesKey,
  outputOracleKey,
  type StoredGameRules,
} from "./spec/hub_storage.ts";
import { decodeOpStackState } from "./spec/verify_update.ts";

/** Creates the prover of a configured chain. Sends no request before its first method is called. */
export function createOpStackProver(deps: RollupDeps, options: OpStackOptions): ConsensusProver {
  return createRollupProver(deps, options, (deps) => opStackKind(deps, options));
}

/** Fetches the contracts that the hub stores. */
export async function fetchOpStackContracts(
  { reads }: RollupDeps["hub"],
  id: StateMachineId,
  signal: AbortSignal,
): Promise<{ readonly games: StoredGameRules | undefined; readonly oracle: Address | undefined }> {
  const [games, oracle] = await reads.fetchStorage([disputeGameRulesKey(id), outputOracleKey(id)], signal);
  return {
    games: readStored(id, { what: "dispute game factory", decode: decodeGameRules }, games),
    oracle: readStored(id, { what: "output oracle", decode: decodeContract }, oracle),
  };
}

function opStackKind(deps: RollupDeps, options: OpStackOptions): RollupKind<OpStackConsensusState> {
  const gameClaims = new Claims(deps, new DisputeGames(deps, options));
  const outputs = new Claims(deps, outputClaims(deps, options));
  /** Text of the last report about settings that this version does not know. */
  let reported: string | undefined;
  return {
    clientId: consensusClientIds.opStack,
    noun: "dispute games",
    decodeState: decodeOpStackState,
    encodeInitialState: (at) =>
      opStackConsensusStateCodec.enc({
        ...at,
        consensusType: "OpFaultProofGames",
        gameTypeConfigs: undefined,
      }),
    findClaim: async (view, signal) => {
      const id = view.state.stateMachineId;
      const { games, oracle } = await fetchOpStackContracts(deps.hub, id, signal);
      const unknown = describeUnknown(games);
      if (unknown !== undefined && unknown !== reported) {
        deps.log.warn("rollup_mismatch.settings_unknown", { detail: unknown });
      }
      reported = unknown;
      const prefersOracle = view.state.consensusType === "OpL2Oracle" || games === undefined;
      if (oracle !== undefined && prefersOracle) {
        return await outputs.find({ view, contract: oracle, rules: undefined, signal });
      }
      if (games !== undefined) {
        return await gameClaims.find({ view, contract: games.factory, rules: games, signal });
      }
      // The hub would accept any update and ignore it.
      const reason = `the hub holds no dispute game factory and no output oracle for ${
        stateMachineIdKey(id)
      }`;
      return { kind: "nothing", reason };
    },
    checkContracts: async (state, signal) => {
      const id = state.stateMachineId;
      const { games, oracle } = await fetchOpStackContracts(deps.hub, id, signal);
      if (games === undefined && oracle === undefined) {
        const text = `the hub holds no dispute game factory and no output oracle: it ignores all ` +
          "updates until governance sets one";
        return [warning(id, "rollup_contract_missing", text)];
      }
      const { disputeGameFactory, l2Oracle } = options;
      const unknown = describeUnknown(games);
      return [
        ...compareContract(id, "dispute_game_factory", {
          configured: disputeGameFactory,
          stored: games?.factory,
        }),
        ...compareContract(id, "l2_oracle", { configured: l2Oracle, stored: oracle }),
        ...unknown === undefined ? [] : [warning(id, "rollup_settings_unknown", unknown)],
        ...games === undefined ? [] : await checkTypes(deps, { id, games, options }, signal),
      ];
    },
  };
}

/** Describes listed types of games that this version does not know, and what they cost; `undefined`: there are none. */
function describeUnknown(games: StoredGameRules | undefined): string | undefined {
  if (games === undefined || games.unknown.length === 0) return undefined;
  const types = games.unknown.map(({ gameType, kind, expectedImplementation }) =>
    `${gameType} of kind ${kind} (implementation ${expectedImplementation})`
  );
  const unread = games.unread === 0 ? "" : ` and ${games.unread} types listed after it, which cannot be read`;
  return `the hub lists game types of kinds that this version does not know: ${types.join(", ")}${unread}; ` +
    "their games cannot be proved until causeway-consensus is updated";
}

/** Compares the types that the hub lists with the configuration, and with the games that are created now. */
async function checkTypes(
  { l1 }: RollupDeps,
  { id, games, options }: {
    readonly id: StateMachineId;
    readonly games: StoredGameRules;
    readonly options: OpStackOptions;
  },
  signal: AbortSignal,
): Promise<readonly CheckRow[]> {
  const types = games.gameTypes.map(({ gameType }) => gameType);
  const listed = types.length === 0 ? "no type that can be proved" : types.join(", ");
  try {
    const newest = await fetchUnlistedGames({ l1, at: await l1.fetchHeight(signal), signal }, games);
    if (newest !== undefined) {
      const created = newest.types.map((type, index) =>
        `${type} (implementation ${newest.implementations[index]})`
      );
      const text = `the newest dispute games (${newest.count}) are of type ${created.join(", ")}, and ` +
        `the hub lists ${listed}: they cannot be proved until the hub's governance adds the type; updates ` +
        "continue then without a restart";
      return [warning(id, "games_unlisted", text)];
    }
  } catch (fault) {
    if (!(fault instanceof RpcFault)) throw fault; // which other rows name
  }
  const { respectedGameType } = options;
  if (respectedGameType === undefined || types.includes(respectedGameType)) return [];
  const text = `respected_game_type is ${respectedGameType}, and the hub lists ${listed}: games of ` +
    "all types that the hub lists are used";
  return [warning(id, "game_type_missing", text)];
}
