/** Where the socket of a relayer is. */

/** Path of the socket of the relayer that uses a database. */
export function controlSocketPath(dbPath: string): string {
  return `${dbPath}.sock`;
}
