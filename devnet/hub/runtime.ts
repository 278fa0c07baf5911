/**
 * Execution of calls: the dispatch table of pallets, pool validation and dry runs. Each pallet is a file in
 * `pallets/` that adds its calls to the table; nothing here knows what a call does.
 */
import { concatBytes, type Hash256, toHash256 } from "../../src/core/encoding/bytes.ts";
import { bytes, type Codec, decodeStrict, ScaleError, u32 } from "../../src/core/encoding/scale.ts";
import { hashFunction } from "../../src/core/merkle/substrate_proof.ts";
import type { EventFields, RuntimeMetadata } from "./runtime_metadata.ts";
import { hubRules, Overlay, type Snapshot, type StateRules } from "./storage.ts";
import { SystemStorage } from "./storage.ts";
import { converted } from "./verifiers/refusals.ts";
import { decodeBareExtrinsic } from "./extrinsic.ts";
import { type IsmpPalletEvent, ismpPalletEventCodec } from "./pallets/ismp_events.ts";

/** Reasons of `InvalidTransaction`, in SCALE order, with the texts that a node puts into error 1010. */
export const invalidTransactionTexts = {
  Call: "Transaction call is not expected",
  Payment: "Inability to pay some fees (e.g. account balance too low)",
  Future: "Transaction will be valid in the future",
  Stale: "Transaction is outdated",
  BadProof: "Transaction has a bad signature",
  AncientBirthBlock: "Transaction has an ancient birth block",
  ExhaustsResources: "Transaction would exhaust the block limits",
  Custom: "InvalidTransaction custom error",
  BadMandatory: "A call was labelled as mandatory, but resulted in an Error.",
  MandatoryValidation: "Transaction dispatch is mandatory; transactions must not be validated.",
} as const;

/** Name of a reason in {@link invalidTransactionTexts}. */
export type InvalidReason = keyof typeof invalidTransactionTexts;

/** `TransactionValidityError`: the pool or the block builder refuses the extrinsic itself. */
export class ValidityError extends Error {
  override readonly name = "ValidityError";
  constructor(
    /** `NoUnsignedValidator` is an `UnknownTransaction`, all others are `InvalidTransaction`. */
    readonly code: InvalidReason | "NoUnsignedValidator",
    options?: ErrorOptions,
  ) {
    super(`Extrinsic refused: ${code}`, options);
  }

  /** SCALE `TransactionValidityError`. */
  encode(): Uint8Array {
    if (this.code === "NoUnsignedValidator") return Uint8Array.of(1, 1);
    return Uint8Array.of(0, Object.keys(invalidTransactionTexts).indexOf(this.code));
  }
}

/** A call failed with an error of its pallet; everything that it did is taken back. */
export class DispatchError extends Error {
  override readonly name = "DispatchError";
  constructor(
    readonly pallet: string,
    /** Name of the pallet's error in the metadata. */
    readonly code: string,
    /** `cause` is what the pallet found wrong; a live node only logs it. */
    options?: ErrorOptions,
  ) {
    super(`${pallet}.${code}`, options);
  }
}

/** The result of a call that the pool runs; one that fails makes its extrinsic invalid. @throws {ValidityError} */
export function orInvalid<T>(reason: InvalidReason, run: () => T): T {
  return converted(DispatchError, (cause) => new ValidityError(reason, { cause }), run);
}

/** What the pool learns from a valid extrinsic (`ValidTransaction`); `requires` is always empty here. */
export interface ValidTransaction {
  readonly priority: bigint;
  readonly provides: readonly Uint8Array[];
  /** Blocks for which the check holds. u64. */
  readonly longevity: bigint;
}

/** One execution: a block, a pool check or a dry run. */
export class Execution {
  readonly overlay: Overlay;
  readonly metadata: RuntimeMetadata;
  /** Undefined outside of extrinsics, where events count to the block's initialization. */
  extrinsicIndex: number | undefined = undefined;
  /** The runtime from the next block on, where an upgrade is in this one. */
  upgrade: RuntimeMetadata | undefined = undefined;
  readonly #system: SystemStorage;

  constructor(
    runtime: { metadata: RuntimeMetadata; system: SystemStorage; rules: StateRules },
    snapshot: Snapshot,
  ) {
    this.metadata = runtime.metadata;
    this.overlay = new Overlay(snapshot, runtime.rules);
    this.#system = runtime.system;
  }

  /** The chain's clock, Unix milliseconds. */
  get nowMs(): bigint {
    return this.#system.now.get(this.overlay) ?? 0n;
  }

  /** The chain's clock, whole Unix seconds. */
  get nowSec(): bigint {
    return this.nowMs / 1000n;
  }

