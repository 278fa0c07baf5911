/** Questions of one chain about the state of another, and the answers that their application holds. */
import type { Hex } from "viem";
import type { Hash256 } from "../../../src/core/encoding/bytes.ts";
import { toAddress } from "../../../src/core/evm/address.ts";
import { decodeHostLog } from "../../../src/core/evm/host_events.ts";
import type { DevnetChain } from "../../../devnet/devnet.ts";
import { PING_ABI } from "../../../devnet/evm/abi.ts";
import { type PingGet, sendGet } from "../../../devnet/evm/host_admin.ts";

/** Asks. @returns the commitment of the question */
export async function ask({ host }: DevnetChain, get: PingGet): Promise<Hash256> {
  const { logs } = await sendGet(host, get);
  for (const log of logs) {
    const decoded = decodeHostLog(log, toAddress(host.addresses.host));
    if (decoded.kind === "event" && decoded.event.kind === "message") return decoded.event.message.commitment;
  }
  throw new Error("The transaction asks nothing");
}

/** What the asking application holds for a key. */
export function answerOn({ host }: DevnetChain, key: Hex): Promise<Hex> {
  const address = host.addresses.ping;
  return host.reader.readContract({ address, abi: PING_ABI, functionName: "answers", args: [key] });
}
