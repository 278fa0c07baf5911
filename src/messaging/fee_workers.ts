/** Workers for fees, rewards and withdrawals, and their dependencies. */
import type { HubChain } from "../core/chains/hub.ts";
import type { Chain } from "../core/chains/port.ts";
import { fromHex } from "../core/encoding/bytes.ts";
import type { StateMachine } from "../core/ismp/state_machine.ts";
import { Limit } from "../core/runtime/limit.ts";
import type { Worker } from "../core/runtime/worker.ts";
import type { MessagingConfig } from "./config/schema.ts";
import { claimsWorker } from "./fees/claims/claims_worker.ts";
import { type FeeContext, FeeUnits, findHubKey } from "./fees/fee_context.ts";
import { HubCalls, NonceTurns } from "./fees/hub_calls.ts";
import { rewardsWorker } from "./fees/rewards/rewards_worker.ts";
import { withdrawalWorker } from "./fees/withdrawals/withdrawal_worker.ts";
import type { GatedChain } from "./legs.ts";
import type { Leg, RelayDeps, RelaySettings } from "./relay/leg.ts";
import type { CheckResult } from "./startup.ts";

/** Input for planning the fee workers. */
export interface FeePlanInput {
  readonly config: MessagingConfig;
  readonly settings: RelaySettings;
  readonly hub: HubChain;
  readonly chains: readonly GatedChain[];
  /** Results of the start checks: chains that passed are used at once, the others once they pass. */
  readonly checks: ReadonlyMap<Chain, CheckResult>;
  /** The leg from the hub to each chain. */
  readonly outbound: ReadonlyMap<StateMachine, Leg>;
  /** True in the running relayer, whose other workers deliver and settle. */
  readonly isRunning?: boolean;
}

/** Creates the context shared by the fee workers and the commands. */
export function createFeeContext(deps: RelayDeps, parts: FeePlanInput): FeeContext {
  const { config, hub, isRunning = false } = parts;
  const up = new Set<StateMachine>();
  for (const { entry: { chain }, passed } of parts.chains) {
    if (parts.checks.get(chain)?.kind === "checked") up.add(chain.id.stateMachine);
    else void passed.then(() => up.add(chain.id.stateMachine));
  }
  const hosts = new Map<StateMachine, Uint8Array>(
    config.chains.flatMap((chain) =>
      chain.type === "substrate" ? [] : [[chain.stateMachine, fromHex(chain.ismpHost)] as const]
    ),
  );
  const legTo = (chain: StateMachine): Leg => {
    const leg = parts.outbound.get(chain);
    if (leg === undefined) throw new Error(`No leg from the hub to ${chain}`);
    return leg;
  };
  return {
    ...deps,
    hub,
    chains: new Map(parts.chains.map(({ entry }) => [entry.chain.id.stateMachine, entry.chain])),
    isUp: (chain) => up.has(chain),
    hubKey: findHubKey(hub, config.hub.signer !== undefined),
    calls: new HubCalls({ hub, ledger: deps.ledger, log: deps.log }),
    turns: new NonceTurns(),
    claimTurn: new Limit(1),
    withdrawalTurn: new Limit(1),
    isSettledElsewhere: isRunning,
    isServed: (chain) => isRunning && config.relayer.deliveryEndpoints?.includes(chain) !== false,
    units: new FeeUnits(),
    settings: parts.settings,
    withdrawals: {
      frequencySec: config.relayer.withdrawalFrequencySec,
      minimumAmount: config.relayer.minimumWithdrawalAmount,
    },
    legTo,
    hostOf: (chain) => hosts.get(chain),
  };
}

/** Plans the fee workers of the long-running relayer. */
export function planFees(context: FeeContext, config: MessagingConfig): readonly Worker[] {
  const everyMs = config.hub.pollIntervalSec * 1000;
  const claims = config.relayer.disableFeeAccumulation ? [] : [claimsWorker(context, everyMs)];
  return [...claims, withdrawalWorker(context, everyMs), rewardsWorker(context)];
}
