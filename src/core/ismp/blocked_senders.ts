/**
 * Senders whose POST requests the runtime of the main network's hub refuses, on any chain: contracts that were
 * abandoned. The list is part of the runtime's code, not of its storage. Source: polytope-labs/hyperbridge:
 * parachain/runtimes/nexus/src/ismp.rs.
 */
import { toHex } from "../encoding/bytes.ts";

/** `specName` of the runtime. */
const RUNTIME = "nexus";

const BLOCKED: ReadonlySet<string> = new Set([
  "0xfd413e3afe560182c4471f4d143a96d3e259b6de",
  "0x8b536105b6fae2ae9199f5146d3c57dfe53b614e",
  "0xce304770236f39f9911bfcc51afbdff3b8635718",
]);

/** True when a runtime with that name accepts no POST request from the sender. */
export function isBlockedSender(specName: string, from: Uint8Array): boolean {
  return specName === RUNTIME && BLOCKED.has(toHex(from));
}
