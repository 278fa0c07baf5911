/**
 * Gas of naive proofs on a host with the live BEEFY client: with as many votes as are needed, with all that a
 * justification could hold, and several sessions in one transaction.
 */
import type { Hex, TransactionReceipt } from "viem";
import { fromHex } from "../../src/core/encoding/bytes.ts";
import { checkProof } from "../../src/consensus/clients/beefy/spec/verify_proof.ts";
import { commitmentHash } from "../../src/core/beefy/commitment.ts";
import { decodeNaiveProof, encodeNaiveProof, type NaiveProof } from "../../src/core/beefy/naive_proof.ts";
import type { BeefyClientState } from "../../src/core/evm/beefy_client_state.ts";
import { encodeDelivery } from "../../src/core/chains/evm/calldata.ts";
import { DEVNET_ACCOUNTS } from "../../devnet/evm/accounts.ts";
import { HOST_ABI } from "../../devnet/evm/abi.ts";
import { startAnvil } from "../../devnet/evm/anvil.ts";
import { deployIsmpHost, type HubParams, type IsmpHost } from "../../devnet/evm/deploy.ts";
import { readHubConsensus } from "../../devnet/evm/host_admin.ts";
import type { Validators } from "../../devnet/relay/validators.ts";
import { runAtOnce } from "../../devnet/relay/run_at_once.ts";

/** A host and its node. */
export interface GasHost extends AsyncDisposable {
  readonly host: IsmpHost;
  /** What the host trusts now. */
  state(): Promise<BeefyClientState>;
  /** Newest height of the hub that it knows. */
  hubHeight(): Promise<bigint>;
}

/** What a transaction with proofs costs. */
export interface GasCost {
  readonly gas: number;
  readonly calldataBytes: number;
}

const CHAIN_ID = 31337;

/** Deploys a host that trusts the state. */
export async function startGasHost(hub: HubParams, beefyState: BeefyClientState): Promise<GasHost> {
  const anvil = await startAnvil({ chainId: CHAIN_ID });
  const host = await deployIsmpHost({ rpcUrl: anvil.rpcUrl, chainId: CHAIN_ID, hub, beefyState });
  return {
    host,
    state: () => readHubConsensus(host),
    hubHeight: () =>
      host.reader.readContract({
        address: host.addresses.host,
        abi: HOST_ABI,
        functionName: "latestStateMachineHeight",
        args: [hub.paraId],
      }),
    [Symbol.asyncDispose]: () => anvil[Symbol.asyncDispose](),
  };
}

/**
 * Brings proofs to the host in one transaction, as the relayer would write it.
 * @throws {Error} unless the host trusts afterwards, and knows of the hub, what the verifier says.
 */
export async function deliver(
  { host, state, hubHeight }: GasHost,
  proofs: readonly Uint8Array[],
): Promise<GasCost> {
  let expected = await state();
  let expectedHeight = await hubHeight();
  for (const proof of proofs) {
    const { isStale, state: next, heights } = runAtOnce(checkProof(expected, proof));
    if (isStale) throw new Error("The host knows more than the proof brings");
    expected = next;
    for (const { height } of heights) expectedHeight = height > expectedHeight ? height : expectedHeight;
  }
  const steps = proofs.map((proof) => ({ kind: "consensus" as const, proof }));
  const data = encodeDelivery({ steps }, host.addresses.host);
  const receipt: TransactionReceipt = await host.transact(DEVNET_ACCOUNTS.relayer, {
    to: host.addresses.handler,
    data,
  });
  const { latestHeight, current } = await state();
  const isTaken = latestHeight === expected.latestHeight && current.id === expected.current.id;
  if (!isTaken || await hubHeight() !== expectedHeight) {
    throw new Error(`The host did not take the proof of relay block ${expected.latestHeight}`);
  }
  return { gas: Number(receipt.gasUsed), calldataBytes: fromHex(data).length };
}

/** Does something to the host and undoes it. */
export async function undone<T>({ host }: GasHost, work: () => Promise<T>): Promise<T> {
  const id: Hex = await host.node.snapshot();
  const result = await work();
  await host.node.revert({ id });
  return result;
}

/** The proof with the votes of every validator: no path to the root is needed then. */
export function withAllVotes(proof: Uint8Array, validators: Validators, session: number): Uint8Array {
  const { relay, parachain }: NaiveProof = decodeNaiveProof(proof);
  const signed = commitmentHash(relay.commitment);
  const set = validators.set(session);
  const votes = set.chooseBeefy(set.length, 0).map(({ index, validator }) => {
    const signature = validator.signBeefy(signed);
    return { index, signature: signature.with(64, (signature[64] ?? 0) + 27) };
  });
  return encodeNaiveProof({ relay: { ...relay, votes, authoritiesProof: [] }, parachain });
}

/** Votes in a proof. */
export function votesOf(proof: Uint8Array): number {
  return decodeNaiveProof(proof).relay.votes.length;
}
