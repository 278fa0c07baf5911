/** Objects of the product with other answers in some places. */

/** The object with some methods of its own. */
export function withMethods<T extends object>(target: T, own: Partial<T>): T {
  return new Proxy(target, {
    get: (_, name) => {
      const value: unknown = Reflect.get(Object.hasOwn(own, name) ? own : target, name);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

/** The object as a record, which can be spread as those of the product are: its methods are members of its own. */
export function toRecord<T extends object>(target: T): T {
  const record: Record<PropertyKey, unknown> = {};
  for (let from = target; from !== Object.prototype; from = Object.getPrototypeOf(from)) {
    for (const name of Reflect.ownKeys(from)) {
      if (name === "constructor" || name in record) continue;
      const value: unknown = Reflect.get(target, name);
      record[name] = typeof value === "function" ? value.bind(target) : value;
    }
  }
  return record as T;
}
