/**
 * How long everything else waits while 10,000 events come in one answer: the relayer's own readers and scan, with a
 * node in another thread and a ledger that is flushed as in earnest.
 */
import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { encodeAbiParameters, pad } from "viem";
import { createEvmContext, EvmEvents } from "../../src/core/chains/evm/evm_chain.ts";
import type { ChainEvents } from "../../src/core/chains/reads.ts";
import { EndpointUrl, Secret } from "../../src/core/config/redact.ts";
import { toHash256, toHex } from "../../src/core/encoding/bytes.ts";
import { hostEventTopics } from "../../src/core/evm/host_abi.ts";
import { platformFetch } from "../../src/core/rpc/http.ts";
import { systemClock } from "../../src/core/runtime/system_clock.ts";
import { openLedger } from "../../src/messaging/ledger/open.ts";
import type { LegRun } from "../../src/messaging/relay/leg.ts";
import { scanLeg, startCursor } from "../../src/messaging/relay/scan.ts";
import { DEVNET_KEYS } from "../../devnet/evm/accounts.ts";
import { Fixture, names, Relayer } from "../messaging/relay/fixture.ts";
import type { MemoryChain } from "../support/memory_chain.ts";
import { RecordedLog } from "../support/recorded_log.ts";
import { seededRandomness } from "../support/seeded_randomness.ts";
import { type LoopLag, watchLoop } from "./process_usage.ts";
import type { Part } from "./part.ts";
import { figuresOf } from "./report.ts";
import type { NodeScript } from "./stall_node.ts";

const EVENTS = 10_000;
const MAX_STALL_MS = 50;
/** Each is measured so often; the first time, code is cold. */
const TURNS = 3;
const HOST = "0x2279b7a0a67db372996a5fab50d91eaa73d2ebe6";
const BODY = new Uint8Array(100).fill(7);

function hashOf(block: number): string {
  return toHash256(block.toString(16).padStart(64, "0"));
}

/** See the head of the file. */
export const stall: Part = async (deps) => {
  const turns: LoopLag[] = [];
  while (turns.length < TURNS) turns.push(await measureScan(`${deps.folder}/${turns.length}.db`));
  const title = `stall while ${EVENTS.toLocaleString("en")} events of an EVM chain are read`;
  return figuresOf(turns, [
    ["p99Ms", `${title}, p99`, "ms", { most: MAX_STALL_MS }],
    ["maxMs", `${title}, longest`, "ms"],
  ]);
};

/** Scans the events with a new ledger. */
async function measureScan(path: string): Promise<LoopLag> {
  const fixture = new Fixture();
  await fixture.update(fixture.one, fixture.hub);
  const ledger = openLedger(path, { clock: fixture.clock });
  const relayer = new Relayer(fixture, ledger);
  const { one: source, hub: target } = relayer;
  const view = await target.reads.fetchView(source.id, relayer.signal);
  await using node = await startNode(scriptOf(Number(view.height)));
  try {
    const leg: LegRun = {
      ...relayer.leg(source, target, { initialHeight: view.height - 1n }),
      source: withEvents(source, eventsOf(node.at)),
    };
    await startCursor(leg, view);
    const readLag = watchLoop();
    await scanLeg(leg, view);
    const lag = readLag();
    const found = ledger.messages.countByState().reduce((sum, { count }) => sum + count, 0);
    if (found !== EVENTS) throw new Error(`${found} of ${EVENTS} messages were found`);
    return lag;
  } finally {
    relayer.kill();
    ledger.close();
  }
}

function withEvents(chain: MemoryChain, events: ChainEvents): MemoryChain {
  return new Proxy(chain, {
    get: (target, name) => name === "events" ? events : Reflect.get(target, name, target),
  });
}

async function startNode(script: NodeScript): Promise<{ readonly at: string } & AsyncDisposable> {
  const worker = new Worker(new URL("./stall_node.ts", import.meta.url), { workerData: script });
  const [at]: readonly unknown[] = await once(worker, "message");
  return { at: `${at}`, [Symbol.asyncDispose]: async () => void await worker.terminate() };
}

/** Answers of a node whose events are all in one block. */
function scriptOf(block: number): NodeScript {
  const types = ["string", "string", "bytes", "uint256", "uint256", "bytes", "uint256"].map((type) => ({
    type,
  }));
  const log = (nonce: number): unknown => ({
    address: HOST,
    topics: [hostEventTopics.PostRequestEvent, pad("0xaa", { size: 32 })],
    data: encodeAbiParameters(types, [
      names.one,
      names.two,
      pad("0xbb", { size: 20 }),
      BigInt(nonce),
      0n,
      toHex(BODY),
      0n,
    ]),
    blockNumber: `0x${block.toString(16)}`,
    blockHash: hashOf(block),
    transactionHash: hashOf(100 + nonce),
    transactionIndex: `0x${nonce.toString(16)}`,
    logIndex: `0x${nonce.toString(16)}`,
    removed: false,
  });
  const word = (value: number): string => JSON.stringify(pad(`0x${value.toString(16)}`, { size: 32 }));
  return {
    results: {
      eth_chainId: '"0x1"',
      eth_blockNumber: '"0x1000"',
      eth_getLogs: JSON.stringify(Array.from({ length: EVENTS }, (_, nonce) => log(nonce))),
      eth_call: word(EVENTS),
    },
    byLast: { eth_call: { [`0x${(block - 1).toString(16)}`]: word(0) } },
  };
}

/** The events of the node at a host and port. */
function eventsOf(at: string): ChainEvents {
  const deps = {
    fetch: platformFetch,
    clock: systemClock,
    randomness: seededRandomness(1),
    log: new RecordedLog(),
  };
  return new EvmEvents(createEvmContext(deps, {
    stateMachine: names.one,
    consensusStateId: new Fixture().one.id.consensusStateId,
    rpcUrls: [new EndpointUrl(`http://${at}`)],
    ismpHost: HOST,
    signer: new Secret(DEVNET_KEYS.relayer),
    queryBatchSizeBlocks: undefined,
    tracingBatchSize: undefined,
    gasPriceBufferPercent: 0,
    clientType: "Geth",
  }));
}
