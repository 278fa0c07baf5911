/**
 * Everything on the machine that relays, or on the one that takes over, is killed at moments of the work: nothing is lost,
 * done twice or paid for nothing, and the other takes over in time.
 */
import assert from "node:assert/strict";
import { fromHex } from "../../src/core/encoding/bytes.ts";
import { toAddress } from "../../src/core/evm/address.ts";
import { DEVNET_ACCOUNTS } from "../../devnet/evm/accounts.ts";
import { RELAYER_EXECUTABLE } from "../../devnet/programs/relayer_build.ts";
import type { SentMessage } from "../../devnet/traffic/messages.ts";
import { pause } from "../../devnet/waiting.ts";
import { readTransactionsOf } from "../scenario/support/consensus_hosts.ts";
import { feeTokensOf, TOKEN } from "../scenario/support/fee_accounts.ts";
import { handledWrong, sendSome } from "../scenario/support/moments.ts";
import type { LineMatch, RelayerProcess } from "../scenario/support/relayer_process.ts";
import { runOnce } from "../scenario/support/run_once.ts";
import { playSceneOn, startSceneDevnet } from "../scenario/support/scene.ts";
import { buildLitestream } from "./litestream.ts";
import { say } from "../support/notes.ts";
import { seededRandomness } from "../support/seeded_randomness.ts";
import { Etcd, requireTools } from "./etcd.ts";
import { Machines, seconds, TAKEOVER_WITHIN_MS } from "./machines.ts";

/** Most that a moment is after the line that it is named by, ms. */
const MAX_LATER_MS = 80;

/** One moment. */
interface Moment {
  readonly name: string;
  /** What the machine that dies says before. */
  readonly line: LineMatch;
  /** `holder`: it relays; `successor`: it takes over, when the one before it has died. */
  readonly who: "holder" | "successor";
  /** Asks for fees to be paid out first. */
  readonly withdraws?: boolean;
}

const MOMENTS: readonly Moment[] = [
  { name: "before a transaction is signed", line: "message_changed.ready", who: "holder" },
  { name: "after the journal entry", line: "message_changed.submitted", who: "holder" },
  { name: "after the broadcast", line: "batch_sent", who: "holder" },
  { name: "after inclusion", line: "message_changed.delivered", who: "holder" },
  { name: "during claims", line: "claim_sent.fees", who: "holder" },
  { name: "during a withdrawal", line: "withdrawal_made.requested", who: "holder", withdraws: true },
  { name: "while Litestream restores on the second machine", line: /^restoring$/, who: "successor" },
  { name: "while the relayer of the second machine starts", line: "file_access_dropped", who: "successor" },
];

Deno.test("standby: kill -9 of everything at moments of the work: nothing lost, nothing twice", async () => {
  await requireTools({ etcd: "apt install etcd-server", etcdctl: "apt install etcd-client" });
  const executable = await buildLitestream();
  await using etcd = new Etcd(await Deno.makeTempDir({ prefix: "etcd-" }));
  await etcd.start();
  const seed = Number(Deno.env.get("SCENARIO_SEED") ?? Date.now() % 1_000_000);
  const random = seededRandomness(seed);
  await using devnet = await startSceneDevnet();
  await playSceneOn(devnet, async (scene) => {
    scene.note(`SCENARIO_SEED=${seed}`);
    const litestream = `${scene.folder}/litestream`;
    await Deno.writeTextFile(litestream, tellingLitestream(executable), { mode: 0o755 });
    const plan = { etcd: `http://127.0.0.1:${etcd.port}` };
    using machines = new Machines(scene, litestream, [plan, plan]);
    let [holder, waiting] = await machines.startBoth();
    let at = 0;
    const sent: SentMessage[] = [];
    for (const [round, moment] of MOMENTS.entries()) {
      const since = await headsOf(machines);
      const before = holder.lines.length;
      const ordered = moment.withdraws ? orderFees(holder) : undefined;
      const some = await sendSome(scene, round, TOKEN);
      sent.push(...some);
      let killedMs: number;
      if (moment.who === "holder") {
        await holder.waitForLine(moment.line, { since: before });
        await pause(random.fraction() * MAX_LATER_MS);
        killedMs = await machines.kill(at);
        holder = waiting;
        waiting = await machines.start(at);
        at = 1 - at;
      } else {
        await holder.waitForLine("message_changed.submitted", { since: before });
        await machines.kill(at);
        const successor = await machines.start(at);
        await waiting.waitForLine(moment.line);
        await pause(random.fraction() * MAX_LATER_MS);
        killedMs = await machines.kill(1 - at);
        holder = successor;
        waiting = await machines.start(1 - at);
      }
      const { atMs } = await holder.waitForLine("program_started");
      await ordered;
      await machines.settle(some, holder);
      const reverts = await revertsSince(machines, since);
      const wrong = await handledWrong(scene, some);
      say(`standby, ${moment.name}: taken over after ${seconds(atMs - killedMs)} s, reverted ${reverts}`);
      assert.deepEqual(wrong, []);
      for (const count of reverts) assert.ok(count <= 1, `${moment.name}: ${count} reverted on a chain`);
      assert.ok(atMs - killedMs < TAKEOVER_WITHIN_MS, `${moment.name}: ${atMs - killedMs} ms`);
    }
    const paid = await Promise.all(devnet.chains.map((chain) => feeTokensOf(chain, "relayer")));
    assert.ok(paid.some((amount) => amount > 0n), "the withdrawal was paid");
    const address = fromHex(DEVNET_ACCOUNTS.relayer.address);
    const orders = devnet.chains.map(({ stateMachine }) =>
      devnet.hub.governance.nonceOf(address, stateMachine)
    );
    assert.deepEqual(orders, paid.map((amount) => amount > 0n ? 1n : 0n), "each payment was ordered once");
    await machines.finish(sent, holder, 2 * MOMENTS.length);
  });
});

/** Litestream, which says on standard error when it restores. */
function tellingLitestream(executable: string): string {
  return `#!/bin/sh\n[ "$1" != restore ] || echo restoring >&2\nexec '${executable}' "$@"\n`;
}

/** Has the relayer that runs there ask for all fees; another process of the machine does so by its socket. */
async function orderFees({ configPath, dbPath }: RelayerProcess): Promise<void> {
  const args = [`--config=${configPath}`, `--db=${dbPath}`, "accumulate-fees", "--withdraw"];
  // It fails when the relayer dies, as it shall.
  await runOnce(RELAYER_EXECUTABLE, args);
}

async function headsOf({ scene: { devnet } }: Machines): Promise<readonly bigint[]> {
  return await Promise.all(devnet.chains.map(({ host }) => host.reader.getBlockNumber()));
}

async function revertsSince(
  { scene: { devnet } }: Machines,
  since: readonly bigint[],
): Promise<readonly number[]> {
  return await Promise.all(devnet.chains.map(async ({ host }, at) => {
    const account = toAddress(DEVNET_ACCOUNTS.relayer.address);
    const mined = await readTransactionsOf(host, account, since[at] ?? 0n);
    return mined.filter(({ isReverted }) => isReverted).length;
  }));
}
