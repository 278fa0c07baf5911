/** What deliveries earn becomes credit on the hub: by itself, by hand, later, and never twice. */
import assert from "node:assert/strict";
import { events } from "../../src/core/telemetry/log.ts";
import type { DevnetChain } from "../../devnet/devnet.ts";
import { DEVNET_ACCOUNTS } from "../../devnet/evm/accounts.ts";
import { sendPing, type SentMessage, waitUntil } from "../../devnet/traffic/messages.ts";
import { type ConfigChanges, sectionOf, signerKey } from "../../devnet/programs/relayer_config.ts";
import { creditOf, feeTokensOf, runCommand, startCommand, TOKEN } from "./support/fee_accounts.ts";
import { playScene, type Scene, type SceneRelayer } from "./support/scene.ts";

/** A relayer begins to withdraw a minute after its start, which a busy machine may need for a step: none does here. */
const NEVER_WITHDRAWING = { relayer: { minimum_withdrawal_amount: 1_000_000 } } as const;

/** A pair as tables name it. @param missing a chain that is not in the file, so that it has no section */
function pair(from: DevnetChain, to: DevnetChain, missing?: DevnetChain): string {
  const nameOf = ({ stateMachine }: DevnetChain): string =>
    stateMachine === missing?.stateMachine ? stateMachine : sectionOf(stateMachine);
  return `${nameOf(from)} -> ${nameOf(to)}`;
}

const HEAD = ["pair", "claimed", "already claimed", "no fee", "not yet available", "failed"];

/** Chains of every scene here. */
const KINDS = ["beacon", "op_stack", "bsc"] as const;

Deno.test("claims on nexus: a key per chain, claims disabled at first, a chain out of the file for a while, kills: all is credited and paid", () =>
  playScene({ hub: "nexus", kinds: KINDS }, async (scene) => {
    const { devnet } = scene;
    const [a, b, c] = [devnet.chain("A"), devnet.chain("B"), devnet.chain("C")];
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
    await relayer.untilClaims(sent, "unclaimed");
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
    await relayer.untilClaims(sent, "claimed");
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
  }));

/** Waits until the deliveries are final, and the hub could verify them. */
async function untilProvable(
  scene: Scene,
  relayer: SceneRelayer,
  sent: readonly SentMessage[],
): Promise<void> {
  await waitUntil("the deliveries are final", async () => {
    const rows = await relayer.deliveriesOf(sent);
    return rows.length === sent.length && rows.every(({ isFinal }) => isFinal);
  }, { everyMs: 400 });
  const { devnet } = scene;
  const rows = await relayer.deliveriesOf(sent);
  await waitUntil("the hub knows the blocks of the deliveries", () =>
    rows.every(({ dest, blockHeight }) => {
      const chain = devnet.chain(dest);
      return (devnet.hub.latestHeight(devnet.idOnHub(chain)) ?? 0n) >= blockHeight;
    }));
}

/** Whether a line for people is about fees of messages from a chain, and to another one where that is given. */
function isAbout(line: string, from: DevnetChain, to?: DevnetChain): boolean {
  return new RegExp(`${from.stateMachine}\\)? -> .*${to?.stateMachine ?? ""}`).test(line);
}
