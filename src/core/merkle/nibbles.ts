/**
 * Paths of base-16 tries: one half byte per array element, high half first.
 */

/** The nibbles of `bytes`. */
export function toNibbles(bytes: Uint8Array): Uint8Array {
  const nibbles = new Uint8Array(bytes.length * 2);
  let at = 0;
  for (const byte of bytes) {
    nibbles[at++] = byte >> 4;
    nibbles[at++] = byte & 0x0f;
  }
  return nibbles;
}

/** Number of leading nibbles that `a` and `b` share. */
export function sharedLength(a: Uint8Array, b: Uint8Array): number {
  const limit = Math.min(a.length, b.length);
  let length = 0;
  while (length < limit && a[length] === b[length]) length++;
  return length;
}

/**
 * The nibble at `index`.
 * @throws {RangeError} beyond the end of the path.
 */
export function nibbleAt(path: Uint8Array, index: number): number {
  const nibble = path[index];
  if (nibble === undefined) throw new RangeError("Path is too short");
  return nibble;
}
