/**
 * Proves a parachain to a sibling by its head in the state of their common relay chain: the hub to a parachain, or a
 * parachain to the hub. Collators did this themselves until 2025; now relayers do. Start reading at {@link
 * createParachainProver}. Source: docs/protocol/hub-consensus.md sections 6, 7.
 */
import { consensusClientIds } from "../../../core/ismp/consensus_client_ids.ts";
import type { CheckFinding, FindingText } from "../../../core/chains/check_finding.ts";
import type { ConsensusClientView, ConsensusTarget } from "../../../core/chains/consensus_target.ts";
import type { Hash256 } from "../../../core/encoding/bytes.ts";
import {
  followedParachainKey,
  knownRelayHeightsCodec,
  knownRelayHeightsKey,
  relayStateRootKey,
} from "./spec/hub_storage.ts";
import { ParachainError } from "./spec/parachain_error.ts";
import { verifyParachainHead } from "./spec/parachain_proof.ts";
import { type ParachainConsensusProof, parachainConsensusProofCodec } from "../../../core/ismp/proof.ts";
import { polkadotHubAs } from "../../../core/ismp/polkadot_hub.ts";
import { parachainHeadKey } from "../../../core/substrate/parachain_heads.ts";
import type { IntermediateState, StateCommitment } from "../../../core/ismp/state_commitment.ts";
import {
  type ConsensusStateId,
  type StateMachine,
  type StateMachineId,
  toParaId,
} from "../../../core/ismp/state_machine.ts";
import { decodeStrict, hash256, ScaleError } from "../../../core/encoding/scale.ts";
import { RpcFault } from "../../../core/rpc/fault.ts";
import { findUnusableReason } from "../../client_usability.ts";
import {
  type ConsensusProver,
  type InitialConsensusState,
  ProverFault,
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
}

/** Options of the proved parachain; `consensusStateId` names the target's client. */
export interface ParachainProverOptions extends ProverOptions {
  /** The hub, whose heads are stored in their own form. */
  readonly hub: StateMachine;
  /** Minimum interval between heads without messages, seconds. Default 600. */
  readonly quietHeadSec?: bigint;
}

/** Poll interval of a parachain that the hub does not follow: governance is slow. */
const NOT_FOLLOWED_POLL_MS = 3_600_000;

/**
 * Minimum interval between heads without messages. Newer heads are still useful: their timestamps prove timeouts. The
 * reference submits none without requests (tesseract/consensus/parachain/src/host.rs, has_relay_worthy_events).
 */
const DEFAULT_QUIET_HEAD_SEC = 600n;

/** A relay chain block that the target knows from its own blocks. */
interface KnownRelayBlock {
  readonly height: number;
  readonly stateRoot: Hash256;
}

/** Creates the prover of a parachain for one sibling. */
export function createParachainProver(
  deps: ParachainProverDeps,
  options: ParachainProverOptions,
): ConsensusProver {
  return new ParachainProver(deps, options);
}

class ParachainProver implements ConsensusProver {
  readonly chain: StateMachine;
  readonly consensusStateId: ConsensusStateId;
  readonly commitmentId: StateMachineId;
  readonly intervalMs: number;
  readonly #deps: ParachainProverDeps;
  readonly #hub: StateMachine;
  readonly #paraId: number;
  readonly #quietHeadSec: bigint;

  constructor(deps: ParachainProverDeps, options: ParachainProverOptions) {
    const { stateMachine, consensusStateId, intervalMs, hub, quietHeadSec } = options;
    this.chain = stateMachine;
    this.consensusStateId = consensusStateId;
    this.commitmentId = { stateMachine, consensusStateId };
    this.intervalMs = intervalMs;
    this.#deps = deps;
    this.#hub = hub;
    this.#paraId = toParaId(stateMachine);
    this.#quietHeadSec = quietHeadSec ?? DEFAULT_QUIET_HEAD_SEC;
  }

