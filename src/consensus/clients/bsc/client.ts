/** Light client of BSC-type chains, as the registry lists it. */
import { withDefault } from "../../../core/config/schema.ts";
import { integer, UINT32_MAX } from "../../../core/config/values.ts";
import { evmChainId } from "../../../core/ismp/state_machine.ts";
import { checkEvmEndpoints } from "../../checks/evm_endpoints.ts";
import type { ChainClient } from "../../client.ts";
import { frequencyKey, hostForeign } from "../../config/shared_keys.ts";
import { type EvmReader, openEvmReader } from "../../evm_reader.ts";
import { createBscProver } from "./bsc_prover.ts";
import { findBscNetwork } from "./spec/bsc_network.ts";
import type { Hash256 } from "../../../core/encoding/bytes.ts";
import type { BlockRange } from "./spec/plan_update.ts";
import type { EvmBlockHeader } from "../../../core/evm/block_header.ts";
import type { BscHeaders } from "./find_update.ts";

/** Values of the host section. */
interface BscHost {
  readonly consensusUpdateFrequencySec: number;
  readonly epochLength: number;
}

/** `type = "bsc"`: votes in the chain's own headers. */
export const bscClient: ChainClient<"bsc", BscHost> = {
  type: "bsc",
  networks: { bsc_testnet: 97 },
  host: {
    description: "Of type `bsc`: votes in the chain's own headers.",
    keys: {
      consensusUpdateFrequencySec: frequencyKey,
      /** polytope-labs/hyperbridge: tesseract/consensus/bsc, `epoch_length`. */
      epochLength: withDefault(integer(1, UINT32_MAX, "blocks"), 1_000, {
        name: "epoch_length",
        description: "Length of an epoch.",
      }),
    },
    foreign: hostForeign,
  },
  example: {
    section: "bsc",
    comment: "BSC. Optional keys as above.",
    stateMachine: "EVM-56",
    consensusStateId: "BSC0",
    etherscanApiKey: "YOUR-BSC-KEY",
    switchedOn: ["consensus_update_frequency", "epoch_length"],
  },
  checkSection: ({ location, stateMachine }) => {
    if (stateMachine === undefined || findBscNetwork(evmChainId(stateMachine)) !== undefined) return;
    location.child("state_machine").problem(
      `"${stateMachine}", which the hub has no BSC client for`,
      '"EVM-56" or "EVM-97"',
    );
  },
  createChecks: (deps, { stateMachine: chain, rpcUrls: urls }) =>
    checkEvmEndpoints(deps, { chain, serves: chain, urls, key: "rpc_urls" }),
  createProver: (context, { stateMachine, rpcUrls, consensusStateId, host }) => {
    const headers = bscHeadersOf(openEvmReader(context, { stateMachine, urls: rpcUrls }));
    return createBscProver({ hub: context.hub, headers }, {
      stateMachine,
      consensusStateId,
      epochLength: BigInt(host.epochLength),
      intervalMs: host.consensusUpdateFrequencySec * 1_000,
    });
  },
};

/** Headers per request: an ancestry may need a thousand. */
const PER_REQUEST = 64n;

/** Creates the header source of a reader. */
export function bscHeadersOf(
  reader: Pick<EvmReader, "hosts" | "fetchHeaders" | "fetchChainIds">,
): BscHeaders {
  return {
    hosts: reader.hosts,
    fetchHead: (signal) => fetchOne(reader, "latest", signal),
    fetchByHash: (hash, signal) => fetchOne(reader, hash, signal),
    fetchRange: (range, signal) => fetchRange(reader, range, signal),
    fetchChainIds: (signal) => reader.fetchChainIds(signal),
  };
}

async function fetchOne(
  reader: Pick<EvmReader, "fetchHeaders">,
  which: "latest" | Hash256,
  signal: AbortSignal,
): Promise<EvmBlockHeader> {
  const [found] = await reader.fetchHeaders([which], signal);
  if (found === undefined) throw new Error("A block was asked for and not answered");
  return found.header;
}

async function fetchRange(
  reader: Pick<EvmReader, "fetchHeaders">,
  { from, to }: BlockRange,
  signal: AbortSignal,
): Promise<readonly EvmBlockHeader[]> {
  const headers: EvmBlockHeader[] = [];
  for (let first = from; first <= to; first += PER_REQUEST) {
    const count = to - first + 1n < PER_REQUEST ? to - first + 1n : PER_REQUEST;
    const wanted = Array.from({ length: Number(count) }, (_, at) => first + BigInt(at));
    headers.push(...(await reader.fetchHeaders(wanted, signal)).map(({ header }) => header));
  }
  return headers;
}
