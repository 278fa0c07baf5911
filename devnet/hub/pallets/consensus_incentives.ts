/**
 * Pallet ConsensusIncentives: rewards for updates of light clients, by the blocks that they cover. The reputation token
 * that upstream mints beside is left out, since no metadata here has it.
 * Source: polytope-labs/hyperbridge: modules/pallets/consensus-incentives/src/{lib,impls}.rs.
 */
import { type Hash256, toHash256 } from "../../../src/core/encoding/bytes.ts";
import { type Signature, signatureCodec } from "../../../src/core/ismp/fees.ts";
import type { IsmpMessage } from "../../../src/core/ismp/ismp_message.ts";
import { consensusSignerMessage } from "../../../src/core/ismp/signed_messages.ts";
import {
  type StateMachineHeight,
  stateMachineHeightCodec,
  type StateMachineId,
  stateMachineIdCodec,
  stateMachineIdKey,
} from "../../../src/core/ismp/state_machine.ts";
import { decodeStrict, hash256, ScaleError, u128, u64 } from "../../../src/core/encoding/scale.ts";
import type { Execution } from "../runtime.ts";
import type { RuntimeMetadata } from "../runtime_metadata.ts";
import { PalletStorage } from "../storage.ts";
import { type BalancesPallet, treasuryAccount } from "./balances.ts";
import type { IsmpStorage } from "./ismp_storage.ts";
import type { IsmpPalletEvent } from "./ismp_events.ts";
import { verifySignature } from "../signatures.ts";

/** What rewards are computed from and paid with. */
export interface IncentiveParts {
  readonly balances: BalancesPallet;
  readonly ismp: { readonly storage: Pick<IsmpStorage, "latestHeight" | "previousHeight"> };
}

/** The pallet; nexus only. */
export class ConsensusIncentivesPallet extends PalletStorage {
  readonly #costPerBlock = this.item("StateMachinesCostPerBlock", [stateMachineIdCodec], u128);
  readonly #lastRewarded = this.item("LastRewardedHeight", [stateMachineIdCodec], u64);

  constructor(metadata: RuntimeMetadata) {
    super(metadata, "ConsensusIncentives");
  }

  /** Sets what each block of a chain is worth, native units (12 decimals). */
  setCostPerBlock(execution: Execution, id: StateMachineId, amount: bigint): void {
    this.#costPerBlock.put(execution.overlay, amount, id);
    execution.emit("ConsensusIncentives", "StateMachineCostPerBlockUpdated", {
      state_machine_id: stateMachineIdCodec.enc(id),
      cost_per_block: u128.enc(amount),
    });
  }

  /** Pays for the chains that an extrinsic advanced, to the signer of its first message. Never fails. */
  reward(
    parts: IncentiveParts,
    execution: Execution,
    messages: readonly IsmpMessage[],
    events: readonly IsmpPalletEvent[],
  ): void {
    const relayer = signerOfFirst(messages);
    if (relayer === undefined) return;
    const highest = new Map<string, StateMachineHeight>();
    for (const event of events) {
      if (event.tag !== "StateMachineUpdated") continue;
      const { stateMachineId: id, latestHeight: height } = event.value;
      const known = highest.get(stateMachineIdKey(id));
      if (known === undefined || known.height < height) highest.set(stateMachineIdKey(id), { id, height });
    }
    for (const at of highest.values()) this.#pay(parts, execution, at, relayer);
  }

  #pay(
    { balances, ismp }: IncentiveParts,
    execution: Execution,
    at: StateMachineHeight,
    relayer: Hash256,
  ): void {
    const { overlay } = execution;
    const cost = this.#costPerBlock.get(overlay, at.id);
    if (cost === undefined) return;
    const latest = ismp.storage.latestHeight.get(overlay, at.id) ?? 0n;
    const rewarded = this.#lastRewarded.get(overlay, at.id);
    const baseline = rewarded ?? ismp.storage.previousHeight.get(overlay, at.id) ?? 0n;
    const amount = latest > baseline ? (latest - baseline) * cost : 0n;
    if (amount === 0n) return;
    if (!balances.transfer(execution, { from: treasuryAccount, to: relayer, amount }, false)) return;
    execution.emit("ConsensusIncentives", "RelayerRewarded", {
      relayer: hash256.enc(relayer),
      amount: u128.enc(amount),
      state_machine_height: stateMachineHeightCodec.enc(at),
    });
    const watermark = rewarded !== undefined && rewarded > at.height ? rewarded : at.height;
    this.#lastRewarded.put(overlay, watermark, at.id);
  }
}

/** Key that signed the proof of the first message, undefined unless it is a consensus message with a valid signature. */
function signerOfFirst([first]: readonly IsmpMessage[]): Hash256 | undefined {
  if (first?.tag !== "Consensus") return undefined;
  const { consensusProof, signer } = first.value;
  const signature = findSignature(signer);
  if (signature?.tag !== "Sr25519") return undefined;
  const { digest } = consensusSignerMessage(consensusProof);
  return verifySignature(digest, signature) ? toHash256(signature.value.publicKey) : undefined;
}

function findSignature(signer: Uint8Array): Signature | undefined {
  try {
    return decodeStrict(signatureCodec, signer, "Signature");
  } catch (error) {
    if (error instanceof ScaleError) return undefined;
    throw error;
  }
}
