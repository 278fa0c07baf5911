/** Events of a program as such: configuration, start and end, workers, database. Source of the texts: here. */
import { CHECK_ENDPOINT, type EventText } from "./event_text.ts";

/** See {@link EventText}. */
export const programEvents = {
  configuration_warning: {
    text: "Configuration warning",
    meaning: "A key of the configuration is accepted but probably not what was meant.",
    action: "Correct the key that the line names.",
  },
  configuration_note: {
    text: "Configuration note",
    meaning: "How a value of the configuration was understood.",
    action: "Nothing if it was meant so.",
  },
  program_started: {
    text: "Relaying started",
    meaning:
      "Every chain has been looked at; the workers start. Lines before name chains that are left out until they pass their checks. The line lists what is relayed.",
  },
  program_stopping: {
    text: "Stopping: work under way is completed or stored; a second signal ends the program at once",
    meaning: "The first SIGINT or SIGTERM arrived.",
  },
  fence_gone: {
    text: "Stopped at once: the fence is gone",
    meaning: "The file of `--fence` is not there, or the time in it has come: another machine may work now.",
    action: "Nothing when another machine took over. Otherwise find out why the lock was lost.",
    reaction: "the program ends with exit status 4; the next one settles what was under way",
  },
  program_stopped: {
    text: "Stopped",
    meaning:
      "The program ended in order. Whatever the messaging relayer has sent is recorded in the database.",
  },
  status_server_started: {
    text: "Status page, health and metrics are served",
    meaning: "The program listens at `address`, as `--listen` asks for.",
  },
  status_server_failed: {
    text: "Nothing was started: the address of --listen cannot be used",
    meaning: "Another process listens there, or this machine has no such address.",
    action: "Stop the other process, or name another address or port with --listen.",
    reaction: "relaying continues without the page",
  },
  status_server_interrupted: {
    text: "The status server cannot take connections",
    meaning:
      "The system refused one, for example for lack of open files. It is tried again each second; relaying continues.",
    action: "Look at the error: raise the limit of open files, or end what connects so often.",
  },
  status_unavailable: {
    text: "A request to the status server could not be answered",
    meaning: "What was asked for could not be read, for example from the database. Relaying continues.",
    action: "Look at the error; report it when it repeats.",
    reaction: "relaying continues, the page is made again at the next request",
  },
  shutdown_timed_out: {
    text: "Workers did not stop in time",
    meaning: "The listed workers were still busy when the program ended; what they sent is recorded.",
    action: "Report it as a defect if it repeats.",
  },
  file_access_dropped: {
    text: "Right to write files dropped",
    meaning: "Database and socket are open; from here on the program cannot create or change any other file.",
  },
  control_socket_unavailable: {
    text: "Commands cannot reach this relayer: its socket cannot be opened",
    meaning: "The socket beside the database could not be created; everything else works.",
    action:
      "Follow the explanation (a shorter path, a file with that name, a file system without sockets) and restart.",
  },
  relayer_runs_already: {
    text: "Another relayer runs with this configuration or at this socket",
    meaning: "Two programs that sign with one account take each other's nonces; nothing was started.",
    action:
      "Stop the other one first. A second relayer needs accounts, a configuration and a `--cache` of its own.",
    reaction: "the program ends",
  },
  control_request_failed: {
    text: "Request of a command failed",
    meaning: "A command connected to the socket and could not be answered.",
    action: "Nothing if the command said why; at level warn, report it as a defect.",
  },
  operator_request: {
    text: "Request of the operator",
    meaning: "A command asks the running relayer for something; `operation` and `input` say what.",
  },
  notification_failed: {
    text: "Webhook does not take notifications",
    meaning: "A change of readiness could not be posted; it is tried again every minute, and told once.",
    action: "Check the URL of `[relayer.notify]`, and that this machine reaches it.",
  },
  worker_failed: {
    text: "Worker failed with an unrecoverable error",
    meaning: "One worker met a fault that a retry cannot help; the program ends.",
    action: "Read the error. Fix its cause (disk, database, clock, stalled updates) and start again.",
    reaction: "the program ends in order",
  },
  configuration_reloaded: {
    text: "Configuration read again: what changed is used from now on",
    meaning: "After SIGHUP: `changed` names the keys with other values; work under way ended first.",
  },
  configuration_unchanged: {
    text: "Configuration read again: nothing changed",
    meaning: "After SIGHUP: all values are as before.",
  },
  configuration_refused: {
    text: "Configuration read again and refused; the one before stays in use",
    meaning: "After SIGHUP: the file has a problem; there is one line per problem.",
    reaction: "the program continues with the configuration that it has",
    action: "Correct the file as the explanation says, and send SIGHUP again.",
  },
  restart_needed: {
    text: "Changed settings that need a restart",
    meaning:
      "After SIGHUP: `changed` names keys whose old values stay in use until the program is restarted.",
    action: "Restart the program, or undo the change.",
  },
  worker_restarting: {
    text: "Worker failed, restarting it",
    meaning: "One worker met an unexpected fault and is started again after a pause; the others continue.",
    action: "Nothing if it happens once. Report it as a defect if it comes back at level error.",
    reaction: "the worker starts again after a pause, the others continue",
    endedBy: ["database_restored"],
  },
  worker_failed_stopping: {
    text: "Worker failed while stopping",
    meaning: "A worker met a fault while the program was ending.",
    action: "Report it as a defect if it repeats.",
  },
  database_unusable: {
    text: "Database cannot be used",
    meaning: "The database could not be opened or written; `code` says why.",
    action: "Follow the explanation of the line (path, rights, disk space, version), then start again.",
    reaction: "the program ends, and nothing more is sent",
  },
  database_fault: {
    text: "Database cannot be written: nothing is sent until a write works again",
    meaning: "A write failed while the program ran; `code` says why. A write is tried every five seconds.",
    action: "Follow the explanation of the line: it names the cause and what helps against it.",
    reaction: "the program continues, and nothing is sent until a write works",
    endedBy: ["database_restored"],
  },
  database_restored: {
    text: "Database can be written again",
    meaning: "A write worked after `database_fault`; work continues where it was.",
  },
  database_copied: {
    text: "Database copied before its tables are changed",
    meaning: "A newer version of the program changes the database; a copy of the old one was made.",
    action: "Remove the copy when it is no longer needed.",
  },
  checkpoints_left: {
    text: "The database is replicated: writing its log back is left to the program that does it",
    meaning: "`leave_checkpoints` says so, or traces of Litestream were found.",
    action: "Nothing while Litestream runs. Otherwise set `leave_checkpoints` to false.",
  },
  clock_set_back: {
    text: "What waited for times in the future is due now",
    meaning:
      "The database has times that the machine's clock has not reached: it was set back since. Their waits ended.",
    action: "Check that the machine's clock is kept by NTP.",
  },
  rows_pruned: {
    text: "Old rows removed",
    meaning: "Rows of the database that are no longer needed were deleted.",
  },
  first_answers_awaited: {
    text: "Waiting for the first answers of chains, for 30 s at most",
    meaning:
      "The chains in `waitsFor` have not answered 3 s after the start; what their endpoints said is beside them. The others start then without them.",
    action: "Nothing if they answer soon. Otherwise check the endpoints that the line names.",
  },
  hub_unavailable: {
    text: "Hub unavailable",
    meaning:
      "No endpoint of the hub gives a usable answer. Nothing works without it: the program waits for it, and says so every five minutes.",
    action: "Check the setting that the line names, and the hub node.",
    reaction: "the hub is asked again every 15 s, and everything starts when it answers",
  },
  chain_unavailable: {
    text: "Chain left out, it does not answer; it is asked again every 15 s",
    meaning:
      "No endpoint of the chain gave a usable answer since the start. The line comes after 30 s, and every five minutes.",
    action: "Check the endpoints of the chain. It is used as soon as it answers.",
  },
  chain_available: {
    text: "Chain available",
    meaning: "A chain that was left out has passed its checks and is used now.",
  },
  chain_suspended: {
    text: "Chain left out, checking again within a minute",
    meaning:
      "The chain answers, but a check failed that needs you; `finding` is its code, `advice` what helps. The other " +
      "chains work. The line comes again every five minutes.",
    action: "Fix what the line names. The chain is used when its checks pass.",
    reaction: "the chain is checked again in 15 s to a minute, the others work",
  },
  check_failed: {
    text: "Check failed",
    meaning:
      "A check, made at the start and every ten minutes, found something that keeps a chain from working; `found` says what.",
    action: "Follow `advice`. docs/operations/check.md explains every check.",
  },
  check_warning: {
    text: "Check found something that needs attention",
    meaning: "A check, made at the start and every ten minutes, found it; relaying continues.",
    action: "Follow `advice`. docs/operations/check.md explains every check.",
  },
  check_passed: {
    text: "Check passed again",
    meaning: "What an earlier line of this check reported is in order now.",
  },
  poll_failed: {
    text: "Poll failed, retrying",
    meaning: "An endpoint did not give what was asked of it.",
    action: CHECK_ENDPOINT,
  },
  poll_finished: {
    text: "Poll finished",
    meaning: "One round of a worker ended; `nextInMs` is the pause before the next one.",
  },
} as const satisfies Record<string, EventText>;
