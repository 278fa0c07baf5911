import assert from "node:assert/strict";
import { parse } from "yaml";
import * as z from "zod";
import { REPOSITORY } from "../../devnet/programs/repository.ts";
import { PARTS } from "./bench.ts";

const workflow = z.object({
  jobs: z.object({
    long: z.object({
      strategy: z.object({ matrix: z.object({ include: z.array(z.object({ run: z.string() })) }) }),
    }),
  }),
});

Deno.test("bench: every part runs every night, once, in one of several jobs", async () => {
  const text = await Deno.readTextFile(`${REPOSITORY}/.github/workflows/nightly.yml`);
  const { include } = workflow.parse(parse(text)).jobs.long.strategy.matrix;
  const benches = include.filter(({ run }) => run.startsWith("task bench"));
  const parts = benches.flatMap(({ run }) => /--only=([\w,-]+)$/.exec(run)?.[1]?.split(",") ?? [run]);
  assert.deepEqual(parts.sort(), Object.keys(PARTS).sort());
});
