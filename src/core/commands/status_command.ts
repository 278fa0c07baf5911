/** `status` of both programs: what the status page shows, as text. */
import { defineOperation, type OperationCommand, OperationRefusal, type OperationRun } from "./operation.ts";

/** What `status` works with. */
interface Watched<Status> {
  /** The snapshot; `undefined`: nobody watches. */
  readonly status: () => Status | undefined;
}

/** In what the programs differ. */
interface StatusCommandOptions<Status> {
  /** What is shown, and where it comes from; with a whole command line as an example. */
  readonly afterHelp: string;
  readonly show: (status: Status) => Promise<string>;
}

/** Defines the command. */
export const defineStatus = <Context extends Watched<Status>, Status>(
  options: StatusCommandOptions<Status>,
): OperationCommand<OperationRun<Context>, Context> =>
  defineOperation({
    ...options,
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
  });
