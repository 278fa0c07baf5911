/**
 * The network's prover program: submits proofs of the hub to the hub, which accepts those that the live hub would, and lets
 * the relay chain rotate its authorities now and then.
 */
import type { Hub } from "../hub/hub.ts";
import type { SubmittedProof } from "../hub/own_proofs.ts";
import { clientState } from "../hub/pallets/beefy_proofs.ts";
import type { HubProof, HubProver } from "./hub_prover.ts";
import type { RelayChainNode } from "../relay/relay_chain.ts";

/** How a prover works. */
export interface ProverProgramOptions {
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

  async #proveOnce(): Promise<SubmittedProof | undefined> {
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
