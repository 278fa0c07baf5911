/**
 * Changes of the voter set, as headers announce them. Source: paritytech/polkadot-sdk:
 * substrate/primitives/consensus/grandpa/src/lib.rs (ConsensusLog).
 */
import { type Codec, decodePrefix, ScaleError, Struct, u32 } from "../../../../core/encoding/scale.ts";
import type { SubstrateHeader } from "../../../../core/substrate/header.ts";
import { GRANDPA_ENGINE, grandpaAuthoritiesCodec, type GrandpaAuthority } from "./message.ts";

/** Index of a scheduled change. */
const SCHEDULED_CHANGE = 1;

/** Index of a forced change, which the clients do not follow. */
const FORCED_CHANGE = 2;

const scheduledChange = Struct({ nextAuthorities: grandpaAuthoritiesCodec, delay: u32 });

const forcedChange = Struct({ median: u32, change: scheduledChange });

/**
 * Voters that take over after this block; undefined when the block changes none. Other GRANDPA announcements may
 * precede the change (`OnDisabled`, when a validator is disabled in the first block of a session). The first readable
 * change counts: clients skip items that are no GRANDPA announcements, and ignore everything after a change. Source:
 * polytope-labs/hyperbridge: modules/consensus/grandpa/primitives/src/justification.rs (find_scheduled_change).
 */
export function scheduledAuthorities(
  header: Pick<SubstrateHeader, "digest">,
): readonly GrandpaAuthority[] | undefined {
  return firstChange(header, SCHEDULED_CHANGE, scheduledChange)?.nextAuthorities;
}

/**
 * True when the block forces a change of the voters, as a chain with stalled finality does: justifications of later
 * blocks are by voters that no client ever learns of.
 */
export function forcesChange(header: Pick<SubstrateHeader, "digest">): boolean {
  return firstChange(header, FORCED_CHANGE, forcedChange) !== undefined;
}

/** Returns the first readable announcement of a kind. */
function firstChange<T>(
  { digest }: Pick<SubstrateHeader, "digest">,
  kind: number,
  codec: Codec<T>,
): T | undefined {
  for (const item of digest) {
    if (item.kind !== "consensus" || item.engine !== GRANDPA_ENGINE || item.data[0] !== kind) continue;
    try {
      return decodePrefix(codec, item.data.slice(1), "ConsensusLog");
    } catch (error) {
      if (!(error instanceof ScaleError)) throw error;
    }
  }
  return undefined;
}
