/** `check` on real set-ups: nodes over HTTP, a real database and real key files; the hub is in memory. */
import assert from "node:assert/strict";
import { createEvmChain } from "../../../src/core/chains/evm/evm_chain.ts";
import type { CounterpartyView } from "../../../src/core/chains/reads.ts";
import { about, judgeConfiguration } from "../../../src/core/checks/check_row.ts";
import { ChainNames } from "../../../src/core/config/chain_names.ts";
import { fromHex, toHex } from "../../../src/core/encoding/bytes.ts";
import { parseStateMachine } from "../../../src/core/ismp/state_machine.ts";
import { modeOf } from "../../../src/core/runtime/file_access.ts";
import { systemClock } from "../../../src/core/runtime/system_clock.ts";
import { parseArguments } from "../../../src/messaging/arguments.ts";
import { parseMessagingConfig } from "../../../src/messaging/config/read.ts";
import { DEVNET_KEYS } from "../../../devnet/evm/accounts.ts";
import { withHost } from "../../core/chains/evm/chain_fixture.ts";
import { node } from "../../core/chains/evm/scripted_node.ts";
import { hashOf, newSubmission } from "../../support/ledger_rows.ts";
import { openLedger, withDirectory, writerCommand } from "../../support/ledger.ts";
import { MemoryHub } from "../../support/memory_hub.ts";
import { MemoryNode } from "../../support/memory_node.ts";
import { RecordedLog } from "../../support/recorded_log.ts";
import { ScriptedError, scriptedFetch } from "../../support/scripted_rpc.ts";
import { seededRandomness } from "../../support/seeded_randomness.ts";

const never = new AbortController().signal;
const API_KEY = "ETHERSCANKEY1234567890";

/** A row of the JSON report. */
interface Row {
  readonly chain: string;
  readonly endpoint: string | null;
  readonly check: string;
  readonly result: string;
  readonly found: string;
  readonly advice: string | null;
}

/** A hub that has known a height of every chain for a while. */
class KnowingHub extends MemoryHub {
  ageSec = 60n;

  override fetchView(): Promise<CounterpartyView> {
    const nowSec = BigInt(Math.floor(Date.now() / 1_000));
    return Promise.resolve({ height: 3n, nowSec, challengePeriodSec: 120n, isFrozen: false });
  }

  override fetchUpdateTime(): Promise<bigint> {
    return Promise.resolve(BigInt(Math.floor(Date.now() / 1_000)) - this.ageSec);
  }
}

/** A set-up below one folder. */
interface SetUp {
  readonly folder: string;
  readonly urls: readonly string[];
  readonly host: string;
  readonly keyMode: number;
  readonly apiKey?: string;
  readonly more?: string;
  readonly hubAgeSec?: bigint;
  /** True: the hub knows nothing of the chain. */
  readonly isUnknown?: boolean;
  /** Answer of the relayer that runs on the database; absent: none runs. */
  readonly answer?: string;
  readonly signal?: AbortSignal;
  /** Path of the database; empty: none is named. */
  readonly database?: string;
}

/** Runs `check` on a set-up with one EVM chain; answers of Etherscan refuse the key. */
async function check(setUp: SetUp, isJson = true): Promise<{ readonly code: number; readonly text: string }> {
  const { folder } = setUp;
  const keyPath = `${folder}/key`;
  const configPath = `${folder}/relayer.toml`;
  await Deno.writeTextFile(keyPath, DEVNET_KEYS.relayer);
  await Deno.chmod(keyPath, setUp.keyMode);
  await Deno.writeTextFile(configPath, "");
  const reading = parseMessagingConfig(
    { readFile: Deno.readFileSync, readMode: modeOf },
    `
[hub]
state_machine = "KUSAMA-4009"
rpc_ws = "ws://hub.example.org"

[relayer]
minimum_profit_percentage = 0
delivery_endpoints = ["EVM-1"]

[ethereum]
type = "evm"
state_machine = "EVM-1"
rpc_urls = ${JSON.stringify(setUp.urls)}
consensus_state_id = "ETH0"
etherscan_api_key = "${setUp.apiKey ?? ""}"
ismp_host = "${setUp.host}"
signer = "${keyPath}"
${setUp.more ?? ""}
`,
  );
  const { config, problems } = reading;
  assert.ok(config !== undefined, JSON.stringify(problems));
  const log = new RecordedLog();
  let isReadOnly = false;
  const fetch: typeof scriptedFetch = (...args) => {
    assert.ok(isReadOnly, "an endpoint is asked while files can be written");
    return scriptedFetch(...args);
  };
  const network = { clock: systemClock, randomness: seededRandomness(1), log, fetch };
  const hubNode = new MemoryNode(systemClock, { id: config.hub, family: "substrate" });
  const hub = new KnowingHub(hubNode, systemClock, { relayer: fromHex("11".repeat(20)) });
  hub.ageSec = setUp.hubAgeSec ?? 60n;
  if (setUp.isUnknown) {
    hub.counterpartyFindings = [
      about("EVM-1").failed("chain_unknown", 'knows nothing of "ETH0"'),
    ];
  }
  let text = "";
  const deps = {
    clock: systemClock,
    random: seededRandomness(1),
    log,
    database: `${folder}/relayer.db`,
    // Beside the hub of a test network, Ethereum is remarked upon.
    configured: () =>
      judgeConfiguration(configPath, {
        remarks: reading.remarks.filter(({ place }) => place.endsWith(".signer")),
      }),
    openLedger: () => assert.fail("check does not open the database as the relayer does"),
    connect: () => ({
      hub,
      chains: config.chains.map((chain) => {
        assert.ok(chain.type === "evm");
        return { config: chain, chain: createEvmChain(network, chain) };
      }),
    }),
    dropWriteAccess: () => void (isReadOnly = true),
    openReadOnly: () => assert.fail(),
    isHeld: () => assert.fail(),
    fetch: () => Promise.resolve(Response.json({ status: "0", message: "NOTOK", result: "Invalid API Key" })),
  };
  const parsed = parseArguments([
    "--config=relayer.toml",
    ...setUp.database === "" ? [] : ["--db=x"],
    "check",
  ], "");
  assert.ok(parsed.kind === "run" && parsed.command.kind === "command");
  const code = await parsed.command.run({
    deps: { ...deps, database: setUp.database ?? deps.database },
    config,
    signal: setUp.signal ?? never,
    isJson,
    hasColour: false,
    clock: systemClock,
    names: new ChainNames([config.hub, ...config.chains]),
    printError: () => assert.fail(),
    askRunning: () => Promise.resolve(setUp.answer),
    here: () => assert.fail(),
    print: (given) => void (text += given),
  });
  return { code, text };
}

