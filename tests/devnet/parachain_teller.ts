/**
 * Proves parachains to a sibling by their heads in the state of the relay chain that all of them build on, as the live
 * network's relayer does. Start reading at {@link ParachainTeller.tell}. Source: 05-hub-consensus section 6 of the
 * protocol notes.
 */
import type { Hash256 } from "../../src/core/protocol/bytes.ts";
import { decodeHeadData, parachainHeadKey } from "../../src/core/protocol/consensus/parachain_heads.ts";
import { decodeSubstrateHeader } from "../../src/core/protocol/consensus/substrate_header.ts";
import { paraIdOf, type StateMachineId } from "../../src/core/protocol/ismp/state_machine.ts";
import { storagePrefix } from "../../src/core/protocol/ismp/storage_keys.ts";
import { decodeStrict, list, u32 } from "../../src/core/protocol/scale.ts";
import type { ConsensusConnection } from "./hub/consensus_work.ts";
import { parachainUpdateCodec } from "./hub/pallets/parachain_client.ts";
import type { Tell } from "./oracle.ts";
import type { RelayChainNode } from "./relay/relay_chain.ts";
import { connectRelay, type RelayConnection } from "./relay/relay_reader.ts";
import { connectReceiver, type Receiver, sendUpdate } from "./update_sender.ts";

const never = new AbortController().signal;

/** A block of the relay chain that the receiver knows. */
interface KnownRelay {
  readonly height: number;
  readonly hash: Hash256;
}

/** Tells one chain of all the parachains that it follows: every proof is about all of them. */
export class ParachainTeller implements AsyncDisposable {
  readonly #relay: RelayChainNode;
  readonly #receiver: Receiver;
  /** Names of the parachains on the receiver; all are of one client. */
  readonly #followed: readonly StateMachineId[];
  readonly #reader: RelayConnection;
  readonly #connection: ConsensusConnection;
  /** Proofs are sent one after the other, whichever parachain they are for. */
  #running: Promise<unknown> = Promise.resolve();

  constructor(
    options: {
      readonly relay: RelayChainNode;
      readonly receiver: Receiver;
      readonly followed: readonly StateMachineId[];
    },
  ) {
    this.#relay = options.relay;
    this.#receiver = options.receiver;
    this.#followed = options.followed;
    this.#reader = connectRelay(options.relay.wsUrl);
    this.#connection = connectReceiver(options.receiver);
  }

  /** Tells of one of them. */
  tell(of: StateMachineId): Tell {
    return (last, isAsked) => {
      const mine = this.#running.then(() => this.#tell(of, last, isAsked));
      this.#running = mine.catch(() => undefined);
      return mine;
    };
  }

  async #tell(of: StateMachineId, last: bigint, isAsked: boolean): Promise<bigint> {
    const { node } = this.#receiver;
    if (isAsked) {
      this.#relay.produceBlocks(1);
      // Its parent on the relay chain is the block that was just made.
      node.produceBlock();
    }
    const known = node.latestHeight(of) ?? last;
    const at = await this.#newestKnown();
    const head = at && await this.#headAt(of, at.hash);
    if (at === undefined || head === undefined || head <= known) return known;
    const keys = this.#followed.map(({ stateMachine }) => parachainHeadKey(paraIdOf(stateMachine)));
    const storageProof = await this.#reader.chain.fetchReadProof(keys, at.hash, never);
    const proof = parachainUpdateCodec.enc({ relayHeight: at.height, storageProof });
    const client = of.consensusStateId;
    await sendUpdate(this.#receiver, this.#connection, { client, proofs: [proof], atOnce: isAsked });
    return node.latestHeight(of) ?? known;
  }

  /** The newest block of the relay chain whose state root the receiver has. */
  async #newestKnown(): Promise<KnownRelay | undefined> {
    const key = storagePrefix("IsmpParachain", "KnownRelayHeights");
    const [stored] = await this.#connection.hub.fetchStorage([key], never);
    const height = stored && decodeStrict(list(u32), stored, "KnownRelayHeights").at(-1);
    if (height === undefined) return undefined;
    return { height, hash: await this.#reader.chain.fetchHash(height, never) };
  }

  /** Height of a parachain's head at a block of the relay chain; undefined without one. */
  async #headAt({ stateMachine }: StateMachineId, hash: Hash256): Promise<bigint | undefined> {
    const key = parachainHeadKey(paraIdOf(stateMachine));
    const [stored] = await this.#reader.chain.fetchStorage([key], hash, never);
    return stored && BigInt(decodeSubstrateHeader(decodeHeadData(stored)).number);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#running;
    await Promise.all([this.#reader[Symbol.asyncDispose](), this.#connection[Symbol.asyncDispose]()]);
  }
}
