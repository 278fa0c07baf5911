/**
 * The status page in a real Chromium. Task of its own: `deno task page` (Debian: apt install chromium). With a folder in
 * PAGE_PICTURES the screenshots stay there, to be looked at.
 */
import assert from "node:assert/strict";
import { platformListener } from "../../src/core/telemetry/http/http_listener.ts";
import { createStatusHandler, type StatusSources } from "../../src/core/telemetry/http/status_server.ts";
import { haveCommands } from "../release/support/debian.ts";
import { withPage } from "./support/browser.ts";
import { makeSampleConsensusRelayer } from "./support/sample_consensus_relayer.ts";
import { makeSampleRelayer } from "./support/sample_relayer.ts";

const VIEWS = [
  { name: "narrow", width: 360, scheme: "light" },
  { name: "wide", width: 1280, scheme: "light" },
  { name: "dark", width: 1280, scheme: "dark" },
  { name: "narrow-dark", width: 360, scheme: "dark" },
] as const;

/** What a page must say, whatever the width. */
const SAID = ["Not ready", '<script>document.title = "owned"'];

/** Looks at the page of a program in every view. @param heading name of a column that every row of a narrow page repeats. */
async function lookAt(
  { sources, title, said, heading }: {
    readonly sources: StatusSources;
    readonly title: string;
    readonly said: readonly string[];
    readonly heading: string;
  },
): Promise<void> {
  assert.ok(await haveCommands({ chromium: "chromium" }), "There is no `chromium`: apt install chromium");
  const errors: unknown[] = [];
  const handle = createStatusHandler(sources, (error) => errors.push(error));
  const listener = platformListener({ host: "127.0.0.1", port: 0 }, handle, () => {});
  const folder = Deno.env.get("PAGE_PICTURES");
  const backs = new Map<string, unknown>();
  try {
    await withPage(async (page) => {
      for (const { name, width, scheme } of VIEWS) {
        await page.show({ width, scheme });
        await page.goto(`http://127.0.0.1:${listener.port}/`);
        assert.equal(await page.evaluate("document.title"), title);
        assert.equal(await page.evaluate("document.querySelectorAll('script, img').length"), 0);
        const wide = await page.evaluate("document.documentElement.scrollWidth");
        assert.ok(Number(wide) <= width, `${name}: the page is ${wide} pixels wide`);
        const text = String(await page.evaluate("document.body.innerText"));
        for (const words of [...SAID, ...said]) assert.ok(text.includes(words), `${name}: ${words}`);
        const row = `document.querySelector('tbody td[data-name="${heading}"]')`;
        const label = await page.evaluate(`getComputedStyle(${row}, '::before').content`);
        assert.equal(label, width < 600 ? `"${heading} "` : "none", name);
        backs.set(name, await page.evaluate("getComputedStyle(document.body).backgroundColor"));
        if (folder !== undefined) {
          await Deno.writeFile(`${folder}/${title}-${name}.png`, await page.screenshot({ fullPage: true }));
        }
      }
      assert.deepEqual(page.complaints.filter((complaint) => !complaint.includes("favicon")), []);
    });
    assert.equal(backs.get("narrow"), backs.get("wide"));
    assert.notEqual(backs.get("wide"), backs.get("dark"));
    assert.deepEqual(errors, []);
  } finally {
    await listener.close();
  }
}

Deno.test("page: Chromium shows it without a script, at 360 pixels and wide, light and dark, whatever chains say", async () => {
  const { watch, ledger } = await makeSampleRelayer();
  try {
    await lookAt({
      sources: watch.sources(),
      title: "causeway",
      said: ["waiting_for_update", "down.example"],
      heading: "deliveries",
    });
  } finally {
    ledger.close();
  }
});

Deno.test("page: that of the consensus relayer is shown as well", async () => {
  const watch = await makeSampleConsensusRelayer();
  await lookAt({
    sources: watch.sources(),
    title: "causeway-consensus",
    said: ["no new dispute game", "bsc.example", "frozen"],
    heading: "last update",
  });
});
