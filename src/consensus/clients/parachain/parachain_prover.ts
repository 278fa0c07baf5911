/**
 * Proves a parachain to a sibling by its head in the state of their common relay chain: the hub to a parachain, or a
 * parachain to the hub, Polkadot Hub among them. Collators did this themselves until 2025; now relayers do. Start
 * reading at {@link ParachainProver.next}. Source: docs/protocol/hub-consensus.md sections 6, 7.
 */
import { mapError } from "../../spec/client_error.ts";
import type { LogRange } from "../../../core/chains/evm/rpc_schemas.ts";
import type { Address } from "../../../core/evm/address.ts";
import { hostEventTopics } from "../../../core/evm/host_abi.ts";
import { checkChainIds, type EvmReader } from "../../evm_reader.ts";
import { consensusClientIds } from "../../../core/ismp/consensus_clients.ts";
import { about, type CheckRow } from "../../../core/checks/check_row.ts";
import type { ConsensusClientView, ConsensusTarget } from "../../../core/chains/consensus_target.ts";
import type { Hash256 } from "../../../core/encoding/bytes.ts";
import {
  followedParachainKey,
  knownRelayHeightsCodec,
  knownRelayHeightsKey,
  ParachainError,
  relayStateRootKey,
  slotDurationCodec,
  slotDurationKey,
  verifyParachainHead,
} from "./spec/parachain_proof.ts";
import { type ParachainConsensusProof, parachainConsensusProofCodec } from "../../../core/ismp/proof.ts";
import { isPolkadotHub, POLKADOT_HUB_PARA_ID, polkadotHubAs } from "../../../core/ismp/polkadot_hub.ts";
import { parachainHeadKey } from "../../../core/substrate/parachain_heads.ts";
import type { IntermediateState, StateMachine } from "../../../core/ismp/state_machine.ts";
import { toParaId } from "../../../core/ismp/state_machine.ts";
import { decodeStrict, hash256, ScaleError } from "../../../core/encoding/scale.ts";
import { onFault } from "../../../core/rpc/call.ts";
import { requireUsable } from "../../target_client.ts";
import {
  BaseProver,
  type ClientObstacle,
  type ConsensusProver,
  type InitialConsensusState,
  type ProverFault,
  type ProverFinding,
  type ProverOptions,
} from "../../prover.ts";
import type { RelayChain } from "../../relay_chain/relay_chain.ts";

/** Dependencies of the prover. */
export interface ParachainProverDeps {
  /** The relay chain of both. */
  readonly relay: Pick<RelayChain, "host" | "fetchHash" | "fetchBlock" | "fetchReadProof" | "close">;
  /** The chain to prove to. */
  readonly target: ConsensusTarget;
  /** The host on Polkadot Hub; absent for parachains whose headers tell of messages. */
  readonly host?: IsmpHostReader;
}

/** The ISMP host of a chain whose headers do not tell of messages, by its events. */
export interface IsmpHostReader {
  readonly reader: Pick<EvmReader, "chain" | "fetchLogs" | "fetchChainIds">;
  readonly address: Address;
}

/** Events after which somebody waits for a proof of the chain's state. */
const TRAFFIC = [
  hostEventTopics.PostRequestEvent,
  hostEventTopics.GetRequestEvent,
  hostEventTopics.PostRequestHandled,
  hostEventTopics.GetRequestHandled,
  hostEventTopics.PostRequestTimeoutHandled,
  hostEventTopics.GetRequestTimeoutHandled,
  hostEventTopics.RequestFunded,
];

/** Options of the proved parachain; `consensusStateId` names the target's client. */
export interface ParachainProverOptions extends ProverOptions {
  /** The hub, whose heads are stored in their own form. */
  readonly hub: StateMachine;
  /** Minimum interval between heads without messages, seconds. Default 600. */
  readonly quietHeadSec?: bigint;
  /** Configuration key of the relay chain's node. Default `[hub.grandpa].rpc`. */
  readonly relayKey?: string;
}

/** Poll interval of a parachain that the hub does not follow: governance is slow. */
const NOT_FOLLOWED_POLL_MS = 3_600_000;

/**
 * Minimum interval between heads without messages. Newer heads are still useful: their timestamps prove timeouts. The
 * reference submits none without requests (tesseract/consensus/parachain/src/host.rs, has_relay_worthy_events).
 */
