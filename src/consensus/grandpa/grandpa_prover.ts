/**
 * Proves the finality of the hub to a Substrate chain by the votes of the chain that finalizes the hub.
 * Start reading at {@link createGrandpaProver}. Source: 05-hub-consensus section 4 of the protocol notes.
 */
import type { CheckFinding } from "../../core/chains/chain.ts";
import type { ConsensusHub } from "../../core/chains/consensus_hub.ts";
import { GrandpaError } from "../../core/protocol/consensus/grandpa/grandpa_error.ts";
import {
  currentSetIdKey,
  grandpaNumberCodec,
  supportedStateMachineKey,
} from "../../core/protocol/consensus/grandpa/hub_storage.ts";
import {
  type FinalityProof,
  grandpaAuthoritiesCodec,
  type GrandpaConsensusState,
  grandpaConsensusStateCodec,
  type GrandpaMessage,
  grandpaMessageCodec,
  messageVariantOf,
} from "../../core/protocol/consensus/grandpa/message.ts";
import {
  decodeGrandpaState,
  type GrandpaView,
  type VerifiedFinality,
  type VerifiedGrandpaMessage,
  verifyCommitments,
} from "../../core/protocol/consensus/grandpa/verify_message.ts";
import { parachainHeadKey } from "../../core/protocol/consensus/parachain_heads.ts";
import type { IntermediateState } from "../../core/protocol/ismp/state_commitment.ts";
import {
  type ConsensusClientId,
  type ConsensusStateId,
  formatStateMachine,
  type StateMachine,
  type StateMachineId,
  stateMachineParts,
  toConsensusClientId,
} from "../../core/protocol/ismp/state_machine.ts";
import { decodeStrict, ScaleError } from "../../core/protocol/scale.ts";
import {
  type ConsensusProver,
  type InitialConsensusState,
  ProverFault,
  type ProverFinding,
} from "../prover.ts";
import type { RelayChain } from "../relay_chain/relay_chain.ts";
import { type FinalityResult, findFinality } from "./find_finality.ts";

/** What the prover works with. */
export interface GrandpaProverDeps {
  /** The chain that finalizes the hub. */
  readonly relay: RelayChain;
  /** The chain that is told. */
  readonly sink: ConsensusHub;
}

/** What the configuration says. */
export interface GrandpaProverOptions {
  /** The hub. */
  readonly stateMachine: StateMachine;
  /** Under which the sink knows the hub. */
  readonly consensusStateId: ConsensusStateId;
  /** Parachains whose heads are proved; empty for a standalone chain. */
  readonly paraIds: readonly number[];
  readonly maxBlockRange: number;
  readonly slotDurationMs: number;
  readonly intervalMs: number;
}

/** Client of GRANDPA chains. */
export const GRANDPA_CLIENT_ID: ConsensusClientId = toConsensusClientId("GRNP");

/** Seconds for which a GRANDPA client may go without an update (67.5 days). */
export const GRANDPA_UNBONDING_SEC = 5_832_000n;

/** Seconds for which commitments may be challenged. */
export const GRANDPA_CHALLENGE_SEC = 300n;

/** Until the next look when the newest votes cannot be used: a relay chain makes a block meanwhile. */
const OTHER_VOTES_MS = 6_000;

/** The prover of the hub for one chain. */
export function createGrandpaProver(deps: GrandpaProverDeps, options: GrandpaProverOptions): ConsensusProver {
  return new GrandpaProver(deps, options);
}

class GrandpaProver implements ConsensusProver {
  readonly chain: StateMachine;
  readonly consensusStateId: ConsensusStateId;
  readonly commitmentsUnder: StateMachineId;
  readonly intervalMs: number;
  readonly #deps: GrandpaProverDeps;
  readonly #options: GrandpaProverOptions;

  constructor(deps: GrandpaProverDeps, options: GrandpaProverOptions) {
    this.chain = options.stateMachine;
    this.consensusStateId = options.consensusStateId;
    this.commitmentsUnder = {
      stateMachine: options.stateMachine,
      consensusStateId: options.consensusStateId,
    };
    this.intervalMs = options.intervalMs;
    this.#deps = deps;
    this.#options = options;
  }

