/**
 * Start-up: each chain is compared with the configuration before anything is delivered to it or from it. Configuration
 * errors end the program and are all listed; a chain that does not answer is polled again while the others work.
 * Source: docs/protocol/messaging.md section 4.
 */
import type { CheckFinding } from "../core/chains/check_finding.ts";
import type { HubChain } from "../core/chains/hub.ts";
import type { Chain } from "../core/chains/port.ts";
import type { ProofChecks } from "../core/chains/proofs.ts";
import type { EvmChain } from "../core/chains/evm/evm_chain.ts";
import { type CheckDeps, type CheckResult, checkUntilPassed, checkWithin } from "../core/chains/check.ts";
import { fromHex } from "../core/encoding/bytes.ts";
import type {
  ChainConfig,
  EvmChainConfig,
  SubstrateChainConfig,
  SubstrateEvmChainConfig,
} from "./config/schema.ts";
import type { Worker } from "../core/runtime/worker.ts";
import type { Log } from "../core/telemetry/log.ts";

/** Configured chain as checked at start-up. */
export interface ChainToCheck {
  readonly config: ChainConfig;
  readonly chain: Chain;
}

/** Configured chain with its adapter. */
export type ConfiguredChain =
  | { readonly config: EvmChainConfig | SubstrateEvmChainConfig; readonly chain: EvmChain }
  | { readonly config: SubstrateChainConfig; readonly chain: Chain };

/** Dependencies of start-up. */
export interface StartupDeps extends CheckDeps {
  readonly log: Log;
}

export type { CheckResult };

/** Hub as the checks see it. */
export type CheckingHub = Chain & Pick<HubChain, "counterparties">;

/** Checks the hub and every chain concurrently, then what the hub knows of the chains. */
export async function checkAll(
  deps: StartupDeps,
  { hub, chains }: { readonly hub: CheckingHub; readonly chains: readonly ChainToCheck[] },
  signal: AbortSignal,
): Promise<{ readonly hub: CheckResult; readonly chains: ReadonlyMap<Chain, CheckResult> }> {
  const hubName = hub.id.stateMachine;
  const hubCheck = checkWithin(
    deps,
    { name: hubName, check: (inner) => hub.check(hub.id, inner) },
    signal,
  );
  const results = chains.map(async (entry) => {
    const { chain } = entry;
    const name = chain.id.stateMachine;
    const own = await checkWithin(deps, { name, check: (inner) => chain.check(hub.id, inner) }, signal);
    // An unreachable hub is reported once, not for every chain.
    if ((await hubCheck).kind === "unreachable") return [chain, own] as const;
    const onHub = { name: hubName, check: (inner: AbortSignal) => checkOnHub(hub, entry, inner) };
    const known = await checkWithin(deps, onHub, signal);
    const both = merged(own, known);
    const { proofChecks } = chain;
    if (proofChecks === undefined || both.kind === "unreachable" || both.findings.some(isFatal)) {
      return [chain, both] as const;
    }
    const ofProofs = { id: chain.id, proofChecks };
    const proofs = await checkWithin(
      deps,
      { name, check: (inner) => checkProofs(hub, ofProofs, inner) },
      signal,
    );
    return [chain, { ...both, findings: [...both.findings, ...proofs.findings] }] as const;
  });
  const [hubResult, chainResults] = await Promise.all([hubCheck, Promise.all(results)]);
  return { hub: hubResult, chains: new Map(chainResults) };
}

function isFatal({ severity }: CheckFinding): boolean {
  return severity === "fatal";
}

/**
 * Checks that the chain's endpoints can prove the state that the hub knows; an unreachable chain was reported before.
 */
async function checkProofs(
  hub: CheckingHub,
  chain: Pick<Chain, "id"> & { readonly proofChecks: ProofChecks },
  signal: AbortSignal,
): Promise<readonly CheckFinding[]> {
  const { height } = await hub.reads.fetchView(chain.id, signal);
  return height === 0n ? [] : await chain.proofChecks.checkProofs(height, signal);
}

/** Compares what the hub stores of the chain with the configuration. */
function checkOnHub(
  hub: CheckingHub,
  { config, chain }: ChainToCheck,
  signal: AbortSignal,
): Promise<readonly CheckFinding[]> {
  const host = config.type === "substrate" ? {} : { ismpHost: fromHex(config.ismpHost) };
  return hub.counterparties.checkCounterparty({ id: chain.id, ...host }, signal);
}

function merged(own: CheckResult, known: CheckResult): CheckResult {
  const findings = [...own.findings, ...known.findings];
  if (own.kind === "unreachable") return { ...own, findings };
  return { ...known, findings };
}

/** Checks a chain on both sides. */
async function checkChain(
  hub: CheckingHub,
  entry: ChainToCheck,
  signal: AbortSignal,
): Promise<readonly CheckFinding[]> {
  const [own, known] = await Promise.all([
    entry.chain.check(hub.id, signal),
    checkOnHub(hub, entry, signal),
  ]);
  return [...own, ...known];
}

/**
 * Creates a worker that waits until its chain answers and passes its checks, and then opens the gate of the chain's
 * workers.
 * @param open called once the chain may be used
 */
function gateWorker(
  deps: StartupDeps,
  { hub, entry }: { readonly hub: CheckingHub; readonly entry: ChainToCheck },
  open: () => void,
): Worker {
  const name = entry.chain.id.stateMachine;
  return {
    name: `connect ${name}`,
    run: async (signal) => {
      await checkUntilPassed(deps, { name, check: (inner) => checkChain(hub, entry, inner) }, signal);
      open();
    },
  };
}

/** Creates a gate that is open at once for a checked chain, and otherwise opened by a worker that keeps polling. */
export function openGate(
  deps: StartupDeps,
  ends: { readonly hub: CheckingHub; readonly entry: ConfiguredChain },
  result: CheckResult | undefined,
): { readonly passed: Promise<void>; readonly worker: Worker | undefined } {
  if (result?.kind === "checked") return { passed: Promise.resolve(), worker: undefined };
  const { promise, resolve } = Promise.withResolvers<void>();
  return { passed: promise, worker: gateWorker(deps, ends, resolve) };
}

/** Makes a worker wait for its chains before it starts. */
export function gated(worker: Worker, gates: readonly Promise<void>[]): Worker {
  return {
    name: worker.name,
    run: async (signal) => {
      const aborted = new Promise<never>((_, reject) => {
        signal.addEventListener("abort", () => reject(signal.reason), { once: true });
      });
      await Promise.race([Promise.all(gates), aborted]);
      await worker.run(signal);
    },
  };
}
