/**
 * Substrate chain with EVM contracts (pallet-revive) and an ISMP host among them, behind the interface of port.ts. It is
 * read, and messages are delivered to it, by Ethereum's RPC; its state is proved by its Substrate node, since it is not
 * in Ethereum's trie. Start reading at {@link createSubstrateEvmChain}.
 */
import { mapError } from "../../encoding/coded_error.ts";
import { about, type CheckRow, keepsOut } from "../../checks/check_row.ts";
import { DEFAULT_MAX_CONCURRENT_QUERIES, type SubstrateEvmValues } from "../../config/chains.ts";
import { fromHex, type Hash256, type Hex, toHex } from "../../encoding/bytes.ts";
import { u64 } from "../../encoding/scale.ts";
import { substrateEvmProofCodec } from "../../ismp/proof.ts";
import { otherKeys } from "../../ismp/storage_keys.ts";
import { EvmProofError, type EvmProofErrorCode } from "../../merkle/evm_proof.ts";
import { readStorageRoot, readSubstrateEvmState, readTrieId } from "../../merkle/substrate_evm_proof.ts";
import { RpcFault } from "../../rpc/call.ts";
import type { OpenSocket } from "../../rpc/socket_link.ts";
import { calls } from "../../rpc/substrate_calls.ts";
import type { SubstrateClient } from "../../rpc/substrate_client.ts";
import { contractRecordKey, contractTrieKey, trieSlotKey } from "../../substrate/contract_state.ts";
import {
  assembleEvmChain,
  createEvmContext,
  type EvmChain,
  type EvmChainDeps,
  type EvmChainOptions,
} from "../evm/evm_chain.ts";
import type { EvmContext } from "../evm/evm_context.ts";
import {
  createProofProbe,
  groupSlots,
  reportFalseProof,
  type SlotProver,
  type StateProof,
} from "../evm/proofs.ts";
import { blockAt } from "../evm/queries.ts";
import { callOne } from "../evm/rpc_batch.ts";
import { type ProvenBlock, UnprovableKeyError } from "../proofs.ts";
import { checkNode, planSubstrateChecks } from "../substrate/chain_checks.ts";
import { decodeValue, type SubstrateNode } from "../substrate/node.ts";
import { createChainContext } from "../substrate/substrate_chain.ts";

/** Dependencies of the adapter. */
export interface SubstrateEvmChainDeps extends EvmChainDeps {
  readonly openSocket: OpenSocket;
}

/** Part of a chain's configuration that the adapter needs. */
export interface SubstrateEvmChainOptions extends EvmChainOptions, Pick<SubstrateEvmValues, "wsUrl"> {}

/** Largest answer of the Substrate node, bytes: proofs and metadata are far smaller. */
const MAX_PAYLOAD_BYTES = 150_000_000;

/** Which nodes prove old state. */
const PROVING_NODES = "use an archive node (--state-pruning=archive) at ws_url";

/** Creates the configured chain; connects at the first call. */
export function createSubstrateEvmChain(
  deps: SubstrateEvmChainDeps,
  options: SubstrateEvmChainOptions,
): EvmChain {
  const context = createEvmContext(deps, options);
  const { id } = context.at;
  const chain = id.stateMachine;
  const { endpoint, node } = createChainContext(deps, {
    id,
    hashing: "Blake2",
    rpcWs: options.wsUrl,
    maxRpcPayloadSizeBytes: MAX_PAYLOAD_BYTES,
    maxConcurrentQueries: DEFAULT_MAX_CONCURRENT_QUERIES,
    signer: undefined,
  }, { isHub: false, use: "contracts" });
  const { client } = node;
  const prover = new ContractProver(context, client);
  const provers = [{ endpoint: client.host, prover }];
  const probe = createProofProbe({ clock: deps.clock, chain, nodes: PROVING_NODES }, () => provers);
  const evm = assembleEvmChain(context, options, { prover, probe });
  return {
    ...evm,
    planChecks: (checks) => [
      ...evm.planChecks(checks),
      ...planSubstrateChecks(node, {
        check: async (signal) => [
          ...await checkNode(node, undefined, signal),
          ...await checkSameChain(context, node, signal),
        ],
        fetchNeededHeight: checks.fetchKnownHeight,
      }),
    ],
    check: async (hub, signal) => {
      const [ofEvm, ofNode] = await Promise.all([evm.check(hub, signal), checkNode(node, undefined, signal)]);
      const rows = [...ofEvm, ...ofNode];
      return rows.some(keepsOut) ? rows : [...rows, ...await checkSameChain(context, node, signal)];
    },
    close: () => endpoint.close(),
  };
}

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

/** Slots of a contract, and the key of their trie. */
interface ContractSlots {
  readonly contract: Hex;
  readonly slots: readonly Uint8Array[];
  readonly trie: Uint8Array;
}

/** What the main trie shows where a contract has no slots to prove: retrying does not help. */
const UNPROVABLE: ReadonlySet<EvmProofErrorCode> = new Set<EvmProofErrorCode>([
  "account_not_present",
  "account_malformed",
  "no_storage",
]);

