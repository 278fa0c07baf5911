/**
 * `Relayer.accumulate_fees`: fees that were paid on one chain for requests delivered to another are credited.
 * Source: polytope-labs/hyperbridge: modules/pallets/relayer/src/accumulate.rs.
 */
import { equalBytes, fromHex, type Hash256, type Hex, toHex } from "../../../src/core/encoding/bytes.ts";
import type { Signature, WithdrawalProof } from "../../../src/core/ismp/fees.ts";
import { requestMetadataCodec } from "../../../src/core/ismp/host_state.ts";
import {
  recoverEvmAddress,
  SignatureError,
  withdrawMessage,
} from "../../../src/core/ismp/signed_messages.ts";
import { isEvm, type StateMachine, stateMachineCodec } from "../../../src/core/ismp/state_machine.ts";
import { childTrieKeys } from "../../../src/core/ismp/storage_keys.ts";
import { decodeStrict, u256 } from "../../../src/core/encoding/scale.ts";
import type { Execution } from "../runtime.ts";
import {
  decodeOr,
  eventAddress,
  orRefuse,
  readHostState,
  receiptRelayer,
  refuse,
  type RelayerParts,
  slotNumber,
  verifierOf,
} from "./relayer_storage.ts";
import { isSubstrate, type ProvenValues, type StateMachineClient } from "./state_machines.ts";
import { converted } from "../verifiers/refusals.ts";
import { verifySignature } from "../signatures.ts";

interface ProvenClaim {
  readonly commitment: Hash256;
  readonly relayer: Uint8Array;
  readonly fee: bigint;
}

/** Credits the fees of a proof. @throws {DispatchError} with an error of the pallet, checks in upstream's order. */
export function creditFees(parts: RelayerParts, execution: Execution, proof: WithdrawalProof): void {
  if (new Set(proof.commitments).size !== proof.commitments.length) refuse("DuplicateCommitment");
  const open = proof.commitments.filter((commitment) => isOpen(execution, commitment));
  if (open.length === 0) refuse("MissingCommitments");
  const { claims, relayer } = readClaims(parts, execution, proof, open);
  const source = proof.sourceProof.height.id.stateMachine;
  const total = claims.reduce((sum, { fee }) => sum + fee, 0n);
  const credited = proof.beneficiaryDetails === undefined
    ? relayer
    : redirect(parts, execution, { relayer, source, details: proof.beneficiaryDetails });
  const { fees } = parts.storage;
  const before = fees.get(execution.overlay, source, credited) ?? 0n;
  fees.put(execution.overlay, before + total, source, credited);
  for (const { commitment } of claims) markClaimed(execution, commitment);
  execution.emit("Relayer", "AccumulateFees", {
    address: eventAddress(credited),
    state_machine: stateMachineCodec.enc(source),
    amount: u256.enc(total),
  });
}

function isOpen({ overlay }: Execution, commitment: Hash256): boolean {
  const stored = overlay.getChild(childTrieKeys.requestCommitment(commitment));
  return stored !== undefined && !decodeStrict(requestMetadataCodec, stored, "RequestMetadata").claimed;
}

function markClaimed({ overlay }: Execution, commitment: Hash256): void {
  const key = childTrieKeys.requestCommitment(commitment);
  const stored = overlay.getChild(key);
  if (stored === undefined) throw new Error("A request vanished while its fee was claimed");
  const metadata = decodeStrict(requestMetadataCodec, stored, "RequestMetadata");
  overlay.putChild(key, requestMetadataCodec.enc({ ...metadata, claimed: true }));
}

/** Both proofs read; every request with a fee must have been delivered, all by one relayer. */
function readClaims(
  parts: RelayerParts,
  execution: Execution,
  { sourceProof, destProof }: WithdrawalProof,
  commitments: readonly Hash256[],
): { readonly claims: readonly ProvenClaim[]; readonly relayer: Uint8Array } {
  const [source, dest] = orRefuse(
    "ProofValidationError",
    () => [verifierOf(parts, execution, sourceProof), verifierOf(parts, execution, destProof)] as const,
  );
  const [fees, receipts] = orRefuse("ProofValidationError", () =>
    [
      readHostState(parts, execution, {
        client: source,
        proof: sourceProof,
        keys: commitments.map(source.feeKey),
      }),
      readHostState(parts, execution, {
        client: dest,
        proof: destProof,
        keys: commitments.map(dest.receiptKey),
      }),
    ] as const);
  const claims = commitments.flatMap((commitment): ProvenClaim[] => {
    const metadata = valueOf(fees, source, "feeKey", commitment);
    if (metadata === undefined) return [];
    const fee = feeIn(parts, sourceProof.height.id.stateMachine, metadata);
    const receipt = valueOf(receipts, dest, "receiptKey", commitment) ?? refuse("ProofValidationError");
    return [{ commitment, fee, relayer: receiptRelayer(parts, destProof.height.id.stateMachine, receipt) }];
  });
  const relayers = new Set(claims.map(({ relayer }) => toHex(relayer)));
  const [relayer] = relayers;
  if (relayer === undefined) refuse("IncompleteProof");
  if (relayers.size > 1) refuse("MixedDeliveryAddressesInBatch");
  return { claims, relayer: fromHex(relayer) };
}

function valueOf(
  values: ProvenValues,
  client: StateMachineClient,
  key: "feeKey" | "receiptKey",
  commitment: Hash256,
): Uint8Array | undefined {
  const name: Hex = toHex(client[key](commitment));
  return values.get(name);
}

function feeIn(parts: RelayerParts, chain: StateMachine, value: Uint8Array): bigint {
  if (isEvm(chain)) return slotNumber(parts, chain, value) ?? refuse("ProofValidationError");
  if (!isSubstrate(chain)) refuse("MismatchedStateMachine");
  return decodeOr("ProofValidationError", requestMetadataCodec, value).fee.fee;
}

/** Checks the relayer's permission to credit another account, and uses up its nonce. @returns who is credited. */
function redirect(
  parts: RelayerParts,
  { overlay }: Execution,
  order: {
    readonly relayer: Uint8Array;
    readonly source: StateMachine;
    readonly details: readonly [beneficiary: Uint8Array, signature: Signature];
  },
): Uint8Array {
  const { relayer, source, details: [beneficiary, signature] } = order;
  const nonces = parts.storage.nonce;
  const nonce = nonces.get(overlay, relayer, source) ?? 0n;
  const { digest } = withdrawMessage({ nonce, destChain: source, beneficiary });
  if (signature.tag === "Evm") {
    const signer = recovered(digest, signature.value.signature);
    if (!equalBytes(signer, relayer)) refuse("InvalidPublicKey");
  } else {
    const asRelayer = { tag: signature.tag, value: { ...signature.value, publicKey: relayer } };
    if (!verifySignature(digest, asRelayer)) refuse("InvalidSignature");
  }
  nonces.put(overlay, nonce + 1n, relayer, source);
  return beneficiary;
}

/** The address that signed a digest. @throws {DispatchError} InvalidSignature when none can be recovered. */
export function recovered(digest: Hash256, signature: Uint8Array): Uint8Array {
  const refusal = (cause: SignatureError): never => refuse("InvalidSignature", cause);
  return converted(SignatureError, refusal, () => recoverEvmAddress(digest, signature));
}
