/**
 * Requests, calls and round trips of one delivery, seen by proxies in front of every endpoint: from the look that shows
 * the update to the request that sends the delivery. Both legs, 1 and 100 messages, 1 and 3 URLs per chain. Calls are
 * counted until the delivery is settled.
 */
import { startDevnet } from "../../devnet/devnet.ts";
import { relayerConfig } from "../../devnet/programs/relayer_config.ts";
import { startRelayer } from "../scenario/support/relayer_process.ts";
import { linesOf } from "./call_counts.ts";
import { type CrossedLeg, type Crossing, openProxies, traceCrossing } from "./crossing.ts";
import type { BenchDeps, Part } from "./part.ts";
import { atMost, type Measure } from "./report.ts";
import { updateAll } from "./stage.ts";

const MAX_HTTP = 5;
const MAX_TRIPS_TO_HUB = 4;
const MAX_TRIPS_TO_CHAIN = 5;
const MAX_TARGET_CALLS = 20;
/** Of both legs. */
const MAX_HUB_CALLS = 120;

/**
 * Times that each delivery is traced; the one with the fewest trips counts. A busy machine can only make requests
 * that were made together look as if one had waited for the other.
 */
const ROUNDS = 2;

/** See the head of the file. */
export const requests: Part = async (deps) => {
  await using devnet = await startDevnet({ startsOracle: false, hubBlockTimeMs: 500 });
  const [a, b] = [devnet.chain("A"), devnet.chain("B")];
  const measures: Measure[] = [];
  for (const urls of [1, 3]) {
    await using stack = new AsyncDisposableStack();
    const proxies = await openProxies(devnet, urls, stack);
    await updateAll(devnet);
    const relayer = stack.use(
      await startRelayer({
        executable: deps.executable,
        folder: `${deps.folder}/urls-${urls}`,
        config: relayerConfig(devnet.endpoints, {
          // Without a leg to A, all that A is asked belongs to the leg from A.
          deliveryEndpoints: [b.stateMachine],
          disableFeeAccumulation: true,
          rpcUrls: Object.fromEntries(
            [...proxies.chains].map(([chain, some]) => [chain, some.map(({ httpUrl }) => httpUrl)]),
          ),
          hubUrl: proxies.hub.wsUrl,
        }),
      }),
    );
    const legs = new Set<unknown>();
    await relayer.waitForLine(({ record }) => {
      if (record?.event === "leg_started") legs.add(record.leg);
      return legs.size === 3;
    });
    // What is read once in the life of a process (the name of the child trie) is none of a delivery's cost.
    await traceCrossing(devnet, proxies, { from: a, to: b, count: 1 });
    for (const count of [1, 100]) {
      const work = { from: a, to: b, count };
      const rounds: Crossing[] = [];
      for (let round = 0; round < ROUNDS; round++) rounds.push(await traceCrossing(devnet, proxies, work));
      const inbound = fewestTrips(rounds.map((round) => round.inbound));
      const outbound = fewestTrips(rounds.map((round) => round.outbound));
      const name = `${count} messages, ${urls} URLs`;
      measures.push(
        ...measuresOf(deps, `${count} to hub, ${urls} URLs`, inbound, MAX_TRIPS_TO_HUB),
        ...measuresOf(deps, `${count} to chain, ${urls} URLs`, outbound, MAX_TRIPS_TO_CHAIN),
        atMost(`${name}: calls to the target`, outbound.chain.calls, MAX_TARGET_CALLS, plain),
        atMost(`${name}: calls to the hub`, inbound.hub.calls + outbound.hub.calls, MAX_HUB_CALLS, plain),
        { name: `${name}: calls to the source`, value: plain(inbound.chain.calls) },
      );
    }
  }
  return measures;
};

function plain(value: number): string {
  return `${value}`;
}

function measuresOf(
  deps: BenchDeps,
  name: string,
  { trace, chain, hub }: CrossedLeg,
  maxTrips: number,
): readonly Measure[] {
  deps.say(
    `-- ${name}: ${trace.http} HTTP, ${trace.socket} socket, ${trace.trips} trips, ${trace.ms.toFixed(0)} ms`,
  );
  trace.steps.forEach((step) => deps.say(`   ${step}`));
  for (const line of [...linesOf(`${name}, the chain`, chain), ...linesOf(`${name}, the hub`, hub)]) {
    deps.say(line);
  }
  return [
    atMost(`${name}: HTTP requests`, trace.http, MAX_HTTP, plain),
    atMost(`${name}: sequential trips (HTTP and socket)`, trace.trips, maxTrips, plain),
    {
      name: `${name}: socket messages; time`,
      value: `${trace.socket}; ${trace.ms.toFixed(0)} ms`,
    },
  ];
}

function fewestTrips(legs: readonly CrossedLeg[]): CrossedLeg {
  return legs.reduce((best, leg) => leg.trace.trips < best.trace.trips ? leg : best);
}
