/**
 * What the database costs a delivery: the pipeline itself between chains in memory, with a file that is flushed as
 * in earnest. Every row is found, sent, settled and made final.
 */
import { openLedger } from "../../src/messaging/ledger/open.ts";
import { inbound, outbound, round, settle } from "../messaging/relay/rounds.ts";
import { delivered, Fixture, Relayer } from "../messaging/relay/fixture.ts";
import type { LegRun } from "../../src/messaging/relay/leg.ts";
import type { MemoryChain } from "../support/memory_chain.ts";
import type { BenchDeps, Part } from "./part.ts";
import { atMost, type Measure } from "./report.ts";
import { timedLedger } from "./timed_ledger.ts";

const MESSAGES = 3_000;
const MAX_MS = 0.35;
/** Messages of one block of the source. */
const PER_BLOCK = 200;

/** See the head of the file. */
export const database: Part = async (deps) => [
  ...await measure(deps, "to a chain", (relayer) => [outbound(relayer), relayer.two]),
  ...await measure(deps, "to the hub", (relayer) => [inbound(relayer), relayer.hub]),
];

async function measure(
  deps: BenchDeps,
  name: string,
  choose: (relayer: Relayer) => readonly [LegRun, MemoryChain],
): Promise<readonly Measure[]> {
  await Deno.mkdir(deps.folder, { recursive: true });
  const fixture = new Fixture();
  const file = `${deps.folder}/${name.replaceAll(" ", "-")}.db`;
  const { ledger, use } = timedLedger(openLedger(file, { clock: fixture.clock }));
  const relayer = new Relayer(fixture, ledger);
  const [leg, target] = choose(relayer);
  const [source, node] = target === relayer.two ? [fixture.hub, fixture.two] : [fixture.one, fixture.hub];
  try {
    // What is prepared once, and code that is cold, is nobody's cost.
    await cross(relayer, leg, { fixture, target, source, node, count: PER_BLOCK });
    const before = use();
    await cross(relayer, leg, { fixture, target, source, node, count: MESSAGES });
    const ms = (use().ms - before.ms) / MESSAGES;
    const flushes = (use().transactions - before.transactions) / MESSAGES;
    return [
      atMost(
        `database, ${name}: time of a delivery, full sync`,
        ms,
        MAX_MS,
        (value) => `${value.toFixed(3)} ms`,
      ),
      { name: `database, ${name}: transactions of a delivery`, value: flushes.toFixed(3) },
    ];
  } finally {
    relayer.kill();
    ledger.close();
  }
}

interface Crossing {
  readonly fixture: Fixture;
  readonly target: MemoryChain;
  readonly source: Fixture["one"];
  readonly node: Fixture["one"];
  readonly count: number;
}

/** `count` messages leave the source and are final on the target when it returns. */
async function cross(relayer: Relayer, leg: LegRun, work: Crossing): Promise<void> {
  const { fixture, target, source, node, count } = work;
  const goal = delivered(node).length + count;
  for (let sent = 0; sent < count; sent += PER_BLOCK) await fixture.sendFrom(source, node, PER_BLOCK);
  while (
    delivered(node).length < goal ||
    relayer.ledger.submissions.listUnresolved(target.id.stateMachine).length > 0
  ) {
    while ((await round(relayer, leg)).sent > 0);
    await fixture.blocks(1);
    await settle(relayer, target);
  }
}
