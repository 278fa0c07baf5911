// Our contracts against answers recorded from the live ones: events, calldata, reverts, reads and storage slots.
import { type Hex, isAddressEqual, isHex, numberToHex, type TransactionReceipt } from "viem";
import { FEE_TOKEN_ABI, HOST_ABI } from "./abi.ts";
import { DEVNET_ACCOUNTS } from "./accounts.ts";
import { type Anvil, startAnvil } from "./anvil.ts";
import { deployIsmpHost, type IsmpHost } from "./deploy.ts";
import { execute, freezeHost, mintFeeTokens, sendGet, sendPost, setChallengePeriod } from "./host_admin.ts";
import { fromHex, toHash256, toHex } from "../../src/core/encoding/bytes.ts";
import { buildEvmStateProof, readEvmState } from "../../src/core/merkle/evm_proof.ts";
import { callRaw } from "./call.ts";
import dispatches from "../../tests/vectors/evm-events.json" with { type: "json" };
import handlerCalls from "../../tests/vectors/evm-handler-calls.json" with { type: "json" };
import assert from "node:assert/strict";
import reads from "../../tests/vectors/evm-host-reads.json" with { type: "json" };
import reverts from "../../tests/vectors/evm-reverts.json" with { type: "json" };
import storageProofs from "../../tests/vectors/evm-storage-proofs.json" with { type: "json" };
/** A log as the known answers write it. */
interface RecordedHostLog {
  readonly topics: readonly string[];
  readonly data: string;
}

/** One repeated transaction with the logs of the host contract. */
interface RepeatedStep {
  readonly blockNumber: bigint;
  readonly status: "success" | "reverted";
  readonly hostLogs: readonly RecordedHostLog[];
}

/** The chain after the whole run. */
interface KnownRun extends AsyncDisposable {
  readonly node: Anvil;
  readonly host: IsmpHost;
  /** One per entry of `dispatched` in evm-events.json. */
  readonly dispatched: readonly RepeatedStep[];
  readonly funded: RepeatedStep;
  /** One per entry of `calls` in evm-handler-calls.json. */
  readonly calls: readonly RepeatedStep[];
}

/** The recorded run began a little before its first dispatch, at 1,750,000,036. */
const GENESIS_SEC = 1_750_000_000;
/** When the first handler call was mined (evm-host-reads.json: stateMachineCommitmentUpdateTime). */
const FIRST_CALL_SEC = 1_750_000_052n;
/** The dispatch that was made after the other five and after the first handler calls. */
const LATE_DISPATCH = 5;
/** The handler call before which it was made. */
const CALL_AFTER_LATE_DISPATCH = 7;
/** Enough for every recorded call (the dearest used 327,953). */
const CALL_GAS = 3_000_000n;

/** Checked constructor of hex from a JSON string. */
function hex(text: string): Hex {
  if (!isHex(text)) throw new RangeError("Expected hex with 0x");
  return text;
}

/** Starts a chain of its own and repeats the run; takes about 0.5 s. Dispose it to stop the chain. */
async function repeatKnownRun(): Promise<KnownRun> {
  const node = await startAnvil({ chainId: 31337, genesisTimestampSec: GENESIS_SEC });
  try {
    const host = await deployIsmpHost({
      rpcUrl: node.rpcUrl,
      chainId: node.chainId,
      hub: { stateMachine: "KUSAMA-4009", paraId: 4009n },
      acceptsUnsignedProofs: true,
    });
    // The recorded host held more tokens than its fees: it paid a withdrawal and still refunded everything.
    await mintFeeTokens(host, host.addresses.host, 10n ** 18n);
    const dispatched: RepeatedStep[] = [];
    for (let index = 0; index < LATE_DISPATCH; index++) dispatched.push(await repeatDispatch(host, index));
    const funded = await repeatFunding(host);
    const calls: RepeatedStep[] = [];
    for (const [index, { calldata }] of handlerCalls.calls.entries()) {
      if (index === 0) await host.node.setNextBlockTimestamp({ timestamp: FIRST_CALL_SEC });
      if (index === CALL_AFTER_LATE_DISPATCH) dispatched.push(await repeatDispatch(host, LATE_DISPATCH));
      const receipt = await host.transact(DEVNET_ACCOUNTS.relayer, {
        to: host.addresses.handler,
        data: hex(calldata),
        gas: CALL_GAS,
      });
      calls.push(toStep(host, receipt));
    }
    return { node, host, dispatched, funded, calls, [Symbol.asyncDispose]: () => node.stop() };
  } catch (error) {
    await node.stop();
    throw error;
  }
}

