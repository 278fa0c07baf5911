/** Keys shared by several sections of the consensus relayer's file, and those that only the other program uses. */
import { type Key, withDefault } from "../../core/config/schema.ts";
import { cappedSeconds } from "../../core/config/values.ts";

/** Interval between consensus updates. */
export const updateFrequency = {
  name: "consensus_update_frequency",
  description: "How often the chain is polled for a consensus update.",
};

/** polytope-labs/hyperbridge: tesseract/consensus/{grandpa,bsc,op-host,arb-host}, `consensus_update_frequency`. */
export const frequencyKey = withDefault(cappedSeconds, 300, updateFrequency);

/** Describes a key that only the messaging relayer uses. */
export function unused<T>(key: Key<T>, why: string): Key<T> {
  return { ...key, description: `Has no effect in this program: ${why}.` };
}

/** Reason that keys about messages have no effect. */
export const NO_MESSAGES = "it reads no messages";
