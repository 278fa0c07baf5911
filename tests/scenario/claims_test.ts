/** What deliveries earn becomes credit on the hub: by itself, by hand, later, and never twice. */
import assert from "node:assert/strict";
import { events } from "../../src/core/telemetry/log.ts";
import type { DevnetChain } from "../../devnet/devnet.ts";
import { DEVNET_ACCOUNTS } from "../../devnet/evm/accounts.ts";
import { sendPing, type SentMessage, waitUntil } from "../../devnet/traffic/messages.ts";
import type { HubRuntime } from "../../devnet/chains/proven_chains.ts";
import { type ConfigChanges, sectionOf, signerKey } from "../../devnet/programs/relayer_config.ts";
import {
  commandResult,
  creditOf,
  feeTokensOf,
  runCommand,
  startCommand,
  TOKEN,
} from "./support/fee_accounts.ts";
import { playSceneOn, type Scene, type SceneRelayer, startSceneDevnet } from "./support/scene.ts";

/** A relayer begins to withdraw a minute after its start, which a busy machine may need for a step: none does here. */
const NEVER_WITHDRAWING = { relayer: { minimum_withdrawal_amount: 1_000_000 } } as const;

/** A pair as tables name it. @param missing a chain that is not in the file, so that it has no section */
function pair(from: DevnetChain, to: DevnetChain, missing?: DevnetChain): string {
  const nameOf = ({ stateMachine }: DevnetChain): string =>
    stateMachine === missing?.stateMachine ? stateMachine : `${sectionOf(stateMachine)} (${stateMachine})`;
  return `${nameOf(from)} -> ${nameOf(to)}`;
}

const HEAD = ["pair", "claimed", "already claimed", "no fee", "not yet available", "failed"];

Deno.test("claims on gargantua", (t) => playClaims(t, "gargantua"));

Deno.test("claims on nexus", (t) => playClaims(t, "nexus"));

