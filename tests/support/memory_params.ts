/**
 * The parameters of a host in memory, read through the EVM adapter's own memory of them: what a relayer does about a
 * handler that governance has replaced is the adapter's code.
 */
import { type EvmDependencies, HostParamsReader } from "../../src/core/chains/evm/evm_context.ts";
import { type Address, toAddress } from "../../src/core/evm/address.ts";
import { type HostParams, hostReads } from "../../src/core/evm/host_reads.ts";
import { fromHex, type Hex, toHex } from "../../src/core/encoding/bytes.ts";
import type { RpcEndpoint } from "../../src/core/rpc/call.ts";
import { RpcEndpointSet } from "../../src/core/rpc/endpoint_set.ts";
import { fixedRandomness } from "./seeded_randomness.ts";
import hostVector from "../vectors/evm-host-reads.json" with { type: "json" };

const recorded = hostVector.reads.hostParams;

/** Address of every host in memory. */
const HOST = toAddress(toHex(new Uint8Array(20).fill(7)));

/** What a host with that handler answers: recorded parameters with another handler. */
export function encodeHostParams(handler: Address): Hex {
  const answer = recorded.result.replaceAll(
    recorded.decoded.handler.slice(2).toLowerCase(),
    handler.slice(2),
  );
  return toHex(fromHex(answer));
}

/** The parameters of a host with that handler. */
export function hostParamsWith(handler: Address): HostParams {
  return hostReads.hostParams.decode(encodeHostParams(handler));
}

/** The adapter's reader of the parameters, over an endpoint that names the handler that `ask` gives. */
export function memoryHostParams(
  chain: string,
  { clock, log }: Pick<EvmDependencies, "clock" | "log">,
  ask: (signal: AbortSignal) => Promise<Address>,
): HostParamsReader {
  const endpoint: RpcEndpoint = {
    host: "memory",
    send: async (calls, { signal }) => {
      const result = encodeHostParams(await ask(signal));
      return calls.map(() => ({ kind: "result", result }));
    },
  };
  const endpoints = new RpcEndpointSet({ clock, randomness: fixedRandomness(0.5) }, {
    chain,
    endpoints: [endpoint],
  });
  return new HostParamsReader({ endpoints: endpoints, clock, log, host: HOST });
}
