// What the provers of rollups make of the hub's clients, and what they say before the first poll.
import { catchProverFault, reasonOf } from "../findings.ts";
import { opStackState } from "../clients/op_stack/spec/vectors.ts";
import { arbitrumState } from "../clients/arbitrum/spec/vectors.ts";
import { consensusClientIds } from "../../../src/core/ismp/consensus_clients.ts";
import assert from "node:assert/strict";
import { createArbitrumProver } from "../../../src/consensus/clients/arbitrum/client.ts";
import { createOpStackProver } from "../../../src/consensus/clients/op_stack/client.ts";
import type { ConsensusProver } from "../../../src/consensus/prover.ts";
import type { RollupOptions } from "../../../src/consensus/rollup/rollup_prover.ts";
import { decodeArbitrumState } from "../../../src/consensus/clients/arbitrum/spec/verify_update.ts";
import { opStackConsensusStateCodec } from "../../../src/consensus/clients/op_stack/spec/update.ts";
import { decodeOpStackState } from "../../../src/consensus/clients/op_stack/spec/verify_update.ts";
import { toAddress } from "../../../src/core/evm/address.ts";
import {
  type ConsensusStateId,
  evmStateMachine,
  type StateMachineId,
  stateMachineIdKey,
  toConsensusClientId,
  toConsensusStateId,
} from "../../../src/core/ismp/state_machine.ts";
import { startAnvil } from "../../../devnet/evm/anvil.ts";
import { MESSAGE_PASSER } from "../../../devnet/evm/rollup_games.ts";
import { fetchRollupBlock } from "../../../devnet/evm/rollup_l1.ts";
import { RecordedLog } from "../../support/recorded_log.ts";
import { httpStatus, ScriptedRpc } from "../../support/scripted_rpc.ts";
import { MemoryTarget } from "../../support/memory_target.ts";
import { rollupRules } from "./rollup_rules.ts";
import { l1Id, never, readerOf } from "./fixture.ts";

const opt0 = toConsensusStateId("OPT0");
const optimism: StateMachineId = { stateMachine: evmStateMachine(11155420), consensusStateId: opt0 };

function encodedState(
  stateMachineId: StateMachineId = optimism,
  l1StateMachineId: StateMachineId = l1Id,
): Uint8Array {
  return opStackConsensusStateCodec.enc(
    opStackState({ finalizedHeight: 1n, stateMachineId, l1StateMachineId }),
  );
}

/** A prover for an OP stack chain whose nodes answer chain ids only. */
async function withOptimism(
  work: (fixture: {
    readonly hub: MemoryTarget;
    readonly l1: ScriptedRpc;
    readonly l2: ScriptedRpc;
    prover(id?: ConsensusStateId, options?: Partial<RollupOptions>): ConsensusProver;
  }) => Promise<void>,
): Promise<void> {
  const l1 = new ScriptedRpc({ eth_chainId: () => "0xaa36a7" });
  const l2 = new ScriptedRpc({ eth_chainId: () => "0xaa37dc" });
  const hub = new MemoryTarget({ rules: rollupRules });
  const log = new RecordedLog();
  const prover = (id = opt0, options: Partial<RollupOptions> = {}): ConsensusProver =>
    createOpStackProver({
      hub,
      log,
      l1: readerOf(11155111, [l1.url], log),
      l2: readerOf(Number(options.stateMachine?.slice(4) ?? 11155420), [l2.url], log),
    }, {
      stateMachine: optimism.stateMachine,
      consensusStateId: id,
      l1: l1Id,
      intervalMs: 300_000,
      disputeGameFactory: undefined,
      messageParser: toAddress(MESSAGE_PASSER),
      ...options,
    });
  await work({ hub, l1, l2, prover });
}

async function findings(prover: ConsensusProver): Promise<string[]> {
  return (await prover.check(never)).map(({ endpoint, result, found, advice }) =>
    `${result}: ${endpoint ?? ""} ${found}: ${advice}`
  );
}

async function hubStateFault(prover: ConsensusProver): Promise<string> {
  const { code, message } = await catchProverFault(prover.next(never));
  assert.equal(code, "hub_state");
  return message;
}

Deno.test("rollup: the L1's id instead of the rollup's own is replaced by the known one", async () => {
  await withOptimism(async ({ hub, prover }) => {
    hub.addClient(l1Id.consensusStateId, toConsensusClientId("BEAC"), new Uint8Array(0));
    hub.addClient(opt0, consensusClientIds.opStack, encodedState());
    const named = prover(l1Id.consensusStateId);
    assert.equal(named.consensusStateId, "ETH0");
    const found = await findings(named);
    assert.match(
      found.join("\n"),
      /warning: .*the hub's client is OPT0, not the configured ETH0/,
    );
    assert.equal(named.consensusStateId, "OPT0");
    assert.equal(stateMachineIdKey(named.commitmentId), "EVM-11155420/ETH0");
    assert.equal(named.intervalMs, 300_000);

    const unknown = prover(l1Id.consensusStateId, { stateMachine: evmStateMachine(999) });
    assert.match(
      (await findings(unknown)).join("\n"),
      /failed: .*consensus_state_id ETH0 names no rollup client of the hub/,
    );
    assert.match(await hubStateFault(unknown), /none is known for EVM-999/);
  });
});

