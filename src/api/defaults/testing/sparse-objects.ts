import assert from 'node:assert/strict';

/** The objects in tests are as incomplete as those of clients, which the types of stored objects do not allow. */
export function defaultsOf<T>(apply: (object: T) => T, object: object): unknown {
  const before = structuredClone(object);
  const once = apply(object as T);
  assert.deepEqual(object, before, 'the argument is not changed');
  assert.deepEqual(apply(once), once, 'twice is once');
  return once;
}
export const specOf = (object: unknown): unknown => (object as { readonly spec: unknown }).spec;
/** The defaults of the spec alone. */
export const specs =
  <T>(apply: (object: T) => T) =>
  (spec: object): unknown =>
    specOf(defaultsOf(apply, { metadata: {}, spec }));

export const sparse = { metadata: { labels: { app: 'x' } }, spec: { containers: [] } };
export const template = {
  metadata: { labels: { app: 'x' } },
  spec: {
    containers: [],
    dnsPolicy: 'ClusterFirst',
    restartPolicy: 'Always',
    schedulerName: 'default-scheduler',
    securityContext: {},
    terminationGracePeriodSeconds: 30,
  },
};
