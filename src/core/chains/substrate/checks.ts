/** Start-up checks: is this the chain of the configuration, and can its node do what is needed? */
import { compact } from "scale-ts";
import { concatBytes, equalBytes, fromHex, type Hash256, toHash256, toHex } from "../../protocol/bytes.ts";
import type { HashAlgorithm } from "../../protocol/ismp/proof.ts";
import {
  stateMachineCodec,
  type StateMachineId,
  stateMachineIdCodec,
  stateMachineIdKey,
} from "../../protocol/ismp/state_machine.ts";
import { hostExecutiveKeys, ismpKeys, otherKeys, storagePrefix } from "../../protocol/ismp/storage_keys.ts";
import { decodeStrict, ScaleError, u64 } from "../../protocol/scale.ts";
import { RpcFault } from "../../rpc/fault.ts";
import { calls, type Header } from "../../rpc/substrate_calls.ts";
import type { CheckFinding } from "../chain.ts";
import type { Counterparty } from "../hub.ts";
import { ismpCalls } from "./ismp_calls.ts";
import { callLayouts } from "./layout.ts";
import { hashFunctionOf, type SubstrateNode } from "./node.ts";
import { RuntimeFault } from "./runtime.ts";
import { decodeValue } from "./views.ts";

/** Largest difference between this machine's clock and the chain's: 04-messaging-flow.md section 4. */
const MAX_CLOCK_DIFFERENCE_SEC = 30n;
/** Ids that are read for a hint. */
const MAX_HINTED = 200;

const neededMethods = ["ismp_queryEventsWithMetadata", "ismp_queryChildTrieProof"];
const neededOfHub = ["ismp_queryStateMachineLatestHeight", "ismp_queryChallengePeriod", "mmr_queryProof"];
/** What feeding the hub with consensus takes. */
const neededToFeed = [
  "author_submitExtrinsic",
  "chain_getBlock",
  "chain_getFinalizedHead",
  "state_call",
];
const neededPallets = ["System", "Timestamp", "Ismp"];
const neededPalletsOfHub = ["Relayer", "StateCoprocessor"];

/** All checks of a chain that need only its own node. */
export async function checkChain(
  node: SubstrateNode,
  hub: StateMachineId,
  signal: AbortSignal,
): Promise<readonly CheckFinding[]> {
  const findings = new Findings(node);
  const [identity, methods, finalized, now, height] = await node.client.tryAll([
    calls.stateCall("IsmpRuntimeApi_host_state_machine", new Uint8Array()),
    calls.methods(),
    calls.finalizedHash(),
    calls.storage(otherKeys.timestampNow()),
    calls.storage(ismpKeys.latestStateMachineHeight(hub)),
  ], signal);
  if (finalized instanceof RpcFault) throw finalized;
  if (now instanceof RpcFault) throw now;
  if (height instanceof RpcFault) throw height;
  checkIdentity(findings, identity);
  checkMethods(findings, methods, [...neededMethods, ...(node.isHub ? neededOfHub : [])]);
  checkUnsafeMethods(findings, methods);
  checkClock(findings, decodeValue(node, now, u64, "Timestamp.Now"));
  if (!node.isHub && height === undefined) {
    findings.warn(
      `does not know the hub ${stateMachineIdKey(hub)} yet; nothing can be delivered to it until it does`,
    );
  }
  await checkHashing(findings, finalized, signal);
  // Without its pallet nothing else of a chain would make sense.
  if (!findings.hasFatal) {
    await checkPallets(findings, [...neededPallets, ...(node.isHub ? neededPalletsOfHub : [])], signal);
  }
  return findings.all;
}

/** All checks of the hub's node by a program that only feeds it with consensus. */
export async function checkFedHub(
  node: SubstrateNode,
  signal: AbortSignal,
): Promise<readonly CheckFinding[]> {
  const findings = new Findings(node);
  const [identity, methods, finalized, now] = await node.client.tryAll([
    calls.stateCall("IsmpRuntimeApi_host_state_machine", new Uint8Array()),
    calls.methods(),
    calls.finalizedHash(),
    calls.storage(otherKeys.timestampNow()),
  ], signal);
  if (finalized instanceof RpcFault) throw finalized;
  if (now instanceof RpcFault) throw now;
  checkIdentity(findings, identity);
  checkMethods(findings, methods, neededToFeed);
  checkClock(findings, decodeValue(node, now, u64, "Timestamp.Now"));
  await checkHashing(findings, finalized, signal);
  if (!findings.hasFatal) await checkPallets(findings, neededPallets, signal);
  if (!findings.hasFatal) await checkConsensusCall(findings, signal);
  return findings.all;
}

