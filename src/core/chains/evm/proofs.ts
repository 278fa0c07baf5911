/**
 * Proofs of requests, fees, receipts and state values at one block, verified as the hub will, below the root that the
 * hub stores for the block. How state is proved is up to a {@link SlotProver}. Source: docs/protocol/evm-host.md section
 * 5; polytope-labs/hyperbridge: modules/pallets/relayer/src/accumulate.rs.
 */
import { type CheckRow, REQUEST_TIMEOUT_MS } from "../../checks/check_row.ts";
import { fromHex, type Hash256, type Hex, toHex } from "../../encoding/bytes.ts";
import { requestFeeSlot, requestReceiptSlot, requestSenderSlot } from "../../evm/host_storage.ts";
import type { Message } from "../../ismp/message.ts";
import {
  type AccountProofAnswer,
  buildEvmStateProof,
  EvmProofError,
  readEvmState,
} from "../../merkle/evm_proof.ts";
import { ENDPOINT_FAULTS, RpcFault } from "../../rpc/call.ts";
import {
  type ChainProofs,
  type FeeProof,
  type MessageProof,
  type ProofChecks,
  type ProofVerifier,
  type ProvenBlock,
  type ReceiptProof,
  UnprovableKeyError,
} from "../proofs.ts";
import { bad, doubtful, good } from "./endpoint_checks.ts";
import { type EvmContext, type EvmDependencies, EvmPart } from "./evm_context.ts";
import { chainId, stateRootAt, storageProof } from "./queries.ts";
import { probeAll } from "./rpc_batch.ts";

/** Proofs of the host's state. */
export class EvmProofs extends EvmPart implements ChainProofs {
  readonly #prover: SlotProver;

  constructor(context: EvmContext, prover: SlotProver) {
    super(context);
    this.#prover = prover;
  }

  /**
   * Proves the sender slots of all messages at block `height`, below the root that `target` stores for it.
   * @throws {RpcFault} `not_found` when the host had not dispatched one of them by then.
   */
  async proveMessages(
    messages: readonly Message[],
    { height, target }: { readonly height: bigint; readonly target: ProofVerifier },
    signal: AbortSignal,
  ): Promise<MessageProof> {
    const { id } = this.context.at;
    const slots = messages.map((message) => {
      if (message.kind === "getResponse") throw new Error("EVM hosts dispatch requests only");
      return fromHex(requestSenderSlot(message.commitment));
    });
    const stateRoot = await target.reads.fetchStateRoot({ id, height }, signal);
    let proof: StateProof;
    try {
      proof = await this.#prover.prove({ keys: slots, height, stateRoot }, signal);
    } catch (error) {
      const isHostMissing = error instanceof UnprovableKeyError && error.code === "account_not_present";
      throw isHostMissing ? this.#absentAt(height, "no host") : error;
    }
    const absent = messages.find((_, index) =>
      proof.readNumber(toHex(slots[index] ?? new Uint8Array())) === 0n
    );
    if (absent !== undefined) throw this.#absentAt(height, `no request ${absent.commitment} in the host`);
    return { kind: "state", height: { id, height }, proof: proof.bytes };
  }

  /**
   * Proves fee and existence of requests, and returns the proven fees.
   * @throws {RpcFault} `not_found` when the host had not dispatched one of them by then.
   */
  async proveFees(commitments: readonly Hash256[], at: ProvenBlock, signal: AbortSignal): Promise<FeeProof> {
    const wanted = [...new Set(commitments)];
    const keys = wanted.flatMap((each) => [requestFeeSlot(each), requestSenderSlot(each)]).map(fromHex);
    const proof = await this.#prover.prove({ keys, ...at }, signal);
    const absent = wanted.find((each) => proof.readNumber(requestSenderSlot(each)) === 0n);
    if (absent !== undefined) throw this.#absentAt(at.height, `no request ${absent} in the host`);
    return { proof: proof.bytes, fees: commitments.map((each) => proof.readNumber(requestFeeSlot(each))) };
  }

  /** Proves receipts of requests, and returns the proven relayers. */
  async proveReceipts(
    commitments: readonly Hash256[],
    at: ProvenBlock,
    signal: AbortSignal,
  ): Promise<ReceiptProof> {
    const slots = commitments.map(requestReceiptSlot);
    const keys = [...new Set(slots)].map(fromHex);
    const proof = await this.#prover.prove({ keys, ...at }, signal);
    return { proof: proof.bytes, relayers: slots.map((slot) => readAddress(proof.readNumber(slot))) };
  }

