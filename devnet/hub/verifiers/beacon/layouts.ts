/**
 * SCALE of a beacon chain's updates and state, named as the hub names them, in the three layouts that its runtimes have
 * had. Source: polytope-labs/hyperbridge: modules/consensus/sync-committee/primitives/src/types.rs,
 * modules/ismp/clients/sync-committee/src/types.rs; docs/protocol/evm-consensus.md sections 5.3 and 5.11.
 */
import {
  bool,
  bytes,
  type Codec,
  Enum,
  fixedBytes,
  list,
  Option,
  pair,
  Struct,
  u32,
  u64,
} from "../../../../src/core/encoding/scale.ts";
import { stateMachineMap } from "../../../../src/core/ismp/state_machine.ts";

type Of<T> = T extends Codec<infer Value> ? Value : never;

const node = fixedBytes(32);
const nodes = list(node);

const header = Struct({ slot: u64, proposerIndex: u64, parentRoot: node, stateRoot: node, bodyRoot: node });
const committee = Struct({ pubkeys: list(bytes), aggregatePubkey: bytes });

const shared = { stateRoot: node, blockNumber: u64, timestamp: u64 };
const gloas = Struct({ executionHeader: bytes });

/** Proof of the execution block in each layout. */
const payloadProofs = {
  flat: Struct({ stateRoot: node, blockNumber: u64, multiProof: nodes, branch: nodes, timestamp: u64 }),
  split: Struct({
    ...shared,
    branch: nodes,
    proof: Enum({ Legacy: Struct({ multiProof: nodes }), Gloas: gloas }),
  }),
  variant: Struct({
    branch: nodes,
    proof: Enum({ Legacy: Struct({ ...shared, multiProof: nodes }), Gloas: gloas }),
  }),
} as const;

/** Name of a layout. */
export type BeaconLayout = keyof typeof payloadProofs;

/** Parts of an update before and behind the proof of the execution block. */
const before = {
  attestedHeader: header,
  committeeUpdate: Option(Struct({ committee, branch: nodes })),
  finalizedHeader: header,
};
const behind = {
  finality: Struct({ epoch: u64, branch: nodes }),
  aggregate: Struct({ bits: list(bool), signature: bytes }),
  signatureSlot: u64,
};

/** An update by the layout of its proof of the execution block. */
export const beaconUpdateLayouts = {
  flat: Struct({ ...before, payload: payloadProofs.flat, ...behind }),
  split: Struct({ ...before, payload: payloadProofs.split, ...behind }),
  variant: Struct({ ...before, payload: payloadProofs.variant, ...behind }),
} as const;

/** Everything of an update that is the same in all layouts. */
export type BeaconUpdate = Omit<Of<typeof beaconUpdateLayouts.flat>, "payload">;

/** The proof of the execution block as it is judged. */
export interface PayloadProof {
  readonly branch: readonly Uint8Array[];
  readonly proof:
    | {
      readonly tag: "Legacy";
      readonly stateRoot: Uint8Array;
      readonly blockNumber: bigint;
      readonly timestamp: bigint;
      readonly multiProof: readonly Uint8Array[];
    }
    | { readonly tag: "Gloas"; readonly executionHeader: Uint8Array };
}

/** Reads an update in one layout. @throws the errors of the codec */
export function readUpdate(
  layout: BeaconLayout,
  proof: Uint8Array,
): BeaconUpdate & { payload: PayloadProof } {
  switch (layout) {
    case "flat": {
      const { payload, ...update } = beaconUpdateLayouts.flat.dec(proof);
      const { branch, ...rest } = payload;
      return { ...update, payload: { branch, proof: { tag: "Legacy", ...rest } } };
    }
    case "split": {
      const { payload, ...update } = beaconUpdateLayouts.split.dec(proof);
      const { branch, proof: { tag, value }, ...rest } = payload;
      return {
        ...update,
        payload: { branch, proof: tag === "Legacy" ? { tag, ...rest, ...value } : { tag, ...value } },
      };
    }
    case "variant": {
      const { payload: { branch, proof: { tag, value } }, ...update } = beaconUpdateLayouts.variant.dec(
        proof,
      );
      return {
        ...update,
        payload: { branch, proof: tag === "Legacy" ? { tag, ...value } : { tag, ...value } },
      };
    }
  }
}

/** The client's state. */
export const beaconStateLayout = Struct({
  frozenHeight: Option(u64),
  lightClientState: Struct({
    finalizedHeader: header,
    latestFinalizedEpoch: u64,
    currentSyncCommittee: committee,
    nextSyncCommittee: committee,
    statePeriod: u64,
  }),
  l2Consensus: stateMachineMap(Enum({
    ArbitrumOrbit: fixedBytes(20),
    OpL2Oracle: fixedBytes(20),
    OpFaultProofs: pair(fixedBytes(20), u32),
    OpFaultProofGames: pair(fixedBytes(20), list(u32)),
    ArbitrumBold: fixedBytes(20),
  })),
  chainId: u32,
});

/** See {@link beaconStateLayout}. */
export type BeaconState = Of<typeof beaconStateLayout>;