async function repeatDispatch(host: IsmpHost, index: number): Promise<RepeatedStep> {
  const known = dispatches.dispatched[index];
  if (known === undefined) throw new RangeError(`No dispatch ${index}`);
  const { request } = known;
  const timeout = BigInt(request.timeoutTimestamp);
  await host.node.setNextBlockTimestamp({ timestamp: BigInt(known.block_timestamp) });
  const common = {
    dest: request.dest,
    fee: BigInt(known.fee),
    timeoutSec: timeout === 0n ? 0n : timeout - BigInt(known.block_timestamp),
  };
  if (request.to !== undefined && request.body !== undefined) {
    return toStep(host, await sendPost(host, { ...common, to: hex(request.to), body: hex(request.body) }));
  }
  return toStep(
    host,
    await sendGet(host, {
      ...common,
      height: BigInt(request.height ?? 0),
      keys: (request.keys ?? []).map(hex),
      context: hex(request.context ?? "0x"),
    }),
  );
}

async function repeatFunding(host: IsmpHost): Promise<RepeatedStep> {
  const { feeToken, host: address } = host.addresses;
  const { user } = DEVNET_ACCOUNTS;
  const amount = BigInt(dispatches.funded.decoded.args.newFee);
  const approval = { abi: FEE_TOKEN_ABI, functionName: "approve", args: [address, amount] } as const;
  await execute(host, feeToken, approval, user);
  const args = [hex(dispatches.funded.of), amount] as const;
  return toStep(
    host,
    await execute(host, address, { abi: HOST_ABI, functionName: "fundRequest", args }, user),
  );
}

function toStep(host: IsmpHost, receipt: TransactionReceipt): RepeatedStep {
  return {
    blockNumber: receipt.blockNumber,
    status: receipt.status,
    hostLogs: receipt.logs
      .filter((log) => log.address.toLowerCase() === host.addresses.host.toLowerCase())
      .map(({ topics, data }) => ({ topics: [...topics], data })),
  };
}

const relayer = DEVNET_ACCOUNTS.relayer.address;
const checks = new Map<string, (run: KnownRun) => Promise<void> | void>();
const check = (name: string, work: (run: KnownRun) => Promise<void> | void): unknown =>
  checks.set(name, work);

check("everything gets the addresses of the recorded run", (run) => {
  const { addresses } = run.host;
  assert.ok(isAddressEqual(addresses.host, hex(handlerCalls.host)));
  assert.ok(isAddressEqual(addresses.handler, hex(handlerCalls.handler)));
  assert.ok(isAddressEqual(addresses.hostManager, hex(handlerCalls.host_manager)));
  assert.ok(isAddressEqual(relayer, hex(handlerCalls.relayer)));
});

check("the recorded dispatches give the recorded logs, commitments and fees", async (run) => {
  assert.equal(run.dispatched.length, dispatches.dispatched.length);
  for (const [index, known] of dispatches.dispatched.entries()) {
    const step = run.dispatched[index];
    assert.deepEqual(step?.hostLogs, [{ topics: known.topics, data: known.data }], known.name);
    const meta = await run.host.reader.readContract({
      address: run.host.addresses.host,
      abi: HOST_ABI,
      functionName: "requestCommitments",
      args: [hex(known.commitment)],
      blockNumber: step?.blockNumber ?? 0n,
    });
    assert.deepEqual(
      meta,
      { fee: BigInt(known.fee_metadata.fee), sender: known.fee_metadata.sender },
      known.name,
    );
  }
  assert.deepEqual(run.funded.hostLogs, [{ topics: dispatches.funded.topics, data: dispatches.funded.data }]);
});

