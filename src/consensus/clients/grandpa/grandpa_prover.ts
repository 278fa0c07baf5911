/**
 * Proves the finality of the hub to a Substrate chain by the votes on the chain that finalizes the hub. Start reading
 * at {@link GrandpaProver.next}. Source: docs/protocol/hub-consensus.md section 4.
 */
import { mapError } from "../../spec/client_error.ts";
import { consensusClientIds } from "../../../core/ismp/consensus_clients.ts";
import { about, type CheckRow } from "../../../core/checks/check_row.ts";
import type { Hash256 } from "../../../core/encoding/bytes.ts";
import type { ConsensusTarget } from "../../../core/chains/consensus_target.ts";
import {
  currentSetIdKey,
  grandpaAuthoritiesCodec,
  type GrandpaConsensusState,
  grandpaConsensusStateCodec,
  GrandpaError,
  type GrandpaFinalityProof,
  type GrandpaMessage,
  grandpaMessageCodec,
  grandpaNumberCodec,
  messageVariantOf,
  type ParachainHeaders,
  supportedStateMachineKey,
} from "./spec/message.ts";
import {
  decodeGrandpaState,
  type FinalMessage,
  type GrandpaView,
  type VerifiedGrandpaMessage,
  verifyCommitments,
} from "./spec/verify_message.ts";
import { parachainHeadKey } from "../../../core/substrate/parachain_heads.ts";
import { decodeStrict, ScaleError } from "../../../core/encoding/scale.ts";
import { onFault } from "../../../core/rpc/call.ts";
import {
  BaseProver,
  type ConsensusProver,
  type InitialConsensusState,
  type ProverFault,
  type ProverFinding,
  type ProverOptions,
  usualPeriods,
} from "../../prover.ts";
import type { RelayChain } from "../../relay_chain/relay_chain.ts";
import { type FinalityResult, FinalitySearch } from "./find_finality.ts";
import { TargetClient } from "../../target_client.ts";
import {
  formatStateMachine,
  type IntermediateState,
  type StateMachine,
  stateMachineParts,
} from "../../../core/ismp/state_machine.ts";

/** Dependencies of the prover. */
export interface GrandpaProverDeps {
  /** The chain that finalizes the hub. */
  readonly relay: RelayChain;
  /** The chain that follows the hub. */
  readonly target: ConsensusTarget;
}

/** Configured options of the hub, whose client on the target has that name. */
export interface GrandpaProverOptions extends ProverOptions {
  /** Parachains whose heads are proved; empty for a standalone chain. */
  readonly paraIds: readonly number[];
  readonly maxBlockRange: number;
  readonly slotDurationMs: number;
}

/** Poll interval while the next block may help: the relay chain makes one in the meantime. */
const NEXT_BLOCK_MS = 6_000;

/** Proves the hub to one chain. */
export class GrandpaProver extends BaseProver<GrandpaProverOptions> implements ConsensusProver {
  readonly #deps: GrandpaProverDeps;
  readonly #client: TargetClient<GrandpaConsensusState>;
  readonly #search: FinalitySearch;