/** Collects findings, each with the chain and endpoint it is about. */
class Findings {
  readonly all: CheckFinding[] = [];
  constructor(readonly node: SubstrateNode) {}

  get hasFatal(): boolean {
    return this.all.some(({ severity }) => severity === "fatal");
  }

  fatal(text: string): void {
    this.#add("fatal", text);
  }

  warn(text: string): void {
    this.#add("warning", text);
  }

  #add(severity: CheckFinding["severity"], text: string): void {
    this.all.push({ severity, text: `${this.node.id.stateMachine} via ${this.node.client.host}: ${text}` });
  }
}

function checkIdentity(findings: Findings, answer: Uint8Array | RpcFault): void {
  const configured = findings.node.id.stateMachine;
  if (answer instanceof RpcFault) {
    if (answer.reaction === "retry" && answer.code !== "server_error") throw answer;
    findings.fatal(
      `the node does not tell its state machine (${answer.detail ?? answer.code}); is it an ISMP chain?`,
    );
    return;
  }
  let found: string;
  try {
    found = decodeStrict(stateMachineCodec, answer, "StateMachine");
  } catch (error) {
    if (!(error instanceof ScaleError)) throw error;
    findings.fatal("the node tells a state machine of an unknown kind");
    return;
  }
  if (found === configured) return;
  findings.fatal(
    `the node is of ${found}; set rpc_ws to a node of ${configured}, or state_machine to ${found}`,
  );
}

function checkMethods(
  findings: Findings,
  methods: ReadonlySet<string> | RpcFault,
  needed: readonly string[],
): void {
  if (methods instanceof RpcFault) {
    if (methods.reaction === "retry") throw methods;
    findings.warn("the node does not list its RPC methods (rpc_methods), so they could not be checked");
    return;
  }
  const missing = needed.filter((each) => !methods.has(each));
  if (missing.length === 0) return;
  findings.fatal(
    `the node lacks the RPC methods ${missing.join(", ")}; use a node of the chain's own software`,
  );
}

/** Methods that nodes offer to their operators only; there are other ways. */
function checkUnsafeMethods(findings: Findings, methods: ReadonlySet<string> | RpcFault): void {
  if (methods instanceof RpcFault) return;
  if (findings.node.isHub && !methods.has("offchain_localStorageGet")) {
    findings.warn(
      "the node lacks offchain_localStorageGet (--rpc-methods unsafe), so consensus proofs cannot be delivered together with messages",
    );
  }
  if (!methods.has("system_dryRun")) {
    findings.warn(
      "the node lacks system_dryRun (--rpc-methods unsafe); messages are tried by TaggedTransactionQueue_validate_transaction",
    );
  }
}

function checkClock(findings: Findings, chainMs: bigint | undefined): void {
  if (chainMs === undefined) return;
  const differenceSec = (BigInt(Math.round(findings.node.clock.now())) - chainMs) / 1000n;
  const size = differenceSec < 0n ? -differenceSec : differenceSec;
  if (size <= MAX_CLOCK_DIFFERENCE_SEC) return;
  const direction = differenceSec > 0n ? "ahead of" : "behind";
  findings.warn(
    `this machine's clock is ${size} seconds ${direction} the chain's; set the clock, or check that the chain makes blocks`,
  );
}

/** The configured hash function must give the hash by which the node knows a block. */
async function checkHashing(findings: Findings, block: Hash256, signal: AbortSignal): Promise<void> {
  const header = await findings.node.client.ask(calls.header(block), signal);
  if (header === undefined) throw findings.node.client.fault("lagging", "chain_getHeader", "no final block");
  const { hashing } = findings.node;
  if (headerHash(header, hashing) === block) return;
  const other: HashAlgorithm = hashing === "Keccak" ? "Blake2" : "Keccak";
  findings.fatal(
    headerHash(header, other) === block
      ? `headers are hashed with ${other}; set hashing = "${other}"`
      : "the hash of the latest block is neither Keccak nor Blake2 of its header; the chain's headers are of another form",
  );
}

