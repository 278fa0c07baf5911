/** Posts to a webhook: what changed, once, with what helps and without secrets. */
import assert from "node:assert/strict";
import { Webhook } from "../../../src/core/checks/webhook.ts";
import { ChainNames } from "../../../src/core/config/chain_names.ts";
import { EndpointUrl } from "../../../src/core/config/redact.ts";
import type { NotReadyReason } from "../../../src/core/telemetry/readiness.ts";
import { openLog } from "../../../src/core/telemetry/open_log.ts";
import { FakeClock } from "../../support/fake_clock.ts";

const URL_KEY = "hookpathkey1234567890";

/** A program whose reasons change, and a receiver. */
class Scene {
  readonly clock = new FakeClock();
  readonly lines: string[] = [];
  readonly log = openLog({
    format: "json",
    level: "info",
    clock: this.clock,
    write: (line) => this.lines.push(line),
    secrets: ["nodepathkey1234567890"],
  });
  readonly posts: Record<string, unknown>[] = [];
  readonly asked: string[] = [];
  reasons: readonly NotReadyReason[] = [];
  answer: () => Promise<Response> = () => Promise.resolve(new Response("ok"));
  readonly #stop = new AbortController();
  readonly #running: Promise<unknown>;

  constructor() {
    const { clock, log } = this;
    const poster = new Webhook({
      clock,
      log,
      reasons: () => this.reasons,
      names: new ChainNames([{ section: "base-sepolia", stateMachine: "EVM-84532" }]),
      fetch: async (url, init) => {
        const answer = await this.answer();
        this.asked.push(url);
        if (answer.ok) this.posts.push(JSON.parse(String(init.body)));
        return answer;
      },
    });
    const [worker] = poster.workers(new EndpointUrl(`https://hooks.example.org/${URL_KEY}`), {
      name: "causeway",
      hub: "KUSAMA-4009",
    });
    assert.ok(worker !== undefined);
    this.#running = worker.run(this.#stop.signal).catch(() => undefined);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  reason(code: string, explanation = "It has no gas."): NotReadyReason {
    const place = { chain: "EVM-84532", leg: undefined, sinceMs: this.clock.now() };
    return { code, ...place, explanation, help: "Send it native tokens." };
  }

  get texts(): readonly unknown[] {
    return this.posts.map(({ text }) => text);
  }
}

Deno.test("webhook: a reason that holds is posted once with what helps, and once more when it is over", async () => {
  await using scene = new Scene();
  const { clock } = scene;
  scene.reasons = [scene.reason("wallet_empty")];
  await clock.advance(20_000);
  assert.deepEqual(scene.texts, [], "most faults end sooner");
  await clock.advance(600_000);
  assert.deepEqual(scene.texts, [
    "causeway of KUSAMA-4009 is not ready.\nbase-sepolia (EVM-84532): wallet_empty: It has no gas. Send it native tokens.",
  ]);
  const [post] = scene.posts;
  assert.deepEqual([post?.["content"], post?.["ready"]], [post?.["text"], false]);
  scene.reasons = [];
  await clock.advance(600_000);
  assert.deepEqual(
    scene.texts.slice(1),
    ["causeway of KUSAMA-4009 is ready.\nbase-sepolia (EVM-84532): wallet_empty is resolved."],
  );
});

Deno.test("webhook: a reason that comes and goes is one, and posts are at least a minute apart", async () => {
  await using scene = new Scene();
  const { clock } = scene;
  const flapping = scene.reason("light_client_stale");
  for (let n = 0; n < 20; n++) {
    scene.reasons = n % 2 === 0 ? [flapping] : [];
    await clock.advance(60_000);
  }
  assert.equal(scene.posts.length, 1);
  for (let n = 0; n < 12; n++) {
    scene.reasons = [...scene.reasons, { ...scene.reason(`reason_${n}`), sinceMs: 0 }];
    await clock.advance(10_000);
  }
  assert.ok(scene.posts.length <= 4, `${scene.posts.length}`);
  await clock.advance(120_000);
  assert.ok(scene.texts.join().includes("reason_11"));
});

Deno.test("webhook: no secret, no mention of people and no line of a node's own gets into a post", async () => {
  await using scene = new Scene();
  scene.log.hide(["reloadedkey1234567890"]); // a key of the configuration that SIGHUP had read
  scene.reasons = [
    scene.reason(
      "endpoint_down",
      "nodepathkey1234567890, reloadedkey1234567890 of https://node.example.org says @everyone <!here>\nok",
    ),
  ];
  await scene.clock.advance(60_000);
  const body = JSON.stringify(scene.posts);
  assert.doesNotMatch(body, /nodepathkey|reloadedkey|@|<!/);
  assert.match(body, /node\.example\.org/);
  assert.deepEqual(scene.asked, [`https://hooks.example.org/${URL_KEY}`]);
});

Deno.test("webhook: a webhook that fails or hangs is one warning, and gets the news once it works", async () => {
  await using scene = new Scene();
  const { clock } = scene;
  const answers = [
    () => Promise.reject(new TypeError("dns error: secret")),
    () => Promise.resolve(new Response("", { status: 404 })),
    () => new Promise<never>(() => {}),
  ];
  scene.answer = () => answers.shift()?.() ?? Promise.resolve(new Response("ok"));
  scene.reasons = [scene.reason("wallet_empty")];
  await clock.advance(600_000);
  assert.deepEqual(answers, []);
  assert.equal(scene.posts.length, 1);
  assert.deepEqual(scene.lines.map((line) => JSON.parse(line).event), ["notification_failed"]);
  assert.doesNotMatch(scene.lines.join(), new RegExp(URL_KEY));
});