  async check(signal: AbortSignal): Promise<readonly CheckFinding[]> {
    const client = await this.#deps.sink.fetchClient(this.consensusStateId, "best", signal);
    const sink = this.#deps.sink.id.stateMachine;
    const warn = (
      text: string,
    ): readonly CheckFinding[] => [{ severity: "warning", text: `${sink} ${text}` }];
    if (client === undefined) {
      return warn(
        `has no client ${this.consensusStateId} of the hub; nothing can be proved to it until its governance ` +
          "creates one (log-consensus-state prints the state for it)",
      );
    }
    if (client.clientId !== GRANDPA_CLIENT_ID) {
      return warn(`has ${client.clientId} as client ${this.consensusStateId}, which takes no GRANDPA proofs`);
    }
    if ((await this.#fetchView(signal)).supported.size > 0) return [];
    return warn(
      `does not list the hub in IsmpGrandpa.SupportedStateMachines: proofs bring it no heights until its ` +
        "governance does",
    );
  }

  async next(signal: AbortSignal): Promise<ProverFinding> {
    const trusted = await this.#fetchTrusted(signal);
    const found = await findFinality(this.#deps.relay, trusted, this.#options.maxBlockRange, signal);
    if (found.kind !== "found") return this.#idle(found, trusted);
    const message = await this.#complete(found.proof, trusted, signal);
    const verified = this.#verify(trusted, message, found.verified, await this.#fetchView(signal));
    const { consensusState } = verified;
    // What is further away than a proof may reach needs a step, even one without news.
    const isRangeFull = found.finalHeight - trusted.latestHeight > this.#options.maxBlockRange;
    const changesSet = consensusState.currentSetId !== trusted.currentSetId;
    const news = await this.#newHeights(verified.commitments, signal);
    if (news.length === 0 && !changesSet && !isRangeFull) {
      return { kind: "nothing", reason: "the final block brings no newer height of the hub" };
    }
    return {
      kind: "updates",
      proofs: [grandpaMessageCodec.enc(message)],
      height: news.at(-1)?.height.height,
      summary: `final relay block ${consensusState.latestHeight}, set ${consensusState.currentSetId}`,
      hasMore: found.finalHeight > consensusState.latestHeight,
    };
  }

  async fetchInitialState(signal: AbortSignal): Promise<InitialConsensusState> {
    const { relay } = this.#deps;
    const { header, hash } = await relay.fetchFinalized(signal);
    const [stored, authorities] = await Promise.all([
      relay.fetchStorage([currentSetIdKey()], hash, signal),
      relay.callRuntime("GrandpaApi_grandpa_authorities", hash, signal),
    ]);
    const state: GrandpaConsensusState = {
      currentAuthorities: this.#read(() =>
        decodeStrict(grandpaAuthoritiesCodec, authorities, "AuthorityList")
      ),
      currentSetId: this.#read(() =>
        decodeStrict(grandpaNumberCodec, stored[0] ?? new Uint8Array(8), "SetId")
      ),
      latestHeight: header.number,
      latestHash: hash,
      slotDurationMs: BigInt(this.#options.slotDurationMs),
      stateMachine: this.chain,
    };
    if (new Set(state.currentAuthorities.map(({ id }) => id)).size !== state.currentAuthorities.length) {
      throw this.#badData("the node lists an authority twice");
    }
    return {
      clientId: GRANDPA_CLIENT_ID,
      state: grandpaConsensusStateCodec.enc(state),
      unbondingSec: GRANDPA_UNBONDING_SEC,
      challengePeriods: new Map([[this.chain, GRANDPA_CHALLENGE_SEC]]),
      commitments: [],
    };
  }

  async close(): Promise<void> {
    await Promise.all([this.#deps.relay.close(), this.#deps.sink.close()]);
  }

  async #fetchTrusted(signal: AbortSignal): Promise<GrandpaConsensusState> {
    const { sink } = this.#deps;
    const client = await sink.fetchClient(this.consensusStateId, "best", signal);
    const where = `client ${this.consensusStateId} of ${sink.id.stateMachine}`;
    if (client === undefined) throw this.#sinkFault(`${where} does not exist: its governance must create it`);
    if (client.clientId !== GRANDPA_CLIENT_ID) throw this.#sinkFault(`${where} takes no GRANDPA proofs`);
    if (client.isFrozen) throw this.#sinkFault(`${where} is frozen`);
    try {
      return decodeGrandpaState(client.state);
    } catch (error) {
      if (error instanceof GrandpaError) throw this.#sinkFault(`the state of ${where} is unreadable`, error);
      throw error;
    }
  }

  #sinkFault(detail: string, cause?: unknown): ProverFault {
    return new ProverFault(
      "hub_state",
      this.chain,
      undefined,
      detail,
      cause === undefined ? undefined : { cause },
    );
  }

  #badData(detail: string, cause?: unknown): ProverFault {
    const options = cause === undefined ? undefined : { cause };
    return new ProverFault("bad_data", this.chain, this.#deps.relay.host, detail, options);
  }

  #read<T>(read: () => T): T {
    try {
      return read();
    } catch (error) {
      if (error instanceof ScaleError) throw this.#badData("unreadable answer about GRANDPA", error);
      throw error;
    }
  }

  #idle(
    found: Exclude<FinalityResult, { kind: "found" }>,
    { latestHeight }: GrandpaConsensusState,
  ): ProverFinding {
    if (found.kind === "current") return { kind: "nothing", reason: "no newer final block" };
    if (found.kind === "other_chain") {
      const detail =
        `its newest block is not on the chain of ${this.#deps.relay.host}: [hub.grandpa].rpc is another ` +
        "chain, or the client was created for another one";
      throw this.#sinkFault(detail);
    }
    const lie = found.refused.find(({ code }) => code !== "unused_headers");
    if (lie !== undefined) throw this.#badData(`its justification does not verify (${lie.code})`, lie);
    if (found.refused.length > 0) {
      const reason =
        "the votes are for different blocks, which the verifier refuses; another block is tried later";
      return { kind: "nothing", reason, againInMs: OTHER_VOTES_MS };
    }
    const { maxBlockRange } = this.#options;
    const reason = found.finalHeight - latestHeight > maxBlockRange
      ? `the node keeps no justification for any of the ${maxBlockRange} blocks after the known one ` +
        "(max_block_range)"
      : "the node keeps no justification for a block after the known one";
    return { kind: "nothing", reason };
  }

