/** Notes which values of a configuration are read, so that one that nothing reads is found. */

/**
 * The same values behind a watch: `onRead` gets the path of every property that is read, below lists without the index.
 * A copy of all properties at once would hide what is used, so it is refused.
 */
export function recordReads<T extends object>(values: T, onRead: (path: string) => void, above = ""): T {
  return new Proxy(values, {
    get(target, key, receiver): unknown {
      const value: unknown = Reflect.get(target, key, receiver);
      if (typeof key === "symbol" || typeof value === "function") return value;
      const path = Array.isArray(target) ? above : `${above}${above === "" ? "" : "."}${key}`;
      if (!Array.isArray(target)) onRead(path);
      return isPlain(value) ? recordReads(value, onRead, path) : value;
    },
    ownKeys(target): ArrayLike<string | symbol> {
      if (Array.isArray(target)) return Reflect.ownKeys(target);
      throw new Error(`all of ${above} is copied: take what is used by name`);
    },
  });
}

/** True for what a configuration is made of, and false for values with a life of their own. */
function isPlain(value: unknown): value is object {
  if (typeof value !== "object" || value === null) return false;
  return Array.isArray(value) || Object.getPrototypeOf(value) === Object.prototype;
}