async function playClaims(t: Deno.TestContext, hub: HubRuntime): Promise<void> {
  await using devnet = await startSceneDevnet({ hub, kinds: ["beacon", "op_stack", "bsc"] });
  const [a, b, c] = [devnet.chain("A"), devnet.chain("B"), devnet.chain("C")];

  await t.step(
    "deliveries are claimed by themselves, to the unit, and by a manual run beside the relayer: each of them once",
    () =>
      playSceneOn(devnet, async (scene) => {
        const relayer = scene.relayer();
        await relayer.startAndWait({ sections: NEVER_WITHDRAWING });
        const sent = (await Promise.all([
          sendPing(devnet, { from: "A", to: "B", count: 51, fee: 2n * TOKEN }),
          sendPing(devnet, { from: "B", to: "A", count: 2, fee: 6n * TOKEN + 1n }),
          sendPing(devnet, { from: "C", to: "B" }),
        ])).flat();
        const manual = async (...args: readonly string[]): Promise<void> => {
          const stdout = await relayer.ask("accumulate-fees", ...args);
          assert.match(stdout, /^No delivery waits for a claim\.\n|^pair +claimed +already claimed/);
        };
        await Promise.all([manual(), manual("--wait"), manual()]);
        await scene.untilDelivered(sent);
        await untilClaimStates(relayer, sent, (fee) => fee > 0n ? "claimed" : "no_fee");
        assert.deepEqual(
          [a, b, c].map((chain) => creditOf(devnet, chain, "relayer")),
          [102n * TOKEN, 12n * TOKEN + 2n, 0n],
        );
        await scene.finish();
        const { submissions } = await relayer.ledger();
        const groups = submissions.filter(({ kind }) => kind === "accumulate").map(({ items }) =>
          items.length
        );
        assert.equal(groups.reduce((sum, size) => sum + size, 0), 53, "each of them once");
        assert.ok(groups.every((size) => size <= 50), `${groups}`);
      }),
  );

  // Which pairs wait, and for which heights, is no matter of the hub's runtime; the last step runs the command on both.
  if (hub === "gargantua") {
    await t.step(
      "by hand: what the hub cannot verify yet is skipped and named; --wait claims it as heights come, last sent first",
      () =>
        playSceneOn(devnet, async (scene) => {
          using _ = { [Symbol.dispose]: () => devnet.oracle.resume() };
          const relayer = scene.relayer();
          const sent = await deliverUnseen(scene, relayer, [[a, b], [b, c], [c, a]]);
          const credit = [a, b, c].map((chain) => creditOf(devnet, chain, "relayer"));
          const early = await runCommand(relayer, []);
          assert.equal(early.code, 0);
          const skipped = (from: DevnetChain, to: DevnetChain): readonly string[] => [
            pair(from, to),
            "0",
            "0",
            "0",
            "2",
            "0",
          ];
          assert.deepEqual(early.table, [HEAD, skipped(a, b), skipped(b, c), skipped(c, a)]);
          for (const [from, to] of [[a, b], [b, c], [c, a]] as const) {
            assert.ok(
              early.log.some((line) =>
                line.includes(events["claim_failed.hub_behind"].text) && isAbout(line, from, to)
              ),
              pair(from, to),
            );
          }
          assert.deepEqual([a, b, c].map((chain) => creditOf(devnet, chain, "relayer")), credit);

          const waiting = await startCommand(relayer, ["--wait"]);
          const claimed = (source: DevnetChain): number =>
            waiting.lines.findIndex(({ text }) =>
              text.includes(events.fees_claimed.text) && isAbout(text, source)
            );
          // A relayer that is started meanwhile is the one that is refused.
          await waitUntil("the run has the database", () => exists(`${waiting.dbPath}-wal`));
          const refused = await relayer.run();
          assert.deepEqual([refused.code, waiting.isRunning], [1, true], refused.stdout);
          // Destinations become known in the order A, C, B; their sources are C, B, A.
          for (const [source, dest] of [[c, a], [b, c], [a, b]] as const) {
            devnet.oracle.resume({ from: dest.stateMachine, to: devnet.hub.identity.stateMachine });
            await waitUntil(`fees of ${source.name} are claimed`, () => claimed(source) >= 0);
          }
          const { code, table } = await commandResult(waiting);
          assert.equal(code, 0);
          const taken = (from: DevnetChain, to: DevnetChain): readonly string[] => [
            pair(from, to),
            "2 (4)",
            "0",
            "0",
            "0",
            "0",
          ];
          assert.deepEqual(table, [HEAD, taken(a, b), taken(b, c), taken(c, a)]);
          assert.ok(claimed(c) < claimed(b) && claimed(b) < claimed(a));
          assert.deepEqual(
            [a, b, c].map((chain) => creditOf(devnet, chain, "relayer")),
            credit.map((before) => before + 4n * TOKEN),
          );
          await untilClaimStates(relayer, sent, () => "claimed");
          const again = await runCommand(relayer, []);
          assert.deepEqual([again.code, again.table], [0, [["No delivery waits for a claim."]]]);
          await scene.finish();
        }),
    );
  }

  await t.step(
    "a key per chain, claims disabled at first, a chain out of the file for a while, kills: all is credited and paid",
    () =>
      playSceneOn(devnet, async (scene) => {
        const relayer = scene.relayer();
        const sections = {
          ...NEVER_WITHDRAWING,
          [sectionOf(b.stateMachine)]: { signer: signerKey("relayer2") },
        };
        const keys: ConfigChanges = { sections };
        await relayer.startAndWait({ ...keys, disableFeeAccumulation: true });
        const sent = (await Promise.all([
          sendPing(devnet, { from: "A", to: "B", count: 2, fee: 7n * TOKEN }),
          sendPing(devnet, { from: "B", to: "A", count: 2, fee: 6n * TOKEN }),
          sendPing(devnet, { from: "A", to: "C", fee: TOKEN }),
        ])).flat();
        const before = [creditOf(devnet, a, "relayer"), creditOf(devnet, b, "relayer2")] as const;
        // Left by the key that was on B before; A still has it.
        const beforeOnB = creditOf(devnet, b, "relayer");
        await scene.untilDelivered(sent);
        await untilProvable(scene, relayer, sent);
        await untilClaimStates(relayer, sent, () => "unclaimed");
        await relayer.stop();

        // B is taken out: its pairs wait, and the others do not.
        const partly = await runCommand(relayer, [], { without: [b.stateMachine] });
        assert.equal(partly.code, 0);
        assert.deepEqual(partly.table, [
          HEAD,
          [pair(a, b, b), "0", "0", "0", "2", "0"],
          [pair(a, c), "1 (1)", "0", "0", "0", "0"],
          [pair(b, a, b), "0", "0", "0", "2", "0"],
        ]);
        for (const [from, to] of [[a, b], [b, a]] as const) {
          const told = partly.log.filter((line) =>
            line.includes(events["claim_failed.chain_missing"].text) && isAbout(line, from, to)
          );
          assert.equal(told.length, 1, pair(from, to));
        }
        assert.equal(creditOf(devnet, a, "relayer"), before[0] + TOKEN);

        // A run that dies when its claim is in the journal, and one that dies when the hub has it.
        // Blocks are held from its submission on, or the state might be over before anybody has looked; it is the only
        // one, since nobody tells the hub of anything meanwhile.
        await devnet.oracle.pause();
        for (const state of ["signed", "broadcast"] as const) {
          devnet.hub.fault = ({ method }) => {
            if (method !== "author_submitExtrinsic") return undefined;
            if (state === "signed") return { kind: "hang" };
            devnet.hub.pauseBlocks();
            return undefined;
          };
          const dying = await startCommand(relayer, [], keys);
          await waitUntil(`a claim is ${state}`, async () => {
            const claims = (await relayer.ledger()).submissions.filter(({ kind }) => kind === "accumulate");
            return claims.some((claim) => claim.state === state);
          }, { everyMs: 20 });
          await dying.kill();
          devnet.hub.fault = undefined;
          devnet.hub.resumeBlocks();
        }
        devnet.oracle.resume();

        // Back again, and enabled: the relayer claims what it has kept, for the account that it has on the source.
        await relayer.startAndWait(keys);
        await untilClaimStates(relayer, sent, () => "claimed");
        await relayer.stop();
        assert.equal(creditOf(devnet, a, "relayer"), before[0] + 15n * TOKEN);
        assert.equal(creditOf(devnet, b, "relayer2"), before[1] + 12n * TOKEN);

        const owned = await Promise.all([feeTokensOf(a, "relayer"), feeTokensOf(b, "relayer2")]);
        const paying = await runCommand(relayer, ["--withdraw"], keys);
        assert.equal(paying.code, 0, paying.log.join("\n"));
        assert.deepEqual(
          await Promise.all([feeTokensOf(a, "relayer"), feeTokensOf(b, "relayer2")]),
          [owned[0] + before[0] + 15n * TOKEN, owned[1] + before[1] + 12n * TOKEN + beforeOnB],
        );
        assert.deepEqual([creditOf(devnet, a, "relayer"), creditOf(devnet, b, "relayer2")], [0n, 0n]);
        await scene.finish({
          accounts: new Map([[b.stateMachine, DEVNET_ACCOUNTS.relayer2.address.toLowerCase()]]),
        });
      }),
  );
}

