/**
 * An Arbitrum chain on an L1, both real nodes, the rollup's headers with send roots, and a hub that has a client of it.
 */
import { arbitrumState } from "./spec/vectors.ts";
import { consensusClientIds } from "../../../../src/core/ismp/consensus_clients.ts";
import { createTestClient, http } from "viem";
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
import type { Fetch } from "../../../../src/core/rpc/http_exchange.ts";
import { startHeaderRewriter } from "../../../../devnet/evm/header_rewriter.ts";
import {
  type ArbitrumL1,
  deployArbitrumL1,
  withSendRoots,
} from "../../../../devnet/evm/rollup_assertions.ts";
import { connectRollupL1, type NodePlace } from "../../../../devnet/evm/rollup_l1.ts";
import { RecordedLog } from "../../../support/recorded_log.ts";
import { MemoryTarget } from "../../../support/memory_target.ts";
import { rollupRules } from "../../rollup/rollup_rules.ts";
import { advanceL1, l1Id, type Nodes, readerOf, startNodes } from "../../rollup/fixture.ts";

/** The rollup under the name of its own client. */
export const rollupId: StateMachineId = {
  stateMachine: evmStateMachine(421614),
  consensusStateId: toConsensusStateId("ARB0"),
};

/** How a prover differs from the plain one. */
export interface ProverChoice {
  readonly options?: Partial<ArbitrumOptions>;
  readonly l1Urls?: readonly string[];
  readonly l1Transport?: Fetch;
  readonly l2Transport?: Fetch;
}

/** All of it. */
export interface ArbitrumFixture extends AsyncDisposable {
  readonly nodes: Nodes;
  /** The rollup as it is shown to others. */
  readonly l2: NodePlace;
  readonly hub: MemoryTarget;
  readonly contracts: ArbitrumL1;
  readonly log: RecordedLog;
  /** A prover that has not looked yet. */
  prover(choice?: ProverChoice): ConsensusProver;
  /** The hub learns of the newest L1 block. */
  advanceL1(): Promise<bigint>;
  /** Makes a block on the rollup and an assertion about it, which the hub may learn of. */
  claimAssertion(
    options?: Parameters<ArbitrumL1["createAssertion"]>[1],
  ): ReturnType<ArbitrumL1["createAssertion"]>;
  /** The same of a node. */
  claimNode(options?: Parameters<ArbitrumL1["createNode"]>[1]): ReturnType<ArbitrumL1["createNode"]>;
  /** Makes new blocks on the rollup. */
  mineL2(blocks?: number): Promise<void>;
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
  const nodes = started.use(await startNodes(421614));
  const shown = started.use(await startHeaderRewriter({ upstream: nodes.l2.rpcUrl, rule: withSendRoots }));
  const contracts = await deployArbitrumL1(connectRollupL1(nodes.l1));
  const core = toAddress(consensusType === "ArbitrumBold" ? contracts.rollup : contracts.nodeRollup);
  const hub = new MemoryTarget({ rules: rollupRules });
  const log = new RecordedLog();
  const state = arbitrumState({ finalizedHeight: 0n, stateMachineId: rollupId, l1StateMachineId: l1Id });
  hub.addClient(
    rollupId.consensusStateId,
    consensusClientIds.arbitrum,
    arbitrumConsensusStateCodec.enc({ ...state, consensusType }),
  );
  const setRollup: ArbitrumFixture["setRollup"] = (address) =>
    hub.put(rollupCoreKey(rollupId), address && addressCodec.enc(address));
  setRollup(core);
  const node = createTestClient({ mode: "anvil", transport: http(nodes.l2.rpcUrl) });
  const l2: NodePlace = { rpcUrl: shown.rpcUrl, chainId: 421614 };
  const claim = async <Claim>(make: () => Promise<Claim>): Promise<Claim> => {
    await node.mine({ blocks: 1 });
    const made = await make();
    await advanceL1(hub, nodes.l1);
    return made;
  };
  const resources = started.move();
  return {
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
    nodes,
    l2,
    claimAssertion: (options) => claim(() => contracts.createAssertion(l2, options)),
    claimNode: (options) => claim(() => contracts.createNode(l2, options)),
    hub,
    contracts,
    log,
    setRollup,
    mineL2: (blocks = 1) => node.mine({ blocks }),
    advanceL1: () => advanceL1(hub, nodes.l1),
    prover: (choice = {}) =>
      createArbitrumProver({
        hub,
        log,
        l1: readerOf(11155111, choice.l1Urls ?? [nodes.l1.rpcUrl], log, choice.l1Transport),
        l2: readerOf(421614, [shown.rpcUrl], log, choice.l2Transport),
      }, {
        stateMachine: rollupId.stateMachine,
        consensusStateId: rollupId.consensusStateId,
        l1: l1Id,
        intervalMs: 300_000,
        rollupCore: core,
        ...choice.options,
      }),
  };
}