  /** Deposits an event of any pallet but `Ismp`. */
  emit(pallet: string, event: string, fields: EventFields): void {
    this.#push(this.metadata.encodeEvent(pallet, event, fields), undefined);
  }

  /** Deposits an event of pallet `Ismp`. */
  emitIsmp(event: IsmpPalletEvent): void {
    const indexes = this.metadata.eventIndex("Ismp", event.tag);
    this.#push(concatBytes(indexes, ismpPalletEventCodec.enc(event).subarray(1)), event);
  }

  #push(event: Uint8Array, ismp: IsmpPalletEvent | undefined): void {
    const { extrinsicIndex } = this;
    const phase = extrinsicIndex === undefined
      ? Uint8Array.of(2)
      : concatBytes(Uint8Array.of(0), u32.enc(extrinsicIndex));
    this.overlay.pushEvent({ record: concatBytes(phase, event, Uint8Array.of(0)), extrinsicIndex, ismp });
  }
}

/** A decoded call, ready to be checked or run. */
export interface PreparedCall {
  readonly pallet: string;
  readonly call: string;
  /** Inherents are in blocks only. */
  readonly isInherent: boolean;
  /** `validate_unsigned`; undefined when the runtime does not take the call unsigned. @throws {ValidityError} */
  readonly validate: ((execution: Execution) => ValidTransaction) | undefined;
  /** Runs the call with origin `None`. @throws {DispatchError} */
  readonly dispatch: (execution: Execution) => void;
}

/** How a pallet takes part with a call that the runtime accepts without signature. */
interface CallRules<Args> {
  readonly isInherent?: boolean;
  readonly validate?: (execution: Execution, args: Args) => ValidTransaction;
  readonly dispatch: (execution: Execution, args: Args) => void;
}

/** Result of applying an extrinsic inside a block or a dry run. */
export type ApplyResult =
  | { readonly kind: "success" }
  | { readonly kind: "failed"; readonly error: DispatchError }
  | { readonly kind: "invalid"; readonly error: ValidityError };

/** Told what went wrong inside the runtime, as a node's log would be. */
export type RejectionListener = (rejection: {
  readonly stage: "pool" | "block" | "dryRun";
  readonly extrinsic: Uint8Array;
  readonly error: DispatchError | ValidityError;
}) => void;

/** The runtime: metadata and the table of calls. Upgrades change indexes and fields, not what pallets do and store. */
export class SimulatedRuntime {
  /** Metadata by the block that upgraded to it, rising. */
  readonly #releases: { readonly block: number; readonly metadata: RuntimeMetadata }[];
  readonly system: SystemStorage;
  /** Maximum of bytes of the extrinsics of one block that are not operational or mandatory. */
  readonly maxBlockBytes: number;
  readonly #calls = new Map<string, (args: Uint8Array) => Omit<PreparedCall, "pallet" | "call">>();
  /** Those of extrinsics that live: events of a block are asked for again and again, and updates of beacon chains are long. */
  readonly #hashes = new WeakMap<Uint8Array, Hash256>();

  constructor(metadata: RuntimeMetadata, readonly rules: StateRules = hubRules) {
    this.#releases = [{ block: 0, metadata }];
    this.system = new SystemStorage(metadata);
    this.maxBlockBytes = decodeStrict(
      u32,
      metadata.constant("System", "BlockLength").slice(0, 4),
      "BlockLength",
    );
  }

  /** Metadata of the next block. */
  get metadata(): RuntimeMetadata {
    return this.metadataAfter(Infinity);
  }

  /** Metadata in the state after a block. */
  metadataAfter(block: number): RuntimeMetadata {
    const release = this.#releases.findLast((each) => each.block <= block);
    if (release === undefined) throw new RangeError(`No runtime in block ${block}`);
    return release.metadata;
  }

  /** Upgrades with a block: the next one is executed by this release. */
  upgradeWith(block: number, metadata: RuntimeMetadata): void {
    this.#releases.push({ block, metadata });
  }

