/**
 * How many consensus proofs of the hub the messaging relayer pays for that the host has by then: alone, and beside
 * another relayer. Every request takes 300 ms, as over a provider on another continent; messages go both ways without a
 * pause, and nobody but the relayers carries proofs.
 */
import { type Devnet, startDevnet } from "../../devnet/devnet.ts";
import { DEVNET_ACCOUNTS, type DevnetRole } from "../../devnet/evm/accounts.ts";
import { sendPing, waitUntil } from "../../devnet/traffic/messages.ts";
import { MAX_WORK_MS } from "../../devnet/waiting.ts";
import { readConsensusTransactions } from "../scenario/support/consensus_hosts.ts";
import type { BenchDeps, Part } from "./part.ts";
import { type Figure, figure } from "./report.ts";
import { openProxies, startSubject } from "./subject.ts";

/** Every request of the relayers takes so long, ms. */
const LATENCY_MS = 300;

/** Pause between messages, ms: shorter than a round of a relayer. */
const EVERY_MS = 1_500;

/** A run: who relays, how many proofs are watched, and how many of them may be known already. */
interface Run {
  readonly roles: readonly DevnetRole[];
  readonly proofs: number;
  readonly most: number;
}

const RUNS: readonly Run[] = [
  { roles: ["relayer"], proofs: 20, most: 0 },
  { roles: ["relayer", "relayer2"], proofs: 20, most: 1 },
];

/** See the head of the file. */
export const hubProofs: Part = async (deps) => {
  const figures: Figure[] = [];
  for (const run of RUNS) {
    const { seen, stale } = await measure(deps, run);
    const name = `${run.roles.length} relayers: proofs of the hub wasted, of ${seen}`;
    figures.push(figure(name, "", stale, { most: run.most }));
  }
  return figures;
};

/** What hosts were delivered. */
interface Carried {
  readonly seen: number;
  readonly stale: number;
}

async function measure(deps: BenchDeps, { roles, proofs }: Run): Promise<Carried> {
  await using devnet = await startDevnet({
    acceptsProofs: {},
    blockTimeSec: 1,
    hubBlockTimeMs: 400,
    oracleEveryMs: 200,
  });
  await using stack = new AsyncDisposableStack();
  for (const role of roles) {
    const proxies = await openProxies(devnet.endpoints, { latencyMs: LATENCY_MS }, stack);
    const changes = { ...proxies.changes, signer: role, disableFeeAccumulation: true };
    const folder = `${role}-of-${roles.length}`;
    stack.use(await startSubject(deps, devnet.endpoints, { folder, changes, legs: 4 }));
  }
  const count = countCarried(devnet, roles);
  let carried: Carried = { seen: 0, stale: 0 };
  await waitUntil(`${proofs} proofs`, async () => {
    await Promise.all([
      sendPing(devnet, { from: "A", to: "B" }),
      sendPing(devnet, { from: "B", to: "A" }),
    ]);
    carried = await count();
    return carried.seen >= proofs;
  }, { deadlineMs: MAX_WORK_MS, everyMs: EVERY_MS });
  return carried;
}

/** Counts the proofs that the relayers have delivered so far, block by block; reverts delivered none. */
function countCarried(devnet: Devnet, roles: readonly DevnetRole[]): () => Promise<Carried> {
  const sources = devnet.chains.flatMap(({ host }) =>
    roles.map((role) => ({ host, account: DEVNET_ACCOUNTS[role].address, after: 0n }))
  );
  let [seen, stale] = [0, 0];
  return async () => {
    await Promise.all(sources.map(async (source) => {
      for (const each of await readConsensusTransactions(source.host, source.account, source.after)) {
        seen += each.proofs;
        stale += each.stale;
        source.after = each.height;
      }
    }));
    return { seen, stale };
  };
}
