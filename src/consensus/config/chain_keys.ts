/**
 * Keys that chain sections of the consensus relayer's file have whatever their type. Source: docs/specification.md,
 * "Consensus relayer configuration"; docs/protocol/evm-consensus.md section 2.
 */
import { evmKeys, substrateKeys } from "../../core/config/chains.ts";
import { optional, required, type SectionValues } from "../../core/config/schema.ts";
import { oneOf, webSocketUrl } from "../../core/config/values.ts";
import type { ConfigFiles } from "../../core/config/toml.ts";
import { NO_MESSAGES, unused } from "./shared_keys.ts";

/** polytope-labs/hyperbridge: tesseract/messaging/substrate-evm/src/lib.rs, `SubstrateEvmClientConfig`. */
const substrateNode = optional(webSocketUrl, {
  name: "ws_url",
  description: "",
  example: "wss://polkadot-hub.example.org",
});

/** Keys of all sections of EVM chains besides `type`, with and without effect. `files` reads keys given as a path. */
export const evmChainKeys = (files: ConfigFiles) => {
  const { initialHeight, pollIntervalSec, tracingBatchSize, ...used } = evmKeys(files);
  return {
    keys: {
      ...used,
      consensusStateId: {
        ...used.consensusStateId,
        description:
          "Name of the chain's client on the hub; of a rollup its own, by which the L1's is replaced.",
      },
      signer: {
        ...used.signer,
        description:
          "Pays for what is sent to this chain; not the messaging relayer's. Not needed with `inbound_only = true`.",
        example: "/run/secrets/ethereum-consensus-key",
      },
      queryBatchSizeBlocks: {
        ...used.queryBatchSizeBlocks,
        description:
          "Only of rollups: maximum blocks of one event query on the L1. Without it, the whole range at once.",
      },
    },
    withoutEffect: [
      unused(tracingBatchSize, "one transaction at a time is traced"),
      unused(substrateNode, "state of `substrate_evm` chains is read by the messaging relayer"),
      unused(pollIntervalSec, "the one of [hub.substrate] counts"),
      unused(initialHeight, NO_MESSAGES),
    ],
  };
};

const splitSubstrateKeys = (files: ConfigFiles) => {
  const { initialHeight, pollIntervalSec, feeTokenDecimals, ...used } = substrateKeys(files);
  return {
    keys: {
      type: required(oneOf(["substrate"]), {
        name: "type",
        description: "A chain that follows a hub of type `grandpa`; it needs no host section.",
        example: "substrate",
      }),
      ...used,
      stateMachine: { ...used.stateMachine, example: "SUBSTRATE-cere" },
      rpcWs: { ...used.rpcWs, description: "A node of the chain.", example: "wss://solochain.example.org" },
      consensusStateId: {
        ...used.consensusStateId,
        description: "Under which the hub knows the chain.",
        example: "CERE",
      },
      signer: {
        ...used.signer,
        description: "Signs updates there. Any key does: without one, the hub's.",
        example: "/run/secrets/solochain-seed",
      },
    },
    withoutEffect: [
      unused(pollIntervalSec, "`consensus_update_frequency` of [hub.grandpa] counts"),
      unused(initialHeight, NO_MESSAGES),
      unused(feeTokenDecimals, NO_MESSAGES),
    ],
  };
};

/** Values of a section of an EVM chain. */
export interface EvmChainSection extends SectionValues<ReturnType<typeof evmChainKeys>["keys"]> {
  /** Name of the section in the file. */
  readonly section: string;
}

/** `type = "evm"` of a chain that no client on the hub follows: it only receives. */
export interface ReceiveOnlyConfig extends EvmChainSection {
  readonly type: "receive_only";
}

/**
 * `type = "substrate"`: it follows a hub of type "grandpa", and is proved to it only as a parachain on the same relay
 * chain.
 */
export interface FollowerConfig extends SectionValues<ReturnType<typeof splitSubstrateKeys>["keys"]> {
  /** Name of the section in the file. */
  readonly section: string;
}

/** Section of a Substrate chain. `files` reads keys that are given as a path. */
export const substrateSection = (files: ConfigFiles) => ({
  description:
    "A Substrate chain (not among the fields of the specification). It follows the hub by what its client " +
    "of the hub accepts: GRNP finality proofs of the relay chain, PARA the hub's head there. Nothing is proved of it, " +
    "unless it is a sibling parachain of the hub (then its `consensus_state_id` is the hub's own) and the hub lists it " +
    "in `IsmpParachain.Parachains`.",
  ...splitSubstrateKeys(files),
  foreign: {
    host: "nothing is proved of Substrate chains",
    rpc_urls: "a key of EVM entries; substrate entries have `rpc_ws`",
    ismp_host: "a key of EVM entries",
    etherscan_api_key: "a key of EVM entries",
    gas_price_buffer: "a key of EVM entries",
  },
});
