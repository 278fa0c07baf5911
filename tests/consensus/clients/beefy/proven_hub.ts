/** The hub for those who bring its consensus to hosts: events, and proofs of itself made on a simulated relay chain. */
import assert from "node:assert/strict";
import type { AcceptedProofsHub } from "../../../../src/core/hub_proofs/accepted_source.ts";
import type { WorkHub } from "../../../../src/core/hub_proofs/hub_work.ts";
import type { AcceptedProof, AcceptedProofIndex } from "../../../../src/core/chains/hub.ts";
import type { ChainEvent } from "../../../../src/core/chains/reads.ts";
import { type Hash256, toHash256 } from "../../../../src/core/encoding/bytes.ts";
import { buildNaiveProof } from "../../../../src/consensus/clients/beefy/spec/build_proof.ts";
import { encodeNaiveProof } from "../../../../src/core/beefy/naive_proof.ts";
import { verifyNaiveProof } from "../../../../src/consensus/clients/beefy/spec/verify_proof.ts";
import type { BeefyClientState } from "../../../../src/core/evm/beefy_client_state.ts";
import { postMessage } from "../../../../src/core/ismp/message.ts";
import { consensusDigestCodec, timestampDigestCodec } from "../../../../src/core/ismp/host_state.ts";
import type { StateMachine } from "../../../../src/core/ismp/state_machine.ts";
import { hub as hubId } from "../../../core/chains/evm/chain_fixture.ts";
import { digestItem, encodeHeader } from "../../../../devnet/hub/digest.ts";
import {
  type RelayChainNode,
  type RelaySimulatorOptions,
  startRelayChain,
} from "../../../../devnet/relay/relay_chain.ts";
import { connectRelay, readProofInput } from "../../../../devnet/relay/relay_reader.ts";
import { runAtOnce } from "../../../../devnet/relay/run_at_once.ts";

/** Parachain of the hub. */
export const PARA_ID = 4009;

/** What the hub tells about its blocks: their events, as a test gives them. */
export class HubEvents implements WorkHub {
  readonly list: ChainEvent[] = [];
  /** Ranges that were asked for, as `101-150`. */
  readonly asked: string[] = [];
  readonly #readFinal: () => bigint;

  /** @param readFinal reads the newest final block. */
  constructor(readFinal: () => bigint) {
    this.#readFinal = readFinal;
  }

  get events(): this {
    return this;
  }

  get reads(): this {
    return this;
  }

  fetchFinalHeight(): Promise<bigint> {
    return Promise.resolve(this.#readFinal());
  }

  fetchEvents(from: bigint, to: bigint): Promise<readonly ChainEvent[]> {
    this.asked.push(`${from}-${to}`);
    return Promise.resolve(this.list.filter(({ at }) => at.height >= from && at.height <= to));
  }
}

/** A hub whose headers are heads of a simulated relay chain, and that has accepted proofs of itself. */
export class ProvenHub implements AcceptedProofsHub {
  readonly relay: RelayChainNode;
  readonly id = hubId;
  /** What the hub's own client trusts. */
  state: BeefyClientState;
  /** True: the node lacks the bytes of all proofs. */
  isWithheld = false;
  /** Heights whose bytes the node lacks. */
  readonly lacking = new Set<bigint>();
  /** Sets whose rotation the hub has evicted. */
  readonly evicted = new Set<bigint>();
  readonly #heights: { now: number };
  readonly #rotations = new Map<bigint, bigint>();
  readonly #messaging: bigint[] = [];
  readonly #bytes = new Map<string, Uint8Array>();
  readonly events = new HubEvents(() => this.height);

  private constructor(relay: RelayChainNode, heights: { now: number }) {
    this.relay = relay;
    this.#heights = heights;
    this.state = relay.beefyState();
  }

  static async start(options: RelaySimulatorOptions = {}): Promise<ProvenHub> {
    const heights = { now: 10 };
    const relay = await startRelayChain({
      blockTimeMs: "manual",
      validators: 4,
      heads: () => new Map([[PARA_ID, hubHeader(heights.now)]]),
      ...options,
    });
    return new ProvenHub(relay, heights);
  }

  get reads(): HubEvents {
    return this.events;
  }

  get acceptedProofs(): this {
    return this;
  }

