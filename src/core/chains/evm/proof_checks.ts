/**
 * Check of what claims need: whether any endpoint proves the host's state at the height that the hub knows.
 * Node facts: ethereum/go-ethereum: docs/fundamentals/archive.md; paradigmxyz/reth and ethereum-optimism/op-reth:
 * `--rpc.eth-proof-window`; erigontech/erigon 3.3: `--prune.include-commitment-history`; NethermindEth/nethermind:
 * `Pruning.Mode`; besu-eth/besu: `--data-storage-format`; OffchainLabs/nitro: `--execution.caching.archive`.
 */
import { fromHex, type Hash256, toHex } from "../../encoding/bytes.ts";
import { requestSenderSlot } from "../../evm/host_storage.ts";
import {
  type AccountProofAnswer,
  buildEvmStateProof,
  EvmProofError,
  readEvmState,
} from "../../merkle/evm_proof.ts";
import { ENDPOINT_FAULTS, RpcFault } from "../../rpc/call.ts";
import { type CheckRow, REQUEST_TIMEOUT_MS } from "../../checks/check_row.ts";
import { bad, doubtful, good } from "./endpoint_checks.ts";
import type { EvmDependencies } from "./evm_context.ts";
import { chainId, stateRootAt, storageProof } from "./queries.ts";
import { probeAll } from "./rpc_batch.ts";
import { type ChainProofs, type ProofChecks, UnprovableKeyError } from "../proofs.ts";

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

/** Creates the checks of what the endpoints can prove. */
export function createProofChecks(proofs: Pick<ChainProofs, "proveState">): ProofChecks {
  return {
    requireProofs: async (height, signal) => {
      try {
        await proofs.proveState([fromHex(PROBED_SLOT)], { height }, signal);
      } catch (error) {
        // The host is younger than that height: the proof shows it, and there is nothing to claim yet.
        if (!(error instanceof UnprovableKeyError)) throw error;
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
