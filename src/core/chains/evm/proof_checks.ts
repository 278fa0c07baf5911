/**
 * Start-up check of what claims need: whether any endpoint proves the host's state at the height that the hub knows.
 * Node facts: ethereum/go-ethereum: docs/fundamentals/archive.md; paradigmxyz/reth and ethereum-optimism/op-reth:
 * `--rpc.eth-proof-window`; erigontech/erigon 3.3: `--prune.include-commitment-history`; NethermindEth/nethermind:
 * `Pruning.Mode`; besu-eth/besu: `--data-storage-format`; OffchainLabs/nitro: `--execution.caching.archive`.
 */
import { fromHex, type Hash256, toHex } from "../../encoding/bytes.ts";
import { requestSenderSlot } from "../../evm/host_storage.ts";
import { buildEvmStateProof, EvmProofError, readEvmState } from "../../merkle/evm_proof.ts";
import { ENDPOINT_FAULTS, RpcFault } from "../../rpc/call.ts";
import type { EndpointReport } from "../../rpc/endpoint_set.ts";
import type { CheckRow } from "../../checks/check_row.ts";
import type { CheckFinding } from "../check_finding.ts";
import type { EvmDependencies } from "./evm_context.ts";
import { type Query, stateRootAt, storageProof } from "./queries.ts";
import { readAnswer } from "./rpc_batch.ts";
import { type ChainProofs, type ProofChecks, UnprovableKeyError } from "../proofs.ts";

/** Proofs of old blocks require disk reads; one hanging endpoint must not use up the whole check. */
const ENDPOINT_TIMEOUT_MS = 20_000;

/** Sentence that lists the nodes that can prove old state. */
const PROOF_NODES: string = "what serves it: Geth and op-geth with --state.scheme=hash --gcmode=archive " +
  "(others keep 128 blocks), Reth and op-reth with a wide --rpc.eth-proof-window (default 0), Erigon from 3.3 on with " +
  "--prune.include-commitment-history, Nethermind with --Pruning.Mode=None, Besu with --data-storage-format=FOREST, " +
  "Nitro with --execution.caching.archive, and archive plans of providers";

/** A commitment that no host has: its slot is provably empty. */
const anyCommitment = toHex(new Uint8Array(32));

/** Slot of the host whose proof stands for all others. */
export const PROBED_SLOT: Hash256 = requestSenderSlot(anyCommitment);

/** When a proof is tried, and how long each endpoint may take. */
export interface ProbedBlock {
  readonly height: bigint;
  readonly timeoutMs: number;
}

/** Tries what the endpoints prove, each by itself. */
export interface ProofProbe {
  /** Rows for the operator; endpoints that do not answer at all have rows of their own. */
  describe(block: ProbedBlock, signal: AbortSignal): Promise<readonly CheckRow[]>;
  /** What is wrong with the proofs, for the start; `undefined`: nothing. */
  findProblem(block: ProbedBlock, signal: AbortSignal): Promise<string | undefined>;
}

/** Checks of what the endpoints can prove. */
export class EvmProofChecks implements ProofChecks {
  readonly #proofs: ChainProofs;
  readonly #probe: ProofProbe;

  constructor(proofs: ChainProofs, probe: ProofProbe) {
    this.#proofs = proofs;
    this.#probe = probe;
  }

  async requireProofs(height: bigint, signal: AbortSignal): Promise<void> {
    try {
      await this.#proofs.proveState([fromHex(PROBED_SLOT)], { height }, signal);
    } catch (error) {
      // The host is younger than that height: the proof shows it, and there is nothing to claim yet.
      if (!(error instanceof UnprovableKeyError)) throw error;
    }
  }

  async checkProofs(height: bigint, signal: AbortSignal): Promise<readonly CheckFinding[]> {
    const text = await this.#probe.findProblem({ height, timeoutMs: ENDPOINT_TIMEOUT_MS }, signal);
    return text === undefined ? [] : [{ severity: "warning", event: "state_proofs_unavailable", text }];
  }
}

/** Probe of endpoints that prove Ethereum's trie. */
export class TrieProofProbe implements ProofProbe {
  readonly #place: ProofPlace;

  constructor(place: ProofPlace) {
    this.#place = place;
  }

