/** Light client of OP stack chains, as the registry lists it. */
import { disputeGames, type FoundGame, type GameOptions } from "./dispute_games.ts";
import { type OutputClaim, outputClaims } from "./outputs.ts";
import {
  decodeGameRules,
  disputeGameRulesKey,
  type OpStackConsensusState,
  opStackConsensusStateCodec,
  outputOracleKey,
  type StoredGameRules,
} from "./spec/update.ts";
import { decodeOpStackState } from "./spec/verify_update.ts";
import type { ConsensusProver } from "../../prover.ts";
import { Claims, type RollupDeps } from "../../rollup/claims.ts";
import { decodeContract, defineRollup, readStored, rollupHostKeys } from "../../rollup/rollup_section.ts";
import { type RollupKind, type RollupOptions, RollupProver } from "../../rollup/rollup_prover.ts";
import type { FindingCode } from "../../../core/checks/findings.ts";
import { optional, required, type SectionValues } from "../../../core/config/schema.ts";
import { contractAddress, integer, UINT32_MAX } from "../../../core/config/values.ts";
import { type Address, toAddress } from "../../../core/evm/address.ts";
import { consensusClientIds } from "../../../core/ismp/consensus_clients.ts";
import type { StateMachineId } from "../../../core/ismp/state_machine.ts";

const hostKeys = {
  ...rollupHostKeys,
  disputeGameFactory: optional("dispute_game_factory", contractAddress, {
    description:
      "The DisputeGameFactory contract on the L1. Games of every type that the hub lists are used. Default: the " +
      "one that the hub stores.",
    example: "0xe5965Ab5962eDc7477C8520243A95517CD252fA9",
  }),
  respectedGameType: optional("respected_game_type", integer(0, UINT32_MAX), {
    description: "The type of games to try first.",
    example: 0,
  }),
  messageParser: required("message_parser", contractAddress, {
    description: "The message passer (`L2ToL1MessagePasser`) on the L2 itself.",
    example: "0x4200000000000000000000000000000000000016",
  }),
  l2Oracle: optional("l2_oracle", contractAddress, {
    description: "The L2OutputOracle contract on the L1, for chains that have no dispute games yet.",
    example: "0xdfe97868233d1aa22e815a266982f2cf17685a27",
  }),
};

/** `type = "op_stack"`: dispute games or outputs on the L1. */
export const opStackClient = defineRollup<SectionValues<typeof hostKeys>>({
  description: "Of type `op_stack`: dispute games on the L1.",
  keys: hostKeys,
  contractsOf: ({ disputeGameFactory: l1, messageParser }) => ({ l1, l2: toAddress(messageParser) }),
  findContract: async (hub, id, signal) => {
    const { games, oracle } = await fetchOpStackContracts(hub, id, signal);
    return games?.factory ?? oracle;
  },
  createProver: (deps, options, { disputeGameFactory, respectedGameType, messageParser, l2Oracle }) =>
    createOpStackProver(deps, {
      ...options,
      disputeGameFactory,
      respectedGameType,
      messageParser,
      l2Oracle,
    }),
});

/** Configured options of an OP stack chain. The hub's own contracts take precedence; these are compared with them. */
export interface OpStackOptions extends RollupOptions, GameOptions {
  /** Dispute game factory on the L1. */
  readonly disputeGameFactory: Address | undefined;
  /** Output oracle on the L1, of chains without dispute games. */
  readonly l2Oracle?: Address | undefined;
}

/** What the hub stores about the claims of a chain; the hub accepts and ignores claims in other contracts. */
interface OpStackContracts {
  readonly games: StoredGameRules | undefined;
  readonly oracle: Address | undefined;
}

/** Creates the prover of a configured chain. Sends no request before its first method is called. */
export function createOpStackProver(deps: RollupDeps, options: OpStackOptions): ConsensusProver {
  return new RollupProver(deps, options, (deps) => opStackKind(deps, options));
}

/** Fetches the contracts that the hub stores. */
async function fetchOpStackContracts(
  { reads }: RollupDeps["hub"],
  id: StateMachineId,
  signal: AbortSignal,
): Promise<OpStackContracts> {
  const [games, oracle] = await reads.fetchStorage([disputeGameRulesKey(id), outputOracleKey(id)], signal);
  return {
    games: readStored(id, { what: "dispute game factory", decode: decodeGameRules }, games),
    oracle: readStored(id, { what: "output oracle", decode: decodeContract }, oracle),
  };
}

function opStackKind(
  deps: RollupDeps,
  options: OpStackOptions,
): RollupKind<OpStackConsensusState, OpStackContracts> {
  const gameClaims = new Claims<FoundGame>(deps);
  const outputs = new Claims<OutputClaim>(deps);
  return {
    clientId: consensusClientIds.opStack,
    noun: "dispute games",
    contractNoun: "dispute game factory and no output oracle",
    decodeState: decodeOpStackState,
    encodeInitialState: (at) =>
      opStackConsensusStateCodec.enc({
        ...at,
        consensusType: "OpFaultProofGames",
        gameTypeConfigs: undefined,
      }),
    fetchStored: (id, signal) => fetchOpStackContracts(deps.hub, id, signal),
    contractsOf: ({ games, oracle }) => [
      { key: "dispute_game_factory", configured: options.disputeGameFactory, stored: games?.factory },
      { key: "l2_oracle", configured: options.l2Oracle, stored: oracle },
    ],
    findClaim: ({ state, stored: { games, oracle } }, view, signal) => {
      if (oracle !== undefined && (state.consensusType === "OpL2Oracle" || games === undefined)) {
        return outputs.find(outputClaims(deps, options, { state, oracle }), view, signal);
      }
      if (games === undefined) return undefined;
      return gameClaims.find(disputeGames(deps, options, { state, rules: games }), view, signal);
    },
    checkStored: ({ games }) => games === undefined ? [] : checkRules(games, options),
  };
}

/** Compares the listed types with this version and with the configuration. */
function checkRules(
  { gameTypes, unknown, unread }: StoredGameRules,
  { respectedGameType }: OpStackOptions,
): ReturnType<NonNullable<RollupKind<OpStackConsensusState, OpStackContracts>["checkStored"]>> {
  const found: (readonly [FindingCode, string])[] = [];
  if (unknown !== undefined) {
    const { gameType, kind, expectedImplementation } = unknown;
    const others = unread === 0 ? "" : `, with ${unread} types behind it that cannot be read`;
    const text =
      `the hub lists game type ${gameType} of kind ${kind} (implementation ${expectedImplementation})${others}, ` +
      "which this version does not know: such games cannot be proved until causeway-consensus is updated";
    found.push(["rollup_settings_unknown", text]);
  }
  const types = gameTypes.map(({ gameType }) => gameType);
  if (respectedGameType !== undefined && !types.includes(respectedGameType)) {
    const listed = types.join(", ") || "no type that can be proved";
    const text = `respected_game_type is ${respectedGameType}, and the hub lists ${listed}: games of ` +
      "all types that the hub lists are used";
    found.push(["game_type_missing", text]);
  }
  return found;
}
