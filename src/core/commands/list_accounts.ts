/** Addresses and balances of configured accounts, all chains at once, none waiting for another. */
import { createEvmChain, type EvmChainDeps } from "../chains/evm/evm_chain.ts";
import { createTarget } from "../chains/substrate/consensus_target.ts";
import type { SubstrateChainDeps } from "../chains/substrate/substrate_chain.ts";
import type { ConfiguredAccount } from "../config/config_file.ts";
import { signerAddress } from "../config/secrets.ts";
import { RemoteSigner } from "../config/redact.ts";
import { blake2b128, concatBytes, fromHex, toHex } from "../encoding/bytes.ts";
import { sr25519PublicKey } from "../ismp/signed_messages.ts";
import { storagePrefix } from "../ismp/storage_keys.ts";
import { platformFetch } from "../rpc/http.ts";
import { platformSocket } from "../rpc/socket.ts";
import { type Clock, systemRandomness } from "../runtime/clock.ts";
import { withDeadline } from "../runtime/retry.ts";
import { formatTable } from "../runtime/text_table.ts";
import type { Log } from "../telemetry/log.ts";
import { u128 } from "scale-ts";
import { formatUnits, getAddress } from "viem/utils";
import { describeKey } from "./keystore_work.ts";

/** Time for an answer. */
const TIMEOUT_MS = 10_000;

/** The command prints its own lines. */
const silentLog: Log = {
  debug: () => {},
  info: () => {},
  warn: () => {},
  error: () => {},
  with: () => silentLog,
};

/** A line per account, in their order. */
export async function listAccounts(accounts: readonly ConfiguredAccount[], clock: Clock): Promise<string> {
  const network = {
    clock,
    randomness: systemRandomness,
    log: silentLog,
    fetch: platformFetch,
    openSocket: platformSocket,
  };
  const rows = await Promise.all(accounts.map(async (account) => [
    `[${account.section}]`,
    account.stateMachine,
    describeAccount(account),
    account.signer === undefined ? "" : await describeBalance(network, account),
  ]));
  return formatTable(rows);
}

/** Address, and where the key is unless it is in this file or beside it. */
function describeAccount(account: ConfiguredAccount): string {
  if (account.signer === undefined) return "no signer";
  if (!("rpcUrls" in account)) return describeKey("substrate", fromHex(account.signer.reveal()));
  const address = getAddress(toHex(signerAddress(account.signer)));
  return account.signer instanceof RemoteSigner ? `${address} at ${account.signer.host}` : address;
}

async function describeBalance(
  network: SubstrateChainDeps & EvmChainDeps,
  account: ConfiguredAccount,
): Promise<string> {
  const { signal } = new AbortController();
  try {
    const deadline = { what: "balance", afterMs: TIMEOUT_MS, signal };
    return await withDeadline(network.clock, deadline, (within) => fetchBalance(network, account, within));
  } catch {
    const hosts = "rpcUrls" in account ? account.rpcUrls.map(({ host }) => host) : [account.rpcWs.host];
    return `no answer from ${hosts.join(", ")}`;
  }
}

/** Bytes before the free balance in `AccountInfo`: four counters. */
const COUNTER_BYTES = 4 * 4;

/**
 * Free balance of an account; of Substrate accounts in the smallest unit. Source: paritytech/polkadot-sdk:
 * substrate/frame/system/src/lib.rs, `Account` (Blake2_128Concat) and `AccountInfo`; substrate/frame/balances/src/types.rs,
 * `AccountData`.
 */
async function fetchBalance(
  network: SubstrateChainDeps & EvmChainDeps,
  account: ConfiguredAccount,
  signal: AbortSignal,
): Promise<string> {
  await using closing = new AsyncDisposableStack();
  if ("rpcUrls" in account) {
    const unset = { queryBatchSizeBlocks: undefined, tracingBatchSize: undefined };
    const chain = createEvmChain(network, { ...account, ...unset });
    closing.defer(() => chain.close());
    return `${formatUnits(await chain.gas.fetchBalance(signal), 18)} native tokens`;
  }
  const { signer, stateMachine, consensusStateId, ...options } = account;
  if (signer === undefined) return "";
  const id = { stateMachine, consensusStateId };
  const target = createTarget(network, { ...options, signer, id });
  closing.defer(() => target.close());
  const publicKey = sr25519PublicKey(fromHex(signer.reveal()));
  const key = concatBytes(storagePrefix("System", "Account"), blake2b128(publicKey), publicKey);
  const [stored] = await target.reads.fetchStorage([key], signal);
  const free = stored === undefined ? 0n : u128.dec(stored.slice(COUNTER_BYTES, COUNTER_BYTES + 16));
  return `${free} of the smallest unit`;
}
