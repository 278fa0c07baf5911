/**
 * The Polygon chains that the hub's client was built for. Source: polytope-labs/hyperbridge:
 * modules/ismp/clients/polygon/src/lib.rs, tesseract/consensus/polygon/src/lib.rs.
 */

/** A Polygon chain with the Heimdall chain that finalizes it. */
export interface PolygonNetwork {
  /** Chain id of Bor, the EVM chain. */
  readonly chainId: number;
  /** Name of the Heimdall chain, which its validators sign. */
  readonly heimdallChain: string;
}

const CHAIN_IDS: readonly number[] = [137, 80002];

/** Finds the network of an EVM chain; `undefined`: the hub's client does not know it. */
export function findPolygonNetwork(chainId: number): PolygonNetwork | undefined {
  return CHAIN_IDS.includes(chainId) ? { chainId, heimdallChain: `heimdallv2-${chainId}` } : undefined;
}
