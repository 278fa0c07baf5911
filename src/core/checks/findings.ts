/** Codes of what checks find beside the subject that they check. A code never changes its meaning. */

/** Advice by code: a clause; empty: the row has an advice of its own, or nothing needs to be done. */
export const findingAdvice = {
  // The program
  unknown_met: "",
  losses_unlimited: "",
  // Chains and hosts
  host_not_found: "correct `ismp_host`, or wait until the node is synced",
  host_invalid: "correct `ismp_host`",
  host_wrong_hub: "correct `ismp_host`, or `state_machine` of the hub",
  handler_not_found: "correct `ismp_host`, or report it to the host's operators",
  fee_token_unreadable: "correct `ismp_host`, or report it to the host's operators",
  batch_call_unavailable: "",
  hub_not_accepted: "its governance must add the hub, or a consensus relayer must deliver the first height",
  state_machine_unreadable: "correct `rpc_ws`",
  hashing_mismatch: "set `hashing` to the value of the line",
  pallets_missing: "correct `rpc_ws`, or remove the chain",
  runtime_unsupported: "update the program",
  runtime_differs: "update the program",
  // The hub's view of a chain
  chain_unknown: "correct `consensus_state_id`, or run a consensus relayer for the chain",
  chain_not_accepted: "governance must list the chain; the line names the call",
  challenge_period_missing: "governance of the hub must set it",
  host_contract_unknown: "governance of the hub must set it",
  host_contract_mismatch: "set `ismp_host` to the address of the line",
  relay_blocks_unknown: "nothing if it passes after some blocks; otherwise ask governance of the chain",
  // Light clients
  client_missing:
    "correct the id, or let governance create the client with the output of `log-consensus-state`",
  client_id_mismatch: "correct `consensus_state_id`",
  client_expiring: "run a consensus relayer for the pair, or check the running one",
  client_unusable: "compare the configuration with the explanation of the line",
  epoch_length_mismatch: "correct `epoch_length`",
  fork_not_followed: "upgrade this program before the fork; the hub's runtime is upgraded by its governance",
  // Rollups
  rollup_contract_missing: "governance of the hub must set it",
  rollup_contract_mismatch: "correct the key of the line, or remove it: then the hub's contract is used",
  rollup_settings_unknown: "update `causeway-consensus`",
  game_type_missing: "correct `respected_game_type`, or remove it",
  // Endpoints
  endpoint_wrong_chain: "correct or remove its URL",
  rpc_methods_unlisted: "nothing if the node is of the chain's own software",
  rpc_methods_missing: "use a node of the chain's own software",
  offchain_storage_unavailable:
    "start the node with --rpc-methods=unsafe and --enable-offchain-indexing=true, or use such a node",
  dry_run_unavailable: "start the node with --rpc-methods=unsafe, or use such a node",
  light_client_updates_missing: "use a node that serves the route; gateways deny it",
  beacon_states_unavailable: "add a node that serves them; the line names some",
  partial_states_read: "",
  whole_states_read: "add a node with smaller answers; the line names some",
} as const satisfies Record<string, string>;

/** Code of something that a check found. */
export type FindingCode = keyof typeof findingAdvice;
