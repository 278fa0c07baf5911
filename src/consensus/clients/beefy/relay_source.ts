/**
 * Builds naive proofs of the hub from the relay chain (`[hub.prover]`): one for every session that a host has missed,
 * otherwise one of the newest head where it holds work for the chain. Source: docs/protocol/hub-consensus.md sections
 * 5.3, 5.4 and 5.11.
 */
import { MAX_PROOFS_AT_ONCE, MAX_TRANSACTION_BYTES } from "../../../core/chains/transaction_bytes.ts";
import type { Hash256 } from "../../../core/encoding/bytes.ts";
import { BeefyError, decoded } from "../../../core/beefy/commitment.ts";
import { loadCurve, type RecoverAuthority, verifyNaiveProof } from "./spec/verify_proof.ts";
import { buildNaiveProof } from "./spec/build_proof.ts";
import { encodeNaiveProof } from "../../../core/beefy/naive_proof.ts";
import { decodeSubstrateHeader } from "../../../core/substrate/header.ts";
import type { BeefyClientState } from "../../../core/evm/beefy_client_state.ts";
import type { StateMachine } from "../../../core/ismp/state_machine.ts";
import { RpcFault } from "../../../core/rpc/call.ts";
import { Limit } from "../../../core/runtime/limit.ts";
import { runInSlices } from "../../../core/runtime/slices.ts";
import type { Log } from "../../../core/telemetry/log.ts";
import { ProverFault } from "../../prover.ts";
import type { RelayBlock, RelayChain } from "../../relay_chain/relay_chain.ts";
import type { HubWork } from "../../../core/hub_proofs/hub_work.ts";
import {
  type JustifiedBlock,
  JustifiedBlocks,
  type JustifiedRelay,
  leafCountAt,
} from "./justified_blocks.ts";
import type {
  HostProofSource,
  ProofsForHost,
  ProofTarget,
} from "../../../core/hub_proofs/accepted_source.ts";
import { NaiveProofReader, type ProofRelay, readHeads } from "./naive_proof_input.ts";
import { parachainIdsCodec, relayBeefyKeys } from "./spec/relay_storage.ts";
import { decodeStrict } from "../../../core/encoding/scale.ts";

/** Dependencies of the source. */
export interface RelaySourceDeps {
  readonly relay:
    & ProofRelay
    & JustifiedRelay
    & Pick<RelayChain, "fetchBeefyFinalized" | "close">;
  readonly work: HubWork;
  readonly log: Log;
  /** Finds the signers of votes; absent: nothing is remembered. */
  readonly recover?: RecoverAuthority | undefined;
}

/** Configured options. */
export interface RelaySourceOptions {
  readonly hub: StateMachine;
  readonly hubParaId: number;
  /** Parachains whose heads are proved; the hub is among them. */
  readonly paraIds: readonly number[];
  /** Maximum number of storage keys of one request. */
  readonly batchSize: number;
  /** Maximum number of leaves to read for a proof for messages where the node does not prove them; default 2^12. */
  readonly maxMessageLeaves?: number;
}

/** Finished proofs to cache: hosts usually trust the same state. */
const KEPT_PROOFS = 8;

/**
 * Default of the maximum number of leaves for a proof for messages: more take many minutes, and a newer block has a
 * shorter proof. Rotations cannot wait.
 */
const MAX_MESSAGE_LEAVES = 2 ** 12;

/** Purpose of a proof. */
type Purpose = Extract<ProofsForHost, { kind: "proofs" }>["purpose"];

/** A block to prove. */
interface ProofTask {
  readonly candidate: JustifiedBlock;
  readonly purpose: Purpose;
}

/** A finished proof, and the states that it applies to. */
interface MadeProof {
  readonly bytes: Uint8Array;
  readonly state: BeefyClientState;
  /** Hash of the proved relay chain block. */
  readonly of: Hash256;
  /** True for states of clients that accept it. */
  readonly trusts: (state: BeefyClientState) => boolean;
}

