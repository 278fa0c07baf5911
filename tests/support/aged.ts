/** Simulations that were made a while ago. */

/** The simulation as it is a while later: what was read along with it is too old to sign with. */
export function aged<T extends { readonly facts?: unknown }>(simulation: T): Omit<T, "facts"> {
  const { facts: _, ...rest } = simulation;
  return rest;
}
