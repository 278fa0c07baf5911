/**
 * An Arbitrum chain on an L1, both real nodes, the rollup's headers with send roots, and a hub that has a client of it.
 */
import { arbitrumState } from "./spec/vectors.ts";
import { consensusClientIds } from "../../../../src/core/ismp/consensus_clients.ts";
import {
  type ArbitrumOptions,
  createArbitrumProver,
} from "../../../../src/consensus/clients/arbitrum/client.ts";
import type { ConsensusProver } from "../../../../src/consensus/prover.ts";
import {
  type ArbitrumConsensusState,
  arbitrumConsensusStateCodec,
  rollupCoreKey,
} from "../../../../src/consensus/clients/arbitrum/spec/update.ts";
import { type Address, addressCodec, toAddress } from "../../../../src/core/evm/address.ts";
import {
  evmStateMachine,
  type StateMachineId,
  toConsensusStateId,
} from "../../../../src/core/ismp/state_machine.ts";
import { startHeaderRewriter } from "../../../../devnet/evm/header_rewriter.ts";
import {
  type ArbitrumL1,
  deployArbitrumL1,
  withSendRoots,
} from "../../../../devnet/evm/rollup_assertions.ts";
import { connectRollupL1, type NodePlace } from "../../../../devnet/evm/rollup_l1.ts";
import { l1Id, type ProverChoice, type Rollup, startRollup } from "../../rollup/fixture.ts";

/** The rollup under the name of its own client. */
export const rollupId: StateMachineId = {
  stateMachine: evmStateMachine(421614),
  consensusStateId: toConsensusStateId("ARB0"),
};

/** All of it. */
export interface ArbitrumFixture extends Rollup {
  /** The rollup as it is shown to others. */
  readonly l2: NodePlace;
  readonly contracts: ArbitrumL1;
  /** A prover that has not looked yet. */
  prover(choice?: ProverChoice<ArbitrumOptions>): ConsensusProver;
  /** Makes a block on the rollup and an assertion about it, which the hub may learn of. */
  claimAssertion(
    options?: Parameters<ArbitrumL1["createAssertion"]>[1],
  ): ReturnType<ArbitrumL1["createAssertion"]>;
  /** The same of a node. */
  claimNode(options?: Parameters<ArbitrumL1["createNode"]>[1]): ReturnType<ArbitrumL1["createNode"]>;
  /** Sets what the hub holds of the rollup contract. */
  setRollup(address: Address | undefined): void;
}

/** Work of a test of a rollup with BoLD, with nodes and contracts of its own. */
export function onFixture(work: (fixture: ArbitrumFixture) => Promise<void>): () => Promise<void> {
  return async () => {
    await using fixture = await startArbitrum("ArbitrumBold");
    await work(fixture);
  };
}

/** Starts the nodes and deploys the contracts. */
export async function startArbitrum(
  consensusType: ArbitrumConsensusState["consensusType"],
): Promise<ArbitrumFixture> {
  await using started = new AsyncDisposableStack();
  const rollup = started.use(await startRollup(rollupId));
  const { nodes, hub } = rollup;
  const shown = started.use(await startHeaderRewriter({ upstream: nodes.l2.rpcUrl, rule: withSendRoots }));
  const contracts = await deployArbitrumL1(connectRollupL1(nodes.l1));
  const core = toAddress(consensusType === "ArbitrumBold" ? contracts.rollup : contracts.nodeRollup);
  const state = arbitrumState({ finalizedHeight: 0n, stateMachineId: rollupId, l1StateMachineId: l1Id });
  hub.addClient(
    rollupId.consensusStateId,
    consensusClientIds.arbitrum,
    arbitrumConsensusStateCodec.enc({ ...state, consensusType }),
  );
  const setRollup: ArbitrumFixture["setRollup"] = (address) =>
    hub.put(rollupCoreKey(rollupId), address && addressCodec.enc(address));
  setRollup(core);
  const l2: NodePlace = { rpcUrl: shown.rpcUrl, chainId: 421614 };
  const claim = async <Claim>(make: () => Promise<Claim>): Promise<Claim> => {
    await rollup.mineL2();
    const made = await make();
    await rollup.advanceL1();
    return made;
  };
  const resources = started.move();
  return {
    ...rollup,
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
    l2,
    claimAssertion: (options) => claim(() => contracts.createAssertion(l2, options)),
    claimNode: (options) => claim(() => contracts.createNode(l2, options)),
    contracts,
    setRollup,
    prover: rollup.provers(createArbitrumProver, { rollupCore: core }, shown.rpcUrl),
  };
}
