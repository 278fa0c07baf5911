/**
 * An EVM chain adapter for tests, and messages of a devnet hub proved to it.
 */
import type { Chain } from "../../../../src/core/chains/port.ts";
import type { MessageProof } from "../../../../src/core/chains/proofs.ts";
import type {
  Delivery,
  SignedSubmission,
  SubmissionOutcome,
} from "../../../../src/core/chains/submission.ts";
import {
  createEvmChain,
  type EvmChain,
  type EvmChainOptions,
} from "../../../../src/core/chains/evm/evm_chain.ts";
import { EndpointUrl, Secret } from "../../../../src/core/config/redact.ts";
import { fromHex, type Hash256, toHash256 } from "../../../../src/core/encoding/bytes.ts";
import { type Message, postMessage } from "../../../../src/core/ismp/message.ts";
import {
  evmStateMachine,
  parseStateMachine,
  type StateMachineId,
  toConsensusStateId,
} from "../../../../src/core/ismp/state_machine.ts";
import { calculateMmrRoot } from "../../../../src/core/merkle/mmr.ts";
import type { Fetch } from "../../../../src/core/rpc/http_exchange.ts";
import type { Clock } from "../../../../src/core/runtime/clock.ts";
import { systemClock } from "../../../../src/core/runtime/system_clock.ts";
import { DEVNET_KEYS } from "../../../../devnet/evm/accounts.ts";
import { startAnvil } from "../../../../devnet/evm/anvil.ts";
import { advanceHub } from "../../../../devnet/evm/host_admin.ts";
import { deployIsmpHost, type DeployOptions, type IsmpHost } from "../../../../devnet/evm/deploy.ts";
import { waitUntil } from "../../../../devnet/waiting.ts";
import { RecordedLog } from "../../../support/recorded_log.ts";
import { scriptedFetch } from "../../../support/scripted_rpc.ts";
import { seededRandomness } from "../../../support/seeded_randomness.ts";

/** A signal that is never aborted. */
export const never: AbortSignal = new AbortController().signal;

/** The hub of the devnet. */
export const hub: StateMachineId = {
  stateMachine: parseStateMachine("KUSAMA-4009"),
  consensusStateId: toConsensusStateId("PAS0"),
};

/** An adapter with what it logged and how many HTTP requests it made. */
export interface ChainUnderTest {
  readonly chain: EvmChain;
  readonly log: RecordedLog;
  readonly requests: { count: number };
}

/** An adapter for the chain at `urls`; the relayer account of the devnet signs. */
export function chainUnderTest(
  urls: readonly string[],
  options: Partial<EvmChainOptions> & Pick<EvmChainOptions, "ismpHost" | "stateMachine">,
  clock: Clock = systemClock,
  transport: Fetch = scriptedFetch,
): ChainUnderTest {
  const log = new RecordedLog();
  const requests = { count: 0 };
  const fetch: Fetch = (url, init) => {
    requests.count++;
    return transport(url, init);
  };
  const chain = createEvmChain({ fetch, clock, randomness: seededRandomness(1), log }, {
    consensusStateId: toConsensusStateId("ETH0"),
    rpcUrls: urls.map((url) => new EndpointUrl(url)),
    signer: new Secret(DEVNET_KEYS.relayer),
    queryBatchSizeBlocks: undefined,
    tracingBatchSize: undefined,
    gasPriceBufferPercent: 0,
    clientType: "Geth",
    ...options,
  });
  return { chain, log, requests };
}

/** An adapter for a deployed host. */
export function chainOf(
  host: IsmpHost,
  urls: readonly string[] = [host.rpcUrl],
  options: Partial<EvmChainOptions> = {},
  transport?: Fetch,
): ChainUnderTest {
  const place = { ismpHost: host.addresses.host, stateMachine: evmStateMachine(host.chainId) };
  return chainUnderTest(urls, { ...place, ...options }, systemClock, transport);
}

/** The same node under two names, as two endpoints. */
export function twoUrls({ rpcUrl }: IsmpHost): readonly string[] {
  return [rpcUrl, rpcUrl.replace("127.0.0.1", "localhost")];
}

/** One chain with a host for one test. */
export async function withHost(
  chainId: number,
  work: (host: IsmpHost) => Promise<void>,
  options: Partial<DeployOptions> = {},
): Promise<void> {
  await using anvil = await startAnvil({ chainId, slotsInAnEpoch: 1 });
  const identity = { stateMachine: hub.stateMachine, paraId: 4009n };
  await work(await deployIsmpHost({ rpcUrl: anvil.rpcUrl, chainId, hub: identity, ...options }));
}

/** Work of a test on a chain of its own with a host, and the adapter for it. */
export function onFixture(
  work: (on: ChainUnderTest & { readonly host: IsmpHost }) => Promise<void>,
  options: Partial<DeployOptions> = {},
): () => Promise<void> {
  return () => withHost(31_400, (host) => work({ host, ...chainOf(host) }), options);
}

/** anvil mines at once, but shows the receipt a moment later. */
export async function includedOutcome(
  chain: Chain,
  submission: SignedSubmission,
): Promise<Extract<SubmissionOutcome, { kind: "included" }>> {
  let included: Extract<SubmissionOutcome, { kind: "included" }> | undefined;
  await waitUntil("the transaction is included", async () => {
    const outcome = await chain.outcomes.fetchOutcome(submission, never);
    if (outcome.kind === "included") included = outcome;
    return included !== undefined;
  }, { everyMs: 10 });
  if (included === undefined) throw new Error("Not included");
  return included;
}

/** A post from the far side of the hub to the ping application of `host`, or to another module there. */
export function postTo(
  host: IsmpHost,
  nonce: bigint,
  changes: {
    readonly to?: string;
    readonly timeoutTimestampSec?: bigint;
    readonly dest?: number;
    readonly body?: Uint8Array;
  } = {},
): Extract<Message, { kind: "post" }> {
  return postMessage({
    source: parseStateMachine("POLKADOT-2000"),
    dest: evmStateMachine(changes.dest ?? host.chainId),
    nonce,
    from: fromHex("0x0102030405060708"),
    to: fromHex(changes.to ?? host.addresses.ping),
    timeoutTimestampSec: changes.timeoutTimestampSec ?? 0n,
    body: changes.body ?? new TextEncoder().encode(`message ${nonce}`),
  });
}

/** Root of the mountain range whose leaves are exactly these messages. */
export function mountainRoot(messages: readonly Message[]): Hash256 {
  const leaves = messages.map(({ commitment }, index) => ({ index: BigInt(index), hash: commitment }));
  return calculateMmrRoot([], leaves, BigInt(messages.length));
}

/**
 * Stores a hub height on the host whose mountain range has exactly these messages, and proves all of them.
 * All leaves are proved, so no further items are needed.
 */
export async function proveFromHub(
  host: IsmpHost,
  messages: readonly Message[],
  height: bigint,
): Promise<Extract<MessageProof, { kind: "mmr" }>> {
  await advanceHub(host, {
    height,
    timestampSec: BigInt(Math.floor(Date.now() / 1000)),
    mmrRoot: mountainRoot(messages),
    childTrieRoot: toHash256(new Uint8Array(32).fill(1)),
  });
  return {
    kind: "mmr",
    height: { id: hub, height },
    leafCount: BigInt(messages.length),
    items: [],
    leafIndices: messages.map((_, index) => BigInt(index)),
  };
}

/** A delivery of one step. */
export function deliveryOf(messages: readonly Message[], proof: MessageProof): Delivery {
  return { steps: [{ kind: "messages", messages, proof }] };
}
