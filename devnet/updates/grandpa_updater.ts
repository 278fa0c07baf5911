/**
 * Proves a chain to another one by GRANDPA votes, with the prover of the consensus relayer: the hub of a devnet to its
 * Substrate chains by those of the relay chain, a standalone chain to the hub by its own.
 * Start reading at {@link GrandpaUpdater.update}.
 */
import {
  GrandpaProver,
  type GrandpaProverOptions,
} from "../../src/consensus/clients/grandpa/grandpa_prover.ts";
import type { ConsensusProver, InitialConsensusState } from "../../src/consensus/prover.ts";
import { type StateMachineId, stateMachineParts, toParaId } from "../../src/core/ismp/state_machine.ts";
import { connectConsensus, type ConsensusConnection } from "../hub/consensus_work.ts";
import type { HubIdentity } from "../hub/node.ts";
import { connectRelay } from "../relay/relay_reader.ts";
import { connectReceiver, type Receiver, sendUpdate } from "./update_sender.ts";

const never = new AbortController().signal;

/** A chain that votes: that of the followed one, or the followed one itself. */
export interface VotingChain {
  readonly wsUrl: string;
  /** Makes blocks until what is final on the followed chain now can be proved. */
  readonly cover?: () => void;
}

/** What a chain trusts that begins to follow another one now. */
export async function grandpaStateOf(
  { wsUrl }: VotingChain,
  followed: HubIdentity,
): Promise<InitialConsensusState> {
  await using reader = connectRelay(wsUrl);
  // The first state needs no receiver: nothing is sent there.
  await using nowhere = connectConsensus({ identity: followed, wsUrl });
  const prover = new GrandpaProver({ relay: reader.chain, target: nowhere.hub }, proverOptions(followed));
  return await prover.fetchInitialState(never);
}

/** Keeps one chain current of another one. */
export class GrandpaUpdater implements AsyncDisposable {
  readonly #voting: VotingChain;
  readonly #followed: StateMachineId;
  readonly #receiver: Receiver;
  readonly #connection: ConsensusConnection;
  readonly #prover: ConsensusProver;

  constructor(
    { voting, followed, receiver }: {
      readonly voting: VotingChain;
      /** As the receiver knows it. */
      readonly followed: StateMachineId;
      readonly receiver: Receiver;
    },
  ) {
    this.#voting = voting;
    this.#followed = followed;
    this.#receiver = receiver;
    this.#connection = connectReceiver(receiver);
    this.#prover = new GrandpaProver(
      { relay: connectRelay(voting.wsUrl).chain, target: this.#connection.hub },
      proverOptions(followed),
    );
  }

  /** Submits all that is final; see `UpdateStep`. */
  readonly update = async (last: bigint, isAsked: boolean): Promise<bigint> => {
    if (isAsked) this.#voting.cover?.();
    for (;;) {
      const finding = await this.#prover.next(never);
      if (finding.kind === "nothing") return this.#known(last);
      await sendUpdate(this.#receiver, this.#connection, {
        client: this.#followed.consensusStateId,
        proofs: finding.proofs,
        atOnce: isAsked,
      });
      if (!finding.hasMore) return this.#known(last);
    }
  };

  #known(last: bigint): bigint {
    return this.#receiver.node.latestHeight(this.#followed) ?? last;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#prover.close();
  }
}

function proverOptions({ stateMachine, consensusStateId }: StateMachineId): GrandpaProverOptions {
  const isStandalone = stateMachineParts(stateMachine).tag === "Substrate";
  return {
    stateMachine,
    consensusStateId,
    paraIds: isStandalone ? [] : [toParaId(stateMachine)],
    maxBlockRange: 2400,
    slotDurationMs: 6000,
    intervalMs: 1000,
  };
}
