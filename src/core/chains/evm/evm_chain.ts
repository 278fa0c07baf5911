/**
 * EVM chain with an ISMP host, behind the interface of port.ts. Each part is in a file of its own; shared state is in
 * evm_context.ts. Start reading at {@link createEvmChain}.
 */
import type { EvmValues } from "../../config/chains.ts";
import { RemoteSigner } from "../../config/redact.ts";
import { fromHex } from "../../encoding/bytes.ts";
import { toAddress } from "../../evm/address.ts";
import { evmChainId } from "../../ismp/state_machine.ts";
import type { Fetch } from "../../rpc/http.ts";
import type { RpcObserver } from "../../rpc/observed_endpoint.ts";
import type { Clock } from "../../runtime/clock.ts";
import type { Randomness } from "../../runtime/randomness.ts";
import type { Log } from "../../telemetry/log.ts";
import type { ChainCapabilities } from "../capabilities.ts";
import type { ChainGas } from "../fees.ts";
import type { Chain } from "../port.ts";
import type { HubLightClient } from "../hub_client.ts";
import type { ProofChecks } from "../proofs.ts";
import type { Replacement } from "../replacement.ts";
import { keyAccount } from "./account.ts";
import { EvmCertainReads } from "./certain_reads.ts";
import { EvmHubClient } from "./hub_client.ts";
import { planEvmChecks } from "./chain_checks.ts";
import { EvmEvents } from "./events.ts";
import { EvmContext } from "./evm_context.ts";
import { createEvmEndpointSet } from "./evm_endpoint_set.ts";
import { EvmFees } from "./fees.ts";
import { EvmProofChecks, type ProofProbe, TrieProofProbe } from "./proof_checks.ts";
import { EvmProofs } from "./proofs.ts";
import { RemoteAccount } from "./remote_account.ts";
import { EvmReplacement } from "./replacement.ts";
import { signMessage } from "./signature.ts";
import { EvmSender } from "./sender.ts";
import { EvmSimulator } from "./simulation.ts";
import { checkChain } from "./start_check.ts";
import { EvmOutcomes } from "./outcomes.ts";
import { EvmReads } from "./reads.ts";
import type { SlotProver } from "./slot_prover.ts";
import { TrieProver } from "./trie_prover.ts";
import { EvmGas } from "./native_token.ts";
import { defaultMaximumPrice } from "./gas.ts";
import { parseDecimal } from "../../encoding/decimal.ts";
import { EvmGates } from "./module_gates.ts";

/** EVM chain: it has every part that a chain may have. */
export interface EvmChain extends Chain {
  readonly relayer: Uint8Array;
  readonly gas: ChainGas;
  readonly replacement: Replacement;
  readonly proofChecks: ProofChecks;
  readonly hubClient: HubLightClient;
}

/** Part of a chain's configuration that the adapter needs. */
export type EvmChainOptions =
  & Partial<Pick<EvmValues, "maximumGasPriceGwei">>
  & Pick<
    EvmValues,
    | "stateMachine"
    | "consensusStateId"
    | "rpcUrls"
    | "ismpHost"
    | "signer"
    | "queryBatchSizeBlocks"
    | "tracingBatchSize"
    | "gasPriceBufferPercent"
    | "clientType"
  >;

/** Dependencies of the adapter. */
export interface EvmChainDeps {
  readonly fetch: Fetch;
  readonly clock: Clock;
  readonly randomness: Randomness;
  readonly log: Log;
  /** Notified of every request; absent: nobody observes. */
  readonly observer?: RpcObserver | undefined;
}

/**
 * Maximum number of messages in one handler call (polytope-labs/hyperbridge: tesseract/messaging/evm, chunks of 100).
 */