/** Source of proofs from the relay chain. */
export class RelaySource implements HostProofSource {
  readonly #deps: RelaySourceDeps;
  readonly #options: RelaySourceOptions;
  readonly #blocks: JustifiedBlocks;
  readonly #reader: NaiveProofReader;
  readonly #turn = new Limit(1);
  /** Newest last. */
  #made: readonly MadeProof[] = [];

  constructor(deps: RelaySourceDeps, options: RelaySourceOptions) {
    this.#deps = deps;
    this.#options = options;
    this.#blocks = new JustifiedBlocks(deps.relay);
    this.#reader = new NaiveProofReader(deps.relay, options);
  }

  /** Serves one host at a time: the next one finds most of the work done. */
  next(target: ProofTarget, signal: AbortSignal): Promise<ProofsForHost> {
    return this.#turn.run(() => this.#next(target, signal), signal);
  }

  close(): Promise<void> {
    return this.#deps.relay.close();
  }

  async #next(target: ProofTarget, signal: AbortSignal): Promise<ProofsForHost> {
    const { state } = target.view;
    try {
      const head = await this.#deps.relay.fetchBeefyFinalized(signal);
      if (BigInt(head.header.number) <= state.latestHeight) {
        return { kind: "nothing", reason: "BEEFY has justified nothing newer on the relay chain" };
      }
      const headSet = await this.#blocks.fetchSetId(head.hash, signal);
      if (headSet > state.current.id) return await this.#proveSessions(state, { head, headSet }, signal);
      return await this.#proveMessages(target, head, signal);
    } catch (error) {
      if (error instanceof RpcFault && error.code === "pruned") {
        const { host } = this.#deps.relay;
        const detail =
          `${host} no longer has the state of relay chain blocks that a proof is made of: use an ` +
          "archive node for [hub.prover].relay_rpc_ws (--state-pruning=archive)";
        return { kind: "unable", code: "withheld", detail };
      }
      if (error instanceof RelayMismatch) return { kind: "unable", code: "mismatch", detail: error.message };
      if (!(error instanceof BeefyError)) throw error;
      const detail = `the answers of the relay chain's node make no valid proof (${error.code})`;
      throw new ProverFault(
        "bad_data",
        { chain: this.#options.hub, endpoint: this.#deps.relay.host, detail },
        { cause: error },
      );
    }
  }

