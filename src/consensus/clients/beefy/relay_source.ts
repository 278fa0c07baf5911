/**
 * Builds naive proofs of the hub from the relay chain (`[hub.prover]`): one for every session that a host has missed,
 * otherwise one of the newest head where it holds work for the chain. Source: docs/protocol/hub-consensus.md sections
 * 5.3, 5.4 and 5.11.
 */
import { MAX_PROOFS_AT_ONCE, MAX_TRANSACTION_BYTES } from "../../../core/chains/transaction_bytes.ts";
import {
  BEEFY_ENGINE,
  BeefyError,
  type BeefyErrorCode,
  type BeefyJustification,
  decodeBeefyJustification,
  decoded,
} from "../../../core/beefy/commitment.ts";
import type { Hash256 } from "../../../core/encoding/bytes.ts";
import { decodeStrict, u64 } from "../../../core/encoding/scale.ts";
import { relayBeefyKeys } from "./spec/relay_storage.ts";
import { verifyNaiveProof } from "./spec/verify_proof.ts";
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
import type {
  HostProofSource,
  ProofsForHost,
  ProofTarget,
} from "../../../core/hub_proofs/accepted_source.ts";
import { type ProofReads, readHeads, readNaiveProofInput } from "./naive_proof_input.ts";

/** Reads of the relay chain that the search needs. */
type JustifiedRelay = Pick<
  RelayChain,
  "fetchBlock" | "fetchHash" | "fetchJustification" | "fetchStorage"
>;

/** A justified block with its decoded justification. */
interface JustifiedBlock {
  readonly block: RelayBlock;
  readonly justification: BeefyJustification;
}

/** Dependencies of the source. */
export interface RelaySourceDeps {
  readonly relay:
    & ProofReads["relay"]
    & JustifiedRelay
    & Pick<RelayChain, "host" | "fetchBeefyFinalized" | "close">;
  readonly work: HubWork;
  readonly log: Log;
}

/** Configured options. The hub is among the parachains. */
export interface RelaySourceOptions extends Omit<ProofReads, "relay"> {
  readonly hub: StateMachine;
  readonly hubParaId: number;
}

/** Finished proofs to cache: hosts usually trust the same state. */
const KEPT_PROOFS = 8;

/** A finished proof, and the states that it applies to. */
interface MadeProof {
  readonly bytes: Uint8Array;
  readonly state: BeefyClientState;
  /** The proved relay chain block, and what clients must trust to accept it. */
  readonly key: string;
}

/** Source of proofs from the relay chain. */
export class RelaySource implements HostProofSource {
  readonly #deps: RelaySourceDeps;
  readonly #options: RelaySourceOptions;
  readonly #turn = new Limit(1);
  /** Newest last. */
  #made: readonly MadeProof[] = [];

