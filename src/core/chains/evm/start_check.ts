/**
 * Start-up check of an EVM chain: whether endpoints, host contract and configuration fit together. Source:
 * docs/protocol/messaging.md section 4.
 */
import type { Hex } from "../../encoding/bytes.ts";
import { feeTokenDecimals, type HostParams, HostReadError, hostReads } from "../../evm/host_reads.ts";
import { type StateMachineId, toParaId } from "../../ismp/state_machine.ts";
import { RpcFault } from "../../rpc/call.ts";
import type { EndpointReport } from "../../rpc/endpoint_set.ts";
import type { EventCode } from "../../telemetry/log.ts";
import type { CheckFinding } from "../check_finding.ts";
import { readAnswer, RpcBatch } from "./rpc_batch.ts";
import { batchCallSupport, isSupported } from "./hub_client.ts";
import type { EvmContext } from "./evm_context.ts";
import * as ask from "./queries.ts";

/** Gas that the account should be able to pay for: a handful of deliveries. */
const COMFORTABLE_GAS = 1_000_000n;

/** Timeout of each endpoint: one that hangs must not use up the time of the whole check. */
const ENDPOINT_TIMEOUT_MS = 10_000;

/** Advice about a host whose own parameters are wrong. */
const AT_FAULT = "correct ismp_host, or tell those who run the host";

/** Answers of one endpoint; a fault stands for the answer it failed to return. */
interface EndpointAnswers {
  readonly host: string;
  readonly chainId: bigint;
  readonly hostCode: string | RpcFault;
  readonly params: HostParams | RpcFault;
  readonly hubHeight: bigint | RpcFault;
  readonly trace: unknown;
  readonly simulated: unknown;
  readonly balance: bigint | RpcFault;
  readonly gasPrice: bigint | RpcFault;
}

/**
 * Queries every endpoint once, and the host's contracts once more.
 * @throws {RpcFault} when no endpoint answers at all: then nothing can be said about the configuration.
 */
export async function checkChain(
  context: EvmContext,
  hub: StateMachineId,
  signal: AbortSignal,
): Promise<readonly CheckFinding[]> {
  const { silent, facts } = await askEndpoints(context, hub, signal);
  if (facts.length === 0) throw allSilent(silent);
  const chain = context.at.id.stateMachine;
  const findings: CheckFinding[] = silent.map((fault) => ({
    severity: "warning",
    event: "endpoint_unreachable",
    text:
      `${chain}: endpoint ${fault.where.endpointHost} does not answer (${fault.code}); the others are used`,
  }));
  const own = facts.filter(({ chainId }) => chainId === BigInt(context.at.chainId));
  const severity = own.length === 0 ? "fatal" : "warning";
  const strangers = facts.filter((each) => !own.includes(each));
  findings.push(...strangers.map((each) => ({ ...wrongChain(context, each), severity } as const)));
  const [best] = own.toSorted((one, other) => doubts(one, hub) - doubts(other, hub));
  if (best === undefined) return findings;
  const unsynced = own.filter(({ hostCode }) => hostCode === "0x" && best.hostCode !== hostCode);
  findings.push(...unsynced.map((each) => lacksHost(context, each)));
  // Nothing is simulated, sent or paid for on a chain that is only a source.
  if (context.signs) findings.push(...abilityFindings(context, own));
  findings.push(...hostFindings(context, best, hub));
  if (context.signs) findings.push(...balanceFindings(context, best));
  if (!(best.params instanceof RpcFault)) {
    context.hostParams.note(best.params);
    findings.push(...await contractFindings(context, { params: best.params, endpoint: best.host }, signal));
  }
  return findings;
}

/** What speaks against the answers of an endpoint: it may be the only one that is not synced, or busy. */
function doubts({ params, hostCode }: EndpointAnswers, hub: StateMachineId): number {
  if (!(params instanceof RpcFault)) return params.hyperbridge === hub.stateMachine ? 0 : 1;
  return hostCode === "0x" ? 3 : 2;
}

/** Finding about an endpoint without the host's contract, which another one has. */
function lacksHost({ at: { id, host } }: EvmContext, facts: EndpointAnswers): CheckFinding {
  return {
    severity: "warning",
    event: "host_not_found",
    text: `${id.stateMachine}: endpoint ${facts.host} has no contract at ismp_host ${host} yet, others do; ` +
      "wait until the node is synced, or remove it",
  };
}

