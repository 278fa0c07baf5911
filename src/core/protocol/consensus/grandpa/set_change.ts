/**
 * Changes of the set of voters, as headers announce them.
 * Source: paritytech/polkadot-sdk: substrate/primitives/consensus/grandpa/src/lib.rs (ConsensusLog).
 */
import { decodeStrict, Struct, u32 } from "../../scale.ts";
import type { SubstrateHeader } from "../substrate_header.ts";
import { GRANDPA_ENGINE, grandpaAuthoritiesCodec, type GrandpaAuthority } from "./message.ts";

/** Index of a scheduled change. */
const SCHEDULED_CHANGE = 1;

/** Index of a forced change, which the clients do not follow. */
const FORCED_CHANGE = 2;

const scheduledChange = Struct({ nextAuthorities: grandpaAuthoritiesCodec, delay: u32 });

/**
 * The voters that take over after this block; undefined when the block changes none. Other announcements of GRANDPA may
 * stand before the change (`OnDisabled`, when a validator is disabled in the first block of a session).
 * @throws {ScaleError} when the item is not what GRANDPA writes.
 */
export function scheduledAuthorities(
  header: Pick<SubstrateHeader, "digest">,
): readonly GrandpaAuthority[] | undefined {
  for (const item of header.digest) {
    if (item.kind !== "consensus" || item.engine !== GRANDPA_ENGINE) continue;
    if (item.data[0] !== SCHEDULED_CHANGE) continue;
    return decodeStrict(scheduledChange, item.data.slice(1), "ScheduledChange").nextAuthorities;
  }
  return undefined;
}

/**
 * True when the block forces a change of the voters, as a chain does whose finality has stalled: justifications of later
 * blocks are by voters of whom no client ever learns.
 */
export function forcesChange(header: Pick<SubstrateHeader, "digest">): boolean {
  return header.digest.some((item) =>
    item.kind === "consensus" && item.engine === GRANDPA_ENGINE && item.data[0] === FORCED_CHANGE
  );
}
