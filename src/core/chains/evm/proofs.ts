/**
 * Proofs of requests, fees, receipts and state values at one block, verified as the hub will, below the root that the
 * hub stores for the block. How state is proved is up to a {@link SlotProver}. Source: docs/protocol/evm-host.md section
 * 5; polytope-labs/hyperbridge: modules/pallets/relayer/src/accumulate.rs.
 */
import { onError } from "../../encoding/coded_error.ts";
import { about, type CheckRow, REQUEST_TIMEOUT_MS } from "../../checks/check_row.ts";
import { fromHex, type Hash256, type Hex, toHash256, toHex } from "../../encoding/bytes.ts";
import { type Address, toAddress } from "../../evm/address.ts";
import { locateSlot, requestFeeSlot, requestReceiptSlot, requestSenderSlot } from "../../evm/host_storage.ts";
import type { Message } from "../../ismp/message.ts";
import { evmStateProofCodec } from "../../ismp/proof.ts";
import { buildEvmStateProof, EvmProofError, readEvmState } from "../../merkle/evm_proof.ts";
import { decodeRlp } from "../../merkle/patricia.ts";
import { ENDPOINT_FAULTS, type FaultPlace, RpcFault } from "../../rpc/call.ts";
import type { RpcEndpointSet } from "../../rpc/endpoint_set.ts";
import type { Clock } from "../../runtime/clock.ts";
import { DeadlineFault, withDeadline } from "../../runtime/retry.ts";
import { partsOf } from "../../runtime/slices.ts";
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
import type { Log } from "../../telemetry/log.ts";
import { type EvmContext, EvmPart } from "./evm_context.ts";
import { stateRootAt, storageProof } from "./queries.ts";
import { faultAt, RpcBatch } from "./rpc_batch.ts";

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
    const proof = await this.#prover.prove({ keys: slots, height, stateRoot }, signal)
      .catch(onError(UnprovableKeyError, (error): never => {
        throw error.code === "account_not_present" ? this.#absentAt(height, "no host") : error;
      }));
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
const PROBED_SLOT: Hash256 = requestSenderSlot(anyCommitment);

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
const CONSEQUENCE =
  "nothing is delivered to this chain until an endpoint serves it, because no fee could be claimed, and " +
  "messages from it cannot be proved";

/** Codes that say nothing about proofs: other checks tell them. An old block alone may be what takes too long. */
const SILENCE: ReadonlySet<string | undefined> = ENDPOINT_FAULTS.difference(new Set(["timeout"]));

/** A source of proofs that is probed by itself. */
export interface ProbedProver {
  /** Host of the endpoint. */
  readonly endpoint: string;
  readonly prover: SlotProver;
}

/** Creates the probe of what these prove, each by itself. @param nodes advice: which nodes can */
export function createProofProbe(
  { clock, chain, nodes }: { readonly clock: Clock; readonly chain: string; readonly nodes: string },
  listProvers: () => readonly ProbedProver[],
): ProofProbe {
  return async (height, signal) => {
    const probed = await Promise.all(
      listProvers().map(async ({ endpoint, prover }) => {
        const failure = await findProofFailure({ clock, prover }, height, signal);
        return {
          endpoint,
          failure,
          what: `${prover.method} of block ${height}, the newest that the hub knows`,
        };
      }),
    );
    const isServed = probed.some(({ failure }) => failure === undefined);
    const consequence = isServed ? "the other endpoints are used" : CONSEQUENCE;
    return probed.filter(({ failure }) => !SILENCE.has(failure)).map(({ endpoint, failure, what }) => {
      const { ok, [isServed ? "warning" : "failed"]: refused } = about(chain, endpoint);
      return failure === undefined
        ? ok("state_proof", what)
        : refused("state_proof", `no ${what} (${failure}); ${consequence}`, nodes);
    });
  };
}

/** Why a proof of the host's state is not given, if it is not. */
async function findProofFailure(
  { clock, prover }: { readonly clock: Clock; readonly prover: SlotProver },
  height: bigint,
  signal: AbortSignal,
): Promise<string | undefined> {
  const deadline = { what: `a proof of block ${height}`, afterMs: REQUEST_TIMEOUT_MS, signal };
  try {
    const probed = { keys: [fromHex(PROBED_SLOT)], height };
    await withDeadline(clock, deadline, (inner) => prover.prove(probed, inner));
    return undefined;
  } catch (error) {
    // Before the host was deployed there is nothing to prove, and the proof shows it.
    if (error instanceof UnprovableKeyError) return undefined;
    if (error instanceof DeadlineFault) return "timeout";
    if (!(error instanceof RpcFault)) throw error;
    return error.code === "malformed" ? error.detail ?? error.code : error.code;
  }
}

