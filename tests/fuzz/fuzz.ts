/**
 * Fuzzes every decoder of what comes from outside: known answers, changed a little.
 *
 * Usage: `deno task fuzz [--inputs=10000000] [--seed=N] [--only=NAME]`. A decoder may take an input or refuse it with an
 * error class of this program. Anything else, and more than 50 ms each of three times, is a finding: told with the input,
 * which belongs into `known_inputs.ts` once it is fixed.
 */
import { parseArgs } from "node:util";
import { Draw } from "../support/draw.ts";
import { toHex } from "../../src/core/encoding/bytes.ts";
import { type Corpus, readCorpus, takenBy } from "./corpus.ts";
import { mutateBytes, mutateJson, mutateText } from "./mutate.ts";
import { type Target, TARGETS } from "./targets.ts";

const MAX_MS = 50;
/** A pause of the machine does not come three times for the same input. */
const TRIES = 3;
/** Findings of one decoder that are told. */
const MAX_FINDINGS = 3;

/** An input that a decoder neither takes nor refuses. */
export interface Finding {
  readonly target: string;
  readonly input: string;
  readonly what: string;
}

/** Fuzzes one decoder with so many inputs; the same seed gives the same inputs. */
export function fuzz(
  target: Target,
  corpus: Corpus,
  { inputs, seed }: { inputs: number; seed: number },
): readonly Finding[] {
  const next = inputsOf(target, corpus, new Draw(seed));
  const found: Finding[] = [];
  for (let left = inputs; left > 0 && found.length < MAX_FINDINGS; left--) {
    const { run, text } = next();
    const what = judge(run, target.refusals);
    if (what !== undefined) found.push({ target: target.name, input: text(), what });
  }
  return found;
}

interface Input {
  readonly run: () => unknown;
  /** The input as it can be kept. */
  readonly text: () => string;
}

function inputsOf(target: Target, corpus: Corpus, draw: Draw): () => Input {
  switch (target.kind) {
    case "bytes": {
      const samples = takenBy(corpus.bytes, (bytes) => isTaken(() => target.decode(bytes)));
      return () => {
        const bytes = mutateBytes(draw, samples.length > 0 ? samples : corpus.bytes);
        return { run: () => target.decode(bytes), text: () => toHex(bytes) };
      };
    }
    case "json": {
      const samples = takenBy(corpus.json, (json) => isTaken(() => target.decode(json)));
      return () => {
        const json = mutateJson(draw, samples.length > 0 ? samples : corpus.json);
        return { run: () => target.decode(json), text: () => JSON.stringify(json) };
      };
    }
    case "text":
      return () => {
        const text = mutateText(draw, target.samples);
        return { run: () => target.decode(text), text: () => text };
      };
  }
}

function isTaken(decode: () => unknown): boolean {
  try {
    return decode() !== undefined;
  } catch {
    return false;
  }
}

/** What is wrong with how a decoder took an input; `undefined`: nothing. */
export function judge(decode: () => unknown, refusals: Target["refusals"] = []): string | undefined {
  for (let left = TRIES; left > 0; left--) {
    const startMs = performance.now();
    try {
      decode();
    } catch (error) {
      const isExpected = isRefusal(error) || refusals.some((refusal) => error instanceof refusal);
      if (!isExpected) {
        return error instanceof Error ? `${error.name}: ${error.message}` : String(error);
      }
    }
    if (performance.now() - startMs <= MAX_MS) return undefined;
  }
  return `took more than ${MAX_MS} ms`;
}

/** Classes of the language; a library's own are told by their missing code. */
const BUILT_IN: ReadonlySet<unknown> = new Set([
  Error,
  TypeError,
  RangeError,
  SyntaxError,
  ReferenceError,
  EvalError,
  URIError,
]);

/** An error of a class of this program: it has a code. */
function isRefusal(error: unknown): boolean {
  return error instanceof Error && !BUILT_IN.has(error.constructor) && "code" in error;
}

function readWish(): { readonly inputs: number; readonly seed: number; readonly only: string | undefined } {
  const { values } = parseArgs({
    options: {
      inputs: { type: "string", default: "10000000" },
      seed: { type: "string", default: String(Date.now() % 1_000_000) },
      only: { type: "string" },
    },
  });
  return { inputs: Number(values.inputs), seed: Number(values.seed), only: values.only };
}

function main(): void {
  const { inputs, seed, only } = readWish();
  const targets = TARGETS.filter(({ name }) => only === undefined || name === only);
  const each = Math.ceil(inputs / targets.length);
  say(`${targets.length} decoders, ${each} inputs each, seed ${seed}`);
  const corpus = readCorpus();
  let findings = 0;
  for (const target of targets) {
    const startMs = performance.now();
    const found = fuzz(target, corpus, { inputs: each, seed });
    const seconds = ((performance.now() - startMs) / 1000).toFixed(1);
    say(`${target.name}: ${found.length === 0 ? "good" : `${found.length} FINDINGS`} (${seconds} s)`);
    for (const { input, what } of found) say(`  ${what}\n  ${input.slice(0, 4_000)}`);
    findings += found.length;
  }
  say(`${each * targets.length} inputs, ${findings} findings`);
  if (findings > 0) Deno.exit(1);
}

function say(line: string): void {
  Deno.stdout.writeSync(new TextEncoder().encode(`${line}\n`));
}

if (import.meta.main) main();
