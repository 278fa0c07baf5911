/** Tags of fields in Protobuf, for messages that no library has in Heimdall's form. */

/** Ways in which the value of a field is written. */
export type WireType = "varint" | "fixed64" | "bytes";

const NUMBERS: Readonly<Record<WireType, number>> = { varint: 0, fixed64: 1, bytes: 2 };

/** Tag before the value of a field. */
export function fieldTag(field: number, type: WireType): number {
  return field << 3 | NUMBERS[type];
}
