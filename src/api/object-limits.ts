/**
 * What objects may be made of, beside their bytes: time and memory for one grow with its values more than with its
 * bytes. People write objects of some hundreds of values, programs (endpoints of a large service, subjects of a
 * binding, webhooks of a policy engine) of some thousands. Upstream has no such limits; there etcd takes no object of
 * more than 1.5 MiB.
 */
export const objectLimits = {
  /** Containers in containers, in a body of JSON or YAML. */
  depth: 500,
  /**
   * Values in a body as it comes, of whatever form: read before anything is known of their meaning, and with what the
   * server adds to objects that come back.
   */
  bodyValues: 50_000,
  /**
   * Values of an object in fields of its kind, before defaults: each of them is checked. An amount counts as three, an
   * object of many fields (a container, a volume) as several.
   */
  objectValues: 25_000,
  /** Of an object as it is stored, with defaults and managed fields. */
  storedValues: 100_000,
  storedBytes: 3 * 1024 * 1024,
} as const;