  /** Adds what the kind of the hub needs: heads of parachains, or nothing. */
  async #complete(
    finalityProof: FinalityProof,
    { stateMachine }: GrandpaConsensusState,
    signal: AbortSignal,
  ): Promise<GrandpaMessage> {
    const tag = messageVariantOf(stateMachine);
    if (tag === undefined) throw this.#sinkFault(`it follows ${stateMachine}, which has no GRANDPA`);
    if (tag === "StandaloneChain") return { tag, value: { finalityProof } };
    const { paraIds } = this.#options;
    const keys = paraIds.map(parachainHeadKey);
    const stateProof = await this.#deps.relay.fetchReadProof(keys, finalityProof.block, signal);
    const parachainHeaders = new Map([[finalityProof.block, { stateProof, paraIds }]]);
    return { tag, value: { finalityProof, parachainHeaders } };
  }

  /** What the sink would know: which chains it follows is in its storage. */
  async #fetchView(signal: AbortSignal): Promise<GrandpaView> {
    const { sink } = this.#deps;
    const { tag } = stateMachineParts(this.chain);
    const family = tag === "Kusama" ? "Kusama" as const : "Polkadot" as const;
    const followed = tag === "Substrate" ? [this.chain] : this.#options.paraIds.flatMap((value) => [
      formatStateMachine({ tag: family, value }),
      formatStateMachine({ tag: "Relay", value: { relay: this.consensusStateId, paraId: value } }),
    ]);
    const stored = await sink.fetchStorage(followed.map(supportedStateMachineKey), signal);
    const supported = followed.flatMap((chain, at) => {
      const value = stored[at];
      return value === undefined ? [] : [[chain, this.#slotMs(value)] as const];
    });
    return {
      consensusStateId: this.consensusStateId,
      coprocessor: this.chain,
      supported: new Map(supported),
    };
  }

  #slotMs(stored: Uint8Array): bigint {
    try {
      return decodeStrict(grandpaNumberCodec, stored, "SlotDuration");
    } catch (cause) {
      if (!(cause instanceof ScaleError)) throw cause;
      throw this.#sinkFault("its IsmpGrandpa.SupportedStateMachines is unreadable", cause);
    }
  }

  /** The votes were checked when they were found. */
  #verify(
    trusted: GrandpaConsensusState,
    message: GrandpaMessage,
    finality: VerifiedFinality,
    view: GrandpaView,
  ): VerifiedGrandpaMessage {
    try {
      return verifyCommitments(trusted, message, finality, view);
    } catch (error) {
      if (!(error instanceof GrandpaError)) throw error;
      throw this.#badData(`its proof of the heads does not verify (${error.code})`, error);
    }
  }

  /** Heights that the sink does not have, ascending. */
  async #newHeights(
    commitments: readonly IntermediateState[],
    signal: AbortSignal,
  ): Promise<readonly IntermediateState[]> {
    const known = await Promise.all(
      commitments.map(({ height }) => this.#deps.sink.fetchLatestHeight(height.id, signal)),
    );
    return commitments.filter(({ height }, at) => height.height > (known[at] ?? 0n))
      .toSorted((a, b) => Number(a.height.height - b.height.height));
  }
}