const DEFAULT_QUIET_HEAD_SEC = 600n;

/** Governance calls that the parachain client needs on the target before it accepts Polkadot Hub. */
const POLKADOT_HUB_CALLS =
  `IsmpParachain.add_parachain and IsmpParachain.set_slot_duration for parachain ${POLKADOT_HUB_PARA_ID}, and ` +
  "Ismp.update_consensus_state with a challenge period";

/** A relay chain block that the target knows from its own blocks. */
interface KnownRelayBlock {
  readonly height: number;
  readonly stateRoot: Hash256;
}

/** The client of the parachain on the target. */
interface FollowingClient {
  readonly client: ConsensusClientView;
  /** Slot duration by which it dates headers; `undefined`: it dates none by it. */
  readonly slotMs: bigint | undefined;
}

/** Proves a parachain to one sibling. */
export class ParachainProver extends BaseProver<ParachainProverOptions> implements ConsensusProver {
  readonly #deps: ParachainProverDeps;
  readonly #paraId: number;
  readonly #isPolkadotHub: boolean;
  readonly #quietHeadSec: bigint;

  /** @throws {RangeError} for Polkadot Hub by its own name instead of that under which verifiers store it. */
  constructor(deps: ParachainProverDeps, options: ParachainProverOptions) {
    super(options);
    const storedAs = polkadotHubAs(this.chain);
    if (storedAs !== undefined) throw new RangeError(`${this.chain} is stored as ${storedAs}`);
    this.#deps = deps;
    this.#isPolkadotHub = isPolkadotHub(this.chain);
    this.#paraId = this.#isPolkadotHub ? POLKADOT_HUB_PARA_ID : toParaId(this.chain);
    this.#quietHeadSec = options.quietHeadSec ?? DEFAULT_QUIET_HEAD_SEC;
  }

