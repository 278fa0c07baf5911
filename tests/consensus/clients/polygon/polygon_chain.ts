/** Polygon in memory: a Heimdall chain behind its JSON-RPC, Bor's headers, and a hub that follows them. */
import { type Hash256, toHash256 } from "../../../../src/core/encoding/bytes.ts";
import { EndpointUrl } from "../../../../src/core/config/redact.ts";
import { type EvmBlockHeader, hashBlockHeader } from "../../../../src/core/evm/block_header.ts";
import { consensusClientIds } from "../../../../src/core/ismp/consensus_clients.ts";
import { parseStateMachine, toConsensusStateId } from "../../../../src/core/ismp/state_machine.ts";
import type { Fetch } from "../../../../src/core/rpc/http_exchange.ts";
import {
  type HeimdallNode,
  openHeimdallNode,
} from "../../../../src/consensus/clients/polygon/heimdall_node.ts";
import { PolygonProver, type PolygonProverDeps } from "../../../../src/consensus/clients/polygon/client.ts";
import {
  POLYGON_UNBONDING_SEC,
  type PolygonConsensusState,
  polygonConsensusStateCodec,
} from "../../../../src/consensus/clients/polygon/spec/update.ts";
import {
  decodePolygonState,
  decodePolygonUpdate,
  verifyPolygonUpdate,
} from "../../../../src/consensus/clients/polygon/spec/verify_update.ts";
import type { ConsensusProver } from "../../../../src/consensus/prover.ts";
import {
  HeimdallChain,
  type HeimdallChainOptions,
  HeimdallRefusal,
} from "../../../../devnet/heimdall/heimdall_chain.ts";
import { ClientTarget } from "../../../support/client_target.ts";
import { FakeClock } from "../../../support/fake_clock.ts";
import { fixedRandomness } from "../../../support/seeded_randomness.ts";
import { emptyHeader } from "../bsc/bsc_chain.ts";

/** The chain of the tests. */
export const AMOY = parseStateMachine("EVM-80002");

/** Name of the client on the hub. */
export const POLY = toConsensusStateId("POLY");

/** A block of Bor. */
export function borHeader(number: bigint): EvmBlockHeader {
  return {
    ...emptyHeader(number),
    timestampSec: 1_780_000_000n + number,
    extraData: new Uint8Array(97),
    withdrawalsRoot: undefined,
    blobGasUsed: undefined,
    excessBlobGas: undefined,
    parentBeaconBlockRoot: undefined,
    requestsHash: undefined,
  };
}

/** Heimdall and Bor. */
export class MemoryPolygon {
  readonly heimdall: HeimdallChain;
  /** Calls that the Heimdall node got, by method. */
  readonly calls = new Map<string, number>();
  /** Changes what the node answers to a method. */
  alter: ((method: string, result: unknown) => unknown) | undefined;
  /** True: no node of Bor has the blocks yet. */
  isBorBehind = false;
  /** Chain id that Bor's node tells. */
  borChainId = 80002n;
  readonly #bor = new Map<Hash256, EvmBlockHeader>();

  constructor(options: Partial<HeimdallChainOptions> = {}) {
    this.heimdall = new HeimdallChain({ borChainId: 80002, ...options });
  }

  /** Adds a Heimdall block with a milestone that makes a block of Bor final, and the block that shows it. */
  finalize(number: bigint): void {
    const header = borHeader(number);
    const hash = hashBlockHeader(header);
    this.#bor.set(hash, header);
    this.heimdall.addBlock({ number, hash });
    this.heimdall.addBlock();
  }

  /** The node, read over its JSON-RPC. */
  get node(): HeimdallNode {
    const deps = { fetch: this.fetch, clock: new FakeClock(), randomness: fixedRandomness(0) };
    return openHeimdallNode(deps, {
      stateMachine: AMOY,
      heimdallChain: "heimdallv2-80002",
      url: new EndpointUrl("https://heimdall.example"),
    });
  }

  /** Answers as the node's HTTP server. */
  get fetch(): Fetch {
    return (_url, init) => {
      const asked: unknown = JSON.parse(String(init.body));
      const answers = (Array.isArray(asked) ? asked : [asked]).map((call) => this.#answer(call));
      return Promise.resolve(Response.json(Array.isArray(asked) ? answers : answers[0]));
    };
  }

  #answer({ id, method, params }: { id: number; method: string; params: readonly unknown[] }): unknown {
    this.calls.set(method, (this.calls.get(method) ?? 0) + 1);
    try {
      const result = this.heimdall.answer(method, params);
      return { jsonrpc: "2.0", id, result: this.alter?.(method, result) ?? result };
    } catch (error) {
      if (!(error instanceof HeimdallRefusal)) throw error;
      const { code, message, data } = error;
      return { jsonrpc: "2.0", id, error: { code, message, data } };
    }
  }

  /** Bor as the prover reads it. */
  get bor(): PolygonProverDeps["bor"] {
    return {
      chain: AMOY,
      fetchHeader: (which) => {
        const header = this.isBorBehind ? undefined : this.#bor.get(toHash256(String(which)));
        return Promise.resolve(header && { header, hash: hashBlockHeader(header) });
      },
      fetchChainIds: () => Promise.resolve([{ host: "bor.example", id: this.borChainId }]),
    };
  }
}

/** A hub with one client of the chain, which takes updates that our verifier accepts. */
export function polygonTarget(): ClientTarget<PolygonConsensusState> {
  const target: ClientTarget<PolygonConsensusState> = new ClientTarget({
    id: POLY,
    clientId: consensusClientIds.polygon,
    unbondingSec: POLYGON_UNBONDING_SEC,
    chain: { stateMachine: AMOY, consensusStateId: POLY },
    codec: { enc: polygonConsensusStateCodec.enc, dec: decodePolygonState },
    rules: (proof, client) => {
      const view = { nowSec: target.nowSec, consensusStateId: client.id };
      const { consensusState, commitment } = verifyPolygonUpdate(
        decodePolygonState(client.state),
        decodePolygonUpdate(proof),
        view,
      );
      return {
        state: polygonConsensusStateCodec.enc(consensusState),
        commitments: commitment === undefined ? [] : [commitment],
      };
    },
  });
  return target;
}

/** Creates the prover of the chain. */
export function polygonProver(
  chain: MemoryPolygon,
  hub: ClientTarget<PolygonConsensusState>,
): ConsensusProver {
  const options = { stateMachine: AMOY, consensusStateId: POLY, intervalMs: 30_000 };
  return new PolygonProver({ hub, node: chain.node, bor: chain.bor }, options);
}

/** A chain with one milestone, and a hub whose client was created of it. */
export async function followedPolygon(
  options: Partial<HeimdallChainOptions> = {},
): Promise<{
  readonly chain: MemoryPolygon;
  readonly hub: ClientTarget<PolygonConsensusState>;
  readonly prover: ConsensusProver;
}> {
  const chain = new MemoryPolygon(options);
  chain.heimdall.growTo(8n);
  chain.finalize(100n);
  const hub = polygonTarget();
  const prover = polygonProver(chain, hub);
  const { state } = await prover.fetchInitialState(new AbortController().signal);
  hub.nowSec = chain.heimdall.timeOf(chain.heimdall.head);
  hub.start(state);
  return { chain, hub, prover };
}