  /**
   * Proves slots (52 bytes: contract and slot; 32 bytes: slot of the host) and, in Ethereum's trie, accounts (20 bytes).
   * @throws {UnprovableKeyError}
   */
  async proveState(keys: readonly Uint8Array[], at: ProvenBlock, signal: AbortSignal): Promise<Uint8Array> {
    const wanted = [...new Set(keys.map(toHex))].map(fromHex);
    return (await this.#prover.prove({ keys: wanted, ...at }, signal)).bytes;
  }

  /** Creates the fault of a block whose state lacks what was to be proved. */
  #absentAt(height: bigint, what: string): RpcFault {
    return this.context.fault("not_found", this.#prover.method, `at block ${height} there is ${what}`);
  }
}

/** The address in a slot; `undefined` when it is empty. */
function readAddress(number: bigint): Uint8Array | undefined {
  if (number === 0n) return undefined;
  if (number >> 160n !== 0n) throw new Error("The receipt's slot holds no address");
  return fromHex(number.toString(16).padStart(40, "0"));
}

/** Verified proof. */
export interface StateProof {
  /** Content of a `Proof` about the chain. */
  readonly bytes: Uint8Array;
  /** Reads the number in a proven slot by the hex of its key; 0 when the slot is empty. */
  readonly readNumber: (key: Hex) => bigint;
}

/** Proves state of contracts at one block. */
export interface SlotProver {
  /** RPC method that returns the proofs, for faults. */
  readonly method: string;
  /**
   * Fetches a proof from the root of a block to all keys, and verifies it as the hub will. An endpoint whose proof does
   * not verify is reported.
   * @param wanted.stateRoot as the hub stores it; `undefined`: the endpoint's own header is trusted
   * @throws {UnprovableKeyError}
   */
  prove(
    wanted: ProvenBlock & { readonly keys: readonly Uint8Array[] },
    signal: AbortSignal,
  ): Promise<StateProof>;
}

/** Sentence that lists the nodes that can prove old state. */
const PROOF_NODES: string = "what serves it: Geth and op-geth with --state.scheme=hash --gcmode=archive " +
  "(others keep 128 blocks), Reth and op-reth with a wide --rpc.eth-proof-window (default 0), Erigon from 3.3 on with " +
  "--prune.include-commitment-history, Nethermind with --Pruning.Mode=None, Besu with --data-storage-format=FOREST, " +
  "Nitro with --execution.caching.archive, and archive plans of providers";

/** A commitment that no host has: its slot is provably empty. */
const anyCommitment = toHex(new Uint8Array(32));

/** Slot of the host whose proof stands for all others. */
export const PROBED_SLOT: Hash256 = requestSenderSlot(anyCommitment);

/** Tries what the endpoints prove at a height, each by itself; those that do not answer have rows of their own. */
export type ProofProbe = (height: bigint, signal: AbortSignal) => Promise<readonly CheckRow[]>;

/** Times that all endpoints are asked for a proof before it counts that none of them proves. */
const MAX_PROBES = 2;

/** Creates the checks of what the endpoints can prove. */
export function createProofChecks(proofs: Pick<ChainProofs, "proveState">): ProofChecks {
  return {
    requireProofs: async (height, signal) => {
      for (let attempt = 1;; attempt++) {
        try {
          await proofs.proveState([fromHex(PROBED_SLOT)], { height }, signal);
          return;
        } catch (error) {
          // The host is younger than that height: the proof shows it, and there is nothing to claim yet.
          if (error instanceof UnprovableKeyError) return;
          // Behind one URL there may be several nodes: one refusal is that of one of them.
          if (!(error instanceof RpcFault) || attempt === MAX_PROBES) throw error;
        }
      }
    },
  };
}

/** What follows when no endpoint proves the state. */
export const CONSEQUENCE =
  "nothing is delivered to this chain until an endpoint serves it, because no fee could be claimed, and " +
  "messages from it cannot be proved";

/** Codes that say nothing about proofs: other checks tell them. An old block alone may be what takes too long. */
export const SILENCE: ReadonlySet<string | undefined> = ENDPOINT_FAULTS.difference(new Set(["timeout"]));

/** Endpoints, and the host whose state they are to prove. */
type ProofPlace = Pick<EvmDependencies, "endpoints" | "host" | "id">;

/** Requests a proof of Ethereum's trie with the host's state at `height` from every endpoint by itself. */
export async function probeTrie(
  { endpoints, host, id: { stateMachine: chain } }: ProofPlace,
  height: bigint,
  signal: AbortSignal,
): Promise<readonly CheckRow[]> {
  const queries = [chainId, stateRootAt(height), storageProof(host, [PROBED_SLOT], height)] as const;
  const probed = await Promise.all(
    endpoints.each().map(async (endpoint) => {
      const [id, root, proof] = await probeAll(endpoint, queries, { signal, timeoutMs: REQUEST_TIMEOUT_MS });
      const isOther = !(id instanceof RpcFault) && `EVM-${id}` !== endpoints.chain;
      const fault = [id, root, proof].find((answer) => answer instanceof RpcFault);
      const failure = isOther ? "wrong_chain" : fault?.code ?? verify(root, proof);
      return { endpoint: endpoint.hosts.join(), failure };
    }),
  );
  return judgeProofs(chain, height, probed.filter(({ failure }) => !SILENCE.has(failure)));

  /** Problem of a proof, if any. */
  function verify(
    stateRoot: Hash256 | undefined | RpcFault,
    proof: AccountProofAnswer | RpcFault,
  ): string | undefined {
    if (stateRoot === undefined || stateRoot instanceof RpcFault || proof instanceof RpcFault) {
      return "lagging";
    }
    try {
      const keys = [fromHex(PROBED_SLOT)];
      readEvmState({ stateRoot, host: fromHex(host), proof: buildEvmStateProof([proof]), keys });
      return undefined;
    } catch (error) {
      if (!(error instanceof EvmProofError)) throw error;
      // Before the host was deployed there is nothing to prove, and the proof shows it.
      return error.code === "account_not_present" ? undefined : `a proof that does not verify: ${error.code}`;
    }
  }
}

/** Rows of the endpoints' proofs. */
function judgeProofs(
  chain: string,
  height: bigint,
  probed: readonly { readonly endpoint: string; readonly failure: string | undefined }[],
): readonly CheckRow[] {
  const isServed = probed.some(({ failure }) => failure === undefined);
  const consequence = isServed ? "the other endpoints are used" : CONSEQUENCE;
  const what = `eth_getProof of block ${height}, the newest that the hub knows`;
  const judged = isServed ? doubtful : bad;
  return probed.map(({ endpoint, failure }): CheckRow => ({
    chain,
    endpoint,
    check: "state_proof",
    ...failure === undefined ? good(what) : judged(`no ${what} (${failure}); ${consequence}`, PROOF_NODES),
  }));
}
