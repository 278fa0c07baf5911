/** Commands that ask a running program: its answer, its refusal, and what is done where none runs. */
import assert from "node:assert/strict";
import { askOrElse } from "../../../src/core/commands/ask_running.ts";
import {
  answerRequest,
  type LevelSetter,
  logLevelOperation,
  OperationRefusal,
  toNamedOperation,
} from "../../../src/core/commands/control_operation.ts";
import { ControlFault } from "../../../src/core/runtime/control_client.ts";
import type { ExitCode } from "../../../src/core/runtime/exit_codes.ts";
import { RecordedLog } from "../../support/recorded_log.ts";

const signal = new AbortController().signal;

/** Asks for a level; `answer` is the running program, with `undefined` none runs. */
async function ask(
  answer: ((line: string) => Promise<string>) | undefined,
  otherwise: () => Promise<ExitCode> = () => Promise.resolve(0),
): Promise<
  { readonly code: ExitCode; readonly shown: readonly string[]; readonly errors: readonly string[] }
> {
  const shown: string[] = [];
  const errors: string[] = [];
  const asking = {
    askRunning: ({ line }: { readonly line: string }) => answer?.(line) ?? Promise.resolve(undefined),
    printError: (text: string) => void errors.push(text),
    signal,
  };
  const question = {
    operation: logLevelOperation,
    input: { level: "warn" },
    show: ({ level }: { readonly level: string }) => void shown.push(level),
  };
  return { code: await askOrElse(asking, question, otherwise), shown, errors };
}

/** A running program that has a log. */
function running(setter: LevelSetter): (line: string) => Promise<string> {
  const context = { ...setter, log: new RecordedLog() };
  return (line) =>
    answerRequest({ operations: [toNamedOperation(logLevelOperation)], context }, line, signal);
}

Deno.test("ask: the running program changes its level, and its answer is shown", async () => {
  const levels: string[] = [];
  const asked = await ask(running({ setLogLevel: (level) => void levels.push(level) }));
  assert.deepEqual(asked, { code: 0, shown: ["warn"], errors: [] });
  assert.deepEqual(levels, ["warn"]);
});

Deno.test("ask: a refusal goes to standard error, and the status is 1", async () => {
  const asked = await ask(running({}));
  assert.deepEqual(asked, { code: 1, shown: [], errors: ["The level of this log cannot be changed."] });
  const broken = await ask(() => Promise.reject(new ControlFault("It ended.")));
  assert.deepEqual(broken, { code: 1, shown: [], errors: ["It ended."] });
  await assert.rejects(ask(() => Promise.reject(new Error("a defect"))), /a defect/);
});

Deno.test("ask: where nothing runs the other way is taken, and refuses in the same form", async () => {
  assert.deepEqual(await ask(undefined, () => Promise.resolve(3)), { code: 3, shown: [], errors: [] });
  const refuse = (): never => {
    throw new OperationRefusal("No relayer answers.");
  };
  assert.deepEqual(await ask(undefined, refuse), { code: 1, shown: [], errors: ["No relayer answers."] });
});
