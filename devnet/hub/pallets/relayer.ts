/**
 * Pallet Relayer: credits, pays out and rewards what relayers deliver. Each unsigned call has a file of its own;
 * this one has the table of calls and what governance sets.
 * Source: polytope-labs/hyperbridge: modules/pallets/relayer/src/lib.rs.
 */
import { fromHex } from "../../../src/core/encoding/bytes.ts";
import {
  outboundConsensusDeliveryClaimCodec,
  outboundRequestDeliveryClaimCodec,
  withdrawalInputDataCodec,
  withdrawalProofCodec,
} from "../../../src/core/ismp/fees.ts";
import { relayerCallTag } from "../pool_tags.ts";
import { type StateMachine, stateMachineCodec } from "../../../src/core/ismp/state_machine.ts";
import { bytes, type Codec, u128 } from "../../../src/core/encoding/scale.ts";
import {
  type CallHandler,
  callHandler,
  DispatchError,
  type Execution,
  type SimulatedRuntime,
  ValidityError,
  type ValidTransaction,
} from "../runtime.ts";
import { creditFees } from "./relayer_accumulate.ts";
import { claimConsensusReward, claimRequestReward } from "./relayer_rewards.ts";
import type { RelayerParts } from "./relayer_storage.ts";
import { withdrawFees } from "./relayer_withdraw.ts";

/** `TransactionLongevity::MAX`. */
const forever = (1n << 64n) - 1n;

/** The pallet. */
export class RelayerPallet {
  readonly parts: RelayerParts;

  constructor(parts: RelayerParts) {
    this.parts = parts;
  }

  /** Adds the unsigned calls to the table. */
  register(runtime: SimulatedRuntime): void {
    const add = <T>(
      call: string,
      codec: Codec<T>,
      run: (parts: RelayerParts, execution: Execution, argument: T) => void,
    ): void => runtime.register("Relayer", call, this.#handler(codec, run));
    add("accumulate_fees", withdrawalProofCodec, creditFees);
    add("withdraw_fees", withdrawalInputDataCodec, withdrawFees);
    add(
      "claim_outbound_consensus_delivery_reward",
      outboundConsensusDeliveryClaimCodec,
      claimConsensusReward,
    );
    add("claim_outbound_request_delivery_reward", outboundRequestDeliveryClaimCodec, claimRequestReward);
  }

  /** The pool runs the call, and tells calls apart by all of their argument. */
  #handler<T>(
    codec: Codec<T>,
    run: (parts: RelayerParts, execution: Execution, argument: T) => void,
  ): CallHandler {
    return callHandler(codec, {
      validate: (execution, argument): ValidTransaction => {
        try {
          run(this.parts, execution, argument);
        } catch (cause) {
          if (cause instanceof DispatchError) throw new ValidityError("Call", { cause });
          throw cause;
        }
        const tag = fromHex(relayerCallTag(codec.enc(argument)));
        return { priority: 100n, provides: [tag], longevity: forever };
      },
      dispatch: (execution, argument): void => run(this.parts, execution, argument),
    });
  }

  /** Smallest amount that is paid out, in units of the chain's fee token. */
  setMinimumWithdrawal({ overlay }: Execution, chain: StateMachine, amount: bigint): void {
    this.parts.storage.minimumWithdrawal.put(overlay, amount, chain);
  }

  /** Reward for delivering a rotation to a chain; 0 offers none. */
  setConsensusReward(execution: Execution, chain: StateMachine, amount: bigint): void {
    this.parts.storage.consensusReward.put(execution.overlay, amount, chain);
    execution.emit("Relayer", "OutboundConsensusDeliveryRewardUpdated", {
      state_machine: stateMachineCodec.enc(chain),
      new_reward: u128.enc(amount),
    });
  }

  /** Reward for delivering a request of a module of the hub; 0 offers none. */
  setRequestReward(execution: Execution, moduleId: Uint8Array, amount: bigint): void {
    this.parts.storage.requestReward.put(execution.overlay, amount, moduleId);
    execution.emit("Relayer", "OutboundRequestDeliveryRewardUpdated", {
      module_id: bytes.enc(moduleId),
      new_reward: u128.enc(amount),
    });
  }
}