  async describe(block: ProbedBlock, signal: AbortSignal): Promise<readonly CheckRow[]> {
    const probed = await probeProofs(this.#place, block, signal);
    return judgeProofs(this.#place.id.stateMachine, block.height, probed);
  }

  async findProblem(block: ProbedBlock, signal: AbortSignal): Promise<string | undefined> {
    const probed = await probeProofs(this.#place, block, signal);
    const failures = probed.flatMap(({ host, failure }) =>
      failure === undefined ? [] : [`${host} (${failure})`]
    );
    if (failures.length === 0) return undefined;
    const missing = `no eth_getProof of block ${block.height}, the newest that the hub knows, at ${
      failures.join(", ")
    }`;
    const consequence = failures.length < probed.length ? "the other endpoints are used" : CONSEQUENCE;
    return `${this.#place.id.stateMachine}: ${missing}; ${consequence}; ${PROOF_NODES}`;
  }
}

/** What follows when no endpoint proves the state. */
export const CONSEQUENCE =
  "nothing is delivered to this chain until an endpoint serves it, because no fee could be claimed, and " +
  "messages from it cannot be proved";

/** Proof of one endpoint; `failure`: what was wrong with it. */
export interface ProbedProof {
  readonly host: string;
  readonly failure: string | undefined;
}

/** Codes that say nothing about proofs: other checks tell them. An old block alone may be what takes too long. */
export const SILENCE: ReadonlySet<string | undefined> = ENDPOINT_FAULTS.difference(new Set(["timeout"]));

/** Endpoints, and the host whose state they are to prove. */
type ProofPlace = Pick<EvmDependencies, "endpoints" | "host" | "id">;

/** Requests a proof of the host's state at `height` from every endpoint by itself; those that answer nothing are left out. */
export async function probeProofs(
  { endpoints, host, id: { stateMachine: chain } }: ProofPlace,
  { height, timeoutMs }: ProbedBlock,
  signal: AbortSignal,
): Promise<readonly ProbedProof[]> {
  const root = stateRootAt(height);
  const proof = storageProof(host, [PROBED_SLOT], height);
  const reports = await endpoints.callEach([root.call, proof.call], { signal, timeoutMs });
  return reports.map((report) => ({ host: report.host, failure: failureOf(report) }))
    .filter(({ failure }) => !SILENCE.has(failure));

  /** Problem of an endpoint's answers, if any. */
  function failureOf(report: EndpointReport): string | undefined {
    if (report.kind === "fault") return report.fault.code;
    const place = { chain, endpointHost: report.host, method: proof.call.method };
    const read = <T>(query: Query<T>, index: number): T => {
      const answer = report.answers[index];
      if (answer === undefined) throw new Error("A query without an answer");
      return readAnswer(query, answer, place);
    };
    try {
      const stateRoot = read(root, 0);
      if (stateRoot === undefined) return "lagging";
      const keys = [fromHex(PROBED_SLOT)];
      readEvmState({ stateRoot, host: fromHex(host), proof: buildEvmStateProof([read(proof, 1)]), keys });
      return undefined;
    } catch (error) {
      if (error instanceof RpcFault) return error.code;
      if (!(error instanceof EvmProofError)) throw error;
      // Before the host was deployed there is nothing to prove, and the proof shows it.
      return error.code === "account_not_present" ? undefined : `a proof that does not verify: ${error.code}`;
    }
  }
}

/** Rows of the endpoints' proofs. */
export function judgeProofs(
  chain: string,
  height: bigint,
  probed: readonly ProbedProof[],
): readonly CheckRow[] {
  const isServed = probed.some(({ failure }) => failure === undefined);
  return probed.map(({ host: endpoint, failure }): CheckRow => {
    const row = { chain, endpoint, check: "state_proof" } as const;
    if (failure === undefined) {
      return {
        ...row,
        result: "ok",
        found: `eth_getProof of block ${height}, the newest that the hub knows`,
      };
    }
    const consequence = isServed ? "the other endpoints are used" : CONSEQUENCE;
    const found =
      `no eth_getProof of block ${height}, the newest that the hub knows (${failure}); ${consequence}`;
    return { ...row, result: isServed ? "warning" : "failed", found, advice: PROOF_NODES };
  });
}
