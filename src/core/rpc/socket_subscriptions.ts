/**
 * Subscriptions that outlive a connection: which calls renew them on the next one, and who receives their
 * notifications.
 */
import type { RpcCall } from "./call.ts";
import type { Json } from "./json.ts";

/** Subscription that is renewed after each reconnection. */
export interface Subscription {
  readonly subscribe: string;
  readonly unsubscribe: string;
  readonly params: readonly unknown[];
}

/** Call that creates a subscription. */
export function subscribeCall(subscription: Subscription): RpcCall {
  return { method: subscription.subscribe, params: subscription.params };
}

interface Active {
  readonly subscription: Subscription;
  readonly onNotice: (value: Json) => void;
  /** Id on the current connection. */
  id: string;
}

/** Subscriptions of one endpoint. */
export class Subscriptions {
  readonly #active = new Set<Active>();

  /**
   * Adds a subscription that the node accepted as `id`. The returned function removes it and returns the call that
   * unsubscribes, once.
   */
  add(
    subscription: Subscription,
    onNotice: (value: Json) => void,
    id: Json,
  ): () => RpcCall | undefined {
    const active: Active = { subscription, onNotice, id: String(id) };
    this.#active.add(active);
    return () => {
      if (!this.#active.delete(active)) return undefined;
      return { method: subscription.unsubscribe, params: [active.id] };
    };
  }

  /** Calls to send on a new connection, with the setters for the new ids. */
  calls(): readonly { readonly call: RpcCall; readonly renew: (id: Json) => void }[] {
    return [...this.#active].map((active) => ({
      call: subscribeCall(active.subscription),
      renew: (id: Json): void => void (active.id = String(id)),
    }));
  }

  /** Passes a notification to the subscription with this id. */
  notify(id: string, value: Json): void {
    for (const active of this.#active) if (active.id === id) active.onNotice(value);
  }
}
