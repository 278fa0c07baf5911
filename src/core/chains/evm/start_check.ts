/**
 * Checks that an EVM chain must pass: whether endpoints, host contract and configuration fit together. Source:
 * docs/protocol/messaging.md section 4.
 */
import { about, type CheckRow } from "../../checks/check_row.ts";
import { feeTokenDecimals, type HostParams, hostReads } from "../../evm/host_reads.ts";
import { type StateMachineId, toParaId } from "../../ismp/state_machine.ts";
import { type CallConditions, RpcFault } from "../../rpc/call.ts";
import type { RpcEndpointSet } from "../../rpc/endpoint_set.ts";
import type { FindingCode } from "../../checks/findings.ts";
import { batchCallSupport, isSupported } from "./hub_client.ts";
import { type ChainIdReport, judgeChainIds } from "./endpoint_checks.ts";
import type { EvmContext } from "./evm_context.ts";
import * as ask from "./queries.ts";
import { callAll, orFault, probeAll } from "./rpc_batch.ts";

/** Timeout of each endpoint at the start: one that hangs must not use up the time of the whole check. */
const START_TIMEOUT_MS = 10_000;

/** What was found of a chain. */
interface ChainFindings {
  readonly rows: readonly CheckRow[];
  /** Set of the endpoint that the rows about contracts are from; `undefined`: none serves the chain. */
  readonly best?: RpcEndpointSet;
}

/** Answers of one endpoint; a fault stands for the answer it failed to return. */
interface EndpointAnswers extends ChainIdReport {
  /** A set of one. */
  readonly endpoint: RpcEndpointSet;
  readonly code: string | RpcFault;
  readonly params: HostParams | RpcFault;
  readonly hubHeight: bigint | RpcFault;
}

/**
 * Queries every endpoint once, and the host's contracts once more. @param timeoutMs of each endpoint
 * @throws {RpcFault} when no endpoint answers at all: then nothing can be said about the configuration.
 */
export async function checkChain(
  context: EvmContext,
  hub: StateMachineId,
  signal: AbortSignal,
  timeoutMs = START_TIMEOUT_MS,
): Promise<ChainFindings> {
  const { id: { stateMachine: chain }, chainId, endpoints } = context.at;
  const conditions = { signal, timeoutMs };
  const answers = await Promise.all(
    endpoints.each().map((endpoint) => askEndpoint(context, { endpoint, hub }, conditions)),
  );
  const silent = answers.flatMap(({ id }) => id instanceof RpcFault ? [id] : []);
  if (silent.length === answers.length) throw allSilent(silent);
  const own = answers.filter(({ id }) => id === BigInt(chainId));
  const rows = [...judgeChainIds(answers, { chain, chainId: BigInt(chainId), key: "rpc_urls" })];
  const [best] = own.toSorted((one, other) => doubts(one, hub) - doubts(other, hub));
  if (best === undefined) return { rows };
  if (best.code !== "0x") rows.push(...own.flatMap((each) => unsyncedRow(context, each)));
  rows.push(...hostRows(context, best, hub));
  if (!(best.params instanceof RpcFault)) {
    context.hostParams.note(best.params);
    rows.push(...await contractRows(context, { params: best.params, endpoint: best.endpoint }, signal));
  }
  return { rows, best: best.endpoint };
}

/** What speaks against the answers of an endpoint: it may be the only one that is not synced, or busy. */
function doubts({ params, code }: EndpointAnswers, hub: StateMachineId): number {
  if (!(params instanceof RpcFault)) return params.hyperbridge === hub.stateMachine ? 0 : 1;
  return code === "0x" ? 3 : 2;
}

/** Row about an endpoint without the host's contract, which another one has. */
function unsyncedRow(
  { at: { id: { stateMachine: chain }, host } }: EvmContext,
  { host: endpoint, code }: EndpointAnswers,
): readonly CheckRow[] {
  if (code !== "0x") return [];
  const found = `no contract at ismp_host ${host} yet, others have it`;
  return [about(chain, endpoint).warning("head", found, "wait until the node is synced, or remove it")];
}