  constructor(deps: RelaySourceDeps, options: RelaySourceOptions) {
    this.#deps = deps;
    this.#options = options;
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
    const { relay } = this.#deps;
    try {
      const head = await relay.fetchBeefyFinalized(signal);
      if (BigInt(head.header.number) <= state.latestHeight) {
        return { kind: "nothing", reason: "BEEFY has justified nothing newer on the relay chain" };
      }
      const headSet = await fetchSetId(relay, head.hash, signal);
      if (headSet > state.current.id) return await this.#proveSessions(state, { head, headSet }, signal);
      return await this.#proveMessages(target, head, signal);
    } catch (error) {
      if (error instanceof RpcFault && error.code === "pruned") {
        const detail =
          `${relay.host} no longer has the state of relay chain blocks that a proof is made of: use an ` +
          "archive node for [hub.prover].relay_rpc_ws (--state-pruning=archive)";
        return { kind: "unable", code: "withheld", detail };
      }
      if (!(error instanceof BeefyError)) throw error;
      const mismatch = this.#explainMismatch(error, state);
      if (mismatch !== undefined) return { kind: "unable", code: "mismatch", detail: mismatch };
      const detail = `the answers of the relay chain's node make no valid proof (${error.code})`;
      const where = { chain: this.#options.hub, endpoint: relay.host, detail };
      throw new ProverFault("bad_data", where, { cause: error });
    }
  }

  /** Proves the sessions that follow, as many as fit into one transaction. */
  async #proveSessions(
    trusted: BeefyClientState,
    { head, headSet }: { readonly head: RelayBlock; readonly headSet: bigint },
    signal: AbortSignal,
  ): Promise<ProofsForHost> {
    const { relay } = this.#deps;
    const proofs: Uint8Array[] = [];
    let state = trusted;
    let bytes = 0;
    while (proofs.length < MAX_PROOFS_AT_ONCE && state.current.id < headSet) {
      const candidate = await findSession(relay, { trusted: state, head }, signal);
      if (candidate === undefined) {
        if (proofs.length > 0) break;
        const detail = `${relay.host} keeps no BEEFY justification of the session of set ${state.next.id}, ` +
          "which the client needs next: use an archive node that has run without a gap";
        return { kind: "unable", code: "withheld", detail };
      }
      const made = await this.#make(state, candidate, signal);
      bytes += made.bytes.length;
      if (proofs.length > 0 && bytes > MAX_TRANSACTION_BYTES) break;
      proofs.push(made.bytes);
      state = made.state;
    }
    return { kind: "proofs", proofs, purpose: "rotations", endpoint: relay.host };
  }

