/**
 * Proofs of the state of EVM contracts by the Substrate node of their chain, verified as the hub will, below the root
 * that the hub stores for the block. Ethereum's RPC of such a chain shows another root in its headers, which proves
 * nothing; blocks have the same numbers on both sides. Source: paritytech/polkadot-sdk:
 * substrate/frame/revive/src/evm/block_hash/block_builder.rs.
 */
import { locateSlot } from "../../evm/host_storage.ts";
import { fromHex, type Hash256, type Hex, toHex } from "../../encoding/bytes.ts";
import { substrateEvmProofCodec } from "../../ismp/proof.ts";
import {
  readStorageRoot,
  readSubstrateEvmState,
  readTrieId,
  SubstrateEvmProofError,
  type SubstrateEvmProofErrorCode,
} from "../../merkle/substrate_evm_proof.ts";
import { RpcFault } from "../../rpc/fault.ts";
import { calls } from "../../rpc/substrate_calls.ts";
import type { SubstrateClient } from "../../rpc/substrate_client.ts";
import { contractRecordKey, contractTrieKey, trieSlotKey } from "../../substrate/contract_state.ts";
import type { EvmContext } from "../evm/evm_context.ts";
import type { SlotProver, StateProof } from "../evm/slot_prover.ts";
import { type ProvenBlock, UnprovableKeyError } from "../proofs.ts";

/** Keys to prove at a block. */
type WantedProof = ProvenBlock & { readonly keys: readonly Uint8Array[] };

/** What is proved, where it is, and the root that the proof must lead to. */
interface ProofTask {
  readonly wanted: WantedProof;
  /** Slots by hex of their contract. */
  readonly slots: ReadonlyMap<Hex, readonly Uint8Array[]>;
  readonly blockHash: Hash256;
  readonly stateRoot: Hash256;
}

/** What the main trie shows where a contract has no slots to prove: retrying does not help. */
const UNPROVABLE: ReadonlySet<SubstrateEvmProofErrorCode> = new Set<SubstrateEvmProofErrorCode>([
  "account_not_present",
  "account_malformed",
  "no_storage",
]);

/** Maximum number of contracts whose tries are remembered. */
const MAX_TRIES = 64;

/** Prover of a chain whose contracts live in child tries. */
export class ContractProver implements SlotProver {
  readonly method = "state_getChildReadProof";
  readonly #context: Pick<EvmContext, "at" | "reportFault">;
  readonly #client: SubstrateClient;
  /** Id of the child trie by contract: it stays the same as long as the contract lives. */
  readonly #tries = new Map<Hex, Uint8Array>();

  constructor(context: Pick<EvmContext, "at" | "reportFault">, client: SubstrateClient) {
    this.#context = context;
    this.#client = client;
  }