/** Creates the probe of proofs of Ethereum's trie with the host's state, from every endpoint. */
export function createTrieProbe(
  place: Pick<TriePlace, "endpoints" | "host"> & { readonly clock: Clock; readonly chain: string },
): ProofProbe {
  const { clock, chain, endpoints, host } = place;
  return createProofProbe({ clock, chain, nodes: PROOF_NODES }, () =>
    endpoints.each().map((endpoint) => ({
      endpoint: endpoint.hosts.join(),
      prover: new TrieProver({ endpoints: endpoint, host }),
    })));
}

/** Proofs of old blocks require disk reads. */
const PROOF_TIMEOUT_MS = 60_000;

/** Slots of one `eth_getProof`: Geth refuses more (ethereum/go-ethereum: internal/ethapi/api.go). */
const MAX_PROOF_SLOTS = 1_024;

/** Logs that a proof does not verify; returns what is wrong, for the fault. */
export function reportFalseProof(
  log: Log | undefined,
  { height, stateRoot }: ProvenBlock,
  { endpoint, cause: { code: reason } }: { readonly endpoint: string; readonly cause: EvmProofError },
): string {
  const isStored = stateRoot !== undefined;
  log?.warn("endpoint_data_invalid.proof", { endpoint, block: height, reason, storedRoot: isStored });
  const under = isStored ? " under the root that the hub stores" : "";
  return `the proof of block ${height} does not verify${under}: ${reason}`;
}

/** Where the state of a host in Ethereum's trie is proved. */
interface TriePlace {
  readonly endpoints: RpcEndpointSet;
  readonly host: Address;
  /** Names endpoints with false proofs; absent: nobody is told. */
  readonly log?: Log;
}

/** Prover of a chain whose state is in Ethereum's trie. */
export class TrieProver implements SlotProver {
  readonly method = "eth_getProof";

  constructor(readonly place: TriePlace) {}

  /** An endpoint whose proof does not verify is followed by the next one. One request. @throws {UnprovableKeyError} */
  async prove(
    wanted: ProvenBlock & { readonly keys: readonly Uint8Array[] },
    signal: AbortSignal,
  ): Promise<StateProof> {
    const { endpoints, host } = this.place;
    const { keys, height } = wanted;
    const batch = new RpcBatch(endpoints);
    const root = wanted.stateRoot === undefined
      ? batch.add(stateRootAt(height))
      : (): Hash256 | undefined => wanted.stateRoot;
    const answers = [...groupSlots(keys, host)].flatMap(([account, slots]) => {
      const parts = slots.length === 0 ? [slots] : partsOf(slots, MAX_PROOF_SLOTS);
      return parts.map((part) => batch.add(storageProof(account, part.map(toHash256), height)));
    });
    let proved: StateProof | UnprovableKeyError | undefined;
    const check = (place: FaultPlace): RpcFault | undefined => {
      const stateRoot = root();
      if (stateRoot === undefined) return faultAt("lagging", place, `no block ${height} yet`);
      try {
        const proof = buildEvmStateProof(answers.map((answer) => answer()));
        const values = readEvmState({ stateRoot, host: fromHex(host), proof, keys });
        proved = {
          bytes: evmStateProofCodec.enc(proof),
          readNumber: (key) => readNumber(values.get(key)),
        };
        return undefined;
      } catch (cause) {
        if (!(cause instanceof EvmProofError)) throw cause;
        if (cause.code !== "account_not_present") {
          const detail = reportFalseProof(this.place.log, wanted, { endpoint: place.endpointHost, cause });
          return faultAt("malformed", place, detail);
        }
        proved = new UnprovableKeyError("account_not_present", undefined, { cause });
        return undefined;
      }
    };
    await batch.send({ signal, timeoutMs: PROOF_TIMEOUT_MS, check });
    if (proved instanceof UnprovableKeyError) throw proved;
    if (proved === undefined) throw new Error("The answers were not checked");
    return proved;
  }
}

/**
 * Groups keys as GET requests name them: slots by their contract, and accounts without one.
 * @throws {UnprovableKeyError} for keys of other lengths
 */
export function groupSlots(
  keys: readonly Uint8Array[],
  host: Address,
): ReadonlyMap<Address, readonly Uint8Array[]> {
  const slots = new Map<Address, Uint8Array[]>();
  for (const key of keys) {
    const located = key.length === 20 ? { contract: key, slot: undefined } : locateSlot(key, fromHex(host));
    if (located === undefined) throw new UnprovableKeyError("unsupported_key_length", key);
    const contract = toAddress(located.contract);
    const known = slots.get(contract) ?? [];
    slots.set(contract, known);
    if (located.slot !== undefined) known.push(located.slot);
  }
  return slots;
}

/** The number in a slot; 0 when it is empty, or kept by a node although it was set to zero. */
function readNumber(value: Uint8Array | undefined): bigint {
  const bytes = value === undefined ? new Uint8Array() : decodeRlp(value);
  if (Array.isArray(bytes) || bytes.length > 32) throw new Error("The fee's slot holds no number");
  return BigInt(`0x0${toHex(bytes).slice(2)}`);
}
