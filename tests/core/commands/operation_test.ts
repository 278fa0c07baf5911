/** Operations: the answer of a running program, its refusal, and what is done where none runs. */
import assert from "node:assert/strict";
import { CommandRefusal } from "../../../src/core/commands/command.ts";
import { programParser } from "../../../src/core/commands/program_parser.ts";
import {
  answerRequest,
  defineOperation,
  type LevelSetter,
  logLevelCommand,
  type OperationNeed,
  type OperationRun,
} from "../../../src/core/commands/operation.ts";
import { ChainNames } from "../../../src/core/config/chain_names.ts";
import { ScaleError } from "../../../src/core/encoding/scale.ts";
import { ControlFault } from "../../../src/core/runtime/control_socket.ts";
import type { ExitCode } from "../../../src/core/runtime/exit_codes.ts";
import type { CommonArguments } from "../../../src/core/runtime/app.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { RecordedLog } from "../../support/recorded_log.ts";

const signal = new AbortController().signal;

/** Says where it is. */
const placeIn = (name: string, needs: OperationNeed) =>
  defineOperation({
    name,
    description: "Says where it is.",
    needs,
    work: (_: LevelSetter) => ({ chain: "EVM-8453" }),
    show: ({ chain }) => chain,
  });

/** Adds, where it may read a database. */
const add = defineOperation({
  name: "add",
  description: "Adds one.",
  needs: "read",
  addOptions: (parser) => void parser.argument("<number>", "what it is added to"),
  work: (_: LevelSetter, [number]: readonly [string]) => {
    if (!/^\d+$/.test(number)) throw new CommandRefusal(`${number} is no number.`);
    return { sum: Number(number) + 1 };
  },
  show: ({ sum }) => `It is ${sum}.`,
  exitCode: ({ sum }) => sum > 9 ? 3 : 0,
});

const commands = [
  logLevelCommand,
  add,
  placeIn("where", "read"),
  placeIn("what", "status"),
  placeIn("far", "chains"),
];

const texts = { name: "program", description: "", afterHelp: "", exampleFiles: "" };
const parse = programParser<CommonArguments, OperationRun<LevelSetter>>({ ...texts, commands });

/** What a command printed, and what it worked with. */
interface Outcome {
  readonly code: ExitCode;
  readonly shown: readonly string[];
  readonly errors: readonly string[];
  readonly needs: readonly OperationNeed[];
}

/** Runs a command line; `answer` is the running program, with `undefined` none runs. */
async function run(
  args: readonly string[],
  answer?: (line: string, afterMs: number | undefined) => Promise<string>,
): Promise<Outcome> {
  const parsed = parse(["--config=x", ...args], "");
  assert.ok(parsed.kind === "run" && parsed.command.kind === "command");
  const [shown, errors]: [string[], string[]] = [[], []];
  const needs: OperationNeed[] = [];
  const code = await parsed.command.run({
    askRunning: (request) => answer?.(request.line, request.afterMs) ?? Promise.resolve(undefined),
    here: (need, work) => {
      needs.push(need);
      if (need === "running") throw new CommandRefusal("No relayer runs.");
      return work({});
    },
    print: (text) => void shown.push(text),
    printError: (text) => void errors.push(text),
    isJson: false,
    hasColour: false,
    clock: new FakeClock(),
    names: new ChainNames([{ section: "base", stateMachine: "EVM-8453" }]),
    signal,
  });
  return { code, shown, errors, needs };
}

/** A running program that has a log. */
function running(setter: LevelSetter): (line: string) => Promise<string> {
  const context = { ...setter, log: new RecordedLog() };
  return (line) => answerRequest({ commands, context }, line, signal);
}

