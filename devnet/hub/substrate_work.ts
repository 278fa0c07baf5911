/**
 * Building blocks of tests with a second Substrate chain: a hub and a chain that know each other, and child-trie
 * proofs of either.
 */
import type { Hash256 } from "../../src/core/encoding/bytes.ts";
import { type HashAlgorithm, type Proof, stateMachineProofCodec } from "../../src/core/ismp/proof.ts";
import {
  parseStateMachine,
  type StateMachine,
  toConsensusClientId,
  toConsensusStateId,
} from "../../src/core/ismp/state_machine.ts";
import type { ChildTrieName } from "../../src/core/ismp/storage_keys.ts";
import { bytes, decodeStrict, list } from "../../src/core/encoding/scale.ts";
import { parachainClientId } from "./pallets/consensus_clients.ts";
import { senderHost, startTestHub } from "./deliveries.ts";
import { type Hub, startHub } from "./hub.ts";
import { resultHttp } from "./json_rpc_client.ts";
import { ownHeaderOf } from "./own_proofs.ts";
import { receiverHost } from "./relayer_work.ts";

const parachains = toConsensusStateId("PAS0");
const hubMachine = parseStateMachine("KUSAMA-4009");

/** A hub and a chain beside it, both in manual mode. */
export interface TwoChains extends AsyncDisposable {
  readonly hub: Hub;
  readonly chain: Hub;
  /** Makes the newest final state of one known to the other. @returns its height. */
  update(from: Hub, to: Hub): Promise<bigint>;
}

/** Starts both; the clock of both stands still. */
export async function startTwoChains(
  options: {
    readonly stateMachine: StateMachine;
    readonly hashing: HashAlgorithm;
    readonly childTrie?: ChildTrieName;
    readonly balances?: ReadonlyMap<Hash256, bigint>;
  },
): Promise<TwoChains> {
  const now = (): number => 1_800_000_000_000;
  const client = { unbondingPeriodSec: 100_000n, stateId: parachains, clientId: parachainClientId };
  const evm = { unbondingPeriodSec: 100_000n };
  const evmClients = [["ETH0", "BEAC", "EVM-1"], ["BSC0", "BSCP", "EVM-56"]] as const;
  const hub = await startTestHub({
    now,
    pool: { banMs: 0 },
    hosts: new Map([
      [parseStateMachine("EVM-1"), senderHost],
      [parseStateMachine("EVM-56"), receiverHost],
    ]),
    clients: [
      { ...client, challengePeriodsSec: new Map([[options.stateMachine, 0n]]) },
      ...evmClients.map(([stateId, clientId, chain]) => ({
        ...evm,
        stateId: toConsensusStateId(stateId),
        clientId: toConsensusClientId(clientId),
        challengePeriodsSec: new Map([[parseStateMachine(chain), 0n]]),
      })),
    ],
  });
  const chain = await startHub({
    chain: { consensusStateId: parachains, coprocessor: hubMachine, ...options },
    now,
    blockTimeMs: "manual",
    pool: { banMs: 0 },
    clients: [{ ...client, challengePeriodsSec: new Map([[hubMachine, 0n]]) }],
    ...options.balances === undefined ? {} : { balances: options.balances },
  });
  return {
    hub,
    chain,
    async update(from, to): Promise<bigint> {
      const header = from.finalizedHeader;
      const own = ownHeaderOf(header);
      if (own === undefined) throw new Error("The first block has no roots");
      const { timestampSec, mmrRoot, childTrieRoot, stateRoot } = own;
      const commitment = from === hub
        ? { timestampSec, overlayRoot: mmrRoot, stateRoot: childTrieRoot }
        : { timestampSec, overlayRoot: childTrieRoot, stateRoot };
      const id = { stateMachine: from.identity.stateMachine, consensusStateId: parachains };
      const stored = to.plantCommitment(id, BigInt(header.number), commitment);
      to.produceBlock();
      await stored;
      return BigInt(header.number);
    },
    async [Symbol.asyncDispose](): Promise<void> {
      await hub[Symbol.asyncDispose]();
      await chain[Symbol.asyncDispose]();
    },
  };
}

/** Proof of child keys of a chain, as a relayer makes it. */
export async function childProof(
  of: Hub,
  hasher: HashAlgorithm,
  height: bigint,
  keys: readonly Uint8Array[],
): Promise<Proof> {
  const answer: unknown = await resultHttp(of.httpUrl, "ismp_queryChildTrieProof", [
    Number(height),
    keys.map((key) => [...key]),
  ]);
  const storageProof = decodeStrict(list(bytes), Uint8Array.from(Object(answer).proof), "proof");
  return {
    height: {
      id: { stateMachine: of.identity.stateMachine, consensusStateId: parachains },
      height,
    },
    proof: stateMachineProofCodec.enc({ hasher, storageProof }),
  };
}
