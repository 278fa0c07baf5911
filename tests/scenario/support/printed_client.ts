/** Clients of the hub that are created with what the compiled `log-consensus-state` prints. */
import { fromHex, toHash256 } from "../../../src/core/encoding/bytes.ts";
import {
  parseStateMachine,
  toConsensusClientId,
  toConsensusStateId,
} from "../../../src/core/ismp/state_machine.ts";
import * as z from "zod";
import { consensusConfig, type ConsensusEndpoints } from "../../../devnet/programs/consensus_config.ts";
import type { NewConsensusClient } from "../../../devnet/hub/pallets/ismp.ts";
import { REPOSITORY } from "../../../devnet/programs/repository.ts";
import { runOnce } from "./run_once.ts";

const printed = z.strictObject({
  stateMachine: z.string(),
  consensusState: z.string(),
  consensusClientId: z.string(),
  consensusStateId: z.string(),
  unbondingPeriodSec: z.string(),
  challengePeriodsSec: z.record(z.string(), z.string()),
  stateMachineCommitments: z.array(z.strictObject({
    stateMachine: z.string(),
    consensusStateId: z.string(),
    height: z.string(),
    timestampSec: z.string(),
    overlayRoot: z.null(),
    stateRoot: z.string(),
  })),
  furtherCalls: z.array(
    z.strictObject({ call: z.string(), arguments: z.string(), otherwise: z.string() }),
  ).optional(),
});

/** Asks the compiled program for the client of a chain. Challenge periods are none, as everywhere on the devnet. */
export async function readPrintedClient(
  endpoints: ConsensusEndpoints,
  chain: string,
): Promise<NewConsensusClient> {
  const folder = await Deno.makeTempDir({ prefix: "client-" });
  try {
    await Deno.writeTextFile(`${folder}/consensus.toml`, consensusConfig(endpoints), { mode: 0o600 });
    const { code, stdout, stderr } = await runOnce(`${REPOSITORY}/build/causeway-consensus`, [
      `--config=${folder}/consensus.toml`,
      "--log-format=json",
      "log-consensus-state",
      chain,
    ]);
    if (code !== 0) throw new Error(`log-consensus-state ${chain} ended with ${code}:\n${stderr}`);
    return parseClient(stdout);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

function parseClient(text: string): NewConsensusClient {
  const json = printed.parse(JSON.parse(text));
  const chains = Object.keys(json.challengePeriodsSec);
  return {
    stateId: toConsensusStateId(json.consensusStateId),
    clientId: toConsensusClientId(json.consensusClientId),
    unbondingPeriodSec: BigInt(json.unbondingPeriodSec),
    challengePeriodsSec: new Map(chains.map((chain) => [parseStateMachine(chain), 0n])),
    state: fromHex(json.consensusState),
    commitments: json.stateMachineCommitments.map((entry) => ({
      id: {
        stateMachine: parseStateMachine(entry.stateMachine),
        consensusStateId: toConsensusStateId(entry.consensusStateId),
      },
      at: {
        height: BigInt(entry.height),
        commitment: {
          timestampSec: BigInt(entry.timestampSec),
          overlayRoot: undefined,
          stateRoot: toHash256(entry.stateRoot),
        },
      },
    })),
  };
}