  /** Checks the target, and the endpoints of Polkadot Hub. */
  async check(signal: AbortSignal): Promise<readonly CheckRow[]> {
    const ofTarget = await this.checkHub(signal);
    if (!this.#isPolkadotHub) return ofTarget;
    const reader = this.#deps.host?.reader;
    const place = { chain: this.chain, key: "rpc_urls" };
    return [...reader === undefined ? [] : await checkChainIds(reader, place, signal), ...ofTarget];
  }

  /**
   * Checks the target. The hub need not follow the parachains that follow it; a configured parachain should follow the
   * hub, and the hub Polkadot Hub.
   */
  async checkHub(signal: AbortSignal): Promise<readonly CheckRow[]> {
    const result = this.#isOfHub || this.#isPolkadotHub ? "warning" : "ok";
    const found = await this.#readClient(signal);
    if (!("text" in found)) return [];
    return [about(this.chain)[result](found.event, `${this.#target} ${found.text}`)];
  }

  async next(signal: AbortSignal): Promise<ProverFinding> {
    const found = await this.#readClient(signal);
    if ("text" in found) {
      const reason = `${this.#target} ${found.text}`;
      return { kind: "nothing", reason, ...!this.#isOfHub && { againInMs: NOT_FOLLOWED_POLL_MS } };
    }
    const { client } = found;
    const nowSec = await this.#deps.target.reads.fetchNowSec(signal);
    requireUsable(this.commitmentId, this.#target, { client, nowSec });
    const known = await this.#fetchKnown(signal);
    return known === undefined
      ? { kind: "nothing", reason: `${this.#target} ${NO_RELAY_BLOCKS}` }
      : await this.#prove(known, found, signal);
  }

  /** Proves the head in that block, if it is new. */
  async #prove(
    known: KnownRelayBlock,
    { client, slotMs }: FollowingClient,
    signal: AbortSignal,
  ): Promise<ProverFinding> {
    const newest = `relay block ${known.height}, the newest that ${this.#target} knows`;
    const proof = await this.#fetchProof(known, signal);
    if (proof === undefined) return { kind: "nothing", reason: `the node has pruned ${newest}` };
    const head = this.#verify(proof, { ...known, slotMs });
    if (head === undefined) {
      return { kind: "nothing", reason: `parachain ${this.#paraId} has no head in ${newest}` };
    }
    const { height } = head.height;
    const latest = await this.#deps.target.reads.fetchLatestHeight(this.commitmentId, signal) ?? 0n;
    if (height <= latest) return { kind: "nothing", reason: `${newest}, has no newer head` };
    const isWorthIt = await this.#isWorthIt(head, latest, signal);
    if (isWorthIt === undefined) {
      const reason =
        `${newest}, has a newer head, block ${height}, which no endpoint of ${this.chain} has yet`;
      return { kind: "nothing", reason };
    }
    if (!isWorthIt) {
      const reason = `${newest}, has a newer head, but nothing was sent or received since block ${latest}: ` +
        `without messages a head is due every ${this.#quietHeadSec} s`;
      return { kind: "nothing", reason };
    }
    return {
      kind: "updates",
      proofs: [parachainConsensusProofCodec.enc(proof)],
      madeOn: client.state,
      height,
      summary: `head in relay block ${known.height}`,
      hasMore: false,
    };
  }

  /**
   * True when there are messages or receipts since the newest height that the target has, or that height is old;
   * `undefined`: that cannot be told yet.
   */
  async #isWorthIt(
    { commitment: head, height: { height } }: IntermediateState,
    latest: bigint,
    signal: AbortSignal,
  ): Promise<boolean | undefined> {
    const { target, host } = this.#deps;
    const at = { id: this.commitmentId, height: latest };
    const [known, updatedSec, nowSec] = await Promise.all([
      target.reads.fetchCommitment(at, signal),
      target.reads.fetchUpdateTime(at, signal),
      target.reads.fetchNowSec(signal),
    ]);
    if (known === undefined || updatedSec === undefined || nowSec - updatedSec >= this.#quietHeadSec) {
      return true;
    }
    if (host !== undefined) return await hasTraffic(host, { from: latest + 1n, to: height }, signal);
    // Both roots of the hub are message roots; the second root of others is that of the whole state.
    return known.overlayRoot !== head.overlayRoot || (this.#isOfHub && known.stateRoot !== head.stateRoot);
  }

  /** @throws {ProverFault} always: such clients have no state of their own. */
  fetchInitialState(): Promise<InitialConsensusState> {
    const calls = this.#isPolkadotHub
      ? `calls ${POLKADOT_HUB_CALLS} for ${this.chain}`
      : "lists the parachain (IsmpParachain.add_parachain)";
    const detail =
      "there is no state: clients of parachains trust the relay chain blocks of their own chain, which creates " +
      `them empty. Governance ${calls}`;
    return Promise.reject(this.fault("not_served", detail));
  }

  override async close(): Promise<void> {
    await Promise.all([this.#deps.relay.close(), this.#deps.target.close()]);
  }

  get #isOfHub(): boolean {
    return this.chain === this.options.hub;
  }

  get #relayKey(): string {
    return this.options.relayKey ?? "[hub.grandpa].rpc";
  }

  get #target(): StateMachine {
    return this.#deps.target.id.stateMachine;
  }

  /** Reads the client on the target, or why that accepts nothing of this parachain. */
  async #readClient(signal: AbortSignal): Promise<FollowingClient | ClientObstacle> {
    const { reads } = this.#deps.target;
    const client = await reads.fetchClient(this.consensusStateId, "best", signal);
    const name = `client ${this.consensusStateId} of ${this.chain}`;
    if (client === undefined) {
      return { event: "client_missing", text: `has no ${name}, so nothing of it can be proved` };
    }
    if (client.clientId !== consensusClientIds.parachain) {
      const text = `has ${client.clientId} as ${name}, which accepts no heads of parachains`;
      return { event: "client_unusable", text };
    }
    const keys = [
      followedParachainKey(this.#paraId),
      knownRelayHeightsKey(),
      slotDurationKey(this.#paraId),
    ];
    const [followed, heights, slot] = await reads.fetchStorage(keys, signal);
    if (followed === undefined) {
      const text =
        `does not list parachain ${this.#paraId} in IsmpParachain.Parachains: nothing of it can be ` +
        "proved until governance adds it (IsmpParachain.add_parachain)";
      return { event: "chain_not_accepted", text };
    }
    if (this.#isPolkadotHub && slot === undefined) {
      const text =
        `has no slot duration of parachain ${this.#paraId} in IsmpParachain.SlotDurations, by which its headers ` +
        "are dated: nothing of it can be proved until governance sets it (IsmpParachain.set_slot_duration)";
      return { event: "chain_not_accepted", text };
    }
    if (heights === undefined) return { event: "relay_blocks_unknown", text: NO_RELAY_BLOCKS };
    const slotMs = this.#isPolkadotHub && slot !== undefined
      ? this.#read("SlotDurations", () => decodeStrict(slotDurationCodec, slot, "SlotDurations"))
      : undefined;
    return { client, slotMs };
  }

  /** Fetches the newest relay chain block that a final block of the target builds on: no fork reverts it. */
  async #fetchKnown(signal: AbortSignal): Promise<KnownRelayBlock | undefined> {
    const { target } = this.#deps;
    const [heights] = await target.reads.fetchStorage([knownRelayHeightsKey()], signal, "final");
    const height = heights &&
      this.#read(
        "KnownRelayHeights",
        () => decodeStrict(knownRelayHeightsCodec, heights, "KnownRelayHeights").at(-1),
      );
    if (height === undefined) return undefined;
    const [root] = await target.reads.fetchStorage([relayStateRootKey(height)], signal);
    return root && {
      height,
      stateRoot: this.#read("CurrentRelayChainStateRoots", () => decodeStrict(hash256, root, "H256")),
    };
  }

