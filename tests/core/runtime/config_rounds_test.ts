import assert from "node:assert/strict";
import {
  ReloadRequested,
  rereader,
  runRounds,
  tellConfiguration,
} from "../../../src/core/runtime/config_rounds.ts";
import { findChangedKeys } from "../../../src/core/config/changed_keys.ts";
import type { ConfigResult } from "../../../src/core/config/diagnostics.ts";
import { type ExitCode, exitCodes } from "../../../src/core/runtime/exit_codes.ts";
import { parseMessagingConfig } from "../../../src/messaging/config/read.ts";
import type { MessagingConfig } from "../../../src/messaging/config/schema.ts";
import { edited, GOOD_TOML } from "../../messaging/config/wrong_configs.ts";
import { RecordedLog } from "../../support/recorded_log.ts";

type Work = (config: string, signal: AbortSignal) => Promise<ExitCode>;

/** Rounds over texts: `request` has the next one read, `undefined` being a file that changes nothing. */
class Rounds {
  readonly stop = new AbortController();
  readonly worked: string[] = [];
  isWatched = false;
  #request = (): void => assert.fail("nobody watches");
  #next: string | undefined;

  request(next: string | undefined): void {
    this.#next = next;
    this.#request();
  }

  run(work: Work): Promise<ExitCode> {
    const watch = (request: () => void): () => void => {
      this.isWatched = true;
      this.#request = request;
      return () => {
        this.isWatched = false;
      };
    };
    const options = { read: () => this.#next, watch };
    return runRounds(options, { first: "first", signal: this.stop.signal }, (config, signal) => {
      this.worked.push(config);
      return work(config, signal);
    });
  }
}

/** Works until the round ends, as a relayer does. */
function untilEnded(signal: AbortSignal): Promise<ExitCode> {
  return new Promise((resolve) =>
    signal.addEventListener("abort", () => resolve(exitCodes.ok), { once: true })
  );
}

Deno.test("rounds: a new configuration ends the round and begins another, a stop ends them all", async () => {
  const rounds = new Rounds();
  const ended = rounds.run((config, signal) => {
    if (config === "first") queueMicrotask(() => rounds.request("second"));
    else {
      queueMicrotask(() => {
        rounds.request(undefined);
        rounds.stop.abort(new Error("stop"));
      });
    }
    return untilEnded(signal);
  });
  assert.equal(await ended, 0);
  assert.deepEqual([rounds.worked, rounds.isWatched], [["first", "second"], false]);
});

Deno.test("rounds: a round that ends by itself ends the program with its status", async () => {
  const rounds = new Rounds();
  assert.equal(await rounds.run(() => Promise.resolve(exitCodes.stalled)), exitCodes.stalled);
  assert.deepEqual(rounds.worked, ["first"]);
});

Deno.test("rounds: an abort during the start is the end of the round, other faults end the program", async () => {
  const rounds = new Rounds();
  const ended = rounds.run(async (config, signal) => {
    if (config === "second") return exitCodes.ok;
    rounds.request("second");
    assert.ok(signal.reason instanceof ReloadRequested);
    signal.throwIfAborted();
    return await Promise.resolve(exitCodes.failed);
  });
  assert.equal(await ended, 0);
  assert.deepEqual(rounds.worked, ["first", "second"]);
  const broken = new Rounds();
  await assert.rejects(broken.run(() => Promise.reject(new TypeError("defect"))), TypeError);
});

Deno.test("rounds: a round that could not end in order ends the program", async () => {
  const rounds = new Rounds();
  const ended = rounds.run(async (_, signal) => {
    queueMicrotask(() => rounds.request("second"));
    await untilEnded(signal);
    return exitCodes.failed;
  });
  assert.equal(await ended, exitCodes.failed);
});

function parse(toml: string): ConfigResult<MessagingConfig> {
  return parseMessagingConfig({ readFile: () => assert.fail("a file was read") }, toml);
}

const SECRET = "evmrpckey1";
const NEW_SECRET = "evmrpckey2";

Deno.test("reload: keys with other values are named, without the values, and sections that come or go", () => {
  const changed = (toml: string): readonly string[] =>
    findChangedKeys(parse(GOOD_TOML).values, parse(toml).values);
  assert.deepEqual(changed(GOOD_TOML), []);
  assert.deepEqual(changed(`# ${GOOD_TOML}`), []);
  assert.deepEqual(
    changed(edited([SECRET, NEW_SECRET], ["minimum_profit_percentage = 0", "minimum_profit_percentage = 5"])),
    ["[relayer].minimum_profit_percentage", "[evm1].rpc_urls"],
  );
  assert.deepEqual(changed(edited(["ETHERSCANKEY1", "ETHERSCANKEY2"])), ["[evm1].etherscan_api_key"]);
  assert.deepEqual(changed(GOOD_TOML.slice(0, GOOD_TOML.indexOf("[para]"))), ["[para]"]);
  assert.deepEqual(changed(edited(["[para]", "[chain]"])).toSorted(), ["[chain]", "[para]"]);
});

Deno.test("reload: what the file says is logged, used where it changed, and its secrets are hidden from then on", () => {
  const log = new RecordedLog();
  const hidden: string[] = [];
  let toml = GOOD_TOML;
  const first = parse(toml);
  assert.ok(first.config !== undefined);
  const read = rereader({
    file: "r.toml",
    reading: first,
    readAgain: () => parse(toml),
    keepFixed: (before, after) => {
      const isSame = before.hub.stateMachine === after.hub.stateMachine;
      const hub = { ...after.hub, stateMachine: before.hub.stateMachine };
      return { config: { ...after, hub }, fixed: isSame ? [] : ["[hub].state_machine"] };
    },
    log: {
      debug: (event, fields) => log.debug(event, fields),
      info: (event, fields) => log.info(event, fields),
      warn: (event, fields) => log.warn(event, fields),
      error: (event, fields) => log.error(event, fields),
      hide: (secrets) => void hidden.push(...secrets),
    },
  }, first.config);
  const said = (): readonly string[] =>
    log.lines.splice(0).map(({ event, fields }) =>
      `${event} ${fields["changed"] ?? fields["explanation"] ?? ""}`.trim()
    );
  assert.equal(read(), undefined);
  assert.deepEqual(said(), ["configuration_reload.unchanged"]);

  toml = edited(["Blake2", "Blake3"], ["minimum_profit_percentage = 0", "minimum_profit_percentage = -1"]);
  assert.equal(read(), undefined);
  assert.deepEqual(said().map((line) => line.split(": found")[0]), [
    "configuration_reload.refused r.toml:7: [relayer].minimum_profit_percentage",
    "configuration_reload.refused r.toml:25: [para].hashing",
  ]);

  toml = edited(["ETHERSCANKEY1", "ETHERSCANKEY2"], ["KUSAMA-4009", "KUSAMA-4010"]);
  const config = read();
  assert.equal(config?.hub.stateMachine, "KUSAMA-4009");
  assert.ok(hidden.includes("ETHERSCANKEY2"));
  assert.deepEqual(said(), [
    "configuration_reload.restart_needed [hub].state_machine",
    "configuration_reload.applied [evm1].etherscan_api_key",
  ]);
  assert.equal(read(), undefined);
});

Deno.test("configuration: its warnings and notes are told, each at its level", () => {
  const at = { place: "[hub].signer", line: 3 };
  const reading = {
    remarks: [
      { ...at, kind: "warning", found: "a key", expected: "a file" },
      { ...at, kind: "note", found: "read as a seed" },
    ],
  } as const;
  const log = new RecordedLog();
  tellConfiguration(log, "r.toml", reading);
  assert.deepEqual(
    log.lines.map(({ level, event, fields }) => `${level} ${event} ${fields["explanation"]}`),
    [
      "warn configuration_warning r.toml:3: [hub].signer: found a key, expected a file",
      "info configuration_note r.toml:3: [hub].signer: read as a seed",
    ],
  );
});
