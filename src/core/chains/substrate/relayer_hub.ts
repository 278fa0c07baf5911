/** Hub: a Substrate chain that also knows the other chains, and keeps accounts for relayers. */
import { recover } from "../../encoding/coded_error.ts";
import { equalBytes, toHex } from "../../encoding/bytes.ts";
import { decodeStrict, ScaleError } from "../../encoding/scale.ts";
import {
  bandwidthKeys,
  beefyProofsKeys,
  hostExecutiveKeys,
  ismpKeys,
  offchainKeys,
  otherKeys,
} from "../../ismp/storage_keys.ts";
import { consensusClientIds, describeUnlisted, findAcceptedChains } from "../../ismp/consensus_clients.ts";
import type { StateMachine, StateMachineId } from "../../ismp/state_machine.ts";
import { stateMachineIdCodec, stateMachineIdKey } from "../../ismp/state_machine.ts";
import { RpcFault } from "../../rpc/call.ts";
import { calls, type StorageValues } from "../../rpc/substrate_calls.ts";
import type { CheckRow } from "../../checks/check_row.ts";
import type {
  AcceptedProof,
  AcceptedProofIndex,
  AcceptedProofs,
  Counterparties,
  Counterparty,
  HubChain,
  SenderLimit,
  SenderLimits,
} from "../hub.ts";
import { accordingTo, checkNode, planSubstrateChecks } from "./chain_checks.ts";
import { SubstrateHubCalls } from "./hub_calls.ts";
import { ismpCalls } from "./ismp_calls.ts";
import type { SubstrateNode } from "./node.ts";
import { fetchStored, keysOf, pickStored, toSeconds } from "./stored.ts";
import { checkAcceptedProofs } from "./offchain_rows.ts";
import { SubstrateRelayerAccounts } from "./relayer_accounts.ts";
import {
  assembleSubstrateChain,
  createChainContext,
  type SubstrateChainDeps,
  type SubstrateNodeOptions,
} from "./substrate_chain.ts";

/**
 * Decimals of fees that the hub itself charges: polytope-labs/hyperbridge: tesseract/messaging/substrate, default.
 */
const HUB_FEE_TOKEN_DECIMALS = 6;

/** Creates the hub; connects at the first call. @throws {SignatureError} for a bad signer. */
export function createHubChain(deps: SubstrateChainDeps, options: SubstrateNodeOptions): HubChain {
  const context = createChainContext(deps, options, { isHub: true, use: "hub" });
  const { node } = context;
  const chain = assembleSubstrateChain(context, { ...options, feeTokenDecimals: HUB_FEE_TOKEN_DECIMALS });
  const acceptedProofs = new SubstrateAcceptedProofs(node);
  const accounts = new SubstrateRelayerAccounts(node);
  return {
    ...chain,
    check: (_, signal) => checkNode(node, undefined, signal),
    planChecks: ({ fetchKnownHeight }) =>
      planSubstrateChecks(node, {
        fetchNeededHeight: fetchKnownHeight,
        checkOffchain: (signal) => checkAcceptedProofs(node, acceptedProofs, signal),
      }),
    counterparties: new SubstrateCounterparties(node),
    senderLimits: new HubSenderLimits(node),
    accounts,
    rewards: accounts,
    hubCalls: new SubstrateHubCalls(node, chain.limits.maxCallBytes, chain.reads),
    acceptedProofs,
  };
}

const acceptedLists = {
  rotations: beefyProofsKeys.rotationProofs.of(),
  messaging: beefyProofsKeys.messagingProofs.of(),
};

/**
 * Accepted proofs; one per hub, so that those who follow the hub for several chains share what was read. Source:
 * polytope-labs/hyperbridge: modules/pallets/beefy-consensus-proofs/src/{lib,types}.rs.
 */
class SubstrateAcceptedProofs implements AcceptedProofs {
  /** Lists at the final block that was read last, and their bytes. */
  #read: { readonly stored: string; readonly index: AcceptedProofIndex } | undefined;

  constructor(readonly node: SubstrateNode) {}