async function askEndpoints(
  context: EvmContext,
  hub: StateMachineId,
  signal: AbortSignal,
): Promise<{ readonly silent: readonly RpcFault[]; readonly facts: readonly EndpointAnswers[] }> {
  const { endpoints, host, sender } = context.at;
  const call = { from: sender, to: host, data: hostReads.hostParams.encode(), gas: 1_000_000n };
  const queries = {
    chainId: ask.chainId,
    hostCode: ask.contractCode(host),
    params: context.hostParams.query,
    hubHeight: ask.contractRead(host, hostReads.latestStateMachineHeight, toParaId(hub.stateMachine)),
    balance: ask.accountBalance(sender),
    gasPrice: ask.gasPrice,
    trace: ask.trace(call, host),
    simulated: ask.simulatedCall(call, host),
  };
  const order: readonly ask.Query<unknown>[] = Object.values(queries);
  const conditions = { signal, timeoutMs: ENDPOINT_TIMEOUT_MS };
  const reports = await endpoints.callEach(order.map(({ call }) => call), conditions);
  const silent: RpcFault[] = [];
  const facts: EndpointAnswers[] = [];
  for (const report of reports) {
    if (report.kind === "fault") {
      silent.push(report.fault);
      continue;
    }
    const read = <T>(query: ask.Query<T>): T | RpcFault => readTolerant(context, query, order, report);
    const chainId = read(queries.chainId);
    if (chainId instanceof RpcFault) silent.push(chainId);
    else {
      facts.push({
        host: report.host,
        chainId,
        hostCode: read(queries.hostCode),
        params: read(queries.params),
        hubHeight: read(queries.hubHeight),
        balance: read(queries.balance),
        gasPrice: read(queries.gasPrice),
        trace: read(queries.trace),
        simulated: read(queries.simulated),
      });
    }
  }
  return { silent, facts };
}

function describe({ where, code, detail }: RpcFault): string {
  return `${where.endpointHost}: ${detail ?? code}`;
}

/** Creates one fault that names every endpoint. */
function allSilent(silent: readonly RpcFault[]): RpcFault {
  const [first, ...others] = silent;
  if (first === undefined) throw new Error("A chain without endpoints");
  if (others.length === 0) return first;
  const endpointHost = silent.map(({ where }) => where.endpointHost).join(", ");
  return new RpcFault(first.code, first.reaction, { ...first.where, endpointHost }, {
    detail: silent.map(describe).join("; "),
    retryAfterMs: first.retryAfterMs,
  });
}

function readTolerant<T>(
  context: EvmContext,
  query: ask.Query<T>,
  order: readonly ask.Query<unknown>[],
  report: Extract<EndpointReport, { kind: "answers" }>,
): T | RpcFault {
  const answer = report.answers[order.indexOf(query)];
  if (answer === undefined) throw new Error("A query without an answer");
  try {
    return readAnswer(query, answer, {
      chain: context.at.id.stateMachine,
      endpointHost: report.host,
      method: query.call.method,
    });
  } catch (fault) {
    if (fault instanceof RpcFault) return fault;
    throw fault;
  }
}

function wrongChain(
  context: EvmContext,
  { host, chainId }: EndpointAnswers,
): Omit<CheckFinding, "severity"> {
  const { stateMachine } = context.at.id;
  return {
    event: "endpoint_wrong_chain",
    text:
      `${stateMachine}: endpoint ${host} serves EVM-${chainId}; remove it from rpc_urls or correct state_machine`,
  };
}

function abilityFindings(context: EvmContext, facts: readonly EndpointAnswers[]): readonly CheckFinding[] {
  const chain = context.at.id.stateMachine;
  const findings: CheckFinding[] = [];
  const hostsOf = (those: readonly EndpointAnswers[]): string => those.map(({ host }) => host).join(", ");
  const untraced = facts.filter(({ trace }) => trace instanceof RpcFault);
  const [blind, coarse] = [true, false].map((isBlind) =>
    hostsOf(untraced.filter(({ simulated }) => simulated instanceof RpcFault === isBlind))
  );
  if (blind !== "") {
    const text = `${chain}: no debug_traceCall at ${blind}, nor eth_simulateV1; ` +
      "without them failing modules are noticed only after paying";
    findings.push({ severity: "warning", event: "simulation_unavailable", text });
  }
  if (coarse !== "") {
    const text = `${chain}: no debug_traceCall at ${coarse}; ` +
      "eth_simulateV1 is used, which does not tell what each message of a batch costs";
    findings.push({ severity: "warning", event: "tracing_unavailable", text });
  }
  return findings;
}

