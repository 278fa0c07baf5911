/** Events of a program as such: configuration, start and end, workers, database, chains that come and go. */
import { CHECK_ENDPOINT, type EventText } from "./event_text.ts";

/** See {@link EventText}. */
export const programEvents = {
  configuration_warning: {
    text: "Configuration warning",
    meaning: "A key of the configuration is valid but probably a mistake.",
    action: "Correct the key that the line names.",
  },
  configuration_note: { text: "Configuration note" },
  configuration_reload: {
    text: "SIGHUP: configuration read again",
    action: "Correct what the explanation names, and send SIGHUP again.",
    reaction: "the program continues with the configuration that it has",
    codes: {
      applied: "Configuration reloaded",
      unchanged: "Configuration reloaded: nothing changed",
      refused: "New configuration rejected; the previous one stays in use",
      restart_needed: {
        text: "Changed settings that need a restart",
        action: "Restart the program, or undo the change: the old values stay in use until then.",
      },
    },
  },
  program_started: { text: "Relaying started" },
  program_stopping: {
    text: "Stopping: work under way is completed or stored; a second signal ends the program at once",
  },
  program_stopped: { text: "Stopped" },
  fence_gone: {
    text: "Stopped at once: the fence is gone",
    meaning: "The file of `--fence` is missing or its time has passed: another machine may work now.",
    action: "Nothing if another machine holds the lock. Otherwise find out why the lock was lost.",
    reaction: "the program ends with exit status 4; the next one settles what was under way",
  },
  status_server_started: { text: "Status page, health and metrics are served" },
  status_server_failed: {
    text: "Status page, health and metrics are not served",
    action: "Read the error. Report it if it repeats.",
    reaction: "relaying continues without the page",
    codes: {
      address_unusable: {
        text: "Nothing was started: the address of --listen cannot be used",
        action: "Stop the process that uses the address, or name another address or port with --listen.",
        reaction: "the program ends",
      },
      connections_refused: {
        text: "The status server cannot accept connections, retrying every second",
        action: "Read the error: raise the limit of open files, or end what connects so often.",
      },
      request_failed: "A request to the status server could not be answered",
    },
  },
  shutdown_unclean: {
    text: "Shutdown with faults; everything that was sent is recorded",
    action: "Report it as a defect if it repeats.",
    codes: { stuck: "Workers did not stop in time", failed: "Worker failed while stopping" },
  },
  relayer_runs_already: {
    text: "Another relayer runs with this configuration or at this socket; nothing was started",
    meaning: "Two programs that sign with one account use each other's nonces.",
    action:
      "Stop the other one first. A second relayer needs accounts, a configuration and a `--cache` of its own.",
    reaction: "the program ends",
  },
  notification_failed: {
    text: "Webhook does not accept notifications; tried again every minute",
    action: "Check the URL of `[relayer.notify]`, and that this machine reaches it.",
  },
  file_access_dropped: { text: "Right to write files dropped" },
  control_socket_unavailable: {
    text: "Commands cannot reach this relayer: its socket cannot be opened",
    action:
      "Follow the explanation (a shorter path, a file with that name, a file system without sockets) and restart. " +
      "Everything else works.",
  },
  control_request_failed: {
    text: "Request of a command failed",
    action: "Nothing if the command gave the reason; at level warn, report it as a defect.",
  },
  operator_request: { text: "Request of the operator" },
  worker_failed: {
    text: "Worker failed with an unrecoverable error",
    action: "Read the error. Fix its cause (disk, database, clock, stalled updates) and start again.",
    reaction: "the program ends in order",
  },
  worker_restarting: {
    text: "Worker failed, restarting it",
    action: "Nothing if it happens once. Report it as a defect if it comes back at level error.",
    reaction: "the worker starts again after a pause, the others continue",
    endedBy: ["database_restored"],
  },
  database_unusable: {
    text: "Database cannot be used",
    action: "Follow the explanation of the line (path, rights, disk space, version), then start again.",
    reaction: "the program ends, and nothing more is sent",
  },
  database_fault: {
    text: "Database cannot be written: nothing is sent until a write works again",
    meaning: "A write is tried every five seconds.",
    action: "Follow the explanation of the line: it names the cause and what helps against it.",
    reaction: "the program continues, and nothing is sent until a write works",
    endedBy: ["database_restored"],
  },
  database_restored: { text: "Database can be written again" },
  database_opened: {
    text: "Database opened",
    codes: {
      copied: "Database copied before its tables are changed; remove the copy when you no longer need it",
      replicated: "The database is replicated; leaving WAL checkpoints to the replicator",
    },
  },
  clock_set_back: {
    text: "Clock moved backwards; treating messages scheduled in the future as due",
    action: "Check that the machine's clock is kept by NTP.",
  },
  hub_unavailable: {
    text: "Waiting for the hub, which does not answer",
    meaning: "No endpoint of the hub gives a usable answer, and nothing works without it.",
    action: "Check the setting that the line names, and the hub node.",
    reaction: "the hub is asked again every 15 s, and everything starts when it answers",
    endedBy: ["chain_available"],
  },
  chain_awaited: {
    text: "Chain left out until its first check passes, which has no answer yet",
    action: "Wait; a chain that does not answer within 30 s is named.",
    endedBy: ["chain_available"],
  },
  chain_unavailable: {
    text: "Chain left out, it does not answer; it is asked again every 15 s",
    meaning: "Logged after 30 s, and every five minutes.",
    action: "Check the endpoints of the chain. It is used as soon as it answers.",
    endedBy: ["chain_available"],
  },
  chain_available: { text: "Chain available" },
  chain_suspended: {
    text: "Chain left out, checking again within a minute",
    meaning:
      "A check failed that needs you: `finding` is its code, `advice` the remedy. Repeated every five minutes.",
    action: "Fix what the line names. The chain is used when its checks pass.",
    reaction: "the chain is checked again in 15 s to a minute, the others work",
    endedBy: ["chain_available"],
  },
  check_failed: {
    text: "Check failed",
    meaning: "A check, made at the start and every ten minutes, found what `found` names.",
    action: "Follow `advice`. docs/operations/check.md explains every check.",
  },
  check_warning: {
    text: "Check found something that needs attention",
    action: "Follow `advice`. docs/operations/check.md explains every check.",
  },
  check_passed: { text: "Check passed again" },
  poll_failed: { text: "Poll failed, retrying", action: CHECK_ENDPOINT },
  poll_finished: { text: "Poll finished" },
  read_failed: {
    text: "A read failed and is retried; what depends on it waits",
    action: CHECK_ENDPOINT,
    codes: {
      balance: "Balance could not be read, retrying in 1 min",
      beacon_node: "Beacon node did not answer",
      claims: "Claims interrupted, retrying",
      delivery_check: "Conditions of delivery could not be read; the last result stays in use",
      fees: "Fees could not be read",
      get_values: "Values of GET requests could not be read",
      inclusion: "Inclusion of a transaction with proofs unknown, retrying",
      log_range: "Log range too wide for the endpoint; halved",
      module_list: "Hub's list of rewarded modules could not be read; the previous list stays in use",
      past_deliveries: "Deliveries of an earlier run could not be checked",
      proof_source: "Source of proofs failed; the next one is asked",
      receipts: "Receipts of expired messages not confirmed yet",
      reconciliation: "Reconciliation interrupted, repeated the next time",
      request_removal: "Removal of requests not confirmed; they are kept",
      rewards: "Rewards interrupted, retrying",
      settlement: "Settlement interrupted, retrying",
      swap_price: "Swap price unavailable from the host's router; other sources are asked",
      update_age: "Age of the newest update unknown, checking again at the next pass",
      withdrawals: "Withdrawals interrupted, retrying",
    },
  },
  long_wait: {
    text: "A wait lasts (every five minutes)",
    meaning: "`reason` and `sinceSec` give the cause and the time.",
    action: "Nothing if it passes. Otherwise see the warning or error before it, and check the endpoints.",
    codes: {
      acceptance: "Waiting for governance to accept the source",
      blocks: "Reading many blocks",
      challenge_period: "Waiting for the challenge period to end",
      claims: "Waiting for claims to be final on the hub",
      first_answers: "Waiting for the first answers of chains, for 30 s at most",
      host: "Waiting for the host to accept proofs of the hub",
      hub_height: "Waiting for the hub to accept a height that proves our deliveries",
      hub_proofs: "Waiting for proofs of the hub",
      inclusion: "Waiting for transactions to be included",
      initial_state: "Waiting for the initial state",
      poll: "Waiting for the current poll to end",
      proof_source: "Waiting for a source of proofs of the hub",
      proofs_inclusion: "Waiting for a block with proofs of the hub",
      runtime_support: {
        text: "Waiting for a runtime that this program knows",
        action: "Update the program.",
      },
      source_height: {
        text: "Waiting for the target to accept a height of the source",
        action: "Run a consensus relayer if it lasts, or check the one that runs.",
      },
      state_proofs: {
        text: "Waiting for an endpoint that serves state proofs",
        action: "See the row `state_proof` of `check`.",
      },
      unfreeze: "Waiting for the host to be unfrozen",
      update: "Waiting for something to prove",
      update_inclusion: "Waiting for a block with the update",
      withdrawals: "Waiting for fees to be paid out",
    },
  },
} as const satisfies Record<string, EventText>;
