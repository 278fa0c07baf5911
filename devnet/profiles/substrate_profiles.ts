/**
 * Nodes of Substrate chains: of the hub, of the chains beside it, of the relay chain. Texts and numbers are those of
 * polkadot-sdk and jsonrpsee, or of the providers named.
 */
import { error, type Profile } from "./profile.ts";
import { batch, cutSockets, missing, rate, requestBytes, responseBytes } from "./request_behaviours.ts";
import type { RpcBehaviour } from "./rpc_behaviour.ts";
import { newestStates } from "./state_behaviours.ts";

/**
 * Methods that nodes refuse unless they were started with `--rpc-methods=unsafe`, or are asked locally. Source:
 * paritytech/polkadot-sdk: substrate/client/rpc/src (check_if_safe), substrate/utils/frame/rpc/system,
 * substrate/client/consensus/babe/rpc.
 */
export const UNSAFE_METHODS: readonly string[] = [
  "author_hasKey",
  "author_hasSessionKeys",
  "author_insertKey",
  "author_removeExtrinsic",
  "author_rotateKeys",
  "babe_epochAuthorship",
  "dev_getBlockStats",
  "offchain_localStorageClear",
  "offchain_localStorageGet",
  "offchain_localStorageSet",
  "state_getPairs",
  "state_queryStorage",
  "state_traceBlock",
  "system_addReservedPeer",
  "system_dryRun",
  "system_peers",
];

/** All profiles of Substrate nodes. */
export const SUBSTRATE_PROFILES: readonly Profile<RpcBehaviour>[] = [
  {
    name: "substrate-safe",
    imitates: "--rpc-methods=safe, as all public nodes have",
    sources: [
      "paritytech/polkadot-sdk: substrate/client/rpc/src (check_if_safe)",
      "paritytech/polkadot-sdk: substrate/utils/frame/rpc/system/src/lib.rs",
      "paritytech/polkadot-sdk: substrate/client/cli/src/params/rpc_params.rs (--rpc-methods)",
    ],
    behaviours: [missing(UNSAFE_METHODS, error(-32601, "RPC call is unsafe to be called externally"))],
  },
  {
    name: "substrate-omni-node",
    imitates: "Other software than the chain's own (polkadot-omni-node): none of the chain's methods",
    sources: [
      "paritytech/polkadot-sdk#8098 (no methods of a chain's own)",
      "polkadot-js/api#4398 (a node that does not list them)",
      "AcalaNetwork/subway: configs/config.yml (a gateway lists what it passes on)",
    ],
    refusal: {
      reason: "the node lacks the RPC methods",
      cure: "use a node of the chain's own software",
      consequence: "ends",
    },
    behaviours: [missing(["ismp_*", "mmr_*"], error(-32601, "Method not found"), false)],
  },
  {
    name: "substrate-old-calls",
    imitates: "A gateway with a list of methods: none reads many values at once",
    sources: [
      "AcalaNetwork/subway: rpc_configs/substrate.yml (no childstate method at all)",
      "polkadot-js/api: CHANGELOG.md (6.1.1: childstate_getStorageEntries is younger than its siblings)",
    ],
    behaviours: [
      missing(
        ["childstate_getStorageEntries", "state_queryStorageAt", "state_queryStorage"],
        error(-32601, "Method not found"),
      ),
    ],
  },
  {
    name: "substrate-pruned",
    imitates: "--state-pruning 256, the default, instead of archive",
    sources: [
      "paritytech/polkadot-sdk: substrate/client/db/src/lib.rs (State already discarded)",
      "paritytech/polkadot-sdk: substrate/client/cli/src/params/pruning_params.rs (256)",
    ],
    behaviours: [
      newestStates(256, 150, error(4003, "Client error: UnknownBlock: State already discarded for {block}")),
    ],
  },
  {
    name: "substrate-small-payloads",
    imitates: "--rpc-max-request-size and --rpc-max-response-size below the default of 15 MB",
    sources: [
      "https://docs.astar.network/docs/build/nodes/collator/spinup_collator (1 MB)",
      "paritytech/jsonrpsee: types/src/error.rs (-32007, -32008, -32011)",
      "paritytech/jsonrpsee: server/src/transport/ws.rs (a message that is too long: an error without an id)",
    ],
    behaviours: [
      requestBytes(1_048_576, 20_000, {
        status: 413,
        error: { code: -32007, message: "Request is too big", data: "Exceeded max limit of {max}" },
      }),
      responseBytes(1_048_576, 30_000, error(-32008, "Response is too big", "Exceeded max limit of {max}"), {
        ofBatch: error(-32011, "The batch response was too large", "Exceeded max limit of {max}"),
        except: ["state_getMetadata"],
      }),
    ],
  },
  {
    name: "substrate-no-batches",
    imitates: "--rpc-disable-batch-requests",
    sources: ["paritytech/polkadot-sdk#3364", "paritytech/jsonrpsee: types/src/error.rs (-32005)"],
    behaviours: [batch(0, 0, error(-32005, "Batched requests are not supported by this server"))],
  },
  {
    name: "substrate-short-batches",
    imitates: "--rpc-max-batch-request-len",
    sources: ["paritytech/polkadot-sdk#3364", "paritytech/jsonrpsee: types/src/error.rs (-32010)"],
    behaviours: [
      batch(100, 8, error(-32010, "The batch request was too large", "Exceeded max limit of {max}")),
    ],
  },
  {
    name: "substrate-rate-limited",
    imitates: "--rpc-rate-limit (calls a minute of a connection)",
    sources: [
      "paritytech/polkadot-sdk#3028",
      "paritytech/polkadot-sdk: substrate/client/rpc-servers/src/middleware (-32999)",
    ],
    behaviours: [
      rate(30, 30, { error: { code: -32999, message: "RPC rate limit exceeded" }, asBatch: "each" }),
    ],
  },
  {
    name: "substrate-cut-sockets",
    imitates: "A load balancer that ends every WebSocket after a minute",
    sources: [
      "paritytech/substrate#9811",
      "onflow/flow-go#7403",
      "paritytech/substrate-api-sidecar#805",
    ],
    behaviours: [cutSockets(60_000, 4000)],
  },
];
