/**
 * EVM nodes and providers. Texts and numbers are theirs, as of the sources beside each; `played` is what a devnet of some
 * hundred blocks needs so that the limit is met.
 */
import { error, type NodeRefusal, type Profile } from "./profile.ts";
import { changed, loglessTraces, nullBlocks, oddHex, tipFloor } from "./answer_behaviours.ts";
import { lateLogs, logRange, logResults, slowLogs } from "./log_behaviours.ts";
import {
  batch,
  codeCalls,
  hiccups,
  missing,
  quota,
  rate,
  requestBytes,
  responseBytes,
} from "./request_behaviours.ts";
import type { RpcBehaviour } from "./rpc_behaviour.ts";
import { fleet, newestProofs, newestStates, standing } from "./state_behaviours.ts";

/** Answer of Geth and of all who put a whitelist before it. */
const NO_METHOD = error(-32601, "the method {method} does not exist/is not available");

/** A page of a gateway, as Cloudflare and nginx send it. */
function page(status: number, title: string): NodeRefusal {
  const head = `<html>\r\n<head><title>${status} ${title}</title></head>`;
  const body =
    `<body>\r\n<center><h1>${status} ${title}</h1></center>\r\n<hr><center>cloudflare</center>\r\n</body>`;
  return { status, page: `${head}\r\n${body}\r\n</html>` };
}

