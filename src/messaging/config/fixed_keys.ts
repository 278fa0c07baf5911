/** Keys that a running relayer does not change when its configuration is read again. */
import type { MessagingConfig } from "./schema.ts";

/**
 * Keeps what the open database depends on: it belongs to one hub, and how its log is written back is set when it is
 * opened. `fixed` names the keys that have changed.
 */
export function keepFixed(
  { hub: { stateMachine, consensusStateId }, relayer: { leaveCheckpoints } }: MessagingConfig,
  after: MessagingConfig,
): { readonly config: MessagingConfig; readonly fixed: readonly string[] } {
  const { hub } = after;
  const fixed = [
    ...hub.stateMachine === stateMachine ? [] : [`[${hub.section}].state_machine`],
    ...hub.consensusStateId === consensusStateId ? [] : [`[${hub.section}].consensus_state_id`],
    ...after.relayer.leaveCheckpoints === leaveCheckpoints ? [] : ["[relayer].leave_checkpoints"],
  ];
  const config = {
    ...after,
    hub: { ...hub, stateMachine, consensusStateId },
    relayer: { ...after.relayer, leaveCheckpoints },
  };
  return { config, fixed };
}