  /** Fetches the proof; `undefined`: the node has pruned the state of that block. */
  async #fetchProof(
    { height: relayHeight, stateRoot }: KnownRelayBlock,
    signal: AbortSignal,
  ): Promise<ParachainConsensusProof | undefined> {
    const { relay } = this.#deps;
    const { header, hash } = await relay.fetchBlock(await relay.fetchHash(relayHeight, signal), signal);
    if (header.stateRoot !== stateRoot) {
      throw this.#badData(
        `its block ${relayHeight} is not the one that ${this.#target} knows: ${this.#relayKey} is another ` +
          "chain than the relay chain of both",
      );
    }
    const storageProof = await relay.fetchReadProof([parachainHeadKey(this.#paraId)], hash, signal)
      .catch(onFault(() => undefined, "pruned"));
    return storageProof && { relayHeight, storageProof };
  }

  /** Verifies the proof as the target will. */
  #verify(
    proof: ParachainConsensusProof,
    { stateRoot, slotMs }: KnownRelayBlock & Pick<FollowingClient, "slotMs">,
  ): IntermediateState | undefined {
    const view = {
      chain: this.#target,
      consensusStateId: this.consensusStateId,
      coprocessor: this.options.hub,
      relayStateRoot: stateRoot,
      slotMs,
    };
    return mapError(ParachainError, () => verifyParachainHead(proof, this.#paraId, view), (error) => {
      if (error.code === "heads_proof" || error.code === "head_missing") {
        return this.#badData(`its proof of the head does not verify (${error.code})`, error);
      }
      // Proven, so that no node is to blame.
      const detail = `${this.#target} would refuse the head of parachain ${this.#paraId} in relay block ` +
        `${proof.relayHeight} (${error.code})`;
      return this.fault("not_served", detail, { cause: error });
    });
  }

  #badData(detail: string, cause?: unknown): ProverFault {
    return this.fault("bad_data", detail, { endpoint: this.#deps.relay.host, cause });
  }

  #read<T>(item: string, read: () => T): T {
    return mapError(ScaleError, read, (cause) => {
      const detail = `IsmpParachain.${item} of ${this.#target} is unreadable`;
      return this.fault("hub_state", detail, { cause });
    });
  }
}

/** True when the host sent or received anything in those blocks; `undefined`: no endpoint has all of them yet. */
export async function hasTraffic(
  { reader, address }: IsmpHostReader,
  range: LogRange,
  signal: AbortSignal,
): Promise<boolean | undefined> {
  return await reader.fetchLogs({ address, topics: TRAFFIC }, range, signal)
    .then(({ length }) => length > 0, onFault(() => undefined, "lagging"));
}

const NO_RELAY_BLOCKS =
  "keeps no blocks of the relay chain (IsmpParachain.KnownRelayHeights): runtimes until 2025, whose collators submit " +
  "heads themselves, do not need proofs";
