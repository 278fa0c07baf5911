/** Chromium without a window, steered over its debugging protocol (https://chromedevtools.github.io/devtools-protocol/). */

/** A page in the browser. */
export interface BrowserPage {
  /** Loads an address and waits until it is shown. */
  readonly open: (url: string) => Promise<void>;
  /** Value of an expression in the page. */
  readonly evaluate: (expression: string) => Promise<unknown>;
  /** Sets width in CSS pixels and colour scheme. */
  readonly show: (options: { readonly width: number; readonly scheme: "light" | "dark" }) => Promise<void>;
  /** Whole page as PNG. */
  readonly photograph: () => Promise<Uint8Array>;
  /** What the browser complained about: refused styles and scripts, errors. */
  readonly complaints: readonly string[];
}

interface Answer {
  readonly id?: number;
  readonly method?: string;
  readonly params?: Readonly<Record<string, unknown>>;
  readonly result?: Readonly<Record<string, unknown>>;
  readonly error?: unknown;
}

/** Sends a command of the protocol. */
type Send = (method: string, params?: object) => Promise<Readonly<Record<string, unknown>>>;

/** Runs `work` with one page of a browser that has no history, and ends the browser. */
export async function withPage(work: (page: BrowserPage) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "chromium-" });
  const browser = new Deno.Command("chromium", {
    args: [
      "--headless=new",
      "--no-sandbox",
      "--disable-gpu",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--remote-debugging-port=0",
      `--user-data-dir=${folder}`,
      "about:blank",
    ],
    stdin: "null",
    stdout: "null",
    stderr: "piped",
  }).spawn();
  const ended = browser.status;
  const { address, drained } = readDebuggingAddress(browser.stderr);
  try {
    const base = await address;
    const targets: readonly { readonly type: string; readonly webSocketDebuggerUrl: string }[] =
      await (await fetch(`${base}/json/list`)).json();
    const target = targets.find(({ type }) => type === "page");
    if (target === undefined) throw new Error("Chromium opened no page");
    await connect(target.webSocketDebuggerUrl, work);
  } finally {
    browser.kill("SIGKILL");
    await Promise.all([ended, drained]);
    await Deno.remove(folder, { recursive: true });
  }
}

/** Reads the address that Chromium announces on standard error, and drops the rest. */
function readDebuggingAddress(
  stderr: ReadableStream<Uint8Array>,
): { readonly address: Promise<string>; readonly drained: Promise<void> } {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const drained = (async () => {
    let said = "";
    for await (const piece of stderr.pipeThrough(new TextDecoderStream())) {
      said = (said + piece).slice(-20_000);
      const [, host] = /DevTools listening on ws:\/\/([^/]+)\//.exec(said) ?? [];
      if (host !== undefined) resolve(`http://${host}`);
    }
    reject(new Error(`Chromium ended: ${said}`));
  })();
  return { address: promise, drained };
}

async function connect(url: string, work: (page: BrowserPage) => Promise<void>): Promise<void> {
  const socket = new WebSocket(url);
  await new Promise((resolve, reject) => {
    socket.addEventListener("open", resolve, { once: true });
    socket.addEventListener("error", reject, { once: true });
  });
  const waiting = new Map<number, (answer: Answer) => void>();
  const events = new Map<string, () => void>();
  const complaints: string[] = [];
  socket.addEventListener("message", ({ data }) => {
    const answer: Answer = JSON.parse(String(data));
    if (answer.id !== undefined) waiting.get(answer.id)?.(answer);
    if (answer.method === "Log.entryAdded" || answer.method === "Runtime.exceptionThrown") {
      complaints.push(JSON.stringify(answer.params));
    }
    if (answer.method !== undefined) events.get(answer.method)?.();
  });
  let last = 0;
  const send: Send = async (method, params = {}) => {
    const id = ++last;
    const answered = new Promise<Answer>((resolve) => waiting.set(id, resolve));
    socket.send(JSON.stringify({ id, method, params }));
    const { result, error } = await answered;
    waiting.delete(id);
    if (result === undefined) throw new Error(`${method}: ${JSON.stringify(error)}`);
    return result;
  };
  const closed = new Promise((resolve) => socket.addEventListener("close", resolve, { once: true }));
  try {
    for (const domain of ["Page", "Log", "Runtime"]) await send(`${domain}.enable`);
    await work({
      complaints,
      open: async (address) => {
        const loaded = new Promise<void>((resolve) => events.set("Page.loadEventFired", resolve));
        await send("Page.navigate", { url: address });
        await loaded;
      },
      evaluate: async (expression) => {
        const { result } = await send("Runtime.evaluate", { expression, returnByValue: true });
        return typeof result === "object" && result !== null && "value" in result ? result.value : undefined;
      },
      show: async ({ width, scheme }) => {
        await send("Emulation.setDeviceMetricsOverride", {
          width,
          height: 900,
          deviceScaleFactor: 1,
          mobile: width < 600,
        });
        await send("Emulation.setEmulatedMedia", {
          features: [{ name: "prefers-color-scheme", value: scheme }],
        });
      },
      photograph: async () => {
        const { data } = await send("Page.captureScreenshot", { captureBeyondViewport: true, format: "png" });
        return Uint8Array.fromBase64(String(data));
      },
    });
  } finally {
    socket.close();
    await closed;
  }
}