  /**
   * Fetches the accepted proofs that the hub lists at its newest final block, which is read when the lists at the best block
   * are others than those that were read there last.
   */
  async fetchAcceptedIndex(signal: AbortSignal): Promise<AcceptedProofIndex> {
    const keys = keysOf(acceptedLists);
    const textOf = (values: StorageValues): string =>
      keys.map((key) => values.get(toHex(key))?.toHex()).join();
    const best = textOf(await this.node.polled.read(keys, signal));
    if (this.#read?.stored === best) return this.#read.index;
    const { hash } = await this.node.finalBlocks.newest(signal);
    const final = await this.node.client.call(calls.storageAt(keys, hash), signal);
    const { rotations = new Map(), messaging = [] } = pickStored(this.node, acceptedLists, final);
    this.#read = { stored: textOf(final), index: { rotations, messaging } };
    return this.#read.index;
  }

  /**
   * Fetches the bytes of a proof from the node's offchain database; one round trip when they are at the expected key. A
   * height whose proof was a rotation has no messaging proof, and old rotations are stored under the key of their
   * height (docs/protocol/messaging.md section 7.2.1).
   * @throws {RpcFault} `missing_method` when the node does not expose its offchain database.
   */
  async fetchProofBytes(
    { height, newSetId }: AcceptedProof,
    signal: AbortSignal,
  ): Promise<Uint8Array | undefined> {
    const byHeight = offchainKeys.beefyMessagingProof(height);
    const byKey = (key: Uint8Array): Promise<Uint8Array | undefined> =>
      this.node.client.call(calls.offchainValue(key), signal);
    const found = await byKey(newSetId === undefined ? byHeight : offchainKeys.beefyRotationProof(newSetId));
    if (found !== undefined) return found;
    const { rotations, messaging } = await this.fetchAcceptedIndex(signal);
    // A rotation may prove a height that a messaging proof had already proven: then the bytes are that one's.
    if (newSetId !== undefined) return messaging.includes(height) ? undefined : await byKey(byHeight);
    const [setId] = [...rotations].find(([, proven]) => proven === height) ?? [];
    return setId === undefined ? undefined : await byKey(offchainKeys.beefyRotationProof(setId));
  }
}

/** The pallet stores an application under at most that many bytes of its name. */
const MAX_APP_BYTES = 32;

/**
 * Limits that the hub applies to senders: who is blocked, and the bytes that applications have bought. Source:
 * polytope-labs/hyperbridge: modules/pallets/bandwidth/src/lib.rs (`try_consume`, `is_purchase_message`).
 */
class HubSenderLimits implements SenderLimits {
  constructor(readonly node: SubstrateNode) {}

  async fetchSenderLimits(
    source: StateMachine,
    senders: readonly Uint8Array[],
    signal: AbortSignal,
  ): Promise<readonly SenderLimit[]> {
    if (senders.length === 0) return [];
    const runtime = await this.node.runtimes.current(signal);
    const { specName } = runtime.version;
    // Test networks may be built without the pallet.
    const isMetered = runtime.has(bandwidthKeys.allowance);
    const apps = senders.map((from) => from.slice(0, MAX_APP_BYTES));
    const wanted = { now: otherKeys.timestampNow.of(), seller: bandwidthKeys.bandwidthManager.of(source) };
    const keys = [
      ...keysOf(wanted),
      ...apps.flatMap((app) => [bandwidthKeys.allowlist(source, app), bandwidthKeys.allowance(source, app)]),
    ];
    const stored = isMetered
      ? await this.node.client.call(calls.storageAt(keys, undefined), signal)
      : new Map();
    const { now, seller } = pickStored(this.node, wanted, stored);
    return senders.map((from, index): SenderLimit => {
      if (isBlockedSender(specName, from)) return { kind: "blocked" };
      const app = apps[index] ?? from;
      const isFree = !isMetered || (seller !== undefined && equalBytes(seller, from)) ||
        stored.get(toHex(bandwidthKeys.allowlist(source, app))) !== undefined;
      if (isFree) return { kind: "free" };
      const allowance = bandwidthKeys.allowance.of(source, app);
      const { allowance: bought = [] } = pickStored(this.node, { allowance }, stored);
      const live = bought.filter(({ expiresAtSec }) => expiresAtSec > toSeconds(now));
      return { kind: "metered", remainingBytes: live.reduce((sum, each) => sum + each.remainingBytes, 0n) };
    });
  }
}

/** `specName` of the main network's hub. */
const RUNTIME = "nexus";

/**
 * Senders whose POST requests it refuses, on any chain: contracts that were abandoned. The list is part of the runtime's
 * code, not of its storage. Source: polytope-labs/hyperbridge: parachain/runtimes/nexus/src/ismp.rs.
 */
const BLOCKED: ReadonlySet<string> = new Set([
  "0xfd413e3afe560182c4471f4d143a96d3e259b6de",
  "0x8b536105b6fae2ae9199f5146d3c57dfe53b614e",
  "0xce304770236f39f9911bfcc51afbdff3b8635718",
]);

/** True when a runtime with that name accepts no POST request from the sender. */
function isBlockedSender(specName: string, from: Uint8Array): boolean {
  return specName === RUNTIME && BLOCKED.has(toHex(from));
}

const KNOWN_CLIENTS: ReadonlySet<string> = new Set(Object.values(consensusClientIds));

/** Maximum number of ids read for a hint. */
const MAX_HINTED = 200;

/** What the hub's storage says about other chains. */
class SubstrateCounterparties implements Counterparties {
  constructor(readonly node: SubstrateNode) {}

