/**
 * Proves parachains to a sibling by their heads in the state of the relay chain that all of them build on, with the prover
 * of the consensus relayer. Start reading at {@link ParachainUpdater.update}.
 */
import { ParachainProver } from "../../src/consensus/clients/parachain/parachain_prover.ts";
import type { ConsensusProver } from "../../src/consensus/prover.ts";
import type { StateMachine, StateMachineId } from "../../src/core/ismp/state_machine.ts";
import type { ConsensusConnection } from "../hub/consensus_work.ts";
import type { UpdateStep } from "./oracle.ts";
import type { RelayChainNode } from "../relay/relay_chain.ts";
import { connectRelay, type RelayConnection } from "../relay/relay_reader.ts";
import { connectReceiver, type Receiver, sendUpdate } from "./update_sender.ts";

const never = new AbortController().signal;

/** Keeps one chain current of parachains. */
export class ParachainUpdater implements AsyncDisposable {
  readonly #relay: RelayChainNode;
  readonly #receiver: Receiver;
  readonly #hub: StateMachine;
  readonly #reader: RelayConnection;
  readonly #connection: ConsensusConnection;
  /** Proofs are sent one after the other, whichever parachain they are for. */
  #running: Promise<unknown> = Promise.resolve();

  constructor(
    options: {
      readonly relay: RelayChainNode;
      readonly receiver: Receiver;
      readonly hub: StateMachine;
    },
  ) {
    this.#relay = options.relay;
    this.#receiver = options.receiver;
    this.#hub = options.hub;
    this.#reader = connectRelay(options.relay.wsUrl);
    this.#connection = connectReceiver(options.receiver);
  }

  /** Update step for one of them. */
  update(of: StateMachineId): UpdateStep {
    const prover = new ParachainProver(
      { relay: this.#reader.chain, target: this.#connection.hub },
      { ...of, intervalMs: 1_000, hub: this.#hub, quietHeadSec: 0n },
    );
    return (last, isAsked) => {
      const mine = this.#running.then(() => this.#update(prover, last, isAsked));
      this.#running = mine.catch(() => undefined);
      return mine;
    };
  }

  async #update(prover: ConsensusProver, last: bigint, isAsked: boolean): Promise<bigint> {
    const { node } = this.#receiver;
    if (isAsked) this.#cover();
    const finding = await prover.next(never);
    if (finding.kind === "updates") {
      const client = prover.consensusStateId;
      const { proofs } = finding;
      await sendUpdate(this.#receiver, this.#connection, { client, proofs, atOnce: isAsked });
    }
    return node.latestHeight(prover.commitmentId) ?? last;
  }

  /** Blocks until a final one of the receiver builds on what the relay chain has now. */
  #cover(): void {
    const { node } = this.#receiver;
    this.#relay.produceBlocks(1);
    const { number } = node.produceBlock();
    while (node.finalized.number < number) node.produceBlock();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#running;
    await Promise.all([this.#reader[Symbol.asyncDispose](), this.#connection[Symbol.asyncDispose]()]);
  }
}
