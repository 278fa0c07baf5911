/** Keys that several sections of the consensus relayer's file have, and those that only the other program uses. */
import { type Key, withDefault } from "../../core/config/schema.ts";
import { cappedSeconds } from "../../core/config/values.ts";

/** How often something is fetched for a consensus update. */
export const updateFrequency = {
  name: "consensus_update_frequency",
  description: "How often a consensus update is looked for.",
};

/** polytope-labs/hyperbridge: tesseract/consensus/{grandpa,bsc,op-host,arb-host}, `consensus_update_frequency`. */
export const frequencyKey = withDefault(cappedSeconds, 300, updateFrequency);

/** What a key does that only the messaging relayer uses. */
export function unused<T>(key: Key<T>, why: string): Key<T> {
  return { ...key, description: `Has no effect in this program: ${why}.` };
}

/** Why keys about messages have no effect. */
export const NO_MESSAGES = "it reads no messages";
