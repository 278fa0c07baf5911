/**
 * An OP stack chain on an L1, both real nodes, and a hub that has a client of it.
 */
import { opStackState } from "./spec/vectors.ts";
import { consensusClientIds } from "../../../../src/core/ismp/consensus_clients.ts";
import {
  createOpStackProver,
  type OpStackOptions,
} from "../../../../src/consensus/clients/op_stack/client.ts";
import type { ConsensusProver } from "../../../../src/consensus/prover.ts";
import {
  disputeGameRulesKey,
  encodeGameRules,
  type GameTypeConfig,
  opStackConsensusStateCodec,
} from "../../../../src/consensus/clients/op_stack/spec/update.ts";
import { type Address, toAddress } from "../../../../src/core/evm/address.ts";
import {
  evmStateMachine,
  type StateMachineId,
  toConsensusStateId,
} from "../../../../src/core/ismp/state_machine.ts";
import type { Fetch } from "../../../../src/core/rpc/http_exchange.ts";
import {
  deployOpStackL1,
  MESSAGE_PASSER,
  type OpStackL1,
  prepareOpStackL2,
} from "../../../../devnet/evm/rollup_games.ts";
import { connectRollupL1 } from "../../../../devnet/evm/rollup_l1.ts";
import { RecordedLog } from "../../../support/recorded_log.ts";
import { MemoryTarget } from "../../../support/memory_target.ts";
import { rollupRules } from "../../rollup/rollup_rules.ts";
import { advanceL1, l1Id, type Nodes, readerOf, startNodes } from "../../rollup/fixture.ts";

/** The rollup under the name of its own client. */
export const rollupId: StateMachineId = {
  stateMachine: evmStateMachine(11155420),
  consensusStateId: toConsensusStateId("OPT0"),
};

/** How a prover differs from the plain one. */
export interface ProverChoice {
  readonly options?: Partial<OpStackOptions>;
  readonly l1Urls?: readonly string[];
  readonly l2Urls?: readonly string[];
  readonly l1Transport?: Fetch;
  readonly l2Transport?: Fetch;
}

type Tail<All extends readonly unknown[]> = All extends [unknown, ...infer Others] ? Others : never;

/** All of it. */
export interface OpStackFixture extends AsyncDisposable {
  readonly nodes: Nodes;
  readonly hub: MemoryTarget;
  readonly contracts: OpStackL1;
  readonly log: RecordedLog;
  /** A prover that has not looked yet. */
  prover(choice?: ProverChoice): ConsensusProver;
  /** Proposes the newest block, which the hub may learn of. */
  propose(...options: Tail<Parameters<OpStackL1["proposeOutput"]>>): ReturnType<OpStackL1["proposeOutput"]>;
  /** The hub learns of the newest L1 block. */
  advanceL1(): Promise<bigint>;
  /** Sets what the hub holds of the factory. */
  setRules(configs: readonly GameTypeConfig[], factory?: Address): void;
}

/** Work of a test with nodes and contracts of its own. */
export function onFixture(work: (fixture: OpStackFixture) => Promise<void>): () => Promise<void> {
  return async () => {
    await using fixture = await startOpStack();
    await work(fixture);
  };
}

/** Starts the nodes and deploys the contracts. */
async function startOpStack(): Promise<OpStackFixture> {
  await using started = new AsyncDisposableStack();
  const nodes = started.use(await startNodes(11155420));
  const [contracts] = await Promise.all([
    deployOpStackL1(connectRollupL1(nodes.l1)),
    prepareOpStackL2(nodes.l2),
  ]);
  const hub = new MemoryTarget({ rules: rollupRules });
  const log = new RecordedLog();
  const state = opStackState({ finalizedHeight: 0n, stateMachineId: rollupId, l1StateMachineId: l1Id });
  hub.addClient(rollupId.consensusStateId, consensusClientIds.opStack, opStackConsensusStateCodec.enc(state));
  const setRules: OpStackFixture["setRules"] = (gameTypes, factory = contracts.factory) =>
    hub.put(disputeGameRulesKey(rollupId), encodeGameRules({ factory, gameTypes }));
  setRules(contracts.configs);
  const resources = started.move();
  return {
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
    nodes,
    hub,
    contracts,
    log,
    setRules,
    propose: async (...options) => {
      const game = await contracts.proposeOutput(nodes.l2, ...options);
      await advanceL1(hub, nodes.l1);
      return game;
    },
    advanceL1: () => advanceL1(hub, nodes.l1),
    prover: (choice = {}) =>
      createOpStackProver({
        hub,
        log,
        l1: readerOf(11155111, choice.l1Urls ?? [nodes.l1.rpcUrl], log, choice.l1Transport),
        l2: readerOf(11155420, choice.l2Urls ?? [nodes.l2.rpcUrl], log, choice.l2Transport),
      }, {
        stateMachine: rollupId.stateMachine,
        consensusStateId: rollupId.consensusStateId,
        l1: l1Id,
        intervalMs: 300_000,
        disputeGameFactory: contracts.factory,
        messageParser: toAddress(MESSAGE_PASSER),
        ...choice.options,
      }),
  };
}