  /** Adds a call to the dispatch table. @throws {MetadataError} when the runtime has no such call. */
  register<Args>(
    pallet: string,
    call: string,
    codec: Codec<Args>,
    { isInherent = false, validate, dispatch }: CallRules<Args>,
  ): void {
    this.metadata.callIndex(pallet, call);
    this.#calls.set(`${pallet}.${call}`, (encoded) => {
      const args = decodeStrict(codec, encoded, "Call");
      return {
        isInherent,
        validate: validate && ((execution): ValidTransaction => validate(execution, args)),
        dispatch: (execution): void => dispatch(execution, args),
      };
    });
  }

  /** Hash by which the chain names an extrinsic: of all its bytes, length included. */
  extrinsicHash(extrinsic: Uint8Array): Hash256 {
    const known = this.#hashes.get(extrinsic);
    if (known !== undefined) return known;
    const hash = toHash256(hashFunction(this.rules.hasher)(extrinsic));
    this.#hashes.set(extrinsic, hash);
    return hash;
  }

  /** A fresh execution on top of a block's state. */
  execute(snapshot: Snapshot): Execution {
    return new Execution(this, snapshot);
  }

  /**
   * Decodes pallet index, call index and arguments.
   * @throws {ScaleError} `invalid` for calls that the runtime does not have or whose arguments do not decode;
   * calls that exist but are not taken unsigned decode and have no `validate`.
   */
  prepareCall(call: Uint8Array): PreparedCall {
    const name = this.metadata.callName(call[0] ?? 256, call[1] ?? 256);
    if (name === undefined) throw new ScaleError("invalid", "RuntimeCall");
    const prepare = this.#calls.get(`${name.pallet}.${name.call}`);
    return { ...name, ...prepare?.(call.slice(2)) ?? refusedCall(name) };
  }

  /**
   * The call of an extrinsic. Signed extrinsics are distinguished but no account has funds here.
   * @throws {ScaleError} when the bytes are no extrinsic of this runtime.
   * @throws {ValidityError} `Payment` for signed extrinsics.
   */
  prepare(extrinsic: Uint8Array): PreparedCall {
    const body = decodeStrict(bytes, extrinsic, "Extrinsic");
    if (body[0] === 0x84) throw new ValidityError("Payment");
    return this.prepareCall(decodeBareExtrinsic(extrinsic));
  }

  /**
   * What the pool asks (`TaggedTransactionQueue_validate_transaction`); runs on a throw-away state.
   * @throws {ScaleError} for undecodable bytes: the live runtime traps.
   * @throws {ValidityError}
   */
  validate(snapshot: Snapshot, extrinsic: Uint8Array): ValidTransaction {
    const call = this.prepare(extrinsic);
    if (call.isInherent) throw new ValidityError("MandatoryValidation");
    if (call.validate === undefined) throw new ValidityError("NoUnsignedValidator");
    if (extrinsic.length > this.maxBlockBytes) throw new ValidityError("ExhaustsResources");
    return call.validate(this.execute(snapshot));
  }

  /**
   * Applies an extrinsic with its events (`BlockBuilder_apply_extrinsic`): all or nothing, no pool check before.
   * @throws {ScaleError} for undecodable bytes.
   */
  apply(execution: Execution, extrinsic: Uint8Array): ApplyResult {
    let call: PreparedCall;
    try {
      call = this.prepare(extrinsic);
    } catch (error) {
      if (error instanceof ValidityError) return { kind: "invalid", error };
      throw error;
    }
    if (call.validate === undefined && !call.isInherent) {
      return { kind: "invalid", error: new ValidityError("NoUnsignedValidator") };
    }
    const dispatchInfo = call.isInherent ? mandatoryDispatchInfo : normalDispatchInfo;
    try {
      execution.overlay.transaction(() => call.dispatch(execution));
    } catch (error) {
      if (!(error instanceof DispatchError)) throw error;
      execution.emit("System", "ExtrinsicFailed", {
        dispatch_error: this.metadata.moduleError(error.pallet, error.code),
        dispatch_info: dispatchInfo,
      });
      return { kind: "failed", error };
    }
    execution.emit("System", "ExtrinsicSuccess", { dispatch_info: dispatchInfo });
    return { kind: "success" };
  }

  /** SCALE `ApplyExtrinsicResult` as `system_dryRun` returns it. */
  encodeApplyResult(result: ApplyResult): Uint8Array {
    switch (result.kind) {
      case "success":
        return Uint8Array.of(0, 0);
      case "failed":
        return concatBytes(
          Uint8Array.of(0, 1),
          this.metadata.moduleError(result.error.pallet, result.error.code),
        );
      case "invalid":
        return concatBytes(Uint8Array.of(1), result.error.encode());
    }
  }
}

/** `DispatchInfo`: compact weights (300,000,000, 0) and class Normal, fee Yes; and the one of inherents. */
const normalDispatchInfo = Uint8Array.of(0x02, 0x8c, 0x86, 0x47, 0x00, 0x00, 0x00);
const mandatoryDispatchInfo = Uint8Array.of(0x02, 0x8c, 0x86, 0x47, 0x00, 0x02, 0x00);

function refusedCall(name: { pallet: string; call: string }): Omit<PreparedCall, "pallet" | "call"> {
  return {
    isInherent: false,
    validate: undefined,
    dispatch(): void {
      throw new Error(`${name.pallet}.${name.call} is not taken unsigned`);
    },
  };
}
