/** Light client of OP stack chains, as the registry lists it. */
import type { ChainClient } from "../../client.ts";
import { fetchClaimedBlock, verifiedUpdate } from "./claimed_block.ts";
import { DisputeGames } from "./dispute_games.ts";
import { fetchUnlistedGames } from "./game_reads.ts";
import { buildOutputOracleProof, oracleProofSlots } from "./spec/build_update.ts";
import { decodeOutputProposed, OUTPUT_PROPOSED, type OutputProposed } from "./spec/claim_events.ts";
import {
  decodeGameRules,
  disputeGameRulesKey,
  type OpStackConsensusState,
  opStackConsensusStateCodec,
  outputOracleKey,
  type StoredGameRules,
} from "./spec/update.ts";
import { decodeOpStackState } from "./spec/verify_update.ts";
import { hostForeign } from "../../config/keys.ts";
import type { ConsensusProver } from "../../prover.ts";
import { type ClaimKind, Claims, type OpStackOptions, type RollupDeps } from "../../rollup/claims.ts";
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
import type { CheckRow } from "../../../core/checks/check_row.ts";
import { optional, required, type SectionValues } from "../../../core/config/schema.ts";
import { contractAddress, integer, UINT32_MAX } from "../../../core/config/values.ts";
import { type Address, toAddress } from "../../../core/evm/address.ts";
import { consensusClientIds } from "../../../core/ismp/consensus_clients.ts";
import { type StateMachineId, stateMachineIdKey } from "../../../core/ismp/state_machine.ts";
import { RpcFault } from "../../../core/rpc/call.ts";

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

/** Creates the prover of a configured chain. Sends no request before its first method is called. */
export function createOpStackProver(deps: RollupDeps, options: OpStackOptions): ConsensusProver {
  return new RollupProver(deps, options, (deps) => opStackKind(deps, options));
}

/** Fetches the contracts that the hub stores. */
async function fetchOpStackContracts(
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

/** The outputs of one rollup. */
function outputClaims(
  { l1, l2 }: Pick<RollupDeps, "l1" | "l2">,
  { messageParser }: Pick<OpStackOptions, "messageParser">,
): ClaimKind<OpStackConsensusState, OutputProposed> {
  return {
    noun: "outputs",
    topic0: OUTPUT_PROPOSED,
    decode: decodeOutputProposed,
    keyOf: ({ index }) => index.toString(),
    describe: ({ index }) => `output ${index}`,
    plan: (open, { view: { hubHeight } }, keep) => {
      const above = keep(
        open,
        ({ l2Height }) =>
          hubHeight !== undefined && l2Height <= hubHeight ? "not above the hub's height" : undefined,
      );
      return Promise.resolve(above.toSorted((a, b) => Number(b.index - a.index)));
    },
    prove: async (output, { view, contract, signal }) => {
      const requests = [{ account: contract, slots: oracleProofSlots(output) }];
      const [oracle] = await l1.fetchProofs(requests, view.l1, signal);
      if (oracle === undefined) throw new Error("A proof is missing");
      const block = await fetchClaimedBlock({ l2, messageParser }, output, signal);
      const value = buildOutputOracleProof({ ...block, output, oracle });
      const proof = verifiedUpdate(view, { tag: "OpL2Oracle", value }, { outputOracle: contract });
      return { proof, height: output.l2Height };
    },
  };
}