Deno.test("rollup: a client of another type, chain or L1 is reported", async () => {
  await withOptimism(async ({ hub, prover }) => {
    hub.addClient(opt0, consensusClientIds.arbitrum, encodedState());
    assert.match((await findings(prover())).join(), /failed: .*client OPT0 of the hub is ARBC/);
    hub.addClient(
      opt0,
      consensusClientIds.opStack,
      encodedState({ ...optimism, stateMachine: evmStateMachine(10) }),
    );
    assert.match(await hubStateFault(prover()), /it is the client of EVM-10/);
    hub.addClient(
      opt0,
      consensusClientIds.opStack,
      encodedState(optimism, { ...l1Id, stateMachine: evmStateMachine(1) }),
    );
    assert.match(await hubStateFault(prover()), /its L1 is .*, and .* is configured/);
  });
});

Deno.test("rollup: a block of the L1 that the hub does not hold proves nothing", async () => {
  await withOptimism(async ({ hub, prover }) => {
    hub.addClient(opt0, consensusClientIds.opStack, encodedState());
    hub.store(l1Id, 7n);
    hub.forget({ id: l1Id, height: 7n });
    assert.match(reasonOf(await prover().next(never)), /the hub does not hold block 7 of EVM-11155111/);
  });
});

Deno.test("rollup: endpoints of another chain, and those that do not answer, are found before the first poll", async () => {
  await withOptimism(async ({ l1, l2, prover }) => {
    l1.on("eth_chainId", () => "0x1");
    l2.fault = httpStatus(500);
    const found = (await findings(prover())).join("\n");
    const correct = "remove it from beacon_rpc_url, or correct l1_state_machine";
    assert.ok(found.includes(`failed: ${l1.host} serves EVM-1, not EVM-11155111: ${correct}`));
    assert.match(found, /warning: node-\d+\.test does not answer: server_error/);
    assert.ok(found.includes(l2.host));
  });
});

Deno.test("rollup: the initial state is about the rollup's newest block, under its own name", async () => {
  await using node = await startAnvil({ chainId: 11155420 });
  const { header } = await fetchRollupBlock(node);
  const log = new RecordedLog();
  const hub = new MemoryTarget({ rules: rollupRules });
  const reader = readerOf(11155420, [node.rpcUrl], log);
  const options = {
    stateMachine: optimism.stateMachine,
    consensusStateId: toConsensusStateId("NEW0"),
    l1: l1Id,
    intervalMs: 300_000,
  };
  const at = {
    finalizedHeight: header.number,
    stateMachineId: { ...optimism, consensusStateId: options.consensusStateId },
  };

  const op = await createOpStackProver({ hub, log, l1: reader, l2: reader }, {
    ...options,
    disputeGameFactory: undefined,
    messageParser: toAddress(MESSAGE_PASSER),
  }).fetchInitialState(never);
  assert.equal(op.clientId, "OPTC");
  assert.deepEqual(decodeOpStackState(op.state), opStackState({ ...at, l1StateMachineId: l1Id }));
  assert.equal(op.unbondingSec, 2n ** 64n - 1n);
  assert.deepEqual([...op.challengePeriods], [[optimism.stateMachine, 300n]]);
  assert.deepEqual(op.commitments, [{
    height: { id: at.stateMachineId, height: header.number },
    commitment: { timestampSec: header.timestampSec, overlayRoot: undefined, stateRoot: header.stateRoot },
  }]);

  const arbitrum = createArbitrumProver({ hub, log, l1: reader, l2: reader }, {
    ...options,
    rollupCore: undefined,
  });
  const initial = await arbitrum.fetchInitialState(never);
  assert.equal(initial.clientId, "ARBC");
  assert.deepEqual(
    decodeArbitrumState(initial.state),
    arbitrumState({ ...at, l1StateMachineId: l1Id }),
  );
  // The L1's name is never that of a rollup's client: the known one is printed.
  const misnamed = createArbitrumProver({ hub, log, l1: reader, l2: reader }, {
    ...options,
    consensusStateId: l1Id.consensusStateId,
    rollupCore: undefined,
  });
  assert.equal((await misnamed.fetchInitialState(never)).commitments[0]?.height.id.consensusStateId, "OPT0");
  await misnamed.close();
});