  /** Compares the hub's storage about a chain with the chain's configuration. One round trip, two with a hint. */
  async checkCounterparty(
    entry: Counterparty,
    signal: AbortSignal,
  ): Promise<readonly CheckRow[]> {
    const { client } = this.node;
    const { stateMachine } = entry.id;
    const { warning, failed } = accordingTo(this.node, stateMachine);
    const rows: CheckRow[] = [];
    const [height, host, period] = await client.callAllSettled([
      ismpCalls.latestHeight(entry.id),
      calls.storage(hostExecutiveKeys.evmHosts(stateMachine)),
      calls.storage(ismpKeys.challengePeriod(entry.id)),
    ], signal);
    if (host instanceof RpcFault) throw host;
    if (period instanceof RpcFault) throw period;
    if (height instanceof RpcFault) {
      if (height.code !== "not_found") throw height;
      rows.push(failed("chain_unknown", await this.#describeUnknown(entry.id, signal)));
    } else if (period === undefined) {
      const found = `has no challenge period for ${stateMachine} and will refuse its messages`;
      rows.push(warning("challenge_period_missing", found));
    }
    const unlisted = height instanceof RpcFault ? undefined : await this.findUnlisted(entry.id, signal);
    if (unlisted !== undefined) {
      rows.push(warning("chain_not_accepted", `${unlisted}; until then messages from it are held`));
    }
    if (entry.ismpHost === undefined || (host !== undefined && equalBytes(host, entry.ismpHost))) return rows;
    const mismatch = host === undefined
      ? failed(
        "host_contract_unknown",
        `knows no host contract of ${stateMachine}, so every proof would be refused`,
      )
      : failed(
        "host_contract_mismatch",
        `knows the host contract of ${stateMachine} as ${toHex(host)}; set ismp_host to it`,
      );
    return [...rows, mismatch];
  }

  /**
   * Reason why the hub accepts no messages of a chain although it may know heights of it; `undefined`: it accepts them,
   * or has no such client at all. Two round trips.
   */
  async findUnlisted(
    { stateMachine, consensusStateId }: StateMachineId,
    signal: AbortSignal,
  ): Promise<string | undefined> {
    const clientId = await fetchStored(this.node, ismpKeys.consensusStateClient.of(consensusStateId), {
      signal,
    });
    if (clientId !== undefined && !KNOWN_CLIENTS.has(clientId)) {
      const cost = `whether it accepts messages of ${stateMachine} is seen at the first delivery only`;
      this.node.log.warn("unknown_met", { what: `light client ${clientId}`, cost });
    }
    const list = clientId && findAcceptedChains(clientId);
    if (list === undefined) return undefined;
    const entry = await this.node.client.call(calls.storage(list.entry(stateMachine)), signal);
    return entry === undefined ? describeUnlisted(stateMachine, list) : undefined;
  }

  /** Reason why the hub has no height of a chain: the name may be wrong, or the chain has not been proved yet. */
  async #describeUnknown(id: StateMachineId, signal: AbortSignal): Promise<string> {
    const { stateMachine, consensusStateId } = id;
    const [known, [client]] = await Promise.all([
      fetchKnownIds(this.node, signal),
      this.node.client.call(
        calls.storageAt([ismpKeys.consensusStateClient(consensusStateId)], undefined),
        signal,
      ),
    ]);
    const isUnused = known.every((other) =>
      other.stateMachine !== stateMachine && other.consensusStateId !== consensusStateId
    );
    if (client !== undefined && isUnused) {
      return `has a light client "${consensusStateId}", but no height of ${stateMachine} yet: a consensus relayer ` +
        "(causeway-consensus) has to bring the first one; start again then";
    }
    return `does not know ${stateMachine} by consensus_state_id "${consensusStateId}"; ${hintFor(id, known)}`;
  }
}

/** Fetches ids that have a height on the hub: the last bytes of each key are the id itself (Blake2_128Concat). */
async function fetchKnownIds(node: SubstrateNode, signal: AbortSignal): Promise<readonly StateMachineId[]> {
  const { prefix } = ismpKeys.latestStateMachineHeight;
  const keys = await node.client.call(calls.keysPaged(prefix, MAX_HINTED), signal);
  const read = (key: Uint8Array): StateMachineId =>
    decodeStrict(stateMachineIdCodec, key.slice(prefix.length + 16), "StateMachineId");
  return keys.flatMap((key) => recover(ScaleError, () => read(key), () => []));
}

function hintFor(wanted: StateMachineId, known: readonly StateMachineId[]): string {
  const same = known.filter(({ stateMachine }) => stateMachine === wanted.stateMachine);
  if (same.length > 0) {
    return `it knows that chain by ${same.map((id) => `"${id.consensusStateId}"`).join(", ")}`;
  }
  if (known.length === 0) return "it knows no chain at all";
  return `it knows ${known.map(stateMachineIdKey).sort().join(", ")}`;
}