/**
 * Prover of a chain whose contracts live in child tries. Ethereum's RPC of such a chain shows another root in its
 * headers, which proves nothing; blocks have the same numbers on both sides. Source: paritytech/polkadot-sdk:
 * substrate/frame/revive/src/evm/block_hash/block_builder.rs.
 */
export class ContractProver implements SlotProver {
  readonly method = "state_getChildReadProof";

  constructor(readonly context: Pick<EvmContext, "at">, readonly client: SubstrateClient) {}

  /** Three round trips. */
  async prove(wanted: WantedProof, signal: AbortSignal): Promise<StateProof> {
    // Accounts are in no trie of their own.
    const account = wanted.keys.find(({ length }) => length === 20);
    if (account !== undefined) throw new UnprovableKeyError("unsupported_key_length", account);
    const slots = groupSlots(wanted.keys, this.context.at.host);
    const task = { wanted, slots, ...await this.#findBlock(wanted, signal) };
    return await this.#proveSlots(task, await this.#findTries(task, signal), signal);
  }

  /** Finds the block of the same number. @throws {RpcFault} `lagging` when the node does not have it yet. */
  async #findBlock(
    { height, stateRoot }: ProvenBlock,
    signal: AbortSignal,
  ): Promise<Pick<ProofTask, "blockHash" | "stateRoot">> {
    const blockHash = await this.client.call(calls.blockHash(height), signal);
    if (blockHash === undefined) {
      throw this.client.fault("lagging", "chain_getBlockHash", `no block ${height} yet`);
    }
    if (stateRoot !== undefined) return { blockHash, stateRoot };
    const header = await this.client.call(calls.header(blockHash), signal);
    if (header === undefined) throw this.client.fault("pruned", "chain_getHeader", `no block ${height}`);
    return { blockHash, stateRoot: header.fields.stateRoot };
  }

  /** Reads from a proof which child tries the contracts have. */
  async #findTries(task: ProofTask, signal: AbortSignal): Promise<readonly ContractSlots[]> {
    const keys = [...task.slots.keys()].map((contract) => contractRecordKey(fromHex(contract)));
    const nodes = await this.client.call(calls.readProof(keys, task.blockHash), signal);
    return [...task.slots].map(([contract, slots]) => {
      const id = this.#verified(task, () => readTrieId(nodes, task.stateRoot, fromHex(contract)));
      return { contract, slots, trie: contractTrieKey(id) };
    });
  }

  async #proveSlots(
    task: ProofTask,
    contracts: readonly ContractSlots[],
    signal: AbortSignal,
  ): Promise<StateProof> {
    const { wanted, blockHash, stateRoot } = task;
    const mainKeys = contracts.flatMap(({ contract, trie }) => [contractRecordKey(fromHex(contract)), trie]);
    const [mainProof, ...childProofs] = await this.client.callAllSettled([
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
    const host = fromHex(this.context.at.host);
    const values = this.#verified(
      task,
      () => readSubstrateEvmState({ stateRoot, host, proof, keys: wanted.keys }),
    );
    return { bytes: substrateEvmProofCodec.enc(proof), readNumber: (key) => readWord(values.get(key)) };
  }

  /** Reads from a proof; one that does not verify is reported. @throws {RpcFault} @throws {UnprovableKeyError} */
  #verified<T>({ wanted }: ProofTask, read: () => T): T {
    return mapError(EvmProofError, read, (cause) => {
      if (UNPROVABLE.has(cause.code)) {
        return new UnprovableKeyError("account_not_present", undefined, { cause });
      }
      const detail = reportFalseProof(this.context.at.log, wanted, { endpoint: this.client.host, cause });
      return this.client.fault("malformed", this.method, detail);
    });
  }
}

/** The number in a word; 0 for an empty slot. */
function readWord(word: Uint8Array | undefined): bigint {
  return word === undefined || word.length === 0 ? 0n : BigInt(toHex(word));
}

/**
 * Compares the time of a block on both sides: blocks have the same numbers, and Ethereum's headers the seconds of
 * `Timestamp.Now` (paritytech/polkadot-sdk: substrate/frame/revive/src/evm/block_hash/block_builder.rs). A block that one
 * side does not have yet tells nothing.
 */
async function checkSameChain(
  { at: { endpoints } }: EvmContext,
  node: SubstrateNode,
  signal: AbortSignal,
): Promise<readonly CheckRow[]> {
  const { client, id: { stateMachine: chain } } = node;
  const hash = await client.call(calls.finalizedHash(), signal);
  const [header, stored] = await client.callAll([
    calls.header(hash),
    calls.storage(otherKeys.timestampNow(), hash),
  ], signal);
  const timeMs = decodeValue(node, stored, u64, "Timestamp.Now");
  if (header === undefined || timeMs === undefined) return [];
  const shown = await callOne(endpoints, blockAt(header.height), { signal });
  if (shown === undefined || shown.timestamp === timeMs / 1000n) return [];
  const found = `${client.host}: the node at ws_url and the endpoints of rpc_urls are of different chains: ` +
    `block ${header.height} is of Unix time ${
      timeMs / 1000n
    } and of ${shown.timestamp}; correct either of them`;
  return [about(chain).failed("endpoint_wrong_chain", found)];
}