  /** Proves the sessions that follow, as many as fit into one transaction. */
  async #proveSessions(
    trusted: BeefyClientState,
    { head, headSet }: { readonly head: RelayBlock; readonly headSet: bigint },
    signal: AbortSignal,
  ): Promise<ProofsForHost> {
    const proofs: Uint8Array[] = [];
    let state = trusted;
    let bytes = 0;
    while (proofs.length < MAX_PROOFS_AT_ONCE && state.current.id < headSet) {
      const candidate = await this.#blocks.findSession(state, head, signal);
      if (candidate === undefined) {
        if (proofs.length > 0) break;
        const detail =
          `${this.#deps.relay.host} keeps no BEEFY justification of the session of set ${state.next.id}, ` +
          "which the client needs next: use an archive node that has run without a gap";
        return { kind: "unable", code: "withheld", detail };
      }
      const made = await this.#make(state, { candidate, purpose: "rotations" }, signal);
      if (made === undefined) throw new Error("A rotation was skipped");
      bytes += made.bytes.length;
      if (proofs.length > 0 && bytes > MAX_TRANSACTION_BYTES) break;
      proofs.push(made.bytes);
      state = made.state;
    }
    return { kind: "proofs", proofs, purpose: "rotations", endpoint: this.#deps.relay.host };
  }

  /**
   * Proves the newest head of the hub, if it holds work for the chain. Upstream's prover can be told to wait until some
   * blocks are above the lowest message (`[beefy].minimum_finalization_height`, without a default, 0 in all published
   * configurations: polytope-labs/hyperbridge: tesseract/consensus/beefy/src/prover.rs,
   * docs/content/developers/network/prover.mdx). The specification has no such key, so there is no wait here.
   */
  async #proveMessages(
    { chain, view }: ProofTarget,
    head: RelayBlock,
    signal: AbortSignal,
  ): Promise<ProofsForHost> {
    const { state, hubHeight } = view;
    const { work, relay } = this.#deps;
    const newest = await this.#fetchHubHeight(head, signal);
    if (newest === undefined || newest <= hubHeight) {
      return { kind: "nothing", reason: "the relay chain has no newer head of the hub" };
    }
    if (!await work.hasWork(chain, { known: hubHeight, upTo: newest }, signal)) {
      return { kind: "nothing", reason: "the newest head of the hub holds nothing for this chain" };
    }
    let isLong = false;
    for (const candidate of await this.#blocks.findNewest(state, head, signal)) {
      const height = candidate.number === head.header.number
        ? newest
        : await this.#fetchHubHeight(candidate.block, signal);
      if (height === undefined || !await work.hasWork(chain, { known: hubHeight, upTo: height }, signal)) {
        continue;
      }
      const made = await this.#make(state, { candidate, purpose: "messages" }, signal);
      if (made === undefined) {
        isLong = true;
        continue;
      }
      return { kind: "proofs", proofs: [made.bytes], purpose: "messages", endpoint: relay.host };
    }
    const reason = isLong
      ? `${relay.host} proves no leaves itself (mmr_generateProof): waits for a block with a shorter proof`
      : "no justified block of the relay chain has the required head yet";
    return { kind: "nothing", reason };
  }

  /** Fetches the hub height that a proof of the block proves: the head in its parent's state. */
  async #fetchHubHeight({ header }: RelayBlock, signal: AbortSignal): Promise<bigint | undefined> {
    const heads = { block: header.parentHash, paraIds: [this.#options.hubParaId] };
    const [found] = await readHeads(this.#deps.relay, heads, signal);
    return found === undefined ? undefined : BigInt(decoded(() => decodeSubstrateHeader(found.head)).number);
  }

  /** Builds and verifies the proof of a block; `undefined`: too long for that purpose. @throws {RelayMismatch} */
  async #make(
    state: BeefyClientState,
    task: ProofTask,
    signal: AbortSignal,
  ): Promise<MadeProof | undefined> {
    const { block } = task.candidate;
    const known = this.#made.find((each) => each.of === block.hash && each.trusts(state));
    if (known !== undefined) return known;
    try {
      return await this.#makeAnew(state, task, signal);
    } catch (error) {
      if (!(error instanceof BeefyError)) throw error;
      const activationBlock = state.beefyActivationBlock;
      const failed = { ...this.#options, cause: error, block, activationBlock };
      throw await diagnoseMismatch(this.#deps.relay, failed, signal) ?? error;
    }
  }

  async #makeAnew(
    state: BeefyClientState,
    { candidate: { number, block, justification }, purpose }: ProofTask,
    signal: AbortSignal,
  ): Promise<MadeProof | undefined> {
    const { log, recover } = this.#deps;
    const mayRead = (leaves: number): boolean => {
      if (leaves <= (this.#options.maxMessageLeaves ?? MAX_MESSAGE_LEAVES)) return true;
      if (purpose === "messages") return false;
      log.info("endpoint_limited.mmr_proofs", { relayBlock: number, leaves });
      return true;
    };
    const leafCount = leafCountAt(number, state.beefyActivationBlock);
    const work = { block, justification, leafCount, mayRead };
    const input = await this.#reader.read(work, signal);
    if (input === undefined) return undefined;
    await loadCurve();
    const proof = await runInSlices(buildNaiveProof(state, input));
    const verified = await runInSlices(verifyNaiveProof(state, proof, recover));
    const bytes = encodeNaiveProof(proof);
    log.debug("proof_built", { relayBlock: number, bytes: bytes.length });
    const made = { bytes, state: verified.state, of: block.hash, trusts: trustsAs(state) };
    this.#made = [...this.#made.slice(1 - KEPT_PROOFS), made];
    return made;
  }
}

/** Returns a check for states that differ only in the newest block: a proof verifies on all of them. */
function trustsAs(state: BeefyClientState): (other: BeefyClientState) => boolean {
  const keyOf = ({ beefyActivationBlock, current, next }: BeefyClientState): string =>
    [beefyActivationBlock, current.id, current.root, next.id, next.root].join();
  const own = keyOf(state);
  return (other) => keyOf(other) === own;
}

/** A mismatch that the operator or governance has to fix. */
class RelayMismatch extends Error {
  override readonly name = "RelayMismatch";
}

/** A proof that could not be built. */
export interface FailedProof {
  readonly cause: BeefyError;
  /** Relay chain block to prove. */
  readonly block: RelayBlock;
  readonly hubParaId: number;
  /** Parachains whose heads to prove. */
  readonly paraIds: readonly number[];
  /** Block from which the client counts leaves. */
  readonly activationBlock: bigint;
}

/** Finds the mismatch behind a proof that could not be built; `undefined`: the node is presumably wrong. */
async function diagnoseMismatch(
  relay: ProofRelay,
  failed: FailedProof,
  signal: AbortSignal,
): Promise<RelayMismatch | undefined> {
  const { cause } = failed;
  const at = `block ${failed.block.header.number} of the relay chain behind ${relay.host}`;
  switch (cause.code) {
    case "out_of_bounds_leaves": {
      const detail = `the host's state does not match the relay chain: its client counts from block ` +
        `${failed.activationBlock} on, and ${at} has another number of leaves; the client must be created again, ` +
        "unless [hub.prover].relay_rpc_ws is another relay chain";
      return new RelayMismatch(detail, { cause });
    }
    case "head_missing":
    case "invalid_mmr_proof": {
      const missing = await idsWithoutHead(relay, failed, signal);
      if (missing.length > 0) {
        const detail =
          `[hub.prover].para_ids: no head of ${missing.join(", ")} is known in ${at}; remove what is ` +
          "no parachain there";
        return new RelayMismatch(detail, { cause });
      }
      const unlisted = await unlistedIds(relay, failed, signal);
      if (unlisted.length === 0) return undefined;
      const detail =
        `[hub.prover].para_ids: the relay chain does not list ${unlisted.join(", ")} as parachains, ` +
        `and what is signed of ${at} does not cover their heads; remove them`;
      return new RelayMismatch(detail, { cause });
    }
    case "timestamp_not_found": {
      const others = failed.paraIds.filter((id) => id !== failed.hubParaId);
      if (others.length === 0) return undefined;
      const detail =
        `[hub.prover].para_ids: a head in ${at} holds no timestamp, as heads of parachains without ISMP; ` +
        `remove those among ${others.join(", ")}`;
      return new RelayMismatch(detail, { cause });
    }
    default:
      return undefined;
  }
}

async function idsWithoutHead(
  relay: ProofRelay,
  { block, paraIds }: FailedProof,
  signal: AbortSignal,
): Promise<readonly number[]> {
  const found = await readHeads(relay, { block: block.header.parentHash, paraIds }, signal);
  return paraIds.filter((id) => !found.some(({ paraId }) => paraId === id));
}

/**
 * Returns ids that are neither listed nor proved. On-demand parachains are not listed, but may be covered, as the hub
 * is.
 */
async function unlistedIds(
  relay: ProofRelay,
  { block, paraIds, hubParaId }: FailedProof,
  signal: AbortSignal,
): Promise<readonly number[]> {
  const place = { key: relayBeefyKeys.parachains, block: block.header.parentHash };
  const [stored] = await relay.fetchStored([place], signal);
  const listed = decoded(() => decodeStrict(parachainIdsCodec, stored ?? Uint8Array.of(0), "Parachains"));
  return paraIds.filter((id) => id !== hubParaId && !listed.includes(id));
}
