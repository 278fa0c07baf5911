/** The parts of the bench by name, in the order in which they run. */
import { claims } from "./claims.ts";
import { consensus } from "./consensus.ts";
import { database } from "./database.ts";
import { hubConsensus } from "./hub_consensus.ts";
import { hubProofs } from "./hub_proofs.ts";
import { idle } from "./idle.ts";
import { longRun } from "./long_run.ts";
import { memory } from "./memory.ts";
import { page } from "./page.ts";
import type { Part } from "./part.ts";
import { requests } from "./requests.ts";
import { scale } from "./scale.ts";
import { stall } from "./stall.ts";
import { startup } from "./startup.ts";
import { throughput } from "./throughput.ts";

/** See the head of the file. */
export const PARTS: Readonly<Record<string, Part>> = {
  startup,
  database,
  stall,
  requests,
  idle,
  claims,
  throughput,
  page,
  memory,
  scale,
  "long-run": longRun,
  consensus,
  "hub-consensus": hubConsensus,
  "hub-proofs": hubProofs,
};
