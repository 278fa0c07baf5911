/** Start-up check: whether the hub knows a chain as the configuration names it. */
import { equalBytes, toHex } from "../../encoding/bytes.ts";
import { consensusClientIds, describeUnlisted, findAcceptedChains } from "../../ismp/consensus_clients.ts";
import {
  consensusClientIdCodec,
  type StateMachineId,
  stateMachineIdCodec,
  stateMachineIdKey,
} from "../../ismp/state_machine.ts";
import { hostExecutiveKeys, ismpKeys, storagePrefix } from "../../ismp/storage_keys.ts";
import { decodeStrict, ScaleError } from "../../encoding/scale.ts";
import { RpcFault } from "../../rpc/fault.ts";
import { calls } from "../../rpc/substrate_calls.ts";
import type { CheckFinding } from "../check_finding.ts";
import type { Counterparties, Counterparty } from "../hub.ts";
import { Findings } from "./checks.ts";
import { ismpCalls } from "./ismp_calls.ts";
import type { SubstrateNode } from "./node.ts";
import { decodeValue } from "./storage_values.ts";

const KNOWN_CLIENTS: ReadonlySet<string> = new Set(Object.values(consensusClientIds));

/** Maximum number of ids read for a hint. */
const MAX_HINTED = 200;

/** What the hub's storage says about other chains. */
export class SubstrateCounterparties implements Counterparties {
  readonly #node: SubstrateNode;

  constructor(node: SubstrateNode) {
    this.#node = node;
  }

  /** Compares the hub's storage about a chain with the chain's configuration. One round trip, two with a hint. */
  async checkCounterparty(
    entry: Counterparty,
    signal: AbortSignal,
  ): Promise<readonly CheckFinding[]> {
    const { client } = this.#node;
    const { stateMachine } = entry.id;
    const findings = new Findings(this.#node);
    const [height, host, period] = await client.callAllSettled([
      ismpCalls.latestHeight(entry.id),
      calls.storage(hostExecutiveKeys.evmHosts(stateMachine)),
      calls.storage(ismpKeys.challengePeriod(entry.id)),
    ], signal);
    if (host instanceof RpcFault) throw host;
    if (period instanceof RpcFault) throw period;
    if (height instanceof RpcFault) {
      if (height.code !== "not_found") throw height;
      findings.fatal("chain_unknown", await this.#describeUnknown(entry.id, signal));
    } else if (period === undefined) {
      findings.warn(
        "challenge_period_missing",
        `has no challenge period for ${stateMachine} and will refuse its messages`,
      );
    }
    const unlisted = height instanceof RpcFault ? undefined : await this.findUnlisted(entry.id, signal);
    if (unlisted !== undefined) {
      findings.warn("chain_not_accepted", `${unlisted}; until then messages from it are held`);
    }
    if (entry.ismpHost !== undefined) checkHost(findings, { stateMachine, configured: entry.ismpHost }, host);
    return findings.all;
  }

  /**
   * Reason why the hub accepts no messages of a chain although it may know heights of it; `undefined`: it accepts them,
   * or has no such client at all. Two round trips.
   */
  async findUnlisted(
    { stateMachine, consensusStateId }: StateMachineId,
    signal: AbortSignal,
  ): Promise<string | undefined> {
    const key = ismpKeys.consensusStateClient(consensusStateId);
    const stored = await this.#node.client.call(calls.storage(key), signal);
    const clientId = decodeValue(this.#node, stored, consensusClientIdCodec, "Ismp.ConsensusStateClient");
    if (clientId !== undefined && !KNOWN_CLIENTS.has(clientId)) {
      const cost = `whether it accepts messages of ${stateMachine} is seen at the first delivery only`;
      this.#node.log.warn("unknown_met", { what: `light client ${clientId}`, cost });
    }
    const list = clientId && findAcceptedChains(clientId);
    if (list === undefined) return undefined;
    const entry = await this.#node.client.call(calls.storage(list.key(stateMachine)), signal);
    return entry === undefined ? describeUnlisted(stateMachine, list) : undefined;
  }

  /** Reason why the hub has no height of a chain: the name may be wrong, or the chain has not been proved yet. */
  async #describeUnknown(
    id: StateMachineId,
    signal: AbortSignal,
  ): Promise<string> {
    const { stateMachine, consensusStateId } = id;
    const [known, [client]] = await Promise.all([
      fetchKnownIds(this.#node, signal),
      this.#node.client.readStorage([ismpKeys.consensusStateClient(consensusStateId)], undefined, signal),
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

function checkHost(
  findings: Findings,
  { stateMachine, configured }: { readonly stateMachine: string; readonly configured: Uint8Array },
  stored: Uint8Array | undefined,
): void {
  if (stored === undefined) {
    findings.fatal(
      "host_contract_unknown",
      `knows no host contract of ${stateMachine}, so every proof would be refused`,
    );
  } else if (!equalBytes(stored, configured)) {
    findings.fatal(
      "host_contract_mismatch",
      `knows the host contract of ${stateMachine} as ${toHex(stored)}; set ismp_host to it`,
    );
  }
}

/** Fetches ids that have a height on the hub: the last bytes of each key are the id itself (Blake2_128Concat). */
async function fetchKnownIds(node: SubstrateNode, signal: AbortSignal): Promise<readonly StateMachineId[]> {
  const prefix = storagePrefix("Ismp", "LatestStateMachineHeight");
  const keys = await node.client.call(calls.keysPaged(prefix, MAX_HINTED), signal);
  return keys.flatMap((key) => {
    try {
      return [decodeStrict(stateMachineIdCodec, key.slice(prefix.length + 16), "StateMachineId")];
    } catch (error) {
      if (error instanceof ScaleError) return [];
      throw error;
    }
  });
}

function hintFor(wanted: StateMachineId, known: readonly StateMachineId[]): string {
  const same = known.filter(({ stateMachine }) => stateMachine === wanted.stateMachine);
  if (same.length > 0) {
    return `it knows that chain by ${same.map((id) => `"${id.consensusStateId}"`).join(", ")}`;
  }
  if (known.length === 0) return "it knows no chain at all";
  return `it knows ${known.map(stateMachineIdKey).sort().join(", ")}`;
}
