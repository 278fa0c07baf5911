/**
 * The status page in a real Chromium. Task of its own: `deno task page` (Debian: apt install chromium). With a folder in
 * PAGE_PICTURES the screenshots stay there, to be looked at.
 */
import assert from "node:assert/strict";
import { platformListener } from "../../src/core/telemetry/http/http_listener.ts";
import { createStatusHandler } from "../../src/core/telemetry/http/status_server.ts";
import { haveCommands } from "../release/support/debian.ts";
import { withPage } from "./support/browser.ts";
import { makeSampleRelayer } from "./support/sample_relayer.ts";

const VIEWS = [
  { name: "narrow", width: 360, scheme: "light" },
  { name: "wide", width: 1280, scheme: "light" },
  { name: "dark", width: 1280, scheme: "dark" },
  { name: "narrow-dark", width: 360, scheme: "dark" },
] as const;

Deno.test("page: Chromium shows it without a script, at 360 pixels and wide, light and dark, whatever chains say", async () => {
  assert.ok(await haveCommands({ chromium: "chromium" }), "There is no `chromium`: apt install chromium");
  const { watch, ledger } = await makeSampleRelayer();
  const errors: unknown[] = [];
  const handle = createStatusHandler(watch.sources(), (error) => errors.push(error));
  const listener = platformListener({ host: "127.0.0.1", port: 0 }, handle);
  const folder = Deno.env.get("PAGE_PICTURES");
  const backs = new Map<string, unknown>();
  try {
    await withPage(async (page) => {
      for (const { name, width, scheme } of VIEWS) {
        await page.show({ width, scheme });
        await page.open(`http://127.0.0.1:${listener.port}/`);
        assert.equal(await page.evaluate("document.title"), "causeway");
        assert.equal(await page.evaluate("document.querySelectorAll('script, img').length"), 0);
        const wide = await page.evaluate("document.documentElement.scrollWidth");
        assert.ok(Number(wide) <= width, `${name}: the page is ${wide} pixels wide`);
        const text = String(await page.evaluate("document.body.innerText"));
        for (
          const said of [
            "Not ready",
            "waiting_for_update",
            "down.example",
            '<script>document.title = "owned"',
          ]
        ) {
          assert.ok(text.includes(said), `${name}: ${said}`);
        }
        backs.set(name, await page.evaluate("getComputedStyle(document.body).backgroundColor"));
        if (folder !== undefined) await Deno.writeFile(`${folder}/${name}.png`, await page.photograph());
      }
      assert.deepEqual(page.complaints.filter((complaint) => !complaint.includes("favicon")), []);
    });
    assert.equal(backs.get("narrow"), backs.get("wide"));
    assert.notEqual(backs.get("wide"), backs.get("dark"));
    assert.deepEqual(errors, []);
  } finally {
    await listener.close();
    ledger.close();
  }
});
