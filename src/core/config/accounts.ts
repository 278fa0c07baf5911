/** Accounts of a configuration, with what it takes to ask their chains. */
import type { Hex } from "../encoding/bytes.ts";
import type { ConsensusStateId, StateMachine } from "../ismp/state_machine.ts";
import type { EvmValues, scanKeys } from "./chains.ts";
import type { EndpointUrl, Secret } from "./redact.ts";

/** What every account has. */
interface AccountPlace {
  /** Name of the section in the file. */
  readonly section: string;
  readonly stateMachine: StateMachine;
  readonly consensusStateId: ConsensusStateId;
}

/** An account of an EVM chain, with its section's values. */
export interface EvmSignerAccount
  extends
    Omit<EvmValues, "etherscanApiKey" | "queryBatchSizeBlocks" | "tracingBatchSize" | keyof typeof scanKeys> {
  readonly kind: "evm";
  /** Name of the section in the file. */
  readonly section: string;
}

/** An account of a Substrate chain. */
export interface SubstrateSignerAccount extends AccountPlace {
  readonly kind: "substrate";
  readonly hashing: "Keccak" | "Blake2";
  readonly rpcWs: EndpointUrl;
  readonly maxRpcPayloadSizeBytes: number;
  readonly maxConcurrentQueries: number;
  /** `undefined`: nothing is signed on this chain. */
  readonly signer: Secret<Hex> | undefined;
}

/** An account that a configuration names. */
export type ConfiguredAccount = EvmSignerAccount | SubstrateSignerAccount;