Deno.test("operation: the running program does the work, and its answer is shown", async () => {
  const levels: string[] = [];
  const program = running({ setLogLevel: (level) => void levels.push(level) });
  const asked = await run(["log-level", "warn"], program);
  assert.deepEqual(asked, {
    code: 0,
    shown: ["The relayer logs from level warn on."],
    errors: [],
    needs: [],
  });
  assert.deepEqual((await run(["log-level", "debug", "--json"], program)).shown, ['{"level":"debug"}']);
  assert.deepEqual(levels, ["warn", "debug"]);
});

Deno.test("operation: a refusal goes to standard error, and the status is 1", async () => {
  const asked = await run(["log-level", "warn"], running({}));
  assert.deepEqual([asked.code, asked.errors], [1, ["The level of this log cannot be changed."]]);
  const missing = new Deno.errors.NotFound("no file");
  const thrown: readonly (readonly [Error, string])[] = [
    [new ControlFault("Ill."), "Ill."],
    [new Error("Odd."), "It failed: Odd."],
    // Those have a code as faults have, but no text for an operator.
    [new ScaleError("trailing", "Header"), "It failed: SCALE Header: trailing"],
    [Object.assign(missing, { code: "ENOENT" }), "It failed: no file"],
  ];
  for (const [error, text] of thrown) {
    const setLogLevel = (): never => {
      throw error;
    };
    assert.deepEqual((await run(["log-level", "warn"], running({ setLogLevel }))).errors, [text]);
  }
  const broken = await run(["log-level", "warn"], () => Promise.reject(new ControlFault("It ended.")));
  assert.deepEqual([broken.code, broken.errors], [1, ["It ended."]]);
  await assert.rejects(run(["log-level", "warn"], () => Promise.reject(new Error("a defect"))), /a defect/);
  const nobody = await run(["log-level", "warn"]);
  assert.deepEqual([nobody.code, nobody.errors], [1, ["No relayer runs."]]);
});

Deno.test("operation: what needs chains may take the running program any time, all else a minute", async () => {
  const limits: unknown[] = [];
  for (const name of ["what", "far"]) {
    await run([name], (_, afterMs) => {
      limits.push(afterMs);
      return Promise.resolve('{"output":{"chain":"EVM-1"}}');
    });
  }
  assert.deepEqual(limits, [60_000, undefined]);
});

Deno.test("operation: what only reads works beside a running program, without asking it", async () => {
  const asked = await run(["add", "4"], () => assert.fail("the running program was asked"));
  assert.deepEqual(asked, { code: 0, shown: ["It is 5."], errors: [], needs: ["read"] });
  assert.deepEqual([(await run(["add", "9"])).code, (await run(["add", "x"])).errors], [3, [
    "x is no number.",
  ]]);
});

Deno.test("operation: strange lines are refused, and requests of another version, with what helps", async () => {
  const program = running({});
  const of = (request: unknown): Promise<string> => program(JSON.stringify(request));
  const refused = await of({ version: "0.0.9", operation: "log-level", given: ["warn"] });
  assert.match(refused, /"refusal":"The running relayer is .*, this command 0\.0\.9: restart the relayer/);
  // The status has the same use in every version, and is printed as it came.
  const older = await run(["what"], async (line) => {
    const answer = await program(line.replace(/"version":"[^"]+"/, '"version":"0.0.9"'));
    return answer.replace(/"version":"[^"]+"/, '"version":"0.0.9"');
  });
  assert.deepEqual([older.code, older.shown], [0, ['{"chain":"EVM-8453"}']]);
  assert.match(older.errors.join(), /^The running relayer is 0\.0\.9, this command .*printed as JSON\.$/);
  for (const line of ["", "{", "null", '{"operation":1}', "[]"]) {
    assert.match(await program(line), /^\{"refusal":"The request is not one line of JSON/);
  }
});

Deno.test("operation: texts have the operator's names of chains, JSON has what identifies them", async () => {
  assert.deepEqual((await run(["where"])).shown, ["base"]);
  assert.deepEqual((await run(["what"])).shown, ["EVM-8453"]);
  assert.deepEqual((await run(["where", "--json"])).shown, ['{"chain":"EVM-8453"}']);
});
