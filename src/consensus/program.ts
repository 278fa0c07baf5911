/** From checked arguments to an exit status: configuration, log, signals, and the relayer itself. */
import type { ConsensusConfig } from "../core/config/consensus_config.ts";
import { readConsensusConfig } from "../core/config/read_consensus_config.ts";
import type { ExitCode } from "../core/runtime/exit_codes.ts";
import { dropFileAccess } from "../core/runtime/file_access.ts";
import { runFramed, type World } from "../core/runtime/program_frame.ts";
import { systemRandomness } from "../core/runtime/randomness.ts";
import { systemClock } from "../core/runtime/system_clock.ts";
import type { ProgramCommand, RunArguments } from "./arguments.ts";
import { connectChains } from "./connect.ts";
import { logConsensusState } from "./initial_state.ts";
import { runConsensus } from "./run.ts";
import type { RunDeps } from "./session.ts";

/** Runs the program until it is stopped, or a command until it is done. */
export function runProgram(
  { arguments: args, command }: { readonly arguments: RunArguments; readonly command: ProgramCommand },
  world: World,
): Promise<ExitCode> {
  const options = {
    reading: readConsensusConfig({ readFile: world.readFile }, args.config),
    secretsOf,
    stopping: "Stopping: what was sent is followed for some seconds",
    hasResult: command.kind === "logConsensusState",
  };
  return runFramed(world, args, options, async (config, { log, print, signal }) => {
    dropFileAccess(log);
    const deps = { clock: systemClock, random: systemRandomness, log };
    const runDeps: RunDeps = { ...deps, connect: (checked) => connectChains(deps, checked) };
    if (command.kind === "relay") return await runConsensus(runDeps, config, { base: args.base }, signal);
    const isJson = args.logFormat === "json";
    return await logConsensusState(runDeps, config, { chain: command.chain, print, isJson }, signal);
  });
}

/** Texts that no log line may contain. */
function secretsOf(config: ConsensusConfig): readonly string[] {
  const keys = [config.hub.substrate.signer, ...config.chains.map(({ signer }) => signer)];
  const apiKeys = config.chains.map((chain) =>
    chain.type === "substrate" ? undefined : chain.etherscanApiKey
  );
  return [...keys, ...apiKeys].flatMap((secret) => secret === undefined ? [] : [secret.reveal()]);
}
