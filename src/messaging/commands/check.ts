/** `check`: tests the whole set-up once. Sends nothing. */
import { onError } from "../../core/encoding/coded_error.ts";
import { defineCheckCommand } from "../../core/commands/check_command.ts";
import { ControlFault } from "../../core/runtime/control_socket.ts";
import type { MessagingRun } from "./command.ts";

/** The command. */
export const checkCommand = defineCheckCommand<MessagingRun>({
  description:
    `Checks endpoints, chains, contracts, light clients, accounts, prices and the database, all at once,
and prints what was found and what to do. Sends no transaction and does not change the database; it may
run beside the relayer. Without --db everything but the database is checked.`,
  without: ["db"],
  run: async (run) => {
    const { inspectForChecks, noDatabase } = await import("../checks/database_checks.ts");
    const { planChecks } = await import("../checks/plan_checks.ts");
    const { runChecks } = await import("../../core/checks/check_row.ts");
    const { printReport } = await import("../../core/checks/print_report.ts");
    const { deps, config } = run;
    const { clock, database: path, board } = deps;
    const { hub, chains } = deps.connect(config);
    try {
      const isAnswered = (): Promise<boolean> => isRelayerAnswering(run);
      const database = path === "" ? noDatabase : await inspectForChecks(path, clock, { chains, isAnswered });
      deps.dropWriteAccess();
      const jobs = planChecks({ ...deps, config, hub, chains, ...database });
      const rows = await runChecks({ clock }, jobs, run.signal);
      return printReport([...rows, ...board?.unknown ?? []], config, run);
    } finally {
      await Promise.allSettled([hub, ...chains.map(({ chain }) => chain)].map((chain) => chain.close()));
    }
  },
});

/** Time for an answer of the running relayer, ms. */
const ANSWER_WITHIN_MS = 2_000;

/** True when a running relayer answers at the socket beside the database, whatever it says. */
async function isRelayerAnswering({ askRunning, signal }: MessagingRun): Promise<boolean> {
  return await askRunning({ line: "", afterMs: ANSWER_WITHIN_MS, signal })
    .then((answer) => answer !== undefined, onError(ControlFault, () => false));
}