  /** Two round trips, three for contracts that were not read before. */
  async prove(wanted: WantedProof, signal: AbortSignal): Promise<StateProof> {
    const slots = groupSlots(wanted.keys, fromHex(this.#context.at.host));
    const task = { wanted, slots, ...await this.#findBlock(wanted, signal) };
    const isKnown = [...slots.keys()].every((contract) => this.#tries.has(contract));
    if (!isKnown) await this.#findTries(task, signal);
    try {
      return await this.#proveSlots(task, signal);
    } catch (error) {
      // A contract that was removed and made again has another trie.
      if (!isKnown || !(error instanceof RpcFault) || error.code !== "malformed") throw error;
      await this.#findTries(task, signal);
      return await this.#proveSlots(task, signal);
    }
  }

  /** Finds the block of the same number. @throws {RpcFault} `lagging` when the node does not have it yet. */
  async #findBlock(
    { height, stateRoot }: ProvenBlock,
    signal: AbortSignal,
  ): Promise<Pick<ProofTask, "blockHash" | "stateRoot">> {
    const blockHash = await this.#client.call(calls.blockHash(height), signal);
    if (blockHash === undefined) {
      throw this.#client.fault("lagging", "chain_getBlockHash", `no block ${height} yet`);
    }
    if (stateRoot !== undefined) return { blockHash, stateRoot };
    const header = await this.#client.call(calls.header(blockHash), signal);
    if (header === undefined) throw this.#client.fault("pruned", "chain_getHeader", `no block ${height}`);
    return { blockHash, stateRoot: header.fields.stateRoot };
  }

  /** Reads from a proof which child tries the contracts have, and remembers them. */
  async #findTries(task: ProofTask, signal: AbortSignal): Promise<void> {
    const contracts = [...task.slots.keys()];
    const keys = contracts.map((contract) => contractRecordKey(fromHex(contract)));
    const nodes = await this.#client.call(calls.readProof(keys, task.blockHash), signal);
    for (const contract of contracts) {
      const trieId = this.#verified(task, () => readTrieId(nodes, task.stateRoot, fromHex(contract)));
      this.#tries.set(contract, trieId);
    }
    for (const oldest of this.#tries.keys()) {
      if (this.#tries.size <= MAX_TRIES) break;
      if (!task.slots.has(oldest)) this.#tries.delete(oldest);
    }
  }

  async #proveSlots(task: ProofTask, signal: AbortSignal): Promise<StateProof> {
    const { wanted, blockHash, stateRoot } = task;
    const contracts = [...task.slots].map(([contract, slots]) => ({
      contract,
      slots,
      trie: contractTrieKey(this.#tries.get(contract) ?? new Uint8Array()),
    }));
    const mainKeys = contracts.flatMap(({ contract, trie }) => [contractRecordKey(fromHex(contract)), trie]);
    const [mainProof, ...childProofs] = await this.#client.callAllSettled([
      calls.readProof(mainKeys, blockHash),
      ...contracts.map(({ trie, slots }) => calls.childReadProof(trie, slots.map(trieSlotKey), blockHash)),
    ], signal);
    if (mainProof instanceof RpcFault) throw mainProof;
    // Whether there is a trie at all is told by the main trie: of one that does not exist nodes prove nothing.
    for (const { contract } of contracts) {
      this.#verified(task, () => readStorageRoot(mainProof, stateRoot, fromHex(contract)));
    }
    const storageProof = new Map(contracts.map(({ contract }, at) => {
      const nodes = childProofs[at];
      if (nodes instanceof RpcFault) throw nodes;
      return [contract, nodes ?? []] as const;
    }));
    const proof = { mainProof, storageProof };
    const host = fromHex(this.#context.at.host);
    const values = this.#verified(
      task,
      () => readSubstrateEvmState({ stateRoot, host, proof, keys: wanted.keys }),
    );
    return {
      bytes: substrateEvmProofCodec.enc(proof),
      readNumber: (key) => readWord(values.get(key)),
    };
  }

  /** Reads from a proof; one that does not verify is reported. @throws {RpcFault} @throws {UnprovableKeyError} */
  #verified<T>({ wanted: { height, stateRoot } }: ProofTask, read: () => T): T {
    try {
      return read();
    } catch (cause) {
      if (!(cause instanceof SubstrateEvmProofError)) throw cause;
      if (UNPROVABLE.has(cause.code)) {
        throw new UnprovableKeyError("account_not_present", undefined, { cause });
      }
      const under = stateRoot === undefined ? "" : " under the root that the hub stores";
      this.#context.reportFault(this.#client.host, "endpoint_proof_invalid", {
        block: height,
        reason: cause.code,
        storedRoot: stateRoot !== undefined,
      });
      const detail = `the proof of block ${height} does not verify${under}: ${cause.code}`;
      throw this.#client.fault("malformed", this.method, detail);
    }
  }
}

/** Slots by their contract. @throws {UnprovableKeyError} for keys of accounts, and of other lengths. */
function groupSlots(
  keys: readonly Uint8Array[],
  host: Uint8Array,
): ReadonlyMap<Hex, readonly Uint8Array[]> {
  const slots = new Map<Hex, Uint8Array[]>();
  for (const key of keys) {
    const located = locateSlot(key, host);
    if (located === undefined) throw new UnprovableKeyError("unsupported_key_length", key);
    const { contract, slot } = located;
    const known = slots.get(toHex(contract)) ?? [];
    slots.set(toHex(contract), known);
    known.push(slot);
  }
  return slots;
}

/** The number in a word; 0 for an empty slot. */
function readWord(word: Uint8Array | undefined): bigint {
  return word === undefined || word.length === 0 ? 0n : BigInt(toHex(word));
}
