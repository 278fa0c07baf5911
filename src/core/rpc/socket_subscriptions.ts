/**
 * Subscriptions on one connection: who receives their notifications. They end with the connection; whoever needs them
 * subscribes again, and meanwhile has to ask.
 */
import type { RpcCall } from "./call.ts";
import type { Json } from "./json.ts";

/** What to subscribe to. */
export interface Subscription {
  readonly subscribe: string;
  readonly unsubscribe: string;
  readonly params: readonly unknown[];
}

/** Receiver of a subscription. */
export interface SubscriptionListener {
  onNotice(value: Json): void;
  /** The connection has ended: nothing more comes. Not called after the receiver itself has unsubscribed. */
  onEnd(): void;
}

/** Call that creates a subscription. */
export function subscribeCall(subscription: Subscription): RpcCall {
  return { method: subscription.subscribe, params: subscription.params };
}

/** Subscriptions of one connection, by the ids that the node gave them. */
export class Subscriptions {
  readonly #listeners = new Map<string, SubscriptionListener>();

  /**
   * Adds a subscription that the node accepted as `id`. The returned function removes it and returns the call that
   * unsubscribes; `undefined` when it has ended already.
   */
  add(
    subscription: Subscription,
    listener: SubscriptionListener,
    id: Json,
  ): () => RpcCall | undefined {
    const key = String(id);
    this.#listeners.set(key, listener);
    return () => {
      if (this.#listeners.get(key) !== listener) return undefined;
      this.#listeners.delete(key);
      return { method: subscription.unsubscribe, params: [id] };
    };
  }

  /** Passes a notification to the subscription with this id. */
  notify(id: string, value: Json): void {
    this.#listeners.get(id)?.onNotice(value);
  }

  /** Ends all of them: the connection is gone. */
  endAll(): void {
    const ended = [...this.#listeners.values()];
    this.#listeners.clear();
    for (const listener of ended) listener.onEnd();
  }
}
