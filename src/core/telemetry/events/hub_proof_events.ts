/** Events of consensus proofs of the hub: made, sent with or without messages, taken or refused by hosts. */
import { CHECK_ENDPOINT, type EventText, POLLED_AGAIN } from "./event_text.ts";

/** See {@link EventText}. */
export const hubProofEvents = {
  hub_proofs_unsupported: {
    text: "No proofs of the hub for this chain",
    meaning: "This type of chain takes no proofs of a hub of this type.",
    action: "Nothing, or run the other program's kind of proof if the explanation names one.",
  },
  host_resumed: {
    text: "Host accepts proofs of the hub again",
    meaning: "What kept the host from taking proofs is gone.",
  },
  proofs_not_needed: {
    text: "No proofs needed",
    meaning: "The host knows everything that it needs; `reason` says more.",
  },
  proofs_unavailable: {
    text: "Proofs of the hub unavailable",
    meaning:
      "A host needs a proof that no source has. `code`: `gap` it is lost permanently, `withheld` this node does not " +
      "serve it, `mismatch` the configuration does not match.",
    action: "Follow the explanation of the line.",
    reaction: POLLED_AGAIN,
  },
  proof_source_failed: {
    text: "Source of proofs failed",
    meaning: "One source of proofs met a fault; the next one is asked.",
  },
  proof_built: {
    text: "Proof built from the relay chain",
    meaning: "A consensus proof of the hub was made from finality of the relay chain.",
  },
  rotation_leaves_read: {
    text: "Reading many leaves of the relay chain for a rotation",
    meaning: "The node cannot make the proof itself, so it is built from many values.",
    action: "Nothing; a relay chain node with mmr_generateProof is faster.",
  },
  competitor_proof_pending: {
    text: "Proof of another relayer is pending",
    meaning: "Nothing is sent while it waits in the mempool.",
  },
  proofs_sent: {
    text: "Consensus proofs sent",
    meaning: "A transaction with proofs of the hub was accepted by a node.",
  },
  proofs_delivered: {
    text: "Consensus proofs delivered",
    meaning: "The host learned the relay block and height of the line.",
  },
  proofs_already_delivered: {
    text: "Consensus proofs already delivered by another relayer",
    meaning: "Our proofs were not sent.",
  },
  proofs_already_known: {
    text: "Consensus proofs already known to the chain; not sent",
    meaning: "The chain learned them between simulation and signature.",
  },
  proofs_wasted: {
    text: "Proofs already delivered by another relayer; gas wasted",
    meaning: "Another relayer's transaction was mined before ours.",
    action: "Nothing; two relayers for one chain compete.",
  },
  proofs_rejected: {
    text: "Proofs rejected by the host, retrying",
    meaning: "The host refused proofs that verify here. Once is chance: it may have moved on.",
    action: "If it repeats as a warning, report it.",
  },
  proofs_lost: {
    text: "Transaction with proofs lost, retrying",
    meaning: "The transaction left the mempool without being mined.",
    action: "Nothing if it passes. Otherwise check the endpoint.",
  },
  proofs_interrupted: {
    text: "Stopped before a transaction with proofs was mined",
    meaning: "The program ended while the transaction was pending; it may still be mined.",
  },
  proofs_poll_failed: {
    text: "Poll of a transaction with proofs failed, retrying",
    meaning: "The endpoints do not tell whether the transaction was mined.",
    action: CHECK_ENDPOINT,
  },
  proofs_gas_spent: {
    text: "Gas spent on a transaction with proofs",
    meaning: "What a mined transaction cost.",
  },
  losses_unlimited: {
    text: "No limit on what proofs of the hub may cost",
    meaning:
      "`[relayer]` has no `maximum_daily_loss`: only `maximum_gas_price` bounds what an endpoint can make it cost.",
    action: "Set `maximum_daily_loss`.",
  },
  losses_unreadable: {
    text:
      "Transactions of the last day unreadable in the folder of --cache: maximum_daily_loss counts from now on",
    meaning: "The file was cut off or changed, e.g. because the machine stopped while it was written.",
    action: "Nothing, unless it repeats: then check the disk.",
  },
  proof_too_large: {
    text: "Proof too large for one transaction: use an endpoint that takes larger ones",
    meaning: "The chain or its endpoint takes no transaction of this size. Messages wait for other updates.",
    action: "Use an endpoint that takes larger transactions, or a hub whose accepted proofs are small (SP1).",
    reaction: "the host is polled again in 10 min",
  },
  accepted_proofs_unavailable: {
    text: "Hub node does not offer accepted proofs (start it with --rpc-methods=unsafe and " +
      "--enable-offchain-indexing=true): messages wait for other relayers' updates",
    meaning: "The messaging relayer cannot send consensus proofs in front of messages.",
    action: "Start the hub node with --rpc-methods=unsafe and --enable-offchain-indexing=true.",
  },
  accepted_proof_missing: {
    text:
      "Hub node lacks the bytes of an accepted proof (was it started with --enable-offchain-indexing=true?): " +
      "messages wait for other relayers' updates",
    meaning: "The node did not index the block in which the hub accepted the proof.",
    action: "Start the hub node with --enable-offchain-indexing=true.",
  },
  proof_kind_unknown: {
    text: "Hub has accepted a consensus proof of a kind that this version does not know: skipped",
    meaning:
      "Proofs start with a byte for their kind (`kind`), and later runtimes have more of them. Chains advance " +
      "by the next older proof of a known kind; a rotation of an unknown kind waits for another relayer.",
    action: "Update the program.",
  },
  rotation_missing: {
    text:
      "Rotation no longer kept by the hub: a consensus relayer with [hub.prover] can prove it, otherwise the " +
      "chain's light client must be reset",
    meaning: "A chain missed a change of the authority set that the hub has forgotten.",
    action: "Run a consensus relayer with [hub.prover]; otherwise the chain's light client must be reset.",
    reaction: "messages to the chain wait for an update by another relayer, other chains continue",
  },
  rotations_rejected: {
    text: "Target rejected authority set updates",
    meaning: "The chain refused rotations of the hub; `detail` says why.",
    action: "If it repeats, check the light client of the hub on that chain.",
  },
  rotations_unprofitable: {
    text: "Rotations not covered by the hub's reward: they travel with messages that pay for them",
    meaning: "A change of the authority set costs more than the hub pays for bringing it.",
  },
} as const satisfies Record<string, EventText>;
