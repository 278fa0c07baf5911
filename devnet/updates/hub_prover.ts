/**
 * Proofs of a devnet's hub out of its relay chain: what the network's prover program makes for EVM hosts and for the hub.
 * Start reading at {@link HubProver.prove}.
 */
import { type Hash256, toHex } from "../../src/core/encoding/bytes.ts";
import { buildNaiveProof, type NaiveProofInput } from "../../src/consensus/clients/beefy/spec/build_proof.ts";
import { encodeNaiveProof } from "../../src/core/beefy/naive_proof.ts";
import { verifyNaiveProof } from "../../src/consensus/clients/beefy/spec/verify_proof.ts";
import { decodeSubstrateHeader } from "../../src/core/substrate/header.ts";
import type { BeefyClientState } from "../../src/core/evm/beefy_client_state.ts";
import type { RelayChainNode } from "../relay/relay_chain.ts";
import { connectRelay, readProofInput, type RelayConnection } from "../relay/relay_reader.ts";
import { runAtOnce } from "../relay/run_at_once.ts";
import type { IsmpHost } from "../evm/deploy.ts";
import { deliverProof, readHubConsensus } from "../evm/host_admin.ts";
import type { UpdateStep } from "./oracle.ts";
import type { Hub } from "../hub/hub.ts";
import { clientState, type ProofAcceptance } from "../hub/pallets/beefy_proofs.ts";

/** A proof, and what a client makes of it. */
interface HubProof {
  /** As hosts and hub take it. */
  readonly proof: Uint8Array;
  readonly state: BeefyClientState;
  /** Height of the hub that it proves; 0 when the relay chain did not have one. */
  readonly height: bigint;
  /** Child trie root of the hub there. */
  readonly childTrieRoot: Hash256 | undefined;
}

/** From a head of the hub to a proof of it: its block, its leaf; then the lag of finality. */
const BLOCKS_TO_PROOF = 2;

/** Reads the relay chain by RPC; keeps what it has read of the newest block for the next host. */
export class HubProver implements AsyncDisposable {
  readonly #relay: RelayChainNode;
  readonly #finalityLag: number;
  readonly #paraId: number;
  readonly #connection: RelayConnection;
  #known: { readonly block: number; readonly facts: Promise<NaiveProofInput> } | undefined;

  constructor(
    options: { readonly relay: RelayChainNode; readonly finalityLag: number; readonly paraId: number },
  ) {
    this.#relay = options.relay;
    this.#finalityLag = options.finalityLag;
    this.#paraId = options.paraId;
    this.#connection = connectRelay(options.relay.wsUrl);
  }

  /** Makes blocks of the relay chain until what is final on the hub now can be proved. */
  cover(): void {
    this.#relay.produceBlocks(BLOCKS_TO_PROOF + this.#finalityLag);
  }

