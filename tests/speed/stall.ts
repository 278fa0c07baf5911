/**
 * How long everything else waits while 10,000 events come in one answer: the relayer's own readers and scan, with a
 * node in another thread and a ledger that is flushed as in earnest.
 */
import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { encodeAbiParameters, pad } from "viem";
import { createEvmContext, EvmEvents } from "../../src/core/chains/evm/evm_chain.ts";
import type { ChainEvents } from "../../src/core/chains/reads.ts";
import { SubstrateEvents } from "../../src/core/chains/substrate/events.ts";
import { createChainContext } from "../../src/core/chains/substrate/substrate_chain.ts";
import { EndpointUrl, Secret } from "../../src/core/config/redact.ts";
import { toHash256, toHex } from "../../src/core/encoding/bytes.ts";
import { u64 } from "../../src/core/encoding/scale.ts";
import { hostEventTopics } from "../../src/core/evm/host_abi.ts";
import { platformFetch } from "../../src/core/rpc/http.ts";
import { platformSocket } from "../../src/core/rpc/socket.ts";
import { systemClock } from "../../src/core/runtime/system_clock.ts";
import { openLedger } from "../../src/messaging/ledger/open.ts";
import type { LegRun } from "../../src/messaging/relay/leg.ts";
import { scanLeg, startCursor } from "../../src/messaging/relay/scan.ts";
import { DEVNET_KEYS } from "../../devnet/evm/accounts.ts";
import { Fixture, names, Relayer } from "../messaging/relay/fixture.ts";
import type { MemoryChain } from "../support/memory_chain.ts";
import { RecordedLog } from "../support/recorded_log.ts";
import { seededRandomness } from "../support/seeded_randomness.ts";
import { type LoopLag, watchLoop } from "./loop_lag.ts";
import type { BenchDeps, Part } from "./part.ts";
import { type Figure, figuresOf } from "./report.ts";
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
export const stall: Part = async (deps) => [
  ...await measureTurns(deps, { name: "EVM chain", scriptOf: evmScript, open: evmEvents }),
  ...await measureTurns(deps, { name: "hub", scriptOf: hubScript, open: hubEvents }),
];

/** One kind of chain. */
interface Source {
  readonly name: "EVM chain" | "hub";
  /** Answers of a node whose events are all in one block. */
  readonly scriptOf: (block: number) => NodeScript;
  /** Opens the events of the node at a host and port. */
  readonly open: (at: string, fixture: Fixture) => ChainEvents & Partial<Disposable>;
}

async function measureTurns(deps: BenchDeps, source: Source): Promise<readonly Figure[]> {
  const turns: LoopLag[] = [];
  while (turns.length < TURNS) {
    const path = `${deps.folder}/${source.name.replaceAll(" ", "-")}-${turns.length}.db`;
    turns.push(await measureScan(source, path));
  }
  const title = `${source.name}: stall while ${EVENTS.toLocaleString("en")} events are read`;
  return figuresOf(turns, [
    ["p99Ms", `${title}, p99`, "ms", { most: MAX_STALL_MS }],
    ["maxMs", `${title}, longest`, "ms"],
  ]);
}

/** Scans the events with a new ledger. */
async function measureScan({ name, scriptOf, open }: Source, path: string): Promise<LoopLag> {
  const fixture = new Fixture();
  await fixture.update(fixture.one, fixture.hub);
  await fixture.update(fixture.hub, fixture.two);
  const ledger = openLedger(path, { clock: fixture.clock });
  const relayer = new Relayer(fixture, ledger);
  const [source, target] = name === "hub" ? [relayer.hub, relayer.two] : [relayer.one, relayer.hub];
  const view = await target.reads.fetchView(source.id, relayer.signal);
  await using node = await startNode(scriptOf(Number(view.height)));
  const events = open(node.at, fixture);
  try {
    const leg: LegRun = {
      ...relayer.leg(source, target, { initialHeight: view.height - 1n }),
      source: withEvents(source, events),
    };
    await startCursor(leg, view);
    const readLag = watchLoop();
    await scanLeg(leg, view);
    const lag = readLag();
    const found = ledger.messages.countByState().reduce((sum, { count }) => sum + count, 0);
    if (found !== EVENTS) throw new Error(`${found} of ${EVENTS} messages were found`);
    return lag;
  } finally {
    events[Symbol.dispose]?.();
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

function evmScript(block: number): NodeScript {
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

function evmEvents(at: string): ChainEvents {
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

function hubScript(block: number): NodeScript {
  const event = (nonce: number): unknown => ({
    meta: { block_hash: hashOf(block), transaction_hash: hashOf(0), block_number: block },
    event: {
      PostRequest: {
        source: names.one,
        dest: names.two,
        nonce,
        from: pad("0xaa", { size: 20 }),
        to: pad("0xbb", { size: 20 }),
        timeoutTimestamp: 0,
        body: toHex(BODY),
      },
    },
  });
  const header = {
    number: "0x1000",
    parentHash: hashOf(0),
    stateRoot: hashOf(0),
    extrinsicsRoot: hashOf(0),
    digest: { logs: [] },
  };
  const leaves = (count: number): string => JSON.stringify(toHex(u64.enc(BigInt(count))));
  const events = Array.from({ length: EVENTS }, (_, nonce) => event(nonce));
  return {
    results: {
      chain_getHeader: JSON.stringify(header),
      state_getStorage: leaves(EVENTS),
      ismp_queryEventsWithMetadata: JSON.stringify({ [hashOf(block)]: events }),
    },
    byLast: {
      chain_getBlockHash: {
        [block - 1]: JSON.stringify(hashOf(block - 1)),
        [block]: JSON.stringify(hashOf(block)),
      },
      state_getStorage: { [hashOf(block - 1)]: leaves(0) },
    },
  };
}

function hubEvents(at: string, { hub }: Fixture): ChainEvents & Partial<Disposable> {
  const { endpoint, node } = createChainContext(
    {
      clock: systemClock,
      randomness: seededRandomness(1),
      openSocket: platformSocket,
      log: new RecordedLog(),
    },
    {
      id: hub.id,
      hashing: "Keccak",
      rpcWs: new EndpointUrl(`ws://${at}`),
      maxRpcPayloadSizeBytes: 150_000_000,
      maxConcurrentQueries: 10,
      signer: undefined,
      relayerId: new Uint8Array(32),
    },
    { isHub: true, use: "hub" },
  );
  const events = new SubstrateEvents(node);
  return {
    fetchEvents: (from, to, signal) => events.fetchEvents(from, to, signal),
    [Symbol.dispose]: () => void endpoint.close(),
  };
}
