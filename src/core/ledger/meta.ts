/** Table `meta`: facts about the file itself and small values that must outlive a run. */

/** Named texts. Every method may throw a `LedgerFault`. */
export interface Meta {
  find(name: string): string | undefined;
  write(name: string, value: string): void;
}
