/** Subscriptions that outlive a connection: what to ask again on the next one, and who gets what comes in. */
import type { RpcCall } from "./call.ts";
import type { Json } from "./json.ts";

/** A subscription to be made, and re-made after each reconnection. */
export interface Subscription {
  readonly subscribe: string;
  readonly unsubscribe: string;
  readonly params: readonly unknown[];
}

/** The call that makes a subscription. */
export function subscribeCall(subscription: Subscription): RpcCall {
  return { method: subscription.subscribe, params: subscription.params };
}

interface Active {
  readonly subscription: Subscription;
  readonly onNotice: (value: Json) => void;
  /** Id on the present connection. */
  id: string;
}

/** The subscriptions of one endpoint. */
export class Subscriptions {
  readonly #active = new Set<Active>();

  /** Notes a subscription that the node has accepted as `id`. The result ends it: the call to tell the node, once. */
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

  /** What has to be asked on a new connection, with where to put the new ids. */
  calls(): readonly { readonly call: RpcCall; readonly renew: (id: Json) => void }[] {
    return [...this.#active].map((active) => ({
      call: subscribeCall(active.subscription),
      renew: (id: Json): void => void (active.id = String(id)),
    }));
  }

  /** Hands a notice to the subscription with this id. */
  notify(id: string, value: Json): void {
    for (const active of this.#active) if (active.id === id) active.onNotice(value);
  }
}