  constructor(deps: GrandpaProverDeps, options: GrandpaProverOptions) {
    super(options);
    this.#deps = deps;
    this.#client = new TargetClient(deps.target, options, {
      clientId: consensusClientIds.grandpa,
      owner: deps.target.id.stateMachine,
      decode: decodeGrandpaState,
    });
    this.#search = new FinalitySearch(deps.relay, options.maxBlockRange);
  }

  /** @throws {ProverFault} of a client that accepts no updates */
  async check(signal: AbortSignal): Promise<readonly CheckRow[]> {
    await this.#client.fetch(signal);
    if ((await this.#fetchView(signal)).supported.size > 0) return [];
    const target = this.#deps.target.id.stateMachine;
    const found =
      `${target} does not list the hub in IsmpGrandpa.SupportedStateMachines: proofs advance no heights there ` +
      "until its governance does";
    return [about(target).warning("hub_not_accepted", found)];
  }

  async next(signal: AbortSignal): Promise<ProverFinding> {
    const [{ state: trusted, bytes: madeOn }, bestSetId] = await Promise.all([
      this.#client.fetch(signal),
      this.#fetchBestSetId(signal),
    ]);
    const { maxBlockRange } = this.options;
    const found = await this.#search.find(trusted, signal);
    // A change of the set that is not final yet is followed at once, since it blocks everything after it.
    const isSetAhead = (known: bigint): boolean => bestSetId > known;
    const soon = isSetAhead(trusted.currentSetId) ? { againInMs: NEXT_BLOCK_MS } : {};
    if (found.kind === "current") return { kind: "nothing", reason: "no newer final block", ...soon };
    if (found.kind !== "found") return this.#idle(found, trusted);
    const message = await this.#complete(found.proof, trusted, signal);
    const proved = { message, finality: found.verified };
    const verified = this.#verify(trusted, proved, await this.#fetchView(signal));
    const { consensusState } = verified;
    // A block beyond the range of one proof needs an intermediate step, even one without new heights.
    const isRangeFull = found.finalHeight - trusted.latestHeight > maxBlockRange;
    const changesSet = consensusState.currentSetId !== trusted.currentSetId;
    const heights = await this.#newHeights(verified.commitments, signal);
    const withoutHeads = message.tag !== "StandaloneChain" && message.value.parachainHeaders.size === 0;
    if (heights.length === 0 && !changesSet && !isRangeFull) {
      const reason = withoutHeads
        ? "the node has pruned the heads of the newest block that can be proved"
        : "the final block proves no newer height of the hub";
      return { kind: "nothing", reason, ...soon };
    }
    const without = withoutHeads ? ", without heads, which the node has pruned" : "";
    return {
      kind: "updates",
      proofs: [grandpaMessageCodec.enc(message)],
      madeOn,
      height: heights.at(-1)?.height.height,
      summary:
        `final relay block ${consensusState.latestHeight}, set ${consensusState.currentSetId}${without}`,
      hasMore: found.finalHeight > consensusState.latestHeight || isSetAhead(consensusState.currentSetId),
      adviceIfTooLarge: `try a smaller [hub.grandpa].max_block_range (it is ${maxBlockRange})`,
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
      currentSetId: this.#readSetId(stored[0]),
      latestHeight: header.number,
      latestHash: hash,
      slotDurationMs: BigInt(this.options.slotDurationMs),
      stateMachine: this.chain,
    };
    if (new Set(state.currentAuthorities.map(({ id }) => id)).size !== state.currentAuthorities.length) {
      throw this.#badData("the node lists an authority twice");
    }
    return {
      clientId: consensusClientIds.grandpa,
      state: grandpaConsensusStateCodec.enc(state),
      ...usualPeriods(this.chain),
      commitments: [],
    };
  }

  override async close(): Promise<void> {
    await Promise.all([this.#deps.relay.close(), this.#deps.target.close()]);
  }

  /**
   * Reads what the client knows besides its state. The hub of a chain is its coprocessor: a chain cannot be asked for it
   * (`pallet_ismp::Config::Coprocessor` is no constant of the metadata), and one with another hub accepts no messages of
   * this hub.
   */
  async #fetchView(signal: AbortSignal): Promise<GrandpaView> {
    const { stateMachine, consensusStateId } = this.options;
    const followed = namesOnTarget(this.options);
    const keys = followed.map(supportedStateMachineKey);
    const stored = await this.#deps.target.reads.fetchStorage(keys, signal);
    const supported = followed.flatMap((chain, at) => {
      const value = stored[at];
      return value === undefined ? [] : [[chain, this.#readSlotMs(value)] as const];
    });
    return { consensusStateId, coprocessor: stateMachine, supported: new Map(supported) };
  }

  #readSlotMs(stored: Uint8Array): bigint {
    return mapError(
      ScaleError,
      () => decodeStrict(grandpaNumberCodec, stored, "SlotDuration"),
      (cause) => this.#client.fault("its IsmpGrandpa.SupportedStateMachines is unreadable", cause),
    );
  }

  /** Returns the heights that the target does not have, ascending. */
  async #newHeights(
    commitments: readonly IntermediateState[],
    signal: AbortSignal,
  ): Promise<readonly IntermediateState[]> {
    const known = await Promise.all(
      commitments.map(({ height }) => this.#deps.target.reads.fetchLatestHeight(height.id, signal)),
    );
    return commitments.filter(({ height }, at) => height.height > (known[at] ?? 0n))
      .toSorted((a, b) => Number(a.height.height - b.height.height));
  }

  #badData(detail: string, cause?: unknown): ProverFault {
    return this.fault("bad_data", detail, { endpoint: this.#deps.relay.host, cause });
  }

  #missingParachain(cause: GrandpaError): ProverFault {
    const detail =
      `one of the parachains ${this.options.paraIds.join(", ")} has no head on the relay chain; ` +
      "fix [hub.grandpa].para_ids";
    return this.fault("not_served", detail, { endpoint: this.#deps.relay.host, cause });
  }

  #read<T>(read: () => T): T {
    return mapError(ScaleError, read, (cause) => this.#badData("unreadable answer about GRANDPA", cause));
  }

  #readSetId(stored: Uint8Array | undefined): bigint {
    return this.#read(() => decodeStrict(grandpaNumberCodec, stored ?? new Uint8Array(8), "SetId"));
  }

  /** Fetches the id of the set at the newest block, final or not. */
  async #fetchBestSetId(signal: AbortSignal): Promise<bigint> {
    const [stored] = await this.#deps.relay.fetchStorage([currentSetIdKey()], undefined, signal);
    return this.#readSetId(stored);
  }

  #idle(
    found: Exclude<FinalityResult, { kind: "found" | "current" }>,
    { latestHeight }: GrandpaConsensusState,
  ): ProverFinding {
    if (found.kind === "behind") {
      const reason =
        `the newest final block of ${this.#deps.relay.host} is ${found.finalHeight}, but the client knows ` +
        `${latestHeight}: the node is behind, or [hub.grandpa].rpc is another chain`;
      return { kind: "nothing", reason };
    }
    if (found.kind === "other_chain") {
      const detail =
        `its newest block is not on the chain of ${this.#deps.relay.host}: [hub.grandpa].rpc is another ` +
        "chain, or the client was created for another one";
      throw this.#client.fault(detail);
    }
    if (found.kind === "forced_change") {
      const { stateMachine } = this.#deps.target.id;
      const detail =
        `block ${found.block} forces a change of the authorities, which no light client follows: ` +
        `the governance of ${stateMachine} must create its client again`;
      throw this.fault("unrecoverable", detail);
    }
    if (found.refused.some(({ code }) => code === "invalid_authorities")) {
      throw this.#client.fault("it trusts an authority set without weight or with too much weight");
    }
    const lie = found.refused.find(({ code }) => code !== "votes_differ");
    if (lie !== undefined) throw this.#badData(`its justification does not verify (${lie.code})`, lie);
    if (found.refused.length > 0) {
      const reason =
        "the votes are for different blocks, which the verifier refuses; another block is tried later";
      return { kind: "nothing", reason, againInMs: NEXT_BLOCK_MS };
    }
    return { kind: "nothing", reason: this.#noneText(found, latestHeight) };
  }

  /** Explains why no block can be proved, with advice. */
  #noneText({ finalHeight, canProve }: Extract<FinalityResult, { kind: "none" }>, known: number): string {
    const { maxBlockRange } = this.options;
    const where = finalHeight - known > maxBlockRange
      ? `any of the ${maxBlockRange} blocks after the known one (max_block_range)`
      : "a block after the known one";
    const advice = canProve
      ? ""
      : " and offers no usable grandpa_proveFinality: use a node that does, or wait for the next justification " +
        "that it keeps (every 512 blocks)";
    return `the node keeps no justification for ${where}${advice}`;
  }

  /** Completes the proof for the kind of hub: with heads of parachains, or with nothing. */
  async #complete(
    finalityProof: GrandpaFinalityProof,
    { stateMachine }: GrandpaConsensusState,
    signal: AbortSignal,
  ): Promise<GrandpaMessage> {
    const tag = messageVariantOf(stateMachine);
    if (tag === undefined) throw this.#client.fault(`it follows ${stateMachine}, which has no GRANDPA`);
    if (tag === "StandaloneChain") return { tag, value: { finalityProof } };
    const parachainHeaders = await this.#fetchHeads(finalityProof.block, signal);
    return { tag, value: { finalityProof, parachainHeaders } };
  }

  /**
   * Fetches the heads at a block; none where the node has pruned its state, as nodes do after 256 blocks: a set change
   * has to be proved anyway, and the client accepts it without heads, which later blocks prove.
   */
  async #fetchHeads(block: Hash256, signal: AbortSignal): Promise<ParachainHeaders> {
    const { paraIds } = this.options;
    const stateProof = await this.#deps.relay.fetchReadProof(paraIds.map(parachainHeadKey), block, signal)
      .catch(onFault(() => undefined, "pruned"));
    return new Map(stateProof === undefined ? [] : [[block, { stateProof, paraIds }]]);
  }

  #verify(
    trusted: GrandpaConsensusState,
    proved: FinalMessage,
    view: GrandpaView,
  ): VerifiedGrandpaMessage {
    return mapError(
      GrandpaError,
      () => verifyCommitments(trusted, proved, view),
      (error) =>
        error.code === "parachain_missing"
          ? this.#missingParachain(error)
          : this.#badData(`its proof of the heads does not verify (${error.code})`, error),
    );
  }
}

/** Names under which a target may follow what is proved. */
function namesOnTarget(
  { stateMachine, consensusStateId, paraIds }: GrandpaProverOptions,
): readonly StateMachine[] {
  const { tag } = stateMachineParts(stateMachine);
  if (tag === "Substrate") return [stateMachine];
  const family = tag === "Kusama" ? "Kusama" as const : "Polkadot" as const;
  return paraIds.flatMap((value) => [
    formatStateMachine({ tag: family, value }),
    formatStateMachine({ tag: "Relay", value: { relay: consensusStateId, paraId: value } }),
  ]);
}
