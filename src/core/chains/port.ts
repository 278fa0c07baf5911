/**
 * Interface through which both programs see a chain. Adapters (`evm/`, `substrate/`) implement it and decide nothing;
 * decisions are made in the programs. A chain is a record of parts, each described in a file beside this one. Start
 * reading here.
 */
import type { Signature } from "../ismp/fees.ts";
import type { SignedMessage } from "../ismp/signed_messages.ts";
import type { StateMachineId } from "../ismp/state_machine.ts";
import type { ChainCheckContext } from "./chain_checks.ts";
import type { CheckJob, CheckRow } from "../checks/check_row.ts";
import type { HubLightClient } from "./hub_client.ts";
import type { Replacement } from "./replacement.ts";
import type { Outcomes, Sender, Simulator } from "./submission.ts";
import { ChainFees, ChainGas } from "./fees.ts";
import { ChainProofs, ProofChecks } from "./proofs.ts";
import { ChainCapabilities, ChainLimits } from "./capabilities.ts";
import { CertainReads, ChainEvents, ChainReads, ModuleGates } from "./reads.ts";

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
  planChecks(context: ChainCheckContext): readonly CheckJob[];
  /** Compares the endpoint(s) with the configuration; called once before anything else. */
  check(hub: StateMachineId, signal: AbortSignal): Promise<readonly CheckRow[]>;
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