/** All profiles of EVM nodes. */
export const EVM_PROFILES: readonly Profile<RpcBehaviour>[] = [
  {
    name: "geth-default",
    imitates: "Geth with default flags: 128 states, no debug namespace over HTTP, batches up to 1,000",
    sources: [
      "ethereum/go-ethereum#20874",
      "ethereum/go-ethereum#29170",
      "ethereum/go-ethereum: node/defaults.go",
      "ethereum/go-ethereum: rpc/errors.go",
      "ethereum/go-ethereum: rpc/handler.go (respondWithBatchTooLarge: one error, for the first call)",
    ],
    behaviours: [
      missing(["debug_*"], NO_METHOD),
      newestStates(
        128,
        40,
        error(-32000, "missing trie node {block} (path ) state {block} is not available, not found"),
      ),
      batch(1000, 4, { error: { code: -32600, message: "batch too large" }, asBatch: "first" }),
    ],
  },
  {
    name: "geth-slow-logs",
    imitates: "No index of logs, or a busy node: wide queries run into the server's time limit",
    sources: [
      "ethereum/go-ethereum: rpc/errors.go (request timed out, -32002)",
      "ethereum/go-ethereum: rpc/http.go (30 s)",
      "filecoin-project/lotus#12205",
    ],
    behaviours: [slowLogs(40, 30_000, 600, error(-32002, "request timed out"))],
  },
  {
    name: "gateway-timeout",
    imitates: "A provider whose gateway gives up on wide queries with a page of its own",
    sources: ["https://docs.chainstack.com/docs/understanding-eth-getlogs-limitations", "rvagg/nodei.co#60"],
    behaviours: [slowLogs(40, 60_000, 600, page(504, "Gateway Time-out"))],
  },
  {
    name: "erigon-pruned",
    imitates: "Erigon with --prune.mode=minimal behind a limit of blocks for logs",
    sources: [
      "erigontech/erigon: db/state/history_reader_v3.go (PrunedError)",
      "erigontech/erigon#18798",
      "erigontech/erigon: node/cli/httpcfg (batch limit 100)",
    ],
    behaviours: [
      newestStates(100_000, 40, error(-32000, "old data not available due to pruning")),
      batch(
        100,
        4,
        error(
          -32000,
          "batch limit {max} exceeded: {count}. Requests should be sent in batches of {max} or less",
        ),
      ),
    ],
  },
  {
    name: "erigon-no-commitments",
    imitates: "Erigon 3, archive without --prune.include-commitment-history: old states are read, not proved",
    sources: [
      "erigontech/erigon#15117 (root hash mismatch)",
      "erigontech/erigon#13180 (a flag activates the history of commitments)",
    ],
    refusal: {
      reason: "no eth_getProof of block",
      cure: "Erigon from 3.3 on with --prune.include-commitment-history",
      consequence: "holds",
    },
    behaviours: [
      newestProofs(
        1,
        1,
        error(-32000, "root hash mismatch witnessTrieRootHash({block})!=expectedRootHash({head})"),
      ),
    ],
  },
  {
    name: "reth-default",
    imitates: "reth with default flags: proofs of the newest block alone",
    sources: [
      "paradigmxyz/reth: crates/rpc/rpc-server-types/src/constants.rs (DEFAULT_ETH_PROOF_WINDOW is 0)",
      "paradigmxyz/reth: crates/rpc/rpc-eth-types/src/error/mod.rs (ExceedsMaxProofWindow)",
      "base/base#2421",
    ],
    refusal: {
      reason: "no eth_getProof of block",
      cure: "Reth and op-reth with a wide --rpc.eth-proof-window (default 0)",
      consequence: "holds",
    },
    behaviours: [newestProofs(1, 1, error(-32602, "distance to target block exceeds maximum proof window"))],
  },
  {
    name: "reth-proof-window",
    imitates: "reth with --rpc.eth-proof-window: older proofs are refused",
    sources: [
      "paradigmxyz/reth: crates/rpc/rpc-eth-types/src/error/mod.rs (ExceedsMaxProofWindow)",
      "drpcorg/dshackle: EthereumLowerBoundProofDetector.kt",
      "base/base#2421",
      "paradigmxyz/reth#8558",
    ],
    behaviours: [
      newestProofs(100_000, 40, error(-32602, "distance to target block exceeds maximum proof window")),
      logRange(100_000, 15, error(-32602, "query exceeds max block range {max}")),
      logResults(
        20_000,
        40,
        error(-32602, "query exceeds max results {max}, retry with the range {from}-{to}"),
      ),
    ],
  },
  {
    name: "nethermind-pruned",
    imitates: "Nethermind with pruning",
    sources: [
      "NethermindEth/nethermind: src/Nethermind/Nethermind.JsonRpc/Modules/Eth (GetStateFailureResult, ResourceUnavailable)",
      "NethermindEth/nethermind#1183",
    ],
    behaviours: [
      newestStates(128, 40, error(-32002, "No state available for block {block}")),
      logRange(1000, 15, error(-32005, "Too many logs requested. Max blocks per request is {max}.")),
    ],
  },
  {
    name: "besu-bonsai",
    imitates: "Besu with Bonsai: 512 states, 5,000 blocks of logs, batches up to 1,024",
    sources: [
      "hyperledger/besu: ethereum/api/src/main/java/org/hyperledger/besu/ethereum/api/jsonrpc/internal/response/RpcErrorType.java",
      "https://besu.hyperledger.org/stable/public-networks/reference/cli/options (--rpc-max-logs-range)",
    ],
    behaviours: [
      newestStates(512, 40, error(-32000, "World state unavailable")),
      logRange(5000, 20, error(-32005, "Requested range exceeds maximum RPC range limit")),
      batch(1024, 4, error(-32005, "Number of requests exceeds max batch size")),
    ],
  },
  {
    name: "alchemy-free",
    imitates: "Alchemy's free plan: 10 blocks of logs, no debug methods, compute units a second",
    sources: [
      "BobTheBuidler/dank_mids#772",
      "boundless-xyz/boundless#838",
      "https://docs.alchemy.com/reference/error-reference",
      "https://www.alchemy.com/docs/reference/throughput (Retry-After)",
    ],
    behaviours: [
      rate(25, 10, {
        status: 429,
        headers: { "retry-after": "1" },
        error: {
          code: 429,
          message:
            "Your app has exceeded its compute units per second capacity. If you have retries enabled, you can safely ignore this message.",
        },
        asBatch: "each",
      }),
      logRange(
        10,
        10,
        error(
          -32600,
          "Under the Free tier plan, you can make eth_getLogs requests with up to a {max} block range. Based on your " +
            "parameters, this block range should work: [{from}, {last}]. Upgrade to PAYG for expanded block range.",
        ),
      ),
      missing(
        ["debug_*"],
        error(
          -32600,
          "{method} is not available on the Free tier - upgrade to Pay As You Go, or Enterprise for access.",
        ),
      ),
    ],
  },
  {
    name: "infura-core",
    imitates: "Infura's free plan: 10,000 blocks and 10,000 results, no debug methods, credits for a day",
    sources: ["INFURA/infura#237", "omni/bridge-ui#214", "gochain/web3#180", "status-im/nimbus-eth2#1632"],
    needsSecond: "the day's credits end",
    behaviours: [
      quota(12_000)(3_000_000, 150, {
        status: 429,
        error: {
          code: -32005,
          message: "daily request count exceeded, request rate limited",
          data: {
            rate: { allowed_rps: 1, backoff_seconds: 30, current_rps: 1.27 },
            see: "https://infura.io/dashboard",
          },
        },
      }),
      logRange(10_000, 5, error(-32602, "range {width} exceeds limit of {max}")),
      logResults(10_000, 20, error(-32005, "query returned more than {max} results")),
      missing(["debug_*"], NO_METHOD),
    ],
  },
  {
    name: "quicknode",
    imitates: "QuickNode: 10,000 blocks of logs (HTTP 413), requests a second without Retry-After",
    sources: [
      "eternalsafe/wallet#57",
      "OffchainLabs/arbitrum-sdk#609",
      "foundry-rs/foundry#4894",
      "https://www.quicknode.com/docs/ethereum/eth_getLogs",
    ],
    behaviours: [
      rate(50, 12, {
        status: 429,
        error: {
          code: -32007,
          message:
            "{max}/second request limit reached - reduce calls per second or upgrade your account at quicknode.com",
        },
      }),
      logRange(10_000, 15, {
        status: 413,
        error: { code: -32614, message: "eth_getLogs is limited to a {max} range" },
      }),
    ],
  },
  {
    name: "drpc-free",
    imitates: "dRPC's free plan: batches of three, 10,000 blocks of logs, every call to another node",
    sources: [
      "drpcorg/drpc-nextra#64",
      "drpcorg/dshackle: README.md (several upstreams behind one address)",
      "https://drpc.org/docs/howitworks/ratelimiting",
    ],
    behaviours: [
      batch(3, 3, {
        status: 500,
        error: { code: 31, message: "Batch of more than {max} requests are not allowed on free plan" },
        asBatch: "each",
      }),
      logRange(10_000, 15, error(35, "ranges over {max} blocks are not supported on free plan")),
      missing(["debug_*"], error(35, "method is not available on freetier, use paid tier")),
      fleet([0, 1, 0, 2], "call"),
    ],
  },
  {
    name: "publicnode",
    imitates: "PublicNode and others behind Cloudflare: 50,000 blocks of logs, pages instead of JSON",
    sources: [
      "ponder-sh/ponder: packages/utils/src/getLogsRetryHelper.ts (maximum block range)",
      "https://ethereum-rpc.publicnode.com",
      "https://developers.cloudflare.com/support/troubleshooting/http-status-codes/cloudflare-1xxx-errors/error-1015/",
    ],
    behaviours: [
      hiccups(17, { status: 429, page: "error code: 1015" }),
      logRange(50_000, 15, error(-32701, "exceed maximum block range: {max}")),
    ],
  },
  {
    name: "ankr-public",
    imitates: "Ankr: 3,000 blocks of logs, batches of 100",
    sources: [
      "GoodDollar/GoodDAPP#4033",
      "ponder-sh/ponder#1940",
      "AlphaWallet/alpha-wallet-android#2736",
    ],
    behaviours: [
      logRange(3000, 12, error(-32600, "block range is too wide")),
      batch(100, 4, error(-32600, "batch is too large")),
    ],
  },
  {
    name: "chainstack",
    imitates: "Chainstack's developer plan: 100 blocks of logs, 25 requests a second",
    sources: ["matter-labs/zksync-era#2974", "https://docs.chainstack.com/docs/limits"],
    behaviours: [
      rate(25, 12, {
        status: 429,
        error: { code: -32005, message: "You've exceeded the RPS limit available on the current plan." },
      }),
      logRange(
        100,
        8,
        error(
          -32602,
          "Block range limit exceeded. See more details at https://docs.chainstack.com/docs/limits#evm-range-limits",
        ),
      ),
    ],
  },
  {
    name: "bsc-dataseed",
    imitates: "BNB Chain's public nodes: eth_getLogs is switched off, no debug methods",
    sources: ["bnb-chain/bsc#1215", "bnb-chain/docs-site#621"],
    needsSecond: "no logs",
    behaviours: [
      missing(["eth_getLogs"], error(-32005, "limit exceeded")),
      missing(["debug_*"], NO_METHOD),
    ],
  },
  {
    name: "polygon-bor",
    imitates: "Polygon: tips below 25 gwei are refused, many providers suggest less",
    sources: [
      "0xPolygon/launch#62",
      "UMAprotocol/protocol#4919",
      "WayfinderFoundation/wayfinder-paths-sdk#379 (the words of Bor in 2026)",
      "0xPolygon/bor#1463 (25 gwei, no flag lowers it)",
    ],
    onlyOf: "polygon",
    behaviours: [tipFloor(
      25_000_000_000n,
      1_500_000_000n,
      error(
        -32000,
        "transaction gas price below minimum: gas tip cap {count}, minimum needed {max}",
      ),
    )],
  },
  {
    name: "old-tracers",
    imitates: "Nodes whose callTracer knows no withLog (BSC in 2023, zkSync, Flow)",
    sources: ["bnb-chain/bsc#1318", "onflow/flow-evm-gateway#710", "matter-labs/zksync-era#4316"],
    behaviours: [loglessTraces],
  },
  {
    name: "balancer-by-request",
    imitates: "Several nodes behind one URL, each request to the next one",
    sources: ["ethereum/go-ethereum#24078", "ethereum/go-ethereum#27353", "latticexyz/mud#3394"],
    behaviours: [fleet([0, 3, 1], "request")],
  },
  {
    name: "balancer-by-call",
    imitates: "The same, and a proxy that takes batches apart",
    sources: [
      "https://indexsupply.com/shovel/docs/#unsynchronized-ethereum-nodes",
      "bobanetwork/boba_legacy#239",
      "shutter-network/rolling-shutter#459",
    ],
    behaviours: [fleet([0, 2, 0, 4, 1], "call")],
  },
  {
    name: "old-calls",
    imitates: "Besu before 22.1, and others: eth_call runs no code that is not on the chain",
    sources: ["besu-eth/besu#3173", "besu-eth/besu#3177", "a16z/helios#205", "onflow/flow-evm-gateway#113"],
    behaviours: [codeCalls(error(-32602, "Invalid params"))],
  },
  {
    name: "late-logs",
    imitates: "The index of logs is behind the head: empty lists",
    sources: ["ethereum/go-ethereum#26098", "bobanetwork/boba_legacy#239", "hl-archive-node/nanoreth#153"],
    behaviours: [lateLogs(16)],
  },
  {
    name: "gateway-pages",
    imitates: "One request in thirteen is answered by a page of the gateway",
    sources: [
      "rvagg/nodei.co#60",
      "https://developers.cloudflare.com/support/troubleshooting/http-status-codes/",
    ],
    behaviours: [
      hiccups(13, page(502, "Bad Gateway")),
      hiccups(31, page(520, "Web server is returning an unknown error")),
    ],
  },
  {
    name: "null-lookups",
    imitates: "Known blocks, receipts and transactions are now and then not found",
    sources: [
      "ethereum/go-ethereum#27353",
      "https://indexsupply.com/shovel/docs/#unsynchronized-ethereum-nodes",
    ],
    behaviours: [nullBlocks(7)],
  },
  {
    name: "odd-hex",
    imitates: "Odd hex: zeros in front, capital digits, fields left out, errors that are null",
    sources: [
      "rsksmart/rskj#958",
      "paradigmxyz/reth#1486",
      "openethereum/parity-ethereum#10244",
      "ConsenSys-archive/ganache#103",
    ],
    // `effectiveGasPrice` is left out only where London is not active: there it is what was offered.
    behaviours: [oddHex("removed", "totalDifficulty", "size", "uncles")],
  },
  {
    name: "small-bodies",
    imitates: "nginx or an API gateway with limits for bodies and answers",
    sources: [
      "https://nginx.org/en/docs/http/ngx_http_core_module.html#client_max_body_size (1 MiB)",
      "ethereum/go-ethereum: rpc/errors.go (response too large)",
    ],
    behaviours: [
      requestBytes(1_048_576, 40_000, page(413, "Request Entity Too Large")),
      responseBytes(25_000_000, 60_000, error(-32003, "response too large")),
    ],
  },
  {
    name: "key-revoked",
    imitates: "A closed account or key: nothing is answered any more",
    sources: [
      "graphprotocol/indexer#145 (invalid project id)",
      "INFURA/devp2p-network#11 (account disabled)",
    ],
    needsSecond: "no answer at all",
    behaviours: [hiccups(1, { status: 401, page: "invalid project id\n" })],
  },
  {
    name: "standing-node",
    imitates: "A node without peers stands still at a block",
    sources: [
      "hyperlane-xyz/hyperlane-monorepo#2189",
      "hyperlane-xyz/hyperlane-monorepo#2570",
      "litentry/heima#807",
    ],
    needsSecond: "no new block",
    behaviours: [standing],
  },
  {
    name: "shedding-load",
    imitates: "A provider sheds load: every other request is answered by -32001",
    sources: ["https://docs.alchemy.com/reference/error-reference"],
    needsSecond: "every other request fails",
    behaviours: [hiccups(2, {
      status: 503,
      error: { code: -32001, message: "Unable to complete request at this time." },
      asBatch: "each",
    })],
  },
  {
    name: "besu-struct-logs",
    imitates: "Besu without --Xenable-extra-debug-tracers: steps are shown",
    sources: ["besu-eth/besu#9072 (the flag)"],
    behaviours: [
      changed("debug_traceCall", () => ({ gas: 21_000, failed: false, returnValue: "", structLogs: [] })),
    ],
  },
  {
    name: "odd-pauses",
    imitates: "Gateways with a Retry-After of a day, a far date, a Unix time, or milliseconds",
    sources: [
      "openclaw/clawhub#407 (Unix time)",
      "cloudfoundry/cloud_controller_ng#2544 (Unix time)",
      "top-gg/docs#46 (milliseconds)",
    ],
    needsSecond: "it is not asked for a minute",
    behaviours: ["86400", "Thu, 31 Dec 2099 23:59:59 GMT", "1900000000", "30000"].map((pause, at) =>
      hiccups(40 + at, { status: 429, headers: { "retry-after": pause }, page: "Too Many Requests" })
    ),
  },
  {
    name: "balancer-other-chain",
    imitates: "One of the nodes behind a URL belongs to another network",
    sources: [
      "DefiLlama/chainlist#3168 (addresses that serve another chain)",
      "TalismanSociety/talisman#368 (two networks at one address)",
    ],
    needsSecond: "some of the checks meet the other chain",
    behaviours: [
      changed("eth_chainId", () => "0x89", { every: 2 }),
      changed("eth_getTransactionCount", (nonce) => `0x${(BigInt(String(nonce)) + 400n).toString(16)}`, {
        times: 2,
      }),
    ],
  },
  {
    name: "stale-receipts",
    imitates: "A cache still gives receipts of blocks that were reorganised away",
    sources: [
      "ethereum/go-ethereum#28885",
      "ethereum/go-ethereum#29261",
      "erigontech/erigon#15334 (a cache)",
    ],
    behaviours: [
      changed(
        "eth_getTransactionReceipt",
        (receipt) => ({ ...Object(receipt), blockHash: `0x${"de".repeat(32)}` }),
        { every: 2, times: 10 },
      ),
    ],
  },
];
