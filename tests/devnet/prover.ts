/**
 * The prover of a devnet whose relayers carry the hub's consensus proofs themselves: brings signed proofs to the hub,
 * which accepts those that the live hub would, and rotates the authority set now and then.
 */
import { authoritySetOf, signHubProof } from "./evm/hub_proof.ts";
import { DEVNET_ACCOUNTS } from "./evm/accounts.ts";
import { fromHex } from "../../src/core/protocol/bytes.ts";
import { paraIdOf } from "../../src/core/protocol/ismp/state_machine.ts";
import type { Hub } from "./hub/hub.ts";
import type { SubmittedProof } from "./hub/own_proofs.ts";
import type { HubState } from "./oracle.ts";

/** How a prover works. */
export interface ProverOptions {
  readonly hub: Hub;
  /** Every so many accepted proofs are a rotation; 0 (default): only those asked for. */
  readonly rotateEvery?: number;
}

/** Proves the hub to the hub. The only authority of every set is the oracle's account, as on fresh EVM hosts. */
export class Prover {
  readonly #hub: Hub;
  readonly #rotateEvery: number;
  #accepted = 0;
  #isRotationDue = false;
  #provenRoot: string | undefined;

  constructor(options: ProverOptions) {
    this.#hub = options.hub;
    this.#rotateEvery = options.rotateEvery ?? 0;
  }

  /** The next proof is a rotation, whether or not there are messages. */
  rotateNext(): void {
    this.#isRotationDue = true;
  }

  /**
   * Proves a final state of the hub, if the hub would accept the proof.
   * @returns undefined when there is nothing new to prove.
   */
  async prove(state: HubState): Promise<SubmittedProof | undefined> {
    const rotates = this.#isRotationDue ||
      (this.#rotateEvery > 0 && this.#accepted % this.#rotateEvery === this.#rotateEvery - 1);
    const isNews = state.childTrieRoot !== this.#provenRoot;
    if (!isNews && !this.#isRotationDue) return undefined;
    const submitted = await this.#hub.ownProofs.submitProof(await this.#sign(state, rotates));
    this.#accepted++;
    this.#provenRoot = state.childTrieRoot;
    if (rotates) this.#isRotationDue = false;
    return submitted;
  }

  async #sign(
    { height, timestampSec, mmrRoot, childTrieRoot }: HubState,
    rotates: boolean,
  ): Promise<Uint8Array> {
    const { ownProofs, identity } = this.#hub;
    const trusted = ownProofs.state;
    if (trusted === undefined) throw new Error("The hub was not given an authority set");
    const { current, next, latestBeefyHeight } = trusted;
    const authority = DEVNET_ACCOUNTS.oracle;
    const proof = await signHubProof({
      validatorSetId: rotates ? next.id : current.id,
      blockNumber: BigInt(latestBeefyHeight) + 1n,
      nextAuthoritySet: rotates ? authoritySetOf(authority.address, next.id + 1n) : next,
      commitments: [{
        paraId: BigInt(paraIdOf(identity.stateMachine)),
        height,
        timestampSec,
        mmrRoot,
        childTrieRoot,
      }],
    }, authority);
    return fromHex(proof);
  }
}