  /**
   * The newest proof that a client with this state takes.
   * @param above height of the hub that the client knows.
   * @returns undefined when there is neither a newer height nor a session that it does not know.
   */
  async prove(trusted: BeefyClientState, above = 0n): Promise<HubProof | undefined> {
    const block = this.#choose(trusted);
    if (block === undefined) return undefined;
    const facts = await this.#facts(block);
    const isRotation = facts.justification.commitment.validatorSetId !== trusted.current.id;
    if (!isRotation && this.#heightIn(facts) <= above) return undefined;
    const built = runAtOnce(buildNaiveProof(trusted, facts));
    const { state, intermediates } = runAtOnce(verifyNaiveProof(trusted, built));
    const own = intermediates.at(-1);
    return {
      proof: encodeNaiveProof(built),
      state,
      height: own?.height ?? 0n,
      childTrieRoot: own?.commitment.stateRoot,
    };
  }

  /** The newest block of a session that the client can follow to, undefined when the client knows it. */
  #choose({ latestHeight, next }: BeefyClientState): number | undefined {
    let newest = this.#relay.beefyFinalized.number;
    while (BigInt(newest) > latestHeight && this.#relay.sessionOf(newest).beefySetId > next.id) newest--;
    return BigInt(newest) > latestHeight ? newest : undefined;
  }

  /** Height of the hub's head, 0 when there is none. */
  #heightIn({ heads }: NaiveProofInput): bigint {
    const own = heads.find(({ paraId }) => paraId === this.#paraId);
    return own === undefined ? 0n : BigInt(decodeSubstrateHeader(own.head).number);
  }

  #facts(block: number): Promise<NaiveProofInput> {
    if (this.#known?.block === block) return this.#known.facts;
    const facts = this.#read(block);
    this.#known = { block, facts };
    // Another try reads again.
    facts.catch(() => this.#known = undefined);
    return facts;
  }

  /** The hub is left out where it had no head yet. */
  async #read(number: number): Promise<NaiveProofInput> {
    const facts = await readProofInput(this.#relay, this.#connection.chain, number, [this.#paraId]);
    return { ...facts, paraIds: facts.heads.map(({ paraId }) => paraId).filter((id) => id === this.#paraId) };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#connection[Symbol.asyncDispose]();
  }
}

/** Proves the hub to an EVM host: one proof for each session that it has missed, and one for newer heights. */
export function hostUpdates(host: IsmpHost, prover: HubProver): UpdateStep {
  return async (last, isAsked) => {
    if (isAsked) prover.cover();
    for (let known = last;;) {
      const trusted = await readHubConsensus(host);
      const found = await prover.prove(trusted, known);
      if (found === undefined) return known;
      await deliverProof(host, toHex(found.proof));
      if (found.height > known) known = found.height;
      if (found.state.current.id === trusted.current.id) return known;
    }
  };
}

/** How a prover works. */
interface ProverProgramOptions {
  readonly hub: Hub;
  readonly relay: RelayChainNode;
  readonly proofs: HubProver;
  /** Every so many accepted proofs are a rotation; 0 (default): only those asked for. */
  readonly rotateEvery?: number;
}

/** Proves the hub to the hub. */
export class Prover {
  readonly #options: ProverProgramOptions;
  readonly #rotateEvery: number;
  #sinceRotation = 0;
  #provenRoot: string | undefined;

  constructor(options: ProverProgramOptions) {
    this.#options = options;
    this.#rotateEvery = options.rotateEvery ?? 0;
  }

  /** The relay chain begins a session, which is proved whether or not there are messages. */
  rotateNext(): void {
    this.#options.relay.rotate();
  }

  /**
   * Proves what the hub would accept: heights with messages, and all sessions.
   * @param isAsked everything that is final now is proved.
   * @returns the newest height that was proved, `last` when there was nothing.
   */
  async prove(last: bigint, isAsked = false): Promise<bigint> {
    if (isAsked) this.#options.proofs.cover();
    for (let proven = last;;) {
      const submitted = await this.#proveOnce();
      if (submitted === undefined) return proven;
      if (submitted.height > proven) proven = submitted.height;
      if (submitted.newSetId === undefined) return proven;
    }
  }

  async #proveOnce(): Promise<ProofAcceptance | undefined> {
    const { hub, relay, proofs } = this.#options;
    const trusted = hub.ownProofs.state;
    if (trusted === undefined) throw new Error("The hub was not given an authority set");
    const found = await proofs.prove(clientState(trusted));
    if (found === undefined) return undefined;
    const rotates = found.state.current.id > trusted.current.id;
    if (!rotates) {
      if (!this.#isNews(found)) return undefined;
      if (this.#rotateEvery > 0 && this.#sinceRotation >= this.#rotateEvery - 1) {
        // The height is proved together with the session that begins.
        if (relay.session.beefySetId === trusted.current.id) relay.rotate();
        return undefined;
      }
    }
    const submitted = await hub.ownProofs.submitProof(found.proof);
    this.#sinceRotation = rotates ? 0 : this.#sinceRotation + 1;
    this.#provenRoot = found.childTrieRoot;
    return submitted;
  }

  #isNews({ childTrieRoot }: HubProof): boolean {
    return childTrieRoot !== undefined && childTrieRoot !== this.#provenRoot;
  }
}