function hostFindings(
  context: EvmContext,
  facts: EndpointAnswers,
  hub: StateMachineId,
): readonly CheckFinding[] {
  const { id: { stateMachine: chain }, host } = context.at;
  const { params, hostCode, hubHeight } = facts;
  const fatal = (event: EventCode, text: string): CheckFinding[] => [
    { severity: "fatal", event, text: `${chain}: ${text}` },
  ];
  if (hostCode === "0x") {
    return fatal(
      "host_not_found",
      `no contract at ismp_host ${host} (asked ${facts.host}); correct ismp_host`,
    );
  }
  if (params instanceof RpcFault) {
    if (isTransient(params)) throw params;
    return fatal(
      "host_invalid",
      `the contract at ismp_host ${host} is no ISMP host (asked ${facts.host}); correct ismp_host`,
    );
  }
  if (params.hyperbridge !== hub.stateMachine) {
    return fatal(
      "host_wrong_hub",
      `host ${host} belongs to the hub ${params.hyperbridge}, not to ${hub.stateMachine} (asked ${facts.host}); ` +
        "correct ismp_host, or state_machine of the hub",
    );
  }
  const isKnown = params.stateMachines.includes(BigInt(toParaId(hub.stateMachine)));
  if (isKnown && hubHeight !== 0n) return [];
  const text =
    `${chain}: host ${host} does not accept ${hub.stateMachine}; nothing can be delivered to this chain`;
  return [{ severity: "warning", event: "hub_not_accepted", text }];
}

/** True for faults that say nothing about the contract. */
function isTransient({ code }: RpcFault): boolean {
  return code !== "reverted" && code !== "malformed" && code !== "refused";
}

function balanceFindings(
  context: EvmContext,
  { balance, gasPrice }: EndpointAnswers,
): readonly CheckFinding[] {
  if (balance instanceof RpcFault || gasPrice instanceof RpcFault) return [];
  const neededWei = gasPrice * COMFORTABLE_GAS;
  if (balance > 0n && balance >= neededWei) return [];
  const { id: { stateMachine: chain }, sender } = context.at;
  const text =
    `${chain}: account ${sender} has ${balance} wei; deliveries need about ${neededWei} wei; send it funds`;
  return [{ severity: "warning", event: "balance_low", text }];
}

/** Asks the endpoint that the host's parameters are from: another one may not be synced. */
async function contractFindings(
  context: EvmContext,
  { params, endpoint }: { readonly params: HostParams; readonly endpoint: string },
  signal: AbortSignal,
): Promise<readonly CheckFinding[]> {
  const chain = context.at.id.stateMachine;
  const asked = context.at.endpoints.each().find(({ hosts }) => hosts.includes(endpoint));
  const batch = new RpcBatch(asked ?? context.at.endpoints);
  const code = batch.add(ask.contractCode(params.handler));
  const decimals = batch.addOptional(
    ask.callResult({ to: params.feeToken, data: feeTokenDecimals.encode() }),
  );
  const batches = batch.addOptional(batchCallSupport(params.handler));
  await batch.send({ signal });
  const findings: CheckFinding[] = [];
  if (code() === "0x") {
    findings.push({
      severity: "fatal",
      event: "handler_not_found",
      text: `${chain}: no contract at the host's handler ${params.handler}; ${AT_FAULT}`,
    });
    return findings;
  }
  if (!areDecimals(decimals())) {
    const text =
      `${chain}: the decimals of the host's fee token ${params.feeToken} cannot be read; ${AT_FAULT}`;
    findings.push({ severity: "fatal", event: "fee_token_unreadable", text });
  }
  const support = batches();
  const hasBatchCall = !(support instanceof RpcFault) && isSupported(support);
  if (!(support instanceof RpcFault)) context.noteBatchCall(params.handler, hasBatchCall);
  if (!hasBatchCall) {
    const text =
      `${chain}: handler ${params.handler} has no batchCall; consensus updates cannot ride with messages`;
    findings.push({ severity: "note", event: "batch_call_unavailable", text });
  }
  return findings;
}

/** @throws {RpcFault} when the fault says nothing about the contract. */
function areDecimals(result: Hex | RpcFault): boolean {
  if (result instanceof RpcFault) {
    if (isTransient(result)) throw result;
    return false;
  }
  try {
    feeTokenDecimals.decode(result);
    return true;
  } catch (error) {
    if (error instanceof HostReadError) return false;
    throw error;
  }
}