async function askEndpoint(
  context: EvmContext,
  { endpoint, hub }: { readonly endpoint: RpcEndpointSet; readonly hub: StateMachineId },
  conditions: CallConditions,
): Promise<EndpointAnswers> {
  const { host } = context.at;
  const [id, code, params, hubHeight] = await probeAll(endpoint, [
    ask.chainId,
    ask.contractCode(host),
    context.hostParams.query,
    ask.contractRead(host, hostReads.latestStateMachineHeight, toParaId(hub.stateMachine)),
  ], conditions);
  return { endpoint, host: endpoint.hosts.join(), id, code, params, hubHeight };
}

/** Creates one fault that names every endpoint. */
function allSilent(silent: readonly RpcFault[]): RpcFault {
  const [first, ...others] = silent;
  if (first === undefined) throw new Error("A chain without endpoints");
  if (others.length === 0) return first;
  const endpointHost = silent.map(({ where }) => where.endpointHost).join(", ");
  return new RpcFault(first.code, { ...first.where, endpointHost }, {
    detail: silent.map(({ where, code, detail }) => `${where.endpointHost}: ${detail ?? code}`).join("; "),
    retryAfterMs: first.retryAfterMs,
  });
}

function hostRows(
  { at: { id: { stateMachine: chain }, host } }: EvmContext,
  { params, code, hubHeight, host: asked }: EndpointAnswers,
  hub: StateMachineId,
): readonly CheckRow[] {
  const failed = (event: FindingCode, found: string): readonly CheckRow[] => [
    about(chain).failed(event, `${found} (asked ${asked})`),
  ];
  if (code === "0x") return failed("host_not_found", `no contract at ismp_host ${host}`);
  if (params instanceof RpcFault) {
    if (isTransient(params)) throw params;
    return failed("host_invalid", `the contract at ismp_host ${host} is no ISMP host`);
  }
  if (params.hyperbridge !== hub.stateMachine) {
    const found = `host ${host} belongs to the hub ${params.hyperbridge}, not to ${hub.stateMachine}`;
    return failed("host_wrong_hub", found);
  }
  const isKnown = params.stateMachines.includes(BigInt(toParaId(hub.stateMachine)));
  if (isKnown && hubHeight !== 0n) return [];
  const found = `host ${host} does not accept ${hub.stateMachine}; nothing can be delivered to this chain`;
  return [about(chain).warning("hub_not_accepted", found)];
}

/** True for faults that say nothing about the contract. */
function isTransient({ code }: RpcFault): boolean {
  return code !== "reverted" && code !== "malformed" && code !== "refused";
}

/** Asks the endpoint that the host's parameters are from: another one may not be synced. */
async function contractRows(
  context: EvmContext,
  { params, endpoint }: { readonly params: HostParams; readonly endpoint: RpcEndpointSet },
  signal: AbortSignal,
): Promise<readonly CheckRow[]> {
  const { id: { stateMachine: chain }, host } = context.at;
  const { ok, failed } = about(chain);
  const { handler, feeToken, hyperbridge } = params;
  const [code, decimals, support] = await callAll(endpoint, [
    ask.contractCode(handler),
    orFault(ask.readable(ask.contractRead(feeToken, feeTokenDecimals))),
    orFault(batchCallSupport(handler)),
  ], { signal });
  if (code === "0x") {
    return [failed("handler_not_found", `no contract at the host's handler ${handler}`)];
  }
  if (decimals instanceof RpcFault && isTransient(decimals)) throw decimals;
  const rows = [
    typeof decimals === "number"
      ? ok(
        "host",
        `host ${host} of ${hyperbridge}, handler ${handler}, fee token ${feeToken} with ${decimals} decimals`,
      )
      : failed("fee_token_unreadable", `the decimals of the host's fee token ${feeToken} cannot be read`),
  ];
  const hasBatchCall = !(support instanceof RpcFault) && isSupported(support);
  if (!(support instanceof RpcFault)) context.batchingHandlers.set(handler, hasBatchCall);
  if (!hasBatchCall) {
    const found = `handler ${handler} has no batchCall; consensus updates cannot ride with messages`;
    rows.push(ok("batch_call_unavailable", found));
  }
  return rows;
}
