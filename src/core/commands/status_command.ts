/** `status` of both programs: what the status page shows, as text. */
import type { ProgramStatus } from "../checks/program_status.ts";
import type { ProgramView } from "../checks/program_view.ts";
import type { CommandSyntax } from "./command.ts";
import { defineOperation, type OperationCommand, OperationRefusal, type OperationRun } from "./operation.ts";

/** What `status` works with. */
interface Watched<Status> {
  /** The snapshot; `undefined`: nobody watches. */
  readonly status: () => Status | undefined;
}

/** In what the programs differ. */
interface StatusCommandOptions<Status extends ProgramStatus>
  extends Pick<CommandSyntax, "examples" | "afterHelp" | "exitStatus"> {
  readonly loadView: () => Promise<ProgramView<Status>>;
}

/** Defines the command. */
export const defineStatus = <Context extends Watched<Status>, Status extends ProgramStatus>(
  { loadView, ...help }: StatusCommandOptions<Status>,
): OperationCommand<OperationRun<Context>, Context> =>
  defineOperation({
    ...help,
    name: "status",
    description: "Shows what the relayer does now, and what is in its way.",
    summary: "show what the relayer does now",
    needs: "status",
    isWatched: true,
    naming: "own",
    work: ({ status }: Context) => {
      const found = status();
      if (found === undefined) throw new OperationRefusal("The running relayer has no status.");
      return found;
    },
    show: async (found) =>
      (await import("../checks/program_view.ts")).formatProgramStatus(found, await loadView()),
  });