async function hashOfFile(path: string): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", await Deno.readFile(path));
  return toHex(new Uint8Array(digest));
}

Deno.test("check: a set-up with ten different faults gives a line for each, with its cure", async () => {
  const good = node({
    eth_getCode: () => "0x6000",
    eth_getBalance: () => "0x0",
    eth_getBlockByNumber: () => ({
      number: "0x100",
      hash: `0x${"07".repeat(32)}`,
      stateRoot: `0x${"08".repeat(32)}`,
      timestamp: `0x${Math.floor(Date.now() / 1_000).toString(16)}`,
    }),
    eth_getLogs: ([filter]) => {
      const { fromBlock, toBlock } = JSON.parse(JSON.stringify(filter));
      return BigInt(toBlock) - BigInt(fromBlock) >= 100n
        ? new ScriptedError(-32602, "block range is too wide: \u001b[2J maximum is 100 blocks")
        : [];
    },
  });
  const stranger = node({ eth_chainId: () => "0x2" });
  await withDirectory(async (folder) => {
    const database = `${folder}/relayer.db`;
    const account = "0x70997970c51812dc3a010c7d01b50e0d17dc79c8";
    const chain = parseStateMachine("EVM-1");
    const ledger = openLedger(database, { clock: systemClock });
    ledger.bindHub(parseStateMachine("KUSAMA-4009"));
    ledger.transaction(() => {
      ledger.submissions.record({
        kind: "cancel",
        submission: newSubmission(1, { hash: hashOf(1), chain, account, nonce: 2n }),
        items: [],
      });
    });
    ledger.close();
    const before = await hashOfFile(database);
    const { code, text } = await check({
      folder,
      urls: [good.url, stranger.url, "http://127.0.0.1:9/v3/secretpathkey1234567890"],
      host: "0x2279b7a0a67db372996a5fab50d91eaa73d2ebe6",
      keyMode: 0o644,
      apiKey: API_KEY,
      more: "query_batch_size = 5000",
      hubAgeSec: 7n * 86_400n,
    });
    assert.equal(code, 1);
    const { result, checks }: { result: string; checks: readonly Row[] } = JSON.parse(text);
    assert.equal(result, "failed");
    const dead = "127.0.0.1:9";
    const expected: readonly (readonly [string, string | null, string, RegExp, RegExp])[] = [
      ["endpoint", dead, "warning", /does not answer: unreachable/, /check the URL/],
      ["chain_id", stranger.host, "warning", /serves EVM-2, not EVM-1/, /remove it from rpc_urls/],
      ["simulation", good.host, "warning", /no debug_traceCall .*nor eth_simulateV1/, /use an endpoint/],
      ["logs", good.host, "warning", /query_batch_size = 5000 is refused .* 100 blocks work/, /to 100/],
      ["state_proof", good.host, "failed", /no eth_getProof of block 3/, /archive/],
      ["balance", null, "failed", /0x7099\S+ has 0 native tokens/, /send 0x7099\S+ native tokens of EVM-1/],
      ["nonce", null, "warning", /2 transactions of 0x7099\S+ are not in the database/, /account of its own/],
      ["price", "etherscan", "warning", /bad_key/, /etherscan_api_key/],
      ["hub_view", null, "warning", /knows height 3 by "ETH0", updated 7 d ago/, /causeway-consensus/],
      [
        "configuration",
        null,
        "warning",
        /\[ethereum\]\.signer: found a file that every user of this machine can read \(mode 644\).*chmod 600/,
        /^$/,
      ],
    ];
    for (const [name, endpoint, outcome, found, advice] of expected) {
      const rows = checks.filter((row) => row.check === name && row.endpoint === endpoint);
      assert.deepEqual(rows.map((row) => row.result), [outcome], `${name}: ${text}`);
      assert.match(rows[0]?.found ?? "", found);
      assert.match(rows[0]?.advice ?? "", advice);
    }
    const ok = checks.filter((row) => row.result === "ok").map(({ check }) => check);
    assert.deepEqual(["database", "instance", "head", "batch"].filter((each) => !ok.includes(each)), []);
    assert.equal(await hashOfFile(database), before);
    assert.deepEqual([...Deno.readDirSync(folder)].map(({ name }) => name).sort(), [
      "key",
      "relayer.db",
      "relayer.db.lock",
      "relayer.toml",
    ]);
    assert.doesNotMatch(text, /secretpathkey|ETHERSCANKEY/);
    assert.ok(!text.includes(DEVNET_KEYS.relayer.slice(2)));
    const sent = good.calls.filter(({ method }) => method.startsWith("eth_send"));
    assert.deepEqual(sent, []);
  });
});

