/**
 * Repeats on our contracts the run of the upstream contracts from which the known answers (`tests/vectors/evm-*.json`)
 * were recorded: same addresses, accounts, timestamps, dispatches and calldata, in the same order.
 */
import { encodeFunctionData, type Hex, isHex, type TransactionReceipt } from "viem";
import { FEE_TOKEN_ABI, HOST_ABI } from "./abi.ts";
import { DEVNET_ACCOUNTS } from "./accounts.ts";
import { type Anvil, startAnvil } from "./anvil.ts";
import { deployIsmpHost, type IsmpHost } from "./deploy.ts";
import { mintFeeTokens, sendGet, sendPost } from "./host_admin.ts";
import dispatches from "../../tests/vectors/evm-events.json" with { type: "json" };
import handlerCalls from "../../tests/vectors/evm-handler-calls.json" with { type: "json" };

/** A log as the known answers write it. */
export interface RecordedHostLog {
  readonly topics: readonly string[];
  readonly data: string;
}

/** One repeated transaction with the logs of the host contract. */
export interface RepeatedStep {
  readonly blockNumber: bigint;
  readonly status: "success" | "reverted";
  readonly hostLogs: readonly RecordedHostLog[];
}

/** The chain after the whole run. */
export interface KnownRun extends AsyncDisposable {
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
export function hex(text: string): Hex {
  if (!isHex(text)) throw new RangeError("Expected hex with 0x");
  return text;
}

/** Starts a chain of its own and repeats the run; takes about 0.5 s. Dispose it to stop the chain. */
export async function repeatKnownRun(): Promise<KnownRun> {
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
  const amount = BigInt(dispatches.funded.decoded.args.newFee);
  await host.transact(DEVNET_ACCOUNTS.user, {
    to: host.addresses.feeToken,
    data: encodeFunctionData({
      abi: FEE_TOKEN_ABI,
      functionName: "approve",
      args: [host.addresses.host, amount],
    }),
  });
  const args = [hex(dispatches.funded.of), amount] as const;
  const data = encodeFunctionData({ abi: HOST_ABI, functionName: "fundRequest", args });
  return toStep(host, await host.transact(DEVNET_ACCOUNTS.user, { to: host.addresses.host, data }));
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