  /**
   * Checks the target. The hub need not follow the parachains that follow it; a configured parachain should follow the
   * hub.
   */
  async check(signal: AbortSignal): Promise<readonly CheckFinding[]> {
    const unserved = this.#findUnserved();
    if (unserved !== undefined) {
      return [{ severity: "fatal", event: "parachain_unsupported", text: unserved }];
    }
    const severity = this.#isOfHub ? "warning" : "note";
    const found = this.#obstacleOf(await this.#fetchClient(signal)) ?? await this.#findObstacle(signal);
    return found === undefined ? [] : [{ severity, ...found, text: `${this.#target} ${found.text}` }];
  }

  async next(signal: AbortSignal): Promise<ProverFinding> {
    const unserved = this.#findUnserved();
    if (unserved !== undefined) throw new ProverFault("not_served", { chain: this.chain, detail: unserved });
    const client = await this.#fetchClient(signal);
    const obstacle = this.#obstacleOf(client) ?? await this.#findObstacle(signal);
    if (client === undefined || obstacle !== undefined) {
      const reason = `${this.#target} ${obstacle?.text}`;
      return { kind: "nothing", reason, ...!this.#isOfHub && { againInMs: NOT_FOLLOWED_POLL_MS } };
    }
    await this.#requireFitness(client, signal);
    const known = await this.#fetchKnown(signal);
    return known === undefined
      ? { kind: "nothing", reason: `${this.#target} ${NO_RELAY_BLOCKS}` }
      : await this.#prove(known, client.state, signal);
  }

  /** Proves the head in that block, if it is new. */
  async #prove(known: KnownRelayBlock, madeOn: Uint8Array, signal: AbortSignal): Promise<ProverFinding> {
    const newest = `relay block ${known.height}, the newest that ${this.#target} knows`;
    const proof = await this.#fetchProof(known, signal);
    if (proof === undefined) return { kind: "nothing", reason: `the node has pruned ${newest}` };
    const head = this.#verify(proof, known);
    if (head === undefined) {
      return { kind: "nothing", reason: `parachain ${this.#paraId} has no head in ${newest}` };
    }
    const { height } = head.height;
    const latest = await this.#deps.target.reads.fetchLatestHeight(this.commitmentId, signal) ?? 0n;
    if (height <= latest) return { kind: "nothing", reason: `${newest}, has no newer head` };
    if (!await this.#isWorthIt(head.commitment, latest, signal)) {
      const reason = `${newest}, has a newer head, but nothing was sent or received since block ${latest}: ` +
        `without messages a head is due every ${this.#quietHeadSec} s`;
      return { kind: "nothing", reason };
    }
    return {
      kind: "updates",
      proofs: [parachainConsensusProofCodec.enc(proof)],
      madeOn,
      height,
      summary: `head in relay block ${known.height}`,
      hasMore: false,
    };
  }

  /** True when there are messages or receipts since the newest height that the target has, or that height is old. */
  async #isWorthIt(head: StateCommitment, latest: bigint, signal: AbortSignal): Promise<boolean> {
    const { target } = this.#deps;
    const at = { id: this.commitmentId, height: latest };
    const [known, updatedSec, nowSec] = await Promise.all([
      target.reads.fetchCommitment(at, signal),
      target.reads.fetchUpdateTime(at, signal),
      target.reads.fetchNowSec(signal),
    ]);
    if (known === undefined || updatedSec === undefined || nowSec - updatedSec >= this.#quietHeadSec) {
      return true;
    }
    // Both roots of the hub are message roots; the second root of others is that of the whole state.
    return known.overlayRoot !== head.overlayRoot || (this.#isOfHub && known.stateRoot !== head.stateRoot);
  }

  /** @throws {ProverFault} always: such clients have no state of their own. */
  fetchInitialState(): Promise<InitialConsensusState> {
    const detail =
      "there is no state: clients of parachains trust the relay chain blocks of their own chain. Governance " +
      "creates them empty and lists the parachain (IsmpParachain.add_parachain)";
    return Promise.reject(new ProverFault("not_served", { chain: this.chain, detail }));
  }

  async close(): Promise<void> {
    await Promise.all([this.#deps.relay.close(), this.#deps.target.close()]);
  }

  get #isOfHub(): boolean {
    return this.chain === this.#hub;
  }

  get #target(): StateMachine {
    return this.#deps.target.id.stateMachine;
  }

