/** Events of the consensus relayer: updates of light clients on the hub, and what proofs are made from. */
import { CHECK_ENDPOINT, type EventText, LEFT_OUT, POLLED_AGAIN } from "./event_text.ts";

/** See {@link EventText}. */
export const updateEvents = {
  update_not_needed: {
    text: "No update needed",
    meaning: "There is nothing new to prove; `reason` says why.",
  },
  update_built: {
    text: "Update built",
    meaning: "A consensus proof was made and verified.",
  },
  update_sent: {
    text: "Update sent",
    meaning: "An extrinsic with the update was accepted by a node.",
  },
  update_accepted: {
    text: "Update accepted",
    meaning: "The light client stored the heights of the line.",
  },
  rotation_accepted: {
    text: "Update accepted: rotation without a new height",
    meaning: "The light client learned a new set of signers.",
  },
  update_superseded: {
    text: "Update accepted, but a newer height is already known",
    meaning: "Another relayer delivered a newer height in the meantime.",
  },
  update_already_submitted: {
    text: "Update already submitted by another relayer",
    meaning: "Our update was not sent, or had no effect, because the same one was there first.",
  },
  update_too_large: {
    text: "Update too large for one extrinsic",
    meaning: "The chain does not take an extrinsic of this size.",
    action: "Follow the explanation of the line.",
    reaction: "the update is built again at the next poll",
  },
  update_rejected: {
    text: "Update rejected by the target, retrying",
    meaning: "The chain refused an update that verifies here. Once is chance: it may have moved on.",
    action: "If it repeats as a warning, compare the versions of chain and program, and report it.",
  },
  update_lost: {
    text: "Update lost before inclusion, retrying",
    meaning: "The extrinsic left the transaction pool without being in a block.",
    action: "Nothing if it passes. If it repeats as a warning, check the node.",
  },
  update_age_unknown: {
    text: "Age of the newest update unknown, checking again at the next pass",
    meaning: "A chain could not tell when it was updated last.",
    action: CHECK_ENDPOINT,
  },
  update_missing: {
    text: "No update of a watched chain",
    meaning:
      "A chain in `maximum_update_intervals` has no height at all; its interval counts from the start on.",
    action: "Check that its light client exists.",
  },
  update_overdue: {
    text: "No update for too long; the program ends",
    meaning:
      "The newest update of a watched chain is older than `maximum_update_intervals` allows, or there was none.",
    action: "Let a supervisor start the program again, and look at the lines of that chain.",
    reaction: "the program ends",
  },
  update_recent: {
    text: "Newest update is recent enough",
    meaning: "A watched chain is within its interval.",
  },
  update_layout_changed: {
    text: "Hub reads another layout of beacon updates",
    meaning: "The hub's runtime takes another form of updates, which is used from now on.",
  },
  dry_run_failed: {
    text: "Dry run of an update not possible",
    meaning: "The hub could not try an update; the known layout is kept.",
  },
  chain_receive_only: {
    text: "Chain is receive-only: the hub has no light client for its finality",
    meaning: "Nothing of this chain is proved to the hub.",
    action: "Nothing if it was meant so.",
  },
  chain_not_configured: {
    text: "Chain not in the configuration",
    meaning: "The command line names a chain that the configuration does not have. Nothing was started.",
    action: "Correct the argument, or add the chain.",
    reaction: "the program ends",
  },
  base_confirmed: {
    text: "--base is a host that follows the hub; proofs start from what each chain holds",
    meaning: "The chain of --base was checked. Nothing else follows from the option.",
  },
  base_ignored: {
    text: "--base has no effect: proofs of the hub start from what each chain holds",
    meaning: "The option exists for compatibility.",
    action: "Leave it out.",
  },
  base_client_missing: {
    text: "--base names a chain without a BEEFY client of the hub",
    meaning: "The host of that chain trusts nothing of the hub.",
    action: "Name another chain, or leave the option out.",
    reaction: "relaying continues, for which the option is not needed",
  },
  base_state_unreadable: {
    text: "State of the chain of --base cannot be read",
    meaning: "Its endpoints do not answer.",
    action: CHECK_ENDPOINT,
    reaction: "relaying continues, for which the option is not needed",
  },
  initial_state_unavailable: {
    text: "No initial state: the hub has no light client for the finality of this chain",
    meaning: "`log-consensus-state` was asked for a receive-only chain.",
    action: "Name another chain.",
  },
  initial_state_failed: {
    text: "Initial state could not be built",
    meaning: "`log-consensus-state` could not read what it needs.",
    action: "Fix the endpoint that the error names and run the command again.",
    reaction: "the command ends",
  },
  cache_unusable: {
    text: "--cache cannot be used; nothing was started",
    meaning: "The folder does not exist or may not be written.",
    action: "Correct the path or its rights.",
    reaction: LEFT_OUT,
  },
  summaries_discarded: {
    text: "Cached historical summaries do not fit; reading them again",
    meaning: "The file in --cache is damaged, of another network, or contradicts a verified state.",
  },
  summaries_unwritable: {
    text: "Historical summaries cannot be written to --cache: is its disk full?",
    meaning: "They are read from a node again at the next start.",
    action: "Check space and rights of the folder.",
  },
  rollup_contract_missing: {
    text: "No rollup contract stored by the hub: updates are ignored until governance sets one",
    meaning: "The hub does not know which contract on the L1 the rollup posts its state to.",
    action: "Governance of the hub must set it.",
  },
  rollup_contract_mismatch: {
    text: "Rollup contract differs from the one that the hub stores",
    meaning: "The hub refuses proofs of any other contract than its own.",
    action: "Correct the key of the line, or remove it: then the hub's contract is used.",
    reaction: LEFT_OUT,
  },
  games_unlisted: {
    text: "Only dispute games of types that the hub does not list are created: nothing can be proved",
    meaning: "The rollup's operators moved to another type of games.",
    action: "Governance of the hub must add the type; updates continue then without a restart.",
  },
  rollup_settings_unknown: {
    text: "Hub's settings of a rollup are partly unknown to this version",
    meaning: "Governance uses kinds that are newer than this program; everything else continues.",
    action: "Update `causeway-consensus`.",
  },
  game_type_missing: {
    text: "No recent dispute game of respected_game_type: other listed types are used",
    meaning: "The rollup plays other games than the configured type, or the hub does not list it.",
    action: "Correct `respected_game_type`, or remove it.",
  },
  game_implementation_changed: {
    text: "Dispute game implementation unknown to the hub: these games are refused until governance adds it",
    meaning: "The rollup's operators replaced the contract of a game type.",
    action: "Governance of the hub must add the new implementation.",
  },
  rollup_claim_skipped: {
    text: "Rollup claim skipped",
    meaning: "A dispute game, assertion or node is not usable; `reason` says why.",
  },
  rollup_claim_not_accepted: {
    text: "Rollup claim submitted ten times without success; other claims come first",
    meaning: "The claim stays open and is submitted again after the others.",
    action: "See the errors of its submissions; if all claims fail, compare the contracts of rollup and hub.",
  },
  rollup_claim_unprovable: {
    text: "Rollup claim cannot be proved now; trying the next one",
    meaning: "Endpoints lack data that its proof needs, or it is false (`code`); it is tried again later.",
    action: "Use endpoints that are up to date and keep state for about an hour if it happens often.",
  },
  rollup_claims_uncounted: {
    text: "Number of rollup claims could not be read",
    meaning: "Whether logs are complete is not known in this round.",
  },
  epoch_length_mismatch: {
    text: "epoch_length differs from the hub's, which is used",
    meaning: "The hub verifies with its own epoch length.",
    action: "Correct `epoch_length`.",
  },
  fork_not_followed: {
    text: "Fork of a beacon chain that cannot be followed",
    meaning:
      "A fork is in force, or comes within 14 days, that the hub's runtime or this version does not know.",
    action: "Upgrade this program before the fork; the hub's runtime is upgraded by its governance.",
    reaction: POLLED_AGAIN,
  },
  header_not_carried: {
    text: "Block header with fields that the hub does not know, checking again in 10 min",
    meaning:
      "The chain has reached a fork with other headers than the hub's runtime reads; no node is at fault.",
    action: "Nothing can be proved until the hub's runtime is upgraded.",
    reaction: "the chain is checked again in 10 min, the others continue",
  },
  light_client_updates_missing: {
    text: "No beacon node serves light_client/updates: the next sync committee is read from a state",
    meaning: "The change of the period is proved by the attested state, by a proof or whole.",
    action: "Use a node that serves the route; gateways deny it.",
  },
  beacon_node_failed: {
    text: "Beacon node did not answer",
    meaning: "One request to a beacon node failed; the next node is asked.",
  },
  light_client_unavailable: {
    text: "No light client routes at the beacon nodes: updates read more data",
    meaning: "Updates are made from blocks and states.",
    action: "Use a node that serves light clients; the line names them.",
  },
  light_client_data_missing: {
    text: "No light client data for this update: blocks and states are read",
    meaning: "The node serves light clients, but not for this period.",
  },
  beacon_states_unavailable: {
    text: "Neither states nor state proofs at the beacon nodes: no update can be made",
    meaning: "None of the configured nodes serves what an update needs.",
    action: "Add a node that does; the line names them.",
  },
  partial_states_read: {
    text: "Updates read 3 MB of a beacon state",
    meaning: "The beacon nodes serve no state proofs, so the beginning of a state is read.",
    action: "Nothing; the line names nodes with smaller answers.",
  },
  whole_states_read: {
    text: "Updates read whole beacon states",
    meaning: "Every update transfers a whole state (300 MB on Ethereum).",
    action: "Add a node with smaller answers; the line names them.",
  },
} as const satisfies Record<string, EventText>;