check("the recorded handler calls are accepted with the recorded host logs", (run) => {
  assert.equal(run.calls.length, handlerCalls.calls.length);
  for (const [index, known] of handlerCalls.calls.entries()) {
    const step = run.calls[index];
    assert.equal(step?.status, known.status, known.name);
    const expected = known.host_logs.map(({ topics, data }) => ({ topics, data }));
    assert.deepEqual(step?.hostLogs, expected, known.name);
  }
});

/** What has to be true of the chain before a refused call; the others need only the recorded run. */
const CIRCUMSTANCES: Readonly<Record<string, (host: IsmpHost) => Promise<void>>> = {
  "host frozen for incoming messages": (host) => freezeHost(host, "incoming"),
  "challenge period not elapsed": async (host) => {
    await setChallengePeriod(host, 3600n);
    await storeFreshHeight(host, 180n);
  },
  "consensus client older than the unstaking period": async (host) => {
    await host.node.increaseTime({ seconds: 22 * 24 * 3600 });
    await host.node.mine({ blocks: 1 });
  },
};

async function storeFreshHeight(host: IsmpHost, height: bigint): Promise<void> {
  const root = numberToHex(1, { size: 32 });
  const commitment = { timestamp: 1n, overlayRoot: root, stateRoot: root };
  const args = ["0x01", { stateMachineId: host.hub.paraId, height }, commitment] as const;
  await execute(host, host.addresses.host, { abi: HOST_ABI, functionName: "setConsensusState", args });
}

check("the recorded refused calls are refused with the recorded revert data", async (run) => {
  assert.equal(reverts.rejected.length, 20);
  for (const known of reverts.rejected) {
    const before = await run.host.node.snapshot();
    await CIRCUMSTANCES[known.name]?.(run.host);
    const outcome = await callRaw(run.host, relayer, run.host.addresses.handler, hex(known.calldata));
    assert.deepEqual(outcome, { kind: "reverted", data: known.revert_data }, known.name);
    await run.host.node.revert({ id: before });
  }
});

check("the host's getters answer with the recorded bytes", async (run) => {
  for (const [name, known] of Object.entries(reads.reads)) {
    const outcome = await callRaw(run.host, relayer, run.host.addresses.host, hex(known.calldata));
    assert.deepEqual(outcome, { kind: "returned", data: known.result }, name);
  }
});

/** The step of our run after which a recorded proof was taken. */
function blockOf(run: KnownRun, name: string): bigint {
  const step = name.includes("request commitment") || name.startsWith("membership")
    ? run.funded
    : name.startsWith("request receipt")
    ? run.calls[1]
    : run.calls[2];
  assert.ok(step !== undefined);
  return step.blockNumber;
}

check("the host writes the recorded words at the recorded slots, and proofs of them verify", async (run) => {
  const address = run.host.addresses.host;
  assert.equal(storageProofs.proofs.length, 7);
  for (const known of storageProofs.proofs) {
    const blockNumber = blockOf(run, known.name);
    const slots = known.keys.map((each) => hex(each.slot_key));
    const [answer, block] = await Promise.all([
      run.host.reader.getProof({ address, storageKeys: slots, blockNumber }),
      run.host.reader.getBlock({ blockNumber }),
    ]);
    const values = readEvmState({
      stateRoot: toHash256(block.stateRoot),
      host: fromHex(address),
      proof: buildEvmStateProof([answer]),
      keys: slots.map(fromHex),
    });
    for (const each of known.keys) {
      const value = values.get(toHex(fromHex(each.slot_key)));
      assert.equal(value === undefined ? null : toHex(value), each.trie_value, each.what);
    }
  }
});

Deno.test("devnet contracts: the recorded run", async (t) => {
  await using run = await repeatKnownRun();
  for (const [name, work] of checks) await t.step(name, async () => await work(run));
});