  /** Newest height of the hub. */
  get height(): bigint {
    return BigInt(this.#heights.now);
  }

  /** The hub makes blocks, and the relay chain with it, until BEEFY has justified their heads. */
  makeBlocks(count = 2): void {
    this.#heights.now += count;
    this.relay.produceBlocks(4);
  }

  /** A message to `chain` in the next block of the hub. */
  post(chain: StateMachine): void {
    const message = postMessage({
      source: hubId.stateMachine,
      dest: chain,
      nonce: BigInt(this.events.list.length),
      from: new Uint8Array(4),
      to: new Uint8Array(20),
      timeoutTimestampSec: 0n,
      body: new Uint8Array(),
    });
    const at = { height: this.height + 1n, transaction: undefined };
    this.events.list.push({ kind: "message", message, at });
  }

  /** Ends a session of the relay chain. @param isAccepted false: no prover has delivered it to the hub. */
  async rotate(isAccepted = true): Promise<void> {
    this.#heights.now++;
    this.relay.produceBlocks(1);
    const { number } = this.relay.rotate();
    this.relay.produceBlocks(3);
    if (!isAccepted) return;
    const [proof, height] = await this.#prove(number);
    const setId = this.state.current.id;
    this.#rotations.set(setId, height);
    this.#bytes.set(`set ${setId}`, proof);
  }

  /** Proves the newest head to the hub. */
  async proveNewest(): Promise<bigint> {
    this.makeBlocks();
    const [proof, height] = await this.#prove(this.relay.beefyFinalized.number);
    this.#messaging.push(height);
    this.#bytes.set(`height ${height}`, proof);
    return height;
  }

  /** Proves a head with a message to `chain` to the hub. */
  async proveMessageTo(chain: StateMachine): Promise<bigint> {
    this.post(chain);
    return await this.proveNewest();
  }

  /** Makes the bytes of the newest messaging proof false. */
  spoilNewest(spoil: (proof: Uint8Array) => Uint8Array): void {
    this.#spoil(`height ${this.#messaging.at(-1)}`, spoil);
  }

  /** Makes the bytes of the newest rotation false. */
  spoilRotation(spoil: (proof: Uint8Array) => Uint8Array): void {
    this.#spoil(`set ${[...this.#rotations.keys()].at(-1)}`, spoil);
  }

  #spoil(key: string, spoil: (proof: Uint8Array) => Uint8Array): void {
    const proof = this.#bytes.get(key);
    assert.ok(proof);
    this.#bytes.set(key, spoil(proof));
  }

  async #prove(block: number): Promise<readonly [Uint8Array, bigint]> {
    await using connection = connectRelay(this.relay.wsUrl);
    const facts = await readProofInput(this.relay, connection.chain, block, [PARA_ID]);
    const proof = runAtOnce(buildNaiveProof(this.state, facts));
    const { state, intermediates } = runAtOnce(verifyNaiveProof(this.state, proof));
    this.state = state;
    const [head] = intermediates;
    assert.ok(head);
    return [encodeNaiveProof(proof), head.height];
  }

  fetchAcceptedIndex(): Promise<AcceptedProofIndex> {
    const rotations = new Map([...this.#rotations].filter(([set]) => !this.evicted.has(set)));
    return Promise.resolve({ rotations, messaging: [...this.#messaging] });
  }

  fetchProofBytes(
    { height, newSetId }: AcceptedProof,
  ): Promise<Uint8Array | undefined> {
    if (this.isWithheld || this.lacking.has(height)) return Promise.resolve(undefined);
    return Promise.resolve(
      this.#bytes.get(newSetId === undefined ? `height ${height}` : `set ${newSetId}`),
    );
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.relay[Symbol.asyncDispose]();
  }
}

/** SCALE of a header of the hub with its roots and its time. */
function hubHeader(number: number): Uint8Array {
  const root = (byte: number): Hash256 => toHash256(new Uint8Array(32).fill(byte));
  return encodeHeader({
    parentHash: root(1),
    number,
    stateRoot: root(2),
    extrinsicsRoot: root(3),
    digest: [
      digestItem("consensus", "ISMP", consensusDigestCodec.enc({ mmrRoot: root(4), childTrieRoot: root(5) })),
      digestItem(
        "consensus",
        "ISTM",
        timestampDigestCodec.enc({ timestampSec: 1_700_000_000n + BigInt(number) }),
      ),
    ],
  });
}