  #fetchClient(signal: AbortSignal): Promise<ConsensusClientView | undefined> {
    return this.#deps.target.reads.fetchClient(this.consensusStateId, "best", signal);
  }

  #obstacleOf(client: ConsensusClientView | undefined): FindingText | undefined {
    const name = `client ${this.consensusStateId} of ${this.chain}`;
    if (client === undefined) {
      return { event: "client_missing", text: `has no ${name}, so nothing of it can be proved` };
    }
    if (client.clientId === consensusClientIds.parachain) return undefined;
    const text = `has ${client.clientId} as ${name}, which accepts no heads of parachains`;
    return { event: "client_unusable", text };
  }

  /** Explains why this parachain cannot be proved by this program at all. */
  #findUnserved(): string | undefined {
    const storedAs = polkadotHubAs(this.chain);
    return storedAs && `${this.chain} is Polkadot Hub, which ${this.#target} stores as ${storedAs}: ` +
        "this program does not prove it yet; remove its section";
  }

  /** Explains why the client accepts nothing of this parachain. */
  async #findObstacle(signal: AbortSignal): Promise<FindingText | undefined> {
    const keys = [followedParachainKey(this.#paraId), knownRelayHeightsKey()];
    const [followed, heights] = await this.#deps.target.reads.fetchStorage(keys, signal);
    if (followed === undefined) {
      const text =
        `does not list parachain ${this.#paraId} in IsmpParachain.Parachains: nothing of it can be ` +
        "proved until governance adds it (IsmpParachain.add_parachain)";
      return { event: "chain_not_accepted", text };
    }
    return heights === undefined ? { event: "relay_blocks_unknown", text: NO_RELAY_BLOCKS } : undefined;
  }

  async #requireFitness(client: ConsensusClientView, signal: AbortSignal): Promise<void> {
    const where = `client ${this.consensusStateId} of ${this.#target}`;
    const unusable = findUnusableReason(where, client, await this.#deps.target.reads.fetchNowSec(signal));
    if (unusable === undefined) return;
    throw new ProverFault(unusable.code, { chain: this.chain, detail: unusable.detail });
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
        `its block ${relayHeight} is not the one that ${this.#target} knows: [hub.grandpa].rpc is another ` +
          "chain than the relay chain of both",
      );
    }
    try {
      const storageProof = await relay.fetchReadProof([parachainHeadKey(this.#paraId)], hash, signal);
      return { relayHeight, storageProof };
    } catch (error) {
      if (error instanceof RpcFault && error.code === "pruned") return undefined;
      throw error;
    }
  }

  /** Verifies the proof as the target will. */
  #verify(
    proof: ParachainConsensusProof,
    { stateRoot }: KnownRelayBlock,
  ): IntermediateState | undefined {
    const view = {
      chain: this.#target,
      consensusStateId: this.consensusStateId,
      coprocessor: this.#hub,
      relayStateRoot: stateRoot,
    };
    try {
      return verifyParachainHead(proof, this.#paraId, view);
    } catch (error) {
      if (!(error instanceof ParachainError)) throw error;
      throw this.#badData(`its proof of the head does not verify (${error.code})`, error);
    }
  }

  #badData(detail: string, cause?: unknown): ProverFault {
    const options = cause === undefined ? undefined : { cause };
    return new ProverFault(
      "bad_data",
      { chain: this.chain, endpoint: this.#deps.relay.host, detail },
      options,
    );
  }

  #read<T>(item: string, read: () => T): T {
    try {
      return read();
    } catch (cause) {
      if (!(cause instanceof ScaleError)) throw cause;
      const detail = `IsmpParachain.${item} of ${this.#target} is unreadable`;
      throw new ProverFault("hub_state", { chain: this.chain, detail }, { cause });
    }
  }
}

const NO_RELAY_BLOCKS =
  "keeps no blocks of the relay chain (IsmpParachain.KnownRelayHeights): runtimes until 2025, whose collators submit " +
  "heads themselves, do not need proofs";
