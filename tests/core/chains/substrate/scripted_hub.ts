/** The hub's adapter, or that of another Substrate chain, behind a scripted node with the runtime of nexus. */
import type { HubChain } from "../../../../src/core/chains/hub.ts";
import type { Chain } from "../../../../src/core/chains/port.ts";
import type { SignedSubmission } from "../../../../src/core/chains/submission.ts";
import type { ConsensusTarget } from "../../../../src/core/chains/consensus_target.ts";
import { createTarget } from "../../../../src/core/chains/substrate/consensus_target.ts";
import { createHubChain } from "../../../../src/core/chains/substrate/relayer_hub.ts";
import {
  createChainContext,
  createSubstrateChain,
  type SubstrateChainContext,
  type SubstrateChainDeps,
  type SubstrateChainOptions,
} from "../../../../src/core/chains/substrate/substrate_chain.ts";
import { EndpointUrl, Secret } from "../../../../src/core/config/redact.ts";
import { type Hash256, type Hex, keccak256, toHash256, toHex } from "../../../../src/core/encoding/bytes.ts";
import { parseStateMachine, toConsensusStateId } from "../../../../src/core/ismp/state_machine.ts";
import { FakeClock } from "../../../support/fake_clock.ts";
import { hubMetadata } from "../../../support/hub_vectors.ts";
import { RecordedLog } from "../../../support/recorded_log.ts";
import { type ScriptedMethod, ScriptedNode } from "../../../support/scripted_socket.ts";
import { fixedRandomness } from "../../../support/seeded_randomness.ts";

/** An extrinsic of these bytes for the hub, made at block 5, as the journal keeps it. */
export function unsignedExtrinsic(raw: Uint8Array): SignedSubmission {
  return {
    hash: toHash256(keccak256(raw)),
    chain: parseStateMachine("POLKADOT-3367"),
    raw,
    account: undefined,
    nonce: undefined,
    gasPriceWei: undefined,
    gasLimit: undefined,
    madeAtHeight: 5n,
  };
}

/** A script of methods by name. */
export type Script = Readonly<Record<string, ScriptedMethod>>;

/** An adapter with the node that it talks to. */
export interface Scripted<T> {
  readonly node: ScriptedNode;
  readonly log: RecordedLog;
  readonly chain: T;
  readonly clock: FakeClock;
  /** Waits for `work` while the clock runs. */
  run<R>(work: Promise<R>): Promise<R>;
  /** How many messages were sent since the last question. */
  trips(): number;
}

const nexus = hubMetadata("nexus-head");

function script<T>(
  create: (deps: SubstrateChainDeps, options: SubstrateChainOptions) => T,
  methods: Script,
  change: Partial<SubstrateChainOptions>,
): Scripted<T> {
  const clock = new FakeClock();
  const log = new RecordedLog();
  const node = new ScriptedNode({
    state_getRuntimeVersion: () => ({ specName: nexus.specName, specVersion: nexus.specVersion }),
    state_getMetadata: () => toHex(nexus.metadata),
    ...methods,
  });
  const chain = create({
    clock,
    randomness: fixedRandomness(0),
    openSocket: node.open,
    log,
  }, {
    id: { stateMachine: parseStateMachine("POLKADOT-3367"), consensusStateId: toConsensusStateId("DOT0") },
    hashing: "Keccak",
    rpcWs: new EndpointUrl("ws://node.example"),
    maxRpcPayloadSizeBytes: 10_000_000,
    maxConcurrentQueries: 10,
    feeTokenDecimals: 6,
    signer: undefined,
    ...change,
  });
  let seen = 0;
  return {
    node,
    log,
    chain,
    clock,
    run: (work) => clock.run(work),
    trips: () => {
      const count = node.exchanges.length - seen;
      seen = node.exchanges.length;
      return count;
    },
  };
}

/** The hub. */
export function scriptHub(
  methods: Script,
  change: Partial<SubstrateChainOptions> = {},
): Scripted<HubChain> {
  return script(createHubChain, methods, change);
}

/** The hub as the consensus relayer uses it; signs with a key of ones. */
export function scriptConsensusHub(
  methods: Script,
  change: Partial<SubstrateChainOptions> = {},
): Scripted<ConsensusTarget> {
  const signer = new Secret<Hex>(`0x${"11".repeat(32)}`);
  return script((deps, options) => createTarget(deps, { ...options, signer, isHub: true }), methods, change);
}

/** A chain of `type = "substrate"`. */
export function scriptChain(
  methods: Script,
  change: Partial<SubstrateChainOptions> = {},
): Scripted<Chain> {
  return script(createSubstrateChain, methods, {
    id: { stateMachine: parseStateMachine("POLKADOT-2030"), consensusStateId: toConsensusStateId("DOT0") },
    ...change,
  });
}

/** The parts of a Substrate chain behind a scripted node: the hub, unless it is another one. */
export function scriptContext(
  methods: Script,
  as: Parameters<typeof createChainContext>[2] = { isHub: true, use: "hub" },
  change: Partial<SubstrateChainOptions> = {},
): Scripted<SubstrateChainContext> {
  return script((deps, options) => createChainContext(deps, options, as), methods, change);
}

/** A hash that is distinguished by its label. */
export function hashOf(label: string): Hash256 {
  return toHash256(keccak256(new TextEncoder().encode(label)));
}

/** A header as JSON-RPC shows it. */
export function headerJson(height: number, logs: readonly Uint8Array[] = []): unknown {
  const root = hashOf("root");
  return {
    number: `0x${height.toString(16)}`,
    parentHash: hashOf("parent"),
    stateRoot: root,
    extrinsicsRoot: root,
    digest: { logs: logs.map(toHex) },
  };
}

/** `chain_getBlockHash` of a chain without forks that ends at `best`; takes one number or a list. */
export function blockHashes(best: number): ScriptedMethod {
  const one = (height: unknown): Hash256 | null => Number(height) > best ? null : hashOf(`b${height}`);
  return (which) => Array.isArray(which) ? which.map(one) : one(which);
}
