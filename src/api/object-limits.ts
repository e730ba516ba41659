/**
 * What objects may be made of, beside their bytes: time and memory for one grow with its values more than with its
 * bytes. People write objects of some hundreds of values, programs (endpoints of a large service, subjects of a
 * binding, webhooks of a policy engine) of some thousands. Upstream has no such limits; there etcd takes no object of
 * more than 1.5 MiB.
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
   * Values of an object in fields of its kind, before defaults: each of them is checked. An amount counts as three, an
   * object of many fields (a container, a volume) as several.
   */
  objectValues: 25_000,
  /** The number of values in a stored object, with defaults and managed fields. */
  storedValues: 100_000,
  storedBytes: 3 * 1024 * 1024,
} as const;
