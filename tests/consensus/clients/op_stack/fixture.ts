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
import {
  deployOpStackL1,
  MESSAGE_PASSER,
  type OpStackL1,
  prepareOpStackL2,
} from "../../../../devnet/evm/rollup_games.ts";
import { connectRollupL1 } from "../../../../devnet/evm/rollup_l1.ts";
import { l1Id, type ProverChoice, type Rollup, startRollup } from "../../rollup/fixture.ts";

/** The rollup under the name of its own client. */
export const rollupId: StateMachineId = {
  stateMachine: evmStateMachine(11155420),
  consensusStateId: toConsensusStateId("OPT0"),
};

type Tail<All extends readonly unknown[]> = All extends [unknown, ...infer Others] ? Others : never;

/** All of it. */
export interface OpStackFixture extends Rollup {
  readonly contracts: OpStackL1;
  /** A prover that has not looked yet. */
  prover(choice?: ProverChoice<OpStackOptions>): ConsensusProver;
  /** Proposes the newest block, which the hub may learn of. */
  propose(...options: Tail<Parameters<OpStackL1["proposeOutput"]>>): ReturnType<OpStackL1["proposeOutput"]>;
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
  const rollup = started.use(await startRollup(rollupId));
  const { nodes, hub } = rollup;
  const [contracts] = await Promise.all([
    deployOpStackL1(connectRollupL1(nodes.l1)),
    prepareOpStackL2(nodes.l2),
  ]);
  const state = opStackState({ finalizedHeight: 0n, stateMachineId: rollupId, l1StateMachineId: l1Id });
  hub.addClient(rollupId.consensusStateId, consensusClientIds.opStack, opStackConsensusStateCodec.enc(state));
  const setRules: OpStackFixture["setRules"] = (gameTypes, factory = contracts.factory) =>
    hub.put(disputeGameRulesKey(rollupId), encodeGameRules({ factory, gameTypes }));
  setRules(contracts.configs);
  const resources = started.move();
  return {
    ...rollup,
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
    contracts,
    setRules,
    propose: async (...options) => {
      const game = await contracts.proposeOutput(nodes.l2, ...options);
      await rollup.advanceL1();
      return game;
    },
    prover: rollup.provers(createOpStackProver, {
      disputeGameFactory: contracts.factory,
      messageParser: toAddress(MESSAGE_PASSER),
    }),
  };
}
