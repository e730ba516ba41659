import assert from 'node:assert/strict';
import test from 'node:test';
import { permissivePolicy } from '../../api/validation/cluster-policy.ts';
import fc from 'fast-check';
import { RulesFixture } from './testing/rules-fixture.ts';

const maybe = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> => fc.option(value, { nil: undefined });
const name = fc.stringMatching(/^[a-z][a-z0-9]{0,8}$/);
const quantity = fc.constantFrom('1', '500m', '2Gi', '100k', '1.5');
const count = fc.integer({ min: 0, max: 1000 });
const drop = (fields: object): object =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));

const probe = fc
  .record({
    httpGet: fc.record({ port: fc.constantFrom(80, 'http'), path: maybe(fc.constant('/x')) }).map(drop),
    periodSeconds: maybe(fc.integer({ min: 1, max: 99 })),
  })
  .map(drop);
const container = fc
  .record({
    image: fc.constantFrom('nginx', 'nginx:latest', 'nginx:1.27', 'registry.example/a@sha256:'.concat('0'.repeat(64))),
    ports: maybe(fc.constant([{ containerPort: 80, name: 'http' }])),
    livenessProbe: maybe(probe),
    resources: maybe(fc.record({ requests: fc.record({ cpu: quantity }) })),
  })
  .map(drop);
const template = fc
  .record({
    containers: fc.uniqueArray(name, { minLength: 1, maxLength: 3 }),
    each: fc.array(container, { minLength: 3, maxLength: 3 }),
    volumes: fc.boolean(),
    grace: maybe(count),
  })
  .map(({ containers, each, volumes, grace }) => ({
    metadata: { labels: { app: 'web' } },
    spec: drop({
      containers: containers.map((each2, index) => ({ name: each2, ...each[index] })),
      volumes: volumes
        ? [
            { name: 'v', configMap: { name: 'c' } },
            { name: 'w', hostPath: { path: '/x' } },
          ]
        : undefined,
      terminationGracePeriodSeconds: grace,
    }),
  }));
const selector = { matchLabels: { app: 'web' } };

/** Kinds with arbitrary objects that are valid with defaults. */
const kinds: readonly (readonly [apiVersion: string, kind: string, fc.Arbitrary<object>])[] = [
  [
    'apps/v1',
    'Deployment',
    fc
      .record({
        template,
        replicas: maybe(count),
        strategy: maybe(fc.constantFrom({}, { type: 'Recreate' }, { rollingUpdate: { maxSurge: 1 } })),
      })
      .map((spec) => ({ spec: { selector, ...drop(spec) } })),
  ],
  [
    'apps/v1',
    'ReplicaSet',
    fc.record({ template, replicas: maybe(count) }).map((spec) => ({ spec: { selector, ...drop(spec) } })),
  ],
  [
    'apps/v1',
    'DaemonSet',
    fc
      .record({
        template,
        updateStrategy: maybe(fc.constantFrom({}, { type: 'OnDelete' }, { rollingUpdate: { maxUnavailable: '50%' } })),
      })
      .map((spec) => ({ spec: { selector, ...drop(spec) } })),
  ],
  [
    'batch/v1',
    'Job',
    fc
      .record({
        template,
        parallelism: maybe(count),
        completions: maybe(count),
        suspend: maybe(fc.boolean()),
        policy: fc.boolean(),
      })
      .map(({ template: { metadata, spec }, policy, ...rest }) => ({
        spec: {
          ...drop(rest),
          template: { metadata, spec: { ...spec, restartPolicy: 'Never' } },
          ...(policy && {
            podFailurePolicy: { rules: [{ action: 'Ignore', onPodConditions: [{ type: 'DisruptionTarget' }] }] },
          }),
        },
      })),
  ],
  [
    'policy/v1',
    'PodDisruptionBudget',
    fc.constantFrom({ minAvailable: 1 }, { maxUnavailable: '30%' }, {}).map((spec) => ({ spec })),
  ],
  [
    'discovery.k8s.io/v1',
    'EndpointSlice',
    fc.record({
      addressType: fc.constant('IPv4'),
      endpoints: fc.array(
        fc
          .ipV4()
          .filter((ip) => !/^(0|127|169|224)\./.test(ip))
          .map((ip) => ({ addresses: [ip] })),
        { maxLength: 4 },
      ),
      ports: fc.constantFrom([], [{}], [{ name: 'a', port: 80 }]),
    }),
  ],
  [
    'v1',
    'Endpoints',
    fc.constantFrom([], [{ addresses: [{ ip: '10.0.0.1' }], ports: [{ port: 80 }] }]).map((subsets) => ({ subsets })),
  ],
  [
    'coordination.k8s.io/v1',
    'Lease',
    fc
      .record({ holderIdentity: maybe(name), leaseDurationSeconds: maybe(fc.integer({ min: 1, max: 99 })) })
      .map((spec) => ({ spec: drop(spec) })),
  ],
  [
    'scheduling.k8s.io/v1',
    'PriorityClass',
    fc.record({ value: fc.integer({ min: -2_147_483_648, max: 1_000_000_000 }) }),
  ],
  ['v1', 'Namespace', fc.constant({})],
  ['v1', 'ServiceAccount', fc.constant({})],
  [
    'v1',
    'LimitRange',
    fc
      .record({ type: fc.constantFrom('Pod', 'Container'), max: maybe(fc.record({ cpu: quantity })) })
      .map((item) => ({ spec: { limits: [drop(item)] } })),
  ],
  [
    'v1',
    'ResourceQuota',
    fc
      .dictionary(fc.constantFrom('requests.cpu', 'limits.memory', 'requests.storage'), quantity)
      .map((hard) => ({ spec: { hard } })),
  ],
];

for (const [apiVersion, kind, objects] of kinds) {
  test(`a defaulted ${kind} is valid, defaulting it again changes nothing, and nothing given is changed in place`, () => {
    fc.assert(
      fc.property(objects, (object) => {
        const fixture = new RulesFixture(apiVersion, kind, object);
        const given = fixture.given();
        const before = structuredClone(given);
        const once = fixture.definition.rules.applyDefaults(given);
        assert.deepEqual(fixture.definition.rules.applyDefaults(once), once);
        assert.deepEqual(given, before);
        assert.deepEqual(fixture.refusals(), []);
        const stored = fixture.created();
        assert.deepEqual(fixture.definition.rules.validateUpdate(stored, stored, permissivePolicy), []);
      }),
      { numRuns: 40 },
    );
  });
}