Deno.test("check: a set-up in order ends with 0, and an open key file alone with 3", async () => {
  await withHost(1, (host) =>
    withDirectory(async (folder) => {
      const setUp = { folder, urls: [host.rpcUrl], host: host.addresses.host, keyMode: 0o600 };
      const { code, text } = await check(setUp, false);
      assert.equal(code, 0, text);
      assert.match(
        text,
        /^ethereum \(EVM-1\) +simulation +ok +127\.0\.0\.1:\d+: debug_traceCall, with logs$/m,
      );
      assert.match(text, /^ethereum \(EVM-1\) +state_proof +ok /m);
      assert.match(text, /^machine +database +ok +\S+ does not exist yet and can be created$/m);
      assert.match(text, /: 0 failed, 0 warnings, \d+ ok$/);
      assert.equal((await check({ ...setUp, keyMode: 0o604 })).code, 3);
      const { text: unknown } = await check({ ...setUp, isUnknown: true }, false);
      assert.match(unknown, /chain_unknown +failed/);
      assert.doesNotMatch(unknown, /hub_view/); // one cause, one row
      const without = await check({ ...setUp, database: "" }, false);
      assert.equal(without.code, 0, without.text);
      assert.doesNotMatch(without.text, /^machine +(?:database|instance)/m);
      assert.match(without.text, /no database is named with --db, so nonces were not compared/);
    }));
});

Deno.test("check: a database that another process holds is named, and nonces are not compared", async () => {
  await withHost(1, (host) =>
    withDirectory(async (folder) => {
      const holder = writerCommand(`${folder}/relayer.db`).spawn();
      try {
        const reader = holder.stdout.getReader();
        await reader.read();
        reader.releaseLock();
        const setUp = { folder, urls: [host.rpcUrl], host: host.addresses.host, keyMode: 0o600 };
        const { code, text } = await check(setUp);
        const { checks }: { checks: readonly Row[] } = JSON.parse(text);
        assert.equal(code, 3, text);
        const [instance] = checks.filter(({ result }) => result !== "ok");
        assert.deepEqual([instance?.check, instance?.chain], ["instance", "machine"]);
        assert.match(instance?.advice ?? "", /fuser \S+relayer\.db/);
        assert.match(checks.find(({ check }) => check === "nonce")?.found ?? "", /not compared/);
        const beside = await check({ ...setUp, answer: '{"ok":true,"output":{}}' }, false);
        assert.equal(beside.code, 0, beside.text);
        assert.match(beside.text, /^machine +instance +ok +the running relayer holds \S+, and answers/m);
      } finally {
        holder.kill("SIGKILL");
        await Promise.all([holder.stdout.cancel(), holder.stderr.cancel(), holder.status]);
      }
    }));
});

Deno.test("check: a signal ends it at once, without a report and not as a success", async () => {
  const stop = new AbortController();
  const slow = node({
    eth_getBlockByNumber: () => {
      stop.abort(new Error("asked to stop"));
      return null;
    },
  });
  await withDirectory(async (folder) => {
    const host = "0x2279b7a0a67db372996a5fab50d91eaa73d2ebe6";
    const ended = await check({ folder, urls: [slow.url], host, keyMode: 0o600, signal: stop.signal });
    assert.deepEqual(ended, { code: 1, text: "" });
  });
});
