import assert from 'node:assert/strict';
import test from 'node:test';
import type { InitializerConfiguration } from '../../../api/admissionregistration/initializer-configuration.ts';
import { initializerConfigurations, pods } from '../../../api/client/resource-types.ts';
import type { Pod } from '../../../api/core/pod.ts';
import { initializersOf, withInitializers } from '../../../api/core/initializers.ts';
import type { Initializers } from '../../../api/core/initializers.ts';
import type { AdmissionAttributes } from '../../model/admission.ts';
import type { AuthorizationAttributes } from '../../model/user-info.ts';
import { AdmissionFixture } from '../testing/admission-fixture.ts';
import type { Write } from '../testing/admission-fixture.ts';
import { againWhilePending } from './again-while-pending.ts';
import { findInitializers } from './find-initializers.ts';
import { createInitializers } from './initializers.ts';

const configuration = (name: string, ...initializers: [string, string][]): InitializerConfiguration => ({
  metadata: { name, namespace: '', uid: name },
  initializers: initializers.map(([each, resource]) => ({
    name: each,
    rules: [{ apiGroups: [''], apiVersions: ['v1'], resources: [resource] }],
  })),
});
const pending = (...names: string[]): Initializers => ({ pending: names.map((name) => ({ name })) });

function pod(initializers?: Initializers, annotations?: Record<string, string>): Pod {
  const metadata = { name: 'web', namespace: 'default', uid: '', ...(annotations !== undefined && { annotations }) };
  return { metadata: withInitializers(metadata, initializers), spec: { containers: [] } };
}

/** A server on which only `operator` may initialize objects. */
function start(): {
  readonly fixture: AdmissionFixture;
  readonly asked: AuthorizationAttributes[];
  write(write: Write<Pod>): Promise<Initializers | undefined | string>;
} {
  const fixture = new AdmissionFixture();
  const asked: AuthorizationAttributes[] = [];
  const plugin = createInitializers(fixture.reader, {
    name: 'fake',
    authorize: (attributes) => {
      asked.push(attributes);
      return attributes.user.name === 'operator'
        ? { decision: 'allow', reason: '' }
        : { decision: 'deny', reason: 'not you' };
    },
  });
  const handled = { ...plugin, handles: (attributes: AdmissionAttributes) => isHandled(plugin, attributes) };
  return {
    fixture,
    asked,
    write: async (write) => {
      const { object, refusal } = await fixture.write(handled, pods, write);
      return refusal === '' && object !== undefined ? initializersOf(object.metadata) : refusal;
    },
  };
}

const isHandled = (plugin: ReturnType<typeof createInitializers>, attributes: AdmissionAttributes): boolean =>
  plugin.handles({ ...attributes, definition: { ...attributes.definition, isInitialized: true } });

test('initializers of a type are sorted by the names of their configurations, without duplicates', () => {
  const found = findInitializers(
    [
      configuration('b', ['two.example.com', 'pods'], ['one.example.com', 'pods']),
      configuration('a', ['one.example.com', '*'], ['other.example.com', 'secrets']),
    ],
    pods,
  );
  assert.deepEqual(found, ['one.example.com', 'two.example.com']);
});

test('a rule applies to its groups, versions and resources', () => {
  const rule = { apiGroups: ['apps'], apiVersions: ['v1'], resources: ['deployments'] };
  const of = (changes: object): readonly string[] =>
    findInitializers(
      [
        {
          ...configuration('a'),
          initializers: [{ name: 'x', rules: [{ ...rule, ...changes }] }],
        },
      ],
      { group: 'apps', version: 'v1', plural: 'deployments' },
    );
  assert.deepEqual(of({}), ['x']);
  assert.deepEqual(of({ apiGroups: ['*'], apiVersions: ['*'], resources: ['*'] }), ['x']);
  assert.deepEqual([...of({ apiGroups: [''] }), ...of({ apiVersions: ['v1beta1'] }), ...of({ resources: [] })], []);
});