const MAX_MESSAGES = 100;
/** Public nodes refuse raw transactions above 128 KiB, some sequencers above 95 kB. */
const MAX_CALL_BYTES = 90_000;
/** Rules of EVM hosts (docs/protocol/evm-host.md sections 1 to 5). */
const CAPABILITIES: ChainCapabilities = {
  challengeRule: "reached",
  losesGasOnRace: true,
  acceptsGetResponses: true,
  hubProofs: "mmr",
  freezes: "host",
  hasNodeSizeLimit: true,
  provesStoredRoot: true,
};
/** Concurrent traces of single messages unless the configuration sets a limit. */
const TRACES_AT_ONCE = 16;

/** How the state of a chain is proved, and what is checked of that. */
export interface EvmState {
  readonly prover: SlotProver;
  readonly probe: ProofProbe;
}

/**
 * Creates the configured chain. Nothing is requested before the first method call; the chain id of every endpoint is
 * checked along with its first request.
 */
export function createEvmChain(deps: EvmChainDeps, options: EvmChainOptions): EvmChain {
  const context = createEvmContext(deps, options);
  return assembleEvmChain(context, options, {
    prover: new TrieProver(context),
    probe: new TrieProofProbe(context.at),
  });
}

/** Creates what the parts of a chain share. */
export function createEvmContext(deps: EvmChainDeps, options: EvmChainOptions): EvmContext {
  const id = { stateMachine: options.stateMachine, consensusStateId: options.consensusStateId };
  const number = evmChainId(options.stateMachine);
  const log = deps.log.with({ chain: options.stateMachine });
  const { signer, stateMachine: chain } = options;
  const account = signer instanceof RemoteSigner
    ? new RemoteAccount({ ...deps, log }, { chain, signer })
    : keyAccount(signer);
  const endpoints = createEvmEndpointSet(deps, { stateMachine: options.stateMachine, urls: options.rpcUrls });
  return new EvmContext({
    endpoints,
    clock: deps.clock,
    log,
    id,
    chainId: number,
    host: toAddress(options.ismpHost),
    account,
    sender: account.address,
    clientType: options.clientType,
    gasPriceBufferPercent: options.gasPriceBufferPercent,
    maximumGasPriceWei: options.maximumGasPriceGwei === undefined
      ? defaultMaximumPrice(number)
      : parseDecimal(String(options.maximumGasPriceGwei), 9),
    blocksPerEventQuery: options.queryBatchSizeBlocks === undefined
      ? undefined
      : BigInt(options.queryBatchSizeBlocks),
  });
}

/** Chain of these parts. */
export function assembleEvmChain(
  context: EvmContext,
  { tracingBatchSize }: Pick<EvmChainOptions, "tracingBatchSize">,
  { prover, probe }: EvmState,
): EvmChain {
  const proofs = new EvmProofs(context, prover);
  return {
    id: context.at.id,
    limits: {
      maxMessagesPerStep: MAX_MESSAGES,
      maxCallBytes: MAX_CALL_BYTES,
      blocksPerEventQuery: context.at.blocksPerEventQuery,
    },
    capabilities: CAPABILITIES,
    relayer: fromHex(context.at.sender),
    reads: new EvmReads(context),
    events: new EvmEvents(context),
    certain: new EvmCertainReads(context),
    proofs,
    simulator: new EvmSimulator(context, tracingBatchSize ?? TRACES_AT_ONCE),
    sender: new EvmSender(context),
    outcomes: new EvmOutcomes(context),
    fees: new EvmFees(context),
    gas: new EvmGas(context),
    replacement: new EvmReplacement(context),
    proofChecks: new EvmProofChecks(proofs, probe),
    runtime: undefined,
    hubClient: new EvmHubClient(context),
    gates: new EvmGates(context),
    planChecks: (checks) => planEvmChecks(context, probe, checks),
    check: (hub, signal) => checkChain(context, hub, signal),
    signMessage: (message, signal) => signMessage(context, message, signal),
    // HTTP connections belong to the runtime.
    close: () => Promise.resolve(),
  };
}
