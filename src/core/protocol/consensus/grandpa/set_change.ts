/**
 * Changes of the set of voters, as headers announce them.
 * Source: paritytech/polkadot-sdk: substrate/primitives/consensus/grandpa/src/lib.rs (ConsensusLog).
 */
import { decodeStrict, Struct, u32 } from "../../scale.ts";
import { digestData, type SubstrateHeader } from "../substrate_header.ts";
import { GRANDPA_ENGINE, grandpaAuthoritiesCodec, type GrandpaAuthority } from "./message.ts";

/** Index of a scheduled change. Forced ones (2) are not followed by the clients. */
const SCHEDULED_CHANGE = 1;

const scheduledChange = Struct({ nextAuthorities: grandpaAuthoritiesCodec, delay: u32 });

/**
 * The voters that take over after this block; undefined when the block changes none.
 * @throws {ScaleError} when the item is not what GRANDPA writes.
 */
export function scheduledAuthorities(
  header: Pick<SubstrateHeader, "digest">,
): readonly GrandpaAuthority[] | undefined {
  const data = digestData(header, "consensus", GRANDPA_ENGINE);
  if (data?.[0] !== SCHEDULED_CHANGE) return undefined;
  return decodeStrict(scheduledChange, data.slice(1), "ScheduledChange").nextAuthorities;
}
