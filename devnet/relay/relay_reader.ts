/** The relayer's own reader, connected to a simulated relay chain. */
import type { NaiveProofInput } from "../../src/consensus/clients/beefy/spec/build_proof.ts";
import { readNaiveProofInput } from "../../src/consensus/clients/beefy/naive_proof_input.ts";
import { RelayChain } from "../../src/consensus/relay_chain/relay_chain.ts";
import { decodeBeefyJustification } from "../../src/core/beefy/commitment.ts";
import { EndpointUrl } from "../../src/core/config/redact.ts";
import { systemClock } from "../../src/core/runtime/system_clock.ts";
import { countingSocket } from "../../tests/support/counting_socket.ts";
import { seededRandomness } from "../../tests/support/seeded_randomness.ts";
import type { RelayChainNode } from "./relay_chain.ts";

/** A reader that closes when disposed of. */
export interface RelayConnection extends AsyncDisposable {
  readonly chain: RelayChain;
}

/** Connects at the first call. */
export function connectRelay(wsUrl: string): RelayConnection {
  const { open: openSocket } = countingSocket();
  const deps = { clock: systemClock, randomness: seededRandomness(1), openSocket, fetch };
  const chain = new RelayChain(deps, "Paseo devnet", { rpcWs: new EndpointUrl(wsUrl) });
  return { chain, [Symbol.asyncDispose]: () => chain.close() };
}

/** What a naive proof of a block is made of, as the consensus relayer reads it. */
export async function readProofInput(
  node: RelayChainNode,
  relay: RelayChain,
  number: number,
  paraIds: readonly number[],
): Promise<NaiveProofInput> {
  const { signal } = new AbortController();
  const block = await relay.fetchBlock(node.hash(number), signal);
  const justification = decodeBeefyJustification(node.beefyJustification(number));
  const leafCount = BigInt(number) - node.beefyState(number).beefyActivationBlock;
  const reads = { relay, paraIds, batchSize: 100 };
  return await readNaiveProofInput(reads, { block, justification, leafCount }, signal);
}
