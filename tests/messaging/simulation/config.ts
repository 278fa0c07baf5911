/** The file with which the relayer of the simulation is started. */
import type { EvmChainConfig, MessagingConfig } from "../../../src/messaging/config/schema.ts";
import { EndpointUrl, Secret } from "../../../src/core/config/redact.ts";
import { toHex } from "../../../src/core/encoding/bytes.ts";
import type { StateMachineId } from "../../../src/core/ismp/state_machine.ts";
import type { SettingsPlan } from "./plan.ts";
import { urlsOf } from "./endpoints.ts";

/** The usual sender. */
export const SENDER = new Uint8Array(20).fill(0xaa);

/** What differs from seed to seed. */
export interface ConfigFacts {
  readonly hub: StateMachineId;
  /** The chains beside the hub with the keys that sign there. */
  readonly entries: readonly { readonly id: StateMachineId; readonly key: Uint8Array }[];
  readonly minimumProfitPercent: number;
  readonly maximumDailyLoss: number | undefined;
  readonly settings: SettingsPlan;
  readonly pollSec: number;
  readonly initialHeight: bigint | undefined;
}

/** The checked configuration. */
export function configOf(facts: ConfigFacts): MessagingConfig {
  const { settings } = facts;
  const timing = { initialHeight: facts.initialHeight, pollIntervalSec: facts.pollSec };
  return {
    hub: {
      section: "hub",
      ...facts.hub,
      ...timing,
      rpcWs: new EndpointUrl("ws://localhost:1"),
      maxRpcPayloadSizeBytes: 1_000_000,
      maxConcurrentQueries: 10,
      requestsPerSecond: undefined,
      signer: undefined,
      tokenPrice: undefined,
    },
    relayer: {
      minimumProfitPercent: facts.minimumProfitPercent,
      reconciliationFrequencySec: 1_800,
      withdrawalFrequencySec: 200,
      minimumWithdrawalAmount: 10,
      deliveryEndpoints: settings.hasDeliveryEndpoints
        ? facts.entries.map(({ id: { stateMachine } }) => stateMachine)
        : undefined,
      fleet: settings.fleetIndex === undefined
        ? undefined
        : { index: settings.fleetIndex, count: 2, takeOverSec: 60 },
      moduleFilter: settings.hasModuleFilter ? [SENDER] : undefined,
      unprofitableRetryFrequencySec: settings.retryFrequencySec,
      retryModules: [],
      maximumDailyLoss: facts.maximumDailyLoss,
      leaveCheckpoints: undefined,
      disableFeeAccumulation: false,
    },
    chains: facts.entries.map(({ id, key }): EvmChainConfig => ({
      type: "evm",
      section: id.stateMachine,
      ...id,
      ...timing,
      inboundOnly: false,
      rpcUrls: urlsOf(id.stateMachine).map((url) => new EndpointUrl(url)),
      etherscanApiKey: undefined,
      ismpHost: toHex(new Uint8Array(20).fill(7)),
      signer: new Secret(toHex(key)),
      queryBatchSizeBlocks: undefined,
      requestsPerSecond: undefined,
      tracingBatchSize: undefined,
      gasPriceBufferPercent: settings.gasPriceBufferPercent,
      maximumGasPriceGwei: undefined,
      clientType: "Geth",
    })),
  };
}

/** The entries of EVM chains. */
export function evmConfigsOf({ chains }: MessagingConfig): readonly EvmChainConfig[] {
  return chains.filter((chain) => chain.type === "evm");
}