/** Hash of a header: SCALE of parent, compact number, roots and digest items. */
export function headerHash(header: Header, hashing: HashAlgorithm): Hash256 {
  const { stateRoot, extrinsicsRoot, logs } = header.fields;
  const encoded = concatBytes(
    fromHex(header.parent),
    compact.enc(header.height),
    fromHex(stateRoot),
    fromHex(extrinsicsRoot),
    compact.enc(logs.length),
    ...logs,
  );
  return toHash256(hashFunctionOf(hashing)(encoded));
}

async function checkPallets(
  findings: Findings,
  needed: readonly string[],
  signal: AbortSignal,
): Promise<void> {
  const runtime = await findings.node.runtimes.current(signal);
  const missing = needed.filter((pallet) => !runtime.hasPallet(pallet));
  if (missing.length === 0) return;
  const { specName, specVersion } = runtime.version;
  findings.fatal(`runtime ${specName} ${specVersion} lacks the pallets ${missing.join(", ")}`);
}

/** The runtime must take consensus messages as they are encoded here. */
async function checkConsensusCall(findings: Findings, signal: AbortSignal): Promise<void> {
  const runtime = await findings.node.runtimes.current(signal);
  try {
    runtime.encodeCall(callLayouts.consensus, new Uint8Array());
  } catch (fault) {
    if (!(fault instanceof RuntimeFault)) throw fault;
    findings.fatal(`the runtime takes other consensus messages than this program makes: ${fault.detail}`);
  }
}

/** Compares what the hub stores of a chain with the chain's configuration. One round trip, two with a hint. */
export async function checkCounterparty(
  node: SubstrateNode,
  entry: Counterparty,
  signal: AbortSignal,
): Promise<readonly CheckFinding[]> {
  const { client } = node;
  const { stateMachine, consensusStateId } = entry.id;
  const findings = new Findings(node);
  const [height, host, period] = await client.tryAll([
    ismpCalls.latestHeight(entry.id),
    calls.storage(hostExecutiveKeys.evmHosts(stateMachine)),
    calls.storage(ismpKeys.challengePeriod(entry.id)),
  ], signal);
  if (host instanceof RpcFault) throw host;
  if (period instanceof RpcFault) throw period;
  if (height instanceof RpcFault) {
    if (height.code !== "not_found") throw height;
    findings.fatal(await describeUnknown(node, entry.id, signal));
  } else if (period === undefined) {
    findings.warn(`has no challenge period for ${stateMachine} and will refuse its messages`);
  }
  if (entry.ismpHost !== undefined) checkHost(findings, entry.ismpHost, host, stateMachine);
  return findings.all;
}

/** Why the hub has no height of a chain: the name may be wrong, or nobody has proved the chain yet. */
async function describeUnknown(
  node: SubstrateNode,
  id: StateMachineId,
  signal: AbortSignal,
): Promise<string> {
  const { stateMachine, consensusStateId } = id;
  const [known, [client]] = await Promise.all([
    fetchKnownIds(node, signal),
    node.client.askStorage([ismpKeys.consensusStateClient(consensusStateId)], undefined, signal),
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

function checkHost(
  findings: Findings,
  configured: Uint8Array,
  stored: Uint8Array | undefined,
  stateMachine: string,
): void {
  if (stored === undefined) {
    findings.fatal(`knows no host contract of ${stateMachine}, so every proof would be refused`);
  } else if (!equalBytes(stored, configured)) {
    findings.fatal(`knows the host contract of ${stateMachine} as ${toHex(stored)}; set ismp_host to it`);
  }
}

/** Ids that have a height on the hub: the last bytes of each key are the id itself (Blake2_128Concat). */
async function fetchKnownIds(node: SubstrateNode, signal: AbortSignal): Promise<readonly StateMachineId[]> {
  const prefix = storagePrefix("Ismp", "LatestStateMachineHeight");
  const keys = await node.client.ask(calls.keysPaged(prefix, MAX_HINTED), signal);
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