test('a new object is pending until all configured initializers have acted', async () => {
  const { fixture, write } = start();
  assert.equal(await write({ object: pod() }), undefined);
  fixture.reader.put(initializerConfigurations, configuration('a', ['one.example.com', 'pods']));
  assert.deepEqual(await write({ object: pod() }), pending('one.example.com'));
});

test('a configuration that is pending itself is not used', async () => {
  const { fixture, write } = start();
  const config = configuration('a', ['one.example.com', 'pods']);
  fixture.reader.put(initializerConfigurations, {
    ...config,
    metadata: withInitializers(config.metadata, pending('other.example.com')),
  });
  assert.equal(await write({ object: pod() }), undefined);
});

test('a mirror pod is never pending, because it runs already', async () => {
  const { fixture, write } = start();
  fixture.reader.put(initializerConfigurations, configuration('a', ['one.example.com', 'pods']));
  assert.equal(await write({ object: pod(undefined, { 'kubernetes.io/config.mirror': 'x' }) }), undefined);
});

test('a list of initializers in a creation requires the right to initialize; an empty list bypasses all of them', async () => {
  const { fixture, write, asked } = start();
  fixture.reader.put(initializerConfigurations, configuration('a', ['one.example.com', 'pods']));
  assert.match(String(await write({ object: pod({}) })), /create with initializers denied: not you/);
  assert.equal(await write({ object: pod({}), user: 'operator' }), undefined);
  assert.deepEqual(
    await write({ object: pod(pending('mine.example.com')), user: 'operator' }),
    pending('mine.example.com'),
  );
  assert.deepEqual(
    asked.map(({ verb, resource, namespace, name }) => [verb, resource, namespace, name]),
    Array.from({ length: 3 }, () => ['initialize', 'pods', 'default', 'web']),
  );
});

test('writing a pending object requires the right to initialize', async () => {
  const { write } = start();
  const old = pod(pending('one.example.com'));
  assert.match(String(await write({ object: pod(), old })), /update to uninitialized resource denied: not you/);
  assert.match(String(await write({ object: old, old })), /update to uninitialized resource denied/);
  assert.equal(await write({ object: pod(), old, user: 'operator' }), undefined);
  // The last name is gone, the list is not.
  assert.equal(await write({ object: pod({ pending: [] }), old, user: 'operator' }), undefined);
  assert.equal(await write({ object: pod({}), old: pod() }), undefined);
});

test('a write to a subresource does not change the initializers', async () => {
  const { write } = start();
  const old = pod(pending('one.example.com'));
  assert.deepEqual(await write({ object: pod(), old, subresource: 'status' }), pending('one.example.com'));
  assert.equal(
    await write({ object: pod(pending('one.example.com')), old: pod(), subresource: 'status', user: 'operator' }),
    undefined,
  );
});

test('a plugin for creations also runs for updates of pending objects, and for no other updates', async () => {
  const fixture = new AdmissionFixture();
  const seen: string[] = [];
  const plugin = againWhilePending({
    name: 'LimitRanger',
    handles: ({ operation }) => operation === 'CREATE',
    mutate: ({ object }) => {
      seen.push('mutate');
      return object as Pod;
    },
    validate: ({ operation, oldObject }) => void seen.push(`${operation} ${oldObject === undefined}`),
  });
  const handled = { ...plugin, handles: (attributes: AdmissionAttributes) => isHandled(plugin, attributes) };
  await fixture.write(handled, pods, { object: pod(), old: pod() });
  await fixture.write(handled, pods, { object: pod(), old: pod(pending('a.b.c')), subresource: 'status' });
  assert.deepEqual(seen, []);
  const once = plugin.validate;
  assert.ok(once !== undefined);
  const attributes = fixture.attributes(pods, { object: pod(), old: pod(pending('a.b.c')) });
  const initialized = { ...attributes, definition: { ...attributes.definition, isInitialized: true } };
  assert.equal(plugin.handles(initialized), true);
  plugin.mutate?.(initialized);
  once(initialized);
  assert.deepEqual(seen, ['mutate', 'CREATE true']);
});

test('a plugin that upstream did not run again is not run again', () => {
  const plugin = { name: 'NamespaceLifecycle', handles: () => true };
  assert.equal(againWhilePending(plugin), plugin);
});
