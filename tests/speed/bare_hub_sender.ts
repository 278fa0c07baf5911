/** Hands the hub deliveries that are ready: proved and encoded before the time is taken. */
import type { HubChain } from "../../src/core/chains/hub.ts";
import type { SignedSubmission } from "../../src/core/chains/submission.ts";
import { parseMessagingConfig } from "../../src/messaging/config/read.ts";
import { postMessage } from "../../src/core/ismp/message.ts";
import { systemRandomness } from "../../src/core/runtime/clock.ts";
import { systemClock } from "../../src/core/runtime/system_clock.ts";
import { connectChains } from "../../src/messaging/connect.ts";
import type { DevnetChain } from "../../devnet/devnet.ts";
import type { SentMessage } from "../../devnet/traffic/messages.ts";
import { RecordedLog } from "../support/recorded_log.ts";

/** Deliveries that only have to be submitted. */
export interface PreparedDeliveries extends AsyncDisposable {
  readonly hub: HubChain;
  readonly submissions: readonly SignedSubmission[];
}

/** Proves messages at `height` of their chain, in batches as large as the hub takes. @param config of a relayer */
export async function prepareForHub(
  config: string,
  from: DevnetChain,
  messages: readonly SentMessage[],
  height: bigint,
): Promise<PreparedDeliveries> {
  const { signal } = new AbortController();
  const reading = parseMessagingConfig({ readFile: Deno.readFileSync }, config);
  if (reading.config === undefined) throw new Error(`Bad configuration: ${JSON.stringify(reading.problems)}`);
  const deps = { clock: systemClock, random: systemRandomness, log: new RecordedLog() };
  const { hub, chains } = connectChains(deps, reading.config);
  const source = chains.find(({ chain }) => chain.id.stateMachine === from.stateMachine)?.chain;
  if (source === undefined) throw new Error(`${from.stateMachine} is not in the configuration`);
  const submissions: SignedSubmission[] = [];
  const size = hub.limits.maxMessagesPerStep;
  for (let start = 0; start < messages.length; start += size) {
    const batch = messages.slice(start, start + size).map(({ request }) => postMessage(request));
    const proof = await source.proofs.proveMessages(batch, { height, target: hub }, signal);
    const delivery = { steps: [{ kind: "messages" as const, messages: batch, proof }] };
    const simulation = await hub.simulator.simulate(delivery, signal);
    if (simulation.kind !== "accepted") throw new Error(`Refused: ${simulation.refusal.detail}`);
    const signing = await hub.sender.sign(delivery, { simulation, nonceAtLeast: undefined }, signal);
    if (signing.kind !== "signed") throw new Error(`Not signed: ${signing.kind}`);
    submissions.push(signing.submission);
  }
  return { hub, submissions, [Symbol.asyncDispose]: () => hub.close() };
}

/** Submits them one after the other. */
export async function submitAll({ hub, submissions }: PreparedDeliveries): Promise<void> {
  const { signal } = new AbortController();
  for (const submission of submissions) {
    const { kind } = await hub.sender.broadcast(submission, signal);
    if (kind !== "sent") throw new Error(`The hub did not take a delivery: ${kind}`);
  }
}
