/**
 * Limits for the structure of objects, in addition to their size: the time and memory for an object depend more on its
 * number of values than on its bytes. Objects written by people have some hundreds of values; those written by programs
 * (endpoints of a large service, subjects of a binding, webhooks of a policy engine) have some thousands. Upstream has
 * no such limits; its etcd rejects objects of more than 1.5 MiB.
 */
export const objectLimits = {
  /** The nesting depth of a JSON or YAML body. */
  depth: 500,
  /**
   * The number of values in a body of any form. Counted before the body is decoded; includes what the server adds to
   * objects that clients send back.
   */
  bodyValues: 50_000,
  /**
   * The number of values in the kind's fields before defaulting; each is checked. A quantity counts as three, an object
   * with many fields (a container, a volume) as several.
   */
  objectValues: 25_000,
  /** The number of values in a stored object, with defaults and managed fields. */
  storedValues: 100_000,
  storedBytes: 3 * 1024 * 1024,
} as const;
