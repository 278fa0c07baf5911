/**
 * The checked configuration of the messaging relayer: what the rest of the program gets to see of the file.
 * Names carry units; `undefined` always means what the comment says. Source: docs/specification.md, "Messaging relayer
 * configuration". Start reading at {@link MessagingConfig}.
 */
import type { Hex } from "../protocol/bytes.ts";
import type { ConsensusStateId, StateMachine } from "../protocol/ismp/state_machine.ts";
import type { EvmValues, SubstrateValues } from "./chain_fields.ts";
import type { EndpointUrl, Secret } from "./redact.ts";

/** Everything that the file says, with defaults applied. */
export interface MessagingConfig {
  readonly hub: HubConfig;
  readonly relayer: RelayerConfig;
  /** In the order of the file; each state machine once, none of them the hub. At least one. */
  readonly chains: readonly ChainConfig[];
}

/** The values of `[hub]`. */
export interface HubValues {
  /** `POLKADOT-n` or `KUSAMA-n`. */
  readonly stateMachine: StateMachine;
  readonly rpcWs: EndpointUrl;
  /** Most bytes of one RPC request or response. */
  readonly maxRpcPayloadSizeBytes: number;
  /** Most RPC requests at a time. */
  readonly maxConcurrentQueries: number;
  /** Outbound queries start at the block after this one; `undefined`: at the stored cursor or the hub's head. */
  readonly initialHeight: bigint | undefined;
  readonly pollIntervalSec: number;
  /** Enables signed inbound messages, reward claims and withdrawals of the hub account. 32 or 64 bytes, sr25519. */
  readonly signer: Secret<Hex> | undefined;
  /** Dollars per whole token of the hub, in which it pays rewards; may have decimals. `undefined`: not known. */
  readonly tokenPrice: number | undefined;
}

/** Section `[hub]` (or `[hyperbridge]`). */
export interface HubConfig extends HubValues {
  /** Name of the section in the file. */
  readonly section: string;
  /** Under which substrate counterparties know the hub, and under which it stores its own proven height. */
  readonly consensusStateId: ConsensusStateId;
  /** True when the file sets the id, which it does for solochains only. */
  readonly isForSolochains: boolean;
}

/** The values of `[relayer]`. */
export interface RelayerConfig {
  /** Percent. 0 delivers everything; N wants fees of at least N percent above the cost. */
  readonly minimumProfitPercent: number;
  readonly withdrawalFrequencySec: number;
  /** Dollars (whole fee-token units); may have decimals. */
  readonly minimumWithdrawalAmount: number;
  /**
   * The only chains to which requests are delivered; `undefined`: to all. Holds configured chains only, so it may
   * be empty when the file lists none of them: then nothing is delivered from the hub.
   */
  readonly deliveryEndpoints: readonly StateMachine[] | undefined;
  /** The only senders (`from`) whose requests are delivered, on both legs; `undefined`: all. Never empty. */
  readonly moduleFilter: readonly Uint8Array[] | undefined;
  /** `undefined`: unprofitable and failed messages are not retried. */
  readonly unprofitableRetryFrequencySec: number | undefined;
  /** Dollars that may be lost on each chain within a day before nothing is sent there; `undefined`: no limit. */
  readonly maximumDailyLoss: number | undefined;
  /** True: no automatic accumulation. Deliveries are recorded all the same. */
  readonly disableFeeAccumulation: boolean;
}

/** A chain beside the hub. */
export type ChainConfig = EvmChainConfig | SubstrateChainConfig;

/** A section with `type = "evm"`. */
export interface EvmChainConfig extends EvmValues {
  readonly type: "evm";
  /** Name of the section in the file. */
  readonly section: string;
}

/** A section with `type = "substrate"`. */
export interface SubstrateChainConfig extends SubstrateValues {
  readonly type: "substrate";
  /** Name of the section in the file. */
  readonly section: string;
}
