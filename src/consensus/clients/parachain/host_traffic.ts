/**
 * Messages and receipts of the ISMP host on Polkadot Hub, by its events: the header of that chain does not tell whether
 * there are any.
 */
import type { LogRange } from "../../../core/chains/evm/rpc_schemas.ts";
import type { Address } from "../../../core/evm/address.ts";
import { hostEventTopics } from "../../../core/evm/host_abi.ts";
import { RpcFault } from "../../../core/rpc/call.ts";
import type { ChainIdReport, EvmReader } from "../../evm_reader.ts";

/** Traffic of a host. Every method may throw an `RpcFault`. */
export interface HostTraffic {
  /** Fetches the chain id of every endpoint. */
  fetchChainIds(signal: AbortSignal): Promise<readonly ChainIdReport[]>;
  /** Whether the host sent or received anything in those blocks; `undefined`: no endpoint has all of them yet. */
  hasTraffic(range: LogRange, signal: AbortSignal): Promise<boolean | undefined>;
}

/** Events after which somebody waits for a proof of the chain's state. */
const TRAFFIC = [
  hostEventTopics.PostRequestEvent,
  hostEventTopics.GetRequestEvent,
  hostEventTopics.PostRequestHandled,
  hostEventTopics.GetRequestHandled,
  hostEventTopics.PostRequestTimeoutHandled,
  hostEventTopics.GetRequestTimeoutHandled,
  hostEventTopics.RequestFunded,
];

/** Reads the traffic of a host. */
export function hostTrafficOf(
  reader: Pick<EvmReader, "fetchLogs" | "fetchChainIds">,
  address: Address,
): HostTraffic {
  return {
    fetchChainIds: (signal) => reader.fetchChainIds(signal),
    hasTraffic: async (range, signal) => {
      try {
        return (await reader.fetchLogs({ address, topics: TRAFFIC }, range, signal)).length > 0;
      } catch (fault) {
        if (fault instanceof RpcFault && fault.code === "lagging") return undefined;
        throw fault;
      }
    },
  };
}