  /**
   * Proves the newest head of the hub, if it holds work for the chain. Upstream's prover can be told to wait until some
   * blocks are above the lowest message (`[beefy].minimum_finalization_height`, without a default, 0 in all published
   * configurations: polytope-labs/hyperbridge: tesseract/consensus/beefy/src/prover.rs,
   * docs/content/developers/network/prover.mdx). The specification has no such key, so there is no wait here.
   */
  async #proveMessages(
    { chain, view: { state, hubHeight } }: ProofTarget,
    head: RelayBlock,
    signal: AbortSignal,
  ): Promise<ProofsForHost> {
    const { work, relay } = this.#deps;
    const newest = await this.#fetchHubHeight(head, signal);
    if (newest === undefined || newest <= hubHeight) {
      return { kind: "nothing", reason: "the relay chain has no newer head of the hub" };
    }
    if (!await work.hasWork(chain, { known: hubHeight, upTo: newest }, signal)) {
      return { kind: "nothing", reason: "the newest head of the hub holds nothing for this chain" };
    }
    const candidate = await readJustified(relay, head, signal);
    if (candidate === undefined || setOf(candidate) !== state.current.id) {
      return { kind: "nothing", reason: "the relay chain's node keeps no justification of its newest block" };
    }
    const { bytes } = await this.#make(state, candidate, signal);
    return { kind: "proofs", proofs: [bytes], purpose: "messages", endpoint: relay.host };
  }

  /** Fetches the hub height that a proof of the block proves: the head in its parent's state. */
  async #fetchHubHeight({ header }: RelayBlock, signal: AbortSignal): Promise<bigint | undefined> {
    const heads = { block: header.parentHash, paraIds: [this.#options.hubParaId] };
    const [found] = await readHeads({ ...this.#deps, ...this.#options }, heads, signal);
    return found === undefined ? undefined : BigInt(decoded(() => decodeSubstrateHeader(found.head)).number);
  }

  /** Builds and verifies the proof of a block. @throws {BeefyError} */
  async #make(
    state: BeefyClientState,
    { block, justification }: JustifiedBlock,
    signal: AbortSignal,
  ): Promise<MadeProof> {
    const { beefyActivationBlock, current, next } = state;
    // A proof verifies on all states that differ only in the newest block.
    const key = [block.hash, beefyActivationBlock, current.id, current.root, next.id, next.root].join();
    const known = this.#made.find((each) => each.key === key);
    if (known !== undefined) return known;
    const { number } = block.header;
    const leafCount = BigInt(number) - beefyActivationBlock;
    const reads = { ...this.#deps, ...this.#options };
    const input = await readNaiveProofInput(reads, { block, justification, leafCount }, signal);
    const proof = await runInSlices(buildNaiveProof(state, input));
    const verified = await runInSlices(verifyNaiveProof(state, proof));
    const bytes = encodeNaiveProof(proof);
    this.#deps.log.debug("proof_built", { relayBlock: number, bytes: bytes.length });
    const made = { bytes, state: verified.state, key };
    this.#made = [...this.#made.slice(1 - KEPT_PROOFS), made];
    return made;
  }

  /** Explains a proof that cannot be built for what the operator or governance has to fix; `undefined`: the node is presumably wrong. */
  #explainMismatch({ code }: BeefyError, { beefyActivationBlock }: BeefyClientState): string | undefined {
    const { host } = this.#deps.relay;
    if (code === "out_of_bounds_leaves") {
      return `the host's state does not match the relay chain: its client counts from block ${beefyActivationBlock} ` +
        `on, and the relay chain behind ${host} has another number of leaves; the client must be created again, ` +
        "unless [hub.prover].relay_rpc_ws is another relay chain";
    }
    const others = this.#options.paraIds.filter((id) => id !== this.#options.hubParaId);
    if (others.length === 0 || !HEAD_CODES.has(code)) return undefined;
    return `[hub.prover].para_ids: the heads of ${
      others.join(", ")
    } cannot be proved by the relay chain behind ` +
      `${host} (${code}); remove those that are no parachains with ISMP there`;
  }
}

/** Codes of proofs whose heads are missing, not committed to, or without a time, as those of chains without ISMP. */
const HEAD_CODES: ReadonlySet<BeefyErrorCode> = new Set(["head_missing", "timestamp_not_found"]);

/**
 * Finds the justification of the session after the client's: that of its first block, which nodes always keep. @throws
 * {BeefyError} for invalid data of nodes
 */
async function findSession(
  relay: JustifiedRelay,
  { trusted, head }: { readonly trusted: BeefyClientState; readonly head: RelayBlock },
  signal: AbortSignal,
): Promise<JustifiedBlock | undefined> {
  const { next, latestHeight } = trusted;
  const range = { from: Number(latestHeight) + 1, to: head.header.number };
  const first = await findFirst(relay, range, next.id, signal);
  const block = await relay.fetchBlock(await relay.fetchHash(first, signal), signal);
  const found = await readJustified(relay, block, signal);
  return found !== undefined && setOf(found) === next.id ? found : undefined;
}

/** Finds the first block of a range whose set has at least that id; the last one has it. Binary search. */
async function findFirst(
  relay: JustifiedRelay,
  { from, to }: { readonly from: number; readonly to: number },
  setId: bigint,
  signal: AbortSignal,
): Promise<number> {
  let [low, high] = [from, to];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const hash = await relay.fetchHash(middle, signal);
    if (await fetchSetId(relay, hash, signal) >= setId) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** Reads the justification of a block; `undefined`: the node keeps none. @throws {BeefyError} for invalid data of nodes */
async function readJustified(
  relay: Pick<JustifiedRelay, "fetchJustification">,
  block: RelayBlock,
  signal: AbortSignal,
): Promise<JustifiedBlock | undefined> {
  const encoded = await relay.fetchJustification(block.hash, BEEFY_ENGINE, signal);
  const justification = encoded && decodeBeefyJustification(encoded);
  return justification?.commitment.blockNumber === block.header.number ? { block, justification } : undefined;
}

/** Id of the set that signed. */
function setOf({ justification }: JustifiedBlock): bigint {
  return justification.commitment.validatorSetId;
}

/** Fetches the id of the set whose session a block belongs to. @throws {BeefyError} `undecodable_data` */
async function fetchSetId(
  relay: Pick<JustifiedRelay, "fetchStorage">,
  block: Hash256,
  signal: AbortSignal,
): Promise<bigint> {
  const [stored] = await relay.fetchStorage([relayBeefyKeys.validatorSetId], block, signal);
  if (stored === undefined) throw new BeefyError("undecodable_data");
  return decoded(() => decodeStrict(u64, stored, "ValidatorSetId"));
}