/**
 * Delivers two messages on each way while the hub learns nothing of their destinations any more, with claims disabled,
 * and stops the relayer. Afterwards the hub still knows nothing of them.
 */
async function deliverUnseen(
  scene: Scene,
  relayer: SceneRelayer,
  ways: readonly (readonly [DevnetChain, DevnetChain])[],
): Promise<readonly SentMessage[]> {
  const { devnet } = scene;
  const hub = devnet.hub.identity.stateMachine;
  const machines = devnet.chains.map(({ stateMachine }) => stateMachine);
  await relayer.startAndWait({ disableFeeAccumulation: true });
  await Promise.all(machines.map((to) => devnet.oracle.pause({ from: hub, to })));
  const sent = (await Promise.all(
    ways.map(([from, to]) => sendPing(devnet, { from: from.name, to: to.name, count: 2, fee: 2n * TOKEN })),
  )).flat();
  await relayer.untilRows(sent, hub, { state: "delivered" });
  await Promise.all(machines.map((from) => devnet.oracle.pause({ from, to: hub })));
  for (const to of machines) devnet.oracle.resume({ from: hub, to });
  await scene.untilDelivered(sent);
  await untilFinal(relayer, sent);
  await relayer.stop();
  return sent;
}

/** Waits until the deliveries on the destinations are final. */
async function untilFinal(relayer: SceneRelayer, sent: readonly SentMessage[]): Promise<void> {
  await waitUntil("the deliveries are final", async () => {
    const rows = await rowsOf(relayer, sent);
    return rows.length === sent.length && rows.every(({ isFinal }) => isFinal);
  }, { everyMs: 400 });
}

/** Waits until the deliveries are final, and the hub could verify them. */
async function untilProvable(
  scene: Scene,
  relayer: SceneRelayer,
  sent: readonly SentMessage[],
): Promise<void> {
  await untilFinal(relayer, sent);
  const { devnet } = scene;
  const rows = await rowsOf(relayer, sent);
  await waitUntil("the hub knows the blocks of the deliveries", () =>
    rows.every(({ dest, blockHeight }) => {
      const chain = devnet.chain(dest);
      return (devnet.hub.latestHeight(devnet.idOnHub(chain)) ?? 0n) >= blockHeight;
    }));
}

/** Waits until the delivery of each message on its destination is in the state that belongs to its fee. */
async function untilClaimStates(
  relayer: SceneRelayer,
  sent: readonly SentMessage[],
  stateOf: (fee: bigint) => string,
): Promise<void> {
  await waitUntil("deliveries in their claim state", async () => {
    const rows = await rowsOf(relayer, sent);
    return rows.length === sent.length &&
      rows.every(({ claimState, fee }) => claimState === stateOf(fee ?? 0n));
  }, { everyMs: 400 });
}

async function rowsOf(
  relayer: SceneRelayer,
  sent: readonly SentMessage[],
): Promise<Awaited<ReturnType<SceneRelayer["ledger"]>>["deliveries"]> {
  const wanted = new Set(sent.map(({ commitment, request }) => `${commitment} ${request.dest}`));
  return (await relayer.ledger()).deliveries.filter(({ commitment, dest }) =>
    wanted.has(`${commitment} ${dest}`)
  );
}

/** Whether a line for people is about fees of messages from a chain, and to another one where that is given. */
function isAbout(line: string, from: DevnetChain, to?: DevnetChain): boolean {
  return new RegExp(`${from.stateMachine}\\)? -> .*${to?.stateMachine ?? ""}`).test(line);
}

async function exists(path: string): Promise<boolean> {
  try {
    await Deno.stat(path);
    return true;
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    return false;
  }
}
