/**
 * SSZ types of beacon states from Electra on, as the library of Lodestar has them. Source: ethereum/consensus-specs:
 * specs/{phase0,altair,bellatrix,capella,electra,fulu,gloas}/beacon-chain.md (BeaconState), presets/mainnet; the gnosis
 * preset differs in the slots of an epoch (gnosischain/specs: consensus/preset).
 */
import {
  ContainerType,
  ListBasicType,
  ListCompositeType,
  ProgressiveContainerType,
  ProgressiveListBasicType,
  ProgressiveListCompositeType,
  type Type,
  VectorBasicType,
  VectorCompositeType,
} from "@chainsafe/ssz";
import { ssz } from "@lodestar/types";

type Fields = Record<string, Type<unknown>>;

/** Type of a state; that of Gloas is progressive. */
export type StateType = ContainerType<Fields> | ProgressiveContainerType<Fields>;

/** A field of a state, with its name in JSON. */
export type StateField = StateType["fieldsEntries"][number];

/** Members of a committee that attests the arrival of payloads. */
const PTC_SIZE = 512;

/** Type of a state of a fork, Electra's for all earlier ones. */
export function stateTypeOf(fork: string, slotsPerEpoch: number): StateType {
  const isGloas = fork === "gloas";
  const { fields } = ssz[isGloas ? "gloas" : fork === "fulu" ? "fulu" : "electra"].BeaconState;
  const sized = sizedFields(slotsPerEpoch);
  const entries = Object.entries<Type<unknown>>(fields).map(([name, type]) => [name, sized[name] ?? type]);
  const own: Fields = Object.fromEntries(entries);
  if (!isGloas) return new ContainerType(own, { jsonCase: "eth2" });
  return new ProgressiveContainerType(own, entries.map(() => true), { jsonCase: "eth2" });
}

/** Fields whose lengths are counted in epochs. */
function sizedFields(slotsPerEpoch: number): Partial<Fields> {
  const committee = new VectorBasicType(ssz.ValidatorIndex, PTC_SIZE);
  return {
    eth1DataVotes: new ListCompositeType(ssz.phase0.Eth1Data, 64 * slotsPerEpoch),
    proposerLookahead: new VectorBasicType(ssz.ValidatorIndex, 2 * slotsPerEpoch),
    builderPendingPayments: new VectorCompositeType(ssz.gloas.BuilderPendingPayment, 2 * slotsPerEpoch),
    ptcWindow: new VectorCompositeType(committee, 3 * slotsPerEpoch),
  };
}

/** Items of a list or vector, which are read one by one. */
export interface StateItems {
  readonly elementType: Type<unknown>;
  /** Maximum number of items, of a vector their number; `undefined`: the list is progressive. */
  readonly limit: number | undefined;
  readonly isList: boolean;
}

/** Items of a field; `undefined` for a field that is read whole. */
export function itemsOf(type: Type<unknown>): StateItems | undefined {
  if (type instanceof ListBasicType || type instanceof ListCompositeType) return type;
  if (type instanceof ProgressiveListBasicType || type instanceof ProgressiveListCompositeType) {
    return { elementType: type.elementType, limit: undefined, isList: true };
  }
  const isVector = type instanceof VectorBasicType || type instanceof VectorCompositeType;
  if (!isVector || type.elementType instanceof ContainerType) return undefined;
  return { elementType: type.elementType, limit: type.length, isList: false };
}

/** Bytes of the fields of an item, one after the other. */
export function itemSizes({ elementType }: StateItems): readonly number[] {
  const parts: readonly Type<unknown>[] = elementType instanceof ContainerType
    ? Object.values(elementType.fields)
    : [elementType];
  return parts.map(({ fixedSize }) => {
    if (fixedSize === null) throw new Error(`Items of variable size: ${elementType.typeName}`);
    return fixedSize;
  });
}
