/** Chromium without a window, for pages that programs serve. */
import { launch, type Page } from "puppeteer-core";

/** A page in the browser. */
export interface BrowserPage extends Pick<Page, "goto" | "evaluate" | "screenshot"> {
  /** Sets width in CSS pixels and colour scheme. */
  readonly show: (options: { readonly width: number; readonly scheme: "light" | "dark" }) => Promise<void>;
  /** What the browser complained about: refused styles and scripts, errors. */
  readonly complaints: readonly string[];
}

/** Runs `work` with one page of a browser that has no history, and ends the browser. */
export async function withPage(work: (page: BrowserPage) => Promise<void>): Promise<void> {
  const browser = await launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] });
  try {
    const page = await browser.newPage();
    const complaints: string[] = [];
    page.on("console", (message) => void complaints.push(message.text()));
    page.on("pageerror", (error) => void complaints.push(String(error)));
    await work(Object.assign(page, {
      complaints,
      show: async ({ width, scheme }: Parameters<BrowserPage["show"]>[0]) => {
        await page.setViewport({ width, height: 900, isMobile: width < 600 });
        await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
      },
    }));
  } finally {
    await browser.close();
  }
}
