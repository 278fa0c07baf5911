/** Parts of chains whose answers an observer is notified of as they are read; everything else is the part's own. */

/**
 * Observers by method: called with what it resolved to, its arguments, and the time that it took, ms. They must not
 * throw.
 */
export type Observers<T> = {
  readonly [Name in keyof T]?: T[Name] extends (...args: infer Args) => Promise<infer Result>
    ? (result: Result, args: Args, tookMs: number) => void
    : never;
};

/** Returns the object with observed methods. @param now time, ms; absent: nothing is timed */
export function observed<T extends object>(of: T, observers: Observers<T>, now = (): number => 0): T {
  return new Proxy(of, {
    get(target, name): unknown {
      const method: unknown = Reflect.get(target, name, target);
      const note: unknown = Reflect.get(observers, name);
      if (typeof method !== "function") return method;
      if (typeof note !== "function") return method.bind(target);
      return async (...args: readonly unknown[]): Promise<unknown> => {
        const startMs = now();
        const result: unknown = await method.apply(target, args);
        note(result, args, now() - startMs);
        return result;
      };
    },
  });
}
