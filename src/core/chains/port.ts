/**
 * Interface through which both programs see a chain. Adapters (`evm/`, `substrate/`) implement it and decide nothing;
 * decisions are made in the programs. A chain is a record of parts, each described in a file beside this one. Start
 * reading here.
 */
import type { Hash256 } from "../encoding/bytes.ts";
import type { Signature } from "../ismp/fees.ts";
import type { SignedMessage } from "../ismp/signed_messages.ts";
import type { StateMachineId } from "../ismp/state_machine.ts";
import type { ChainCheckContext, ChainChecks } from "./chain_checks.ts";
import type { CheckFinding } from "./check_finding.ts";
import type { HubLightClient } from "./hub_client.ts";
import type { ChainProofs, ProofChecks } from "./proofs.ts";
import type { CertainReads, ChainEvents, ChainReads, ModuleGates } from "./reads.ts";
import type { Replacement } from "./replacement.ts";
import type { Outcomes, Sender, Simulator } from "./submission.ts";

/**
 * Chain with an ISMP host. Every method of its parts may throw an `RpcFault`; all waits end when `signal` is aborted.
 * Expected outcomes are values. Parts that not every chain has are `undefined` where they are missing.
 */
export interface Chain {
  /**
   * State machine of the chain, and the consensus state id under which the hub stores it (for the hub: under which
   * others do).
   */
  readonly id: StateMachineId;
  readonly limits: ChainLimits;
  readonly capabilities: ChainCapabilities;
  /** Our relayer address in receipts of this chain; `undefined` without a signer. */
  readonly relayer: Uint8Array | undefined;

  readonly reads: ChainReads;
  readonly events: ChainEvents;
  readonly certain: CertainReads;
  readonly proofs: ChainProofs;
  readonly simulator: Simulator;
  readonly sender: Sender;
  readonly outcomes: Outcomes;
  readonly fees: ChainFees;

  /** `undefined`: transactions are free. */
  readonly gas: ChainGas | undefined;
  /** `undefined`: there are no nonces, and an extrinsic is valid as long as what it delivers. */
  readonly replacement: Replacement | undefined;
  /** `undefined`: every node of the chain can prove what it can read. */
  readonly proofChecks: ProofChecks | undefined;
  /** `undefined`: the chain has no runtime that changes what it takes. */
  readonly runtime: RuntimeChecks | undefined;
  /** `undefined`: heights of the hub arrive by other means than deliveries. */
  readonly hubClient: HubLightClient | undefined;

  /** `undefined`: modules of the chain take messages from every relayer. */
  readonly gates: ModuleGates | undefined;

  /** Lists the checks for the operator of one round. */
  planChecks(context: ChainCheckContext): ChainChecks;
  /** Compares the endpoint(s) with the configuration; called once before anything else. */
  check(hub: StateMachineId, signal: AbortSignal): Promise<readonly CheckFinding[]>;
  /** Signs a message with our key of this chain, in the form that the hub verifies. @throws without a key */
  signMessage(message: SignedMessage, signal: AbortSignal): Promise<Signature>;
  /** Closes connections. The chain must not be used afterwards. */
  close(): Promise<void>;
}

/** Checks of the newest runtime of a chain, which governance may upgrade at any time. */
export interface RuntimeChecks {
  /**
   * Explains why nothing can be sent to the chain: its runtime lacks what this program needs, or has it in another form;
   * `undefined`: it fits. Asks the node only while it does not fit. @throws {RpcFault}
   */
  findUnsupported(signal: AbortSignal): Promise<string | undefined>;
}

/** Limits of one chain that shape queries and deliveries. */
export interface ChainLimits {
  /** Maximum number of messages in one delivery step: 100 for EVM chains, 200 for others. */
  readonly maxMessagesPerStep: number;
  /** Maximum size of one transaction's call data, bytes. */
  readonly maxCallBytes: number;
  /** Maximum number of blocks for one `fetchEvents` call; `undefined`: no limit. */
  readonly blocksPerEventQuery: bigint | undefined;
}

/** Rules and abilities in which chains differ. */
export interface ChainCapabilities {
  /**
   * Age at which a stored commitment may be used: when the challenge period is `reached`, or strictly later (`strict`).
   */
  readonly challengeRule: "reached" | "strict";
  /** True: a delivery that arrives second costs its sender gas. Refused unsigned extrinsics cost nothing. */
  readonly losesGasOnRace: boolean;
  /** True: responses to GET requests are delivered to this chain. */
  readonly acceptsGetResponses: boolean;
  /** Form in which the hub proves messages to this chain. */
  readonly hubProofs: "mmr" | "state";
  /** What governance freezes to stop deliveries: the whole host, or the light client of one source. */
  readonly freezes: "host" | "client";
  /** True: nodes refuse transactions above a size of their own, which may be lower than the limit of the chain. */
  readonly hasNodeSizeLimit: boolean;
  /** True: proofs of its messages must lead to the state root that the receiver stores of it. */
  readonly provesStoredRoot: boolean;
}

/** Fees of requests. */
export interface ChainFees {
  /**
   * Fee per commitment paid on this chain, in units of its fee token; `undefined`: unknown request (any more). One
   * round trip.
   */
  fetchFees(commitments: readonly Hash256[], signal: AbortSignal): Promise<readonly (bigint | undefined)[]>;
  /** Decimals of this chain's fee token, 0 to 18; cached by the adapter. */
  fetchFeeTokenDecimals(signal: AbortSignal): Promise<number>;
}

/** Current price of transactions on a chain, besides their gas. */
export interface GasQuote {
  /** Expected gas price, without the operator's buffer. */
  readonly gasPriceWei: bigint;
}

/** What transactions cost on a chain with gas, and what there is to pay for them. */
export interface ChainGas {
  /** Dollars per native token, 27 decimals, as reported by the host's router; `undefined`: not available. */
  fetchRouterPrice(signal: AbortSignal): Promise<bigint | undefined>;
  fetchGasQuote(signal: AbortSignal): Promise<GasQuote>;
  /** Cost of a signed transaction besides gas (data and operator fee of the OP stack), wei. */
  fetchDataCost(raw: Uint8Array, signal: AbortSignal): Promise<bigint>;
  /** Native balance of our account, wei. */
  fetchBalance(signal: AbortSignal): Promise<bigint>;
}
