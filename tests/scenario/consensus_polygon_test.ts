/** The compiled consensus relayer on Polygon: milestones, changing validators, missed sets, lies. */
import assert from "node:assert/strict";
import { resultHttp } from "../../devnet/hub/json_rpc_client.ts";
import type { AlterNodeAnswer, Heimdall } from "../../devnet/heimdall/heimdall.ts";
import type { NodeJson } from "../../devnet/heimdall/heimdall_chain.ts";
import { type ConsensusScene, playConsensus } from "./support/consensus_scene.ts";
import type { RelayerProcess } from "./support/relayer_process.ts";
import { waitUntil } from "../../devnet/waiting.ts";

/** Heimdall's blocks until a validator changes: some looks of the relayer. */
const BLOCKS_PER_SET = 20n;

/** Sets that change while nobody relays; each takes an update. */
const MISSED_SETS = 3n;

function heimdallOf(scene: ConsensusScene): Heimdall {
  const { heimdall } = scene.chain("polygon").proven;
  if (heimdall === undefined) throw new Error("A Polygon chain without Heimdall");
  return heimdall;
}

/** Waits until so many more sets than now have signed. */
async function untilSetsChanged(heimdall: Heimdall, sets: bigint): Promise<void> {
  const wanted = (heimdall.chain.head / BLOCKS_PER_SET + sets) * BLOCKS_PER_SET + 1n;
  await waitUntil(`Heimdall has block ${wanted}`, () => heimdall.chain.head >= wanted);
}

type Fields = { readonly [name: string]: NodeJson };

function fieldsOf(json: NodeJson | undefined): Fields {
  if (typeof json !== "object" || json === null || Array.isArray(json)) throw new TypeError("No fields");
  return json as Fields;
}

/** An answer to `commit` with other fields of the header. */
function withHeader(change: (header: Fields) => Fields): AlterNodeAnswer {
  return (method, result) => {
    if (method !== "commit") return result;
    const signed = fieldsOf(fieldsOf(result).signed_header);
    return { signed_header: { ...signed, header: { ...change(fieldsOf(signed.header)) } }, canonical: true };
  };
}

/** Votes whose signatures are for another block. */
const forgedVotes: AlterNodeAnswer = (method, result) => {
  if (method !== "commit") return result;
  const signed = fieldsOf(fieldsOf(result).signed_header);
  const commit = fieldsOf(signed.commit);
  const signatures = commit.signatures;
  if (!Array.isArray(signatures)) throw new TypeError("No signatures");
  const forged = signatures.map((entry) => ({ ...fieldsOf(entry), timestamp: "2026-01-01T00:00:00Z" }));
  return { signed_header: { ...signed, commit: { ...commit, signatures: forged } }, canonical: true };
};

/** One lie of each kind: in a header that then has not its hash, and in the votes for it. */
const LIES: readonly (readonly [what: string, lie: AlterNodeAnswer, code: string])[] = [
  ["the state of a header", withHeader((header) => ({ ...header, app_hash: "00".repeat(32) })), "malformed"],
  ["votes", forgedVotes, "(signature)"],
];

Deno.test("consensus of a Polygon chain", (t) =>
  playConsensus(
    t,
    { kinds: ["polygon"], proven: { heimdall: { blocksPerSet: BLOCKS_PER_SET } } },
    async (scene) => {
      const { node } = scene.chain("polygon");
      const heimdall = heimdallOf(scene);
      let relayer: RelayerProcess;

      await scene.step("heights on the hub grow with milestones", async () => {
        relayer = await scene.start();
        await scene.untilGrown(["polygon"], 2);
      });

      await scene.step("validators that change while it runs are followed", async () => {
        await untilSetsChanged(heimdall, 2n);
        await scene.untilHubHas("polygon", await scene.head("polygon"));
      });

      await scene.step("blocks that Bor's head loses are no harm", async () => {
        for (let times = 0; times < 2; times++) {
          await resultHttp(node.rpcUrl, "anvil_reorg", [2, []]);
          await scene.untilGrown(["polygon"]);
        }
      });

      await scene.step("after a crash all sets that were missed are delivered in one extrinsic", async () => {
        await scene.kill(relayer);
        await untilSetsChanged(heimdall, MISSED_SETS);
        const head = await scene.head("polygon");
        relayer = await scene.start();
        const line = await relayer.waitForLine("update_accepted");
        assert.ok(Number(line.record?.updates) > Number(MISSED_SETS), line.text);
        await scene.untilHubHas("polygon", head - 4n);
      });

      for (const [what, lie, code] of LIES) {
        await scene.step(
          `a Heimdall node that lies about ${what} is named, and nothing is submitted`,
          async () => {
            const host = new URL(heimdall.url).host;
            scene.expect(({ text }) => text.includes(host));
            const since = scene.now(relayer);
            await scene.whileStopped(relayer, () => {
              heimdall.alter = lie;
              return Promise.resolve();
            });
            await scene.untilFailed(relayer, 1, since);
            const height = scene.hubHeight("polygon");
            await scene.untilFailed(relayer, 2, since);
            assert.equal(scene.hubHeight("polygon"), height);
            const named = relayer.lines.slice(since).filter(({ level, text }) =>
              (level === "warn" || level === "error") && text.includes(host) && text.includes(code)
            );
            assert.ok(named.length > 0);
            heimdall.alter = undefined;
            await scene.untilGrown(["polygon"]);
          },
        );
      }

      await scene.step(
        "a client with the state that the program prints is one that the hub moves on from",
        async () => {
          await scene.stop(relayer);
          await scene.renewClient("polygon");
          relayer = await scene.start();
          await scene.untilGrown(["polygon"]);
        },
      );
    },
  ));
