/**
 * An L1 node, an L2 node and a hub for tests of the rollups' provers.
 */
import assert from "node:assert/strict";
import { createTestClient, http } from "viem";
import { type EvmReader, openEvmReader } from "../../../src/consensus/evm_reader.ts";
import { type ConsensusProver, ProverFault } from "../../../src/consensus/prover.ts";
import { EndpointUrl } from "../../../src/core/config/redact.ts";
import { fetchRollupBlock, type NodePlace } from "../../../devnet/evm/rollup_l1.ts";
import {
  evmChainId,
  evmStateMachine,
  type StateMachineId,
  toConsensusStateId,
} from "../../../src/core/ismp/state_machine.ts";
import type { Fetch } from "../../../src/core/rpc/http_exchange.ts";
import { systemClock } from "../../../src/core/runtime/system_clock.ts";
import { type Anvil, startAnvil } from "../../../devnet/evm/anvil.ts";
import { reasonOf, updatesOf } from "../findings.ts";
import type { RollupDeps } from "../../../src/consensus/rollup/claims.ts";
import type { RollupOptions } from "../../../src/consensus/rollup/rollup_prover.ts";
import { rollupRules } from "./rollup_rules.ts";
import { RecordedLog } from "../../support/recorded_log.ts";
import { scriptedFetch } from "../../support/scripted_rpc.ts";
import { seededRandomness } from "../../support/seeded_randomness.ts";
import { MemoryTarget, type Verdict } from "../../support/memory_target.ts";
import { RpcFault } from "../../../src/core/rpc/call.ts";

/** A signal that is never aborted. */
export const never: AbortSignal = new AbortController().signal;

/** The L1 of the devnet, as its own client on the hub is called. */
export const l1Id: StateMachineId = {
  stateMachine: evmStateMachine(11155111),
  consensusStateId: toConsensusStateId("ETH0"),
};

/** How a prover differs from the plain one. */
export interface ProverChoice<Options> {
  readonly options?: Partial<Options>;
  readonly l1Urls?: readonly string[];
  readonly l2Urls?: readonly string[];
  readonly l1Transport?: Fetch;
  readonly l2Transport?: Fetch;
}

/** A rollup on an L1, both real nodes, and a hub that may have clients of them. */
export interface Rollup extends AsyncDisposable {
  readonly nodes: { readonly l1: Anvil; readonly l2: Anvil };
  readonly hub: MemoryTarget;
  readonly log: RecordedLog;
  /** The hub learns of the newest L1 block. */
  advanceL1(): Promise<bigint>;
  /** Makes new blocks on the rollup, two seconds after one another. */
  mineL2(blocks?: number): Promise<void>;
  /** Makes provers that have not looked yet, with these options, of the rollup as `l2Url` shows it. */
  provers<Own>(
    create: (
      deps: RollupDeps & { readonly hub: MemoryTarget },
      options: RollupOptions & Own,
    ) => ConsensusProver,
    options: Own,
    l2Url?: string,
  ): (choice?: ProverChoice<RollupOptions & Own>) => ConsensusProver;
}

/** Starts both nodes. */
export async function startRollup({ stateMachine, consensusStateId }: StateMachineId): Promise<Rollup> {
  const l2ChainId = Number(evmChainId(stateMachine));
  const [l1, l2] = await Promise.all([startAnvil({ chainId: 11155111 }), startAnvil({ chainId: l2ChainId })]);
  const hub = new MemoryTarget({ rules: rollupRules });
  const log = new RecordedLog();
  return {
    nodes: { l1, l2 },
    hub,
    log,
    advanceL1: () => advanceL1(hub, l1),
    mineL2: (blocks = 1) =>
      createTestClient({ mode: "anvil", transport: http(l2.rpcUrl) }).mine({ blocks, interval: 2 }),
    provers: (create, options, l2Url = l2.rpcUrl) => (choice = {}) =>
      create({
        hub,
        log,
        l1: readerOf(11155111, choice.l1Urls ?? [l1.rpcUrl], log, choice.l1Transport),
        l2: readerOf(l2ChainId, choice.l2Urls ?? [l2Url], log, choice.l2Transport),
      }, { stateMachine, consensusStateId, l1: l1Id, intervalMs: 300_000, ...options, ...choice.options }),
    [Symbol.asyncDispose]: async () => {
      await Promise.all([l1.stop(), l2.stop()]);
    },
  };
}

/** A reader of nodes of one chain, by URL. */
export function readerOf(
  chainId: number,
  urls: readonly string[],
  log: RecordedLog,
  transport: Fetch = scriptedFetch,
): EvmReader {
  return openEvmReader({ fetch: transport, clock: systemClock, randomness: seededRandomness(1), log }, {
    stateMachine: evmStateMachine(chainId),
    urls: urls.map((url) => new EndpointUrl(url)),
  });
}

/** The L1's own client moves to the newest block of a node. */
async function advanceL1(hub: MemoryTarget, l1: NodePlace): Promise<bigint> {
  const { header } = await fetchRollupBlock(l1);
  const commitment = {
    timestampSec: header.timestampSec,
    overlayRoot: undefined,
    stateRoot: header.stateRoot,
  };
  hub.commit({ height: { id: l1Id, height: header.number }, commitment });
  return header.number;
}

/** Looks once, hands the update to the hub, and gives the height that it stored. Fails unless it is as announced. */
export async function relay(hub: MemoryTarget, prover: ConsensusProver): Promise<bigint> {
  const { proofs, height } = updatesOf(await prover.next(never));
  assert.equal(proofs.length, 1);
  const [proof = new Uint8Array(0)] = proofs;
  const verdict: Verdict = hub.submit(prover.consensusStateId, proof);
  assert.deepEqual(verdict, { kind: "accepted", stored: height });
  if (height === undefined) assert.fail("expected a height");
  return height;
}

/** Looks once and expects nothing; the reason. */
export async function reasonForNothing(prover: ConsensusProver): Promise<string> {
  return reasonOf(await prover.next(never));
}

/** `nothing: <reason>`, or code, chain and host of the fault. Fails when something is offered. */
export async function outcomeOf(prover: ConsensusProver): Promise<string> {
  try {
    const finding = await prover.next(never);
    return finding.kind === "nothing"
      ? `nothing: ${finding.reason}`
      : assert.fail(`offered ${finding.summary}`);
  } catch (error) {
    if (error instanceof ProverFault) return `${error.code} ${error.chain} ${error.endpoint}`;
    if (error instanceof RpcFault) {
      const { chain, endpointHost } = error.where;
      const isInvalid = error.code === "malformed" || error.code === "wrong_chain";
      return isInvalid ? `bad_data ${chain} ${endpointHost}` : `${error.code} ${endpointHost}`;
    }
    throw error;
  }
}

/** The host of a node as faults name it. */
export function hostOf(url: string): string {
  return new URL(url).host;
}
