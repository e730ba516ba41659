import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { configMaps, deployments, namespaces, pods } from '../../../api/client/resource-types.ts';
import type { Deployment } from '../../../api/apps/deployment.ts';
import { buildPod } from '../../../api/testing/pod-builder.ts';
import type { Changes } from '../../../api/testing/pod-builder.ts';
import { AdmissionFixture, namespace } from '../testing/admission-fixture.ts';
import type { Policy } from './policy.ts';
import { createPodSecurity, podSecurityDefaults } from './pod-security.ts';
import type { PodSecuritySettings } from './pod-security.ts';
import { c0, label } from './testing/level-cases.ts';

describe('PodSecurity', () => {
  function setUp(labels: Record<string, string>, settings: PodSecuritySettings = podSecurityDefaults) {
    const fixture = new AdmissionFixture();
    fixture.reader.put(namespaces, namespace('default', labels));
    return { fixture, plugin: createPodSecurity(fixture.reader, settings) };
  }
  const bad = buildPod({ 'spec.hostPID': true });
  const deployment = (spec: typeof bad.spec): Deployment => ({
    metadata: { name: 'd', namespace: 'default', uid: '' },
    spec: { selector: {}, template: { metadata: {}, spec } },
  });
  const exempting = (what: Partial<PodSecuritySettings['exemptions']>): PodSecuritySettings => ({
    ...podSecurityDefaults,
    exemptions: { ...podSecurityDefaults.exemptions, ...what },
  });

  it('refuses, audits and warns according to the namespace', async () => {
    const { fixture, plugin } = setUp({
      ...label('enforce', 'baseline'),
      ...label('audit', 'restricted'),
      ...label('audit-version', 'v1.0'),
    });
    const { refusal, annotations } = await fixture.write(plugin, pods, { object: bad });
    assert.equal(
      refusal,
      'pods "web" is forbidden: violates PodSecurity "baseline:latest": host namespaces (hostPID=true)',
    );
    assert.equal(annotations['pod-security.kubernetes.io/enforce-policy'], 'baseline:latest');
    assert.match(
      annotations['pod-security.kubernetes.io/audit-violations'] ?? '',
      /^would violate PodSecurity "restricted:v1.0": host namespaces/,
    );
    const warned = await setUp(label('warn', 'baseline')).fixture.write(setUp(label('warn', 'baseline')).plugin, pods, {
      object: bad,
    });
    assert.deepEqual(
      [warned.refusal, warned.warnings],
      ['', ['would violate PodSecurity "baseline:latest": host namespaces (hostPID=true)']],
    );
    const free = setUp({});
    assert.deepEqual((await free.fixture.write(free.plugin, pods, { object: bad })).annotations, {
      'pod-security.kubernetes.io/enforce-policy': 'privileged:latest',
    });
  });

  it('checks a pod again only when its images change, or a debug container is added', async () => {
    const { fixture, plugin } = setUp(label('enforce', 'baseline'));
    const update = (object: typeof bad, subresource = '') =>
      fixture.refusal(plugin, pods, { object, old: bad, subresource });
    assert.equal(await update(buildPod({ 'spec.hostPID': true, 'metadata.labels': { a: 'b' } })), '');
    assert.notEqual(await update(buildPod({ 'spec.hostPID': true, 'spec.containers[0].image': 'other' })), '');
    assert.notEqual(
      await update(
        buildPod({ 'spec.hostPID': true, 'spec.ephemeralContainers': [{ name: 'd', image: 'x' }] }),
        'ephemeralcontainers',
      ),
      '',
    );
    assert.equal(plugin.handles(fixture.attributes(pods, { object: bad, old: bad, subresource: 'status' })), false);
  });

  it('only warns about pod templates', async () => {
    const { fixture, plugin } = setUp(label('enforce', 'baseline'));
    const object = deployment(bad.spec);
    const { refusal, warnings } = await fixture.write(plugin, deployments, { object });
    assert.deepEqual(
      [refusal, warnings],
      ['', ['would violate PodSecurity "baseline:latest": host namespaces (hostPID=true)']],
    );
    assert.equal(
      plugin.handles(fixture.attributes(deployments, { object, old: object, subresource: 'status' })),
      false,
    );
  });

  it('refuses invalid labels, unless they existed before', async () => {
    const { fixture, plugin } = setUp({});
    const wrong = namespace('x', label('enforce', 'foo'));
    const { error } = await fixture.write(plugin, namespaces, { object: wrong });
    assert.equal(
      error?.message,
      'Namespace "x" is invalid: metadata.labels[pod-security.kubernetes.io/enforce]: Invalid value: "foo": must be one of privileged, baseline, restricted',
    );
    assert.equal(error.reason, 'Invalid');
    assert.equal(await fixture.refusal(plugin, namespaces, { object: wrong, old: wrong }), '');
  });

  it('warns about existing pods when a namespace becomes stricter, once for all pods of one controller', async () => {
    const { fixture, plugin } = setUp({});
    const owned = (name: string) =>
      buildPod({
        'metadata.name': name,
        'spec.hostPID': true,
        'metadata.ownerReferences': [{ apiVersion: 'v1', kind: 'X', name: 'x', uid: 'x', controller: true }],
      });
    fixture.reader.put(
      pods,
      owned('b'),
      owned('c'),
      owned('a'),
      buildPod({ 'metadata.name': 'z', [c0]: { privileged: true } }),
      buildPod({ 'metadata.name': 'fine' }),
    );
    const { warnings } = await fixture.write(plugin, namespaces, {
      object: namespace('default', label('enforce', 'baseline')),
      old: namespace('default'),
    });
    assert.deepEqual(warnings, [
      'existing pods in namespace "default" violate the new PodSecurity enforce level "baseline:latest"',
      'a (and 2 other pods): host namespaces',
      'z: privileged',
    ]);
    const looser = await fixture.write(plugin, namespaces, {
      object: namespace('default', label('enforce', 'baseline')),
      old: namespace('default', label('enforce', 'restricted')),
    });
    assert.deepEqual(looser.warnings, []);
  });

  it('does not check exempt requests', async () => {
    const tries: readonly [PodSecuritySettings, string, Changes][] = [
      [exempting({ namespaces: ['default'] }), 'namespace', {}],
      [exempting({ usernames: ['jane'] }), 'user', {}],
      [exempting({ runtimeClasses: ['vm'] }), 'runtimeClass', { 'spec.runtimeClassName': 'vm' }],
    ];
    for (const [settings, why, changes] of tries) {
      const { fixture, plugin } = setUp(label('enforce', 'baseline'), settings);
      const { refusal, annotations } = await fixture.write(plugin, pods, {
        object: buildPod({ 'spec.hostPID': true, ...changes }),
      });
      assert.deepEqual([refusal, annotations], ['', { 'pod-security.kubernetes.io/exempt': why }]);
    }
    const { fixture, plugin } = setUp({}, exempting({ namespaces: ['mine'] }));
    const { warnings } = await fixture.write(plugin, namespaces, {
      object: namespace('mine', label('enforce', 'baseline')),
    });
    assert.deepEqual(warnings, [
      'namespace "mine" is exempt from Pod Security, and the policy (enforce=baseline:latest) will be ignored',
    ]);
  });

  it('handles only pods, pod templates and namespaces, and only when they are created or updated', () => {
    const { fixture, plugin } = setUp(label('enforce', 'baseline'));
    const handles = (...given: Parameters<typeof fixture.attributes>) => plugin.handles(fixture.attributes(...given));
    assert.equal(handles(pods, { object: bad }), true);
    assert.equal(handles(pods, { object: bad, old: bad, subresource: 'resize' }), true);
    assert.equal(handles(configMaps, { object: { metadata: { name: 'a', namespace: 'default', uid: '' } } }), false);
    assert.equal(handles(namespaces, { object: namespace('x') }), true);
    assert.equal(handles(pods, { old: bad }), false);
    assert.equal(handles(namespaces, { old: namespace('x') }), false);
  });

  it('enforces "restricted" in a namespace with invalid labels, and annotates the error', async () => {
    const { fixture, plugin } = setUp(label('enforce', 'foo'));
    const { refusal, annotations } = await fixture.write(plugin, pods, { object: buildPod() });
    assert.match(refusal, /^pods "web" is forbidden: violates PodSecurity "restricted:latest": /);
    assert.equal(
      annotations['pod-security.kubernetes.io/error'],
      'Failed to parse policy: metadata.labels[pod-security.kubernetes.io/enforce]: Invalid value: "foo": must be one of privileged, baseline, restricted',
    );
    const harmless = setUp(label('warn', 'foo'));
    const passed = await harmless.fixture.write(harmless.plugin, pods, { object: bad });
    assert.equal(passed.refusal, '');
    assert.match(passed.annotations['pod-security.kubernetes.io/error'] ?? '', /^Failed to parse policy: /);
    const good = setUp(label('enforce', 'baseline'));
    const clean = await good.fixture.write(good.plugin, pods, { object: buildPod() });
    assert.deepEqual(clean.annotations, { 'pod-security.kubernetes.io/enforce-policy': 'baseline:latest' });
    assert.deepEqual(clean.warnings, []);
  });

  it('refuses a pod in an unknown namespace, and admits a template with an annotation', async () => {
    const { fixture, plugin } = setUp({});
    const lost = buildPod({ 'spec.hostPID': true, 'metadata.namespace': 'lost' });
    assert.equal(
      (await fixture.write(plugin, pods, { object: lost })).error?.message,
      'Internal error occurred: failed to lookup namespace "lost"',
    );
    const object = { ...deployment(bad.spec), metadata: { name: 'd', namespace: 'lost', uid: '' } };
    const template = await fixture.write(plugin, deployments, { object });
    assert.deepEqual(
      [template.refusal, template.annotations],
      ['', { 'pod-security.kubernetes.io/error': 'failed to lookup namespace "lost"' }],
    );
  });

  it('does not check templates without audit and warn levels, or in exempt requests', async () => {
    const annotationsOf = async (labels: Record<string, string>, settings?: PodSecuritySettings) => {
      const { fixture, plugin } = setUp(labels, settings);
      const { refusal, annotations, warnings } = await fixture.write(plugin, deployments, {
        object: deployment(bad.spec),
      });
      assert.equal(refusal, '');
      return [annotations, warnings.length];
    };
    const quiet = { ...label('enforce', 'baseline'), ...label('warn', 'privileged') };
    assert.deepEqual(await annotationsOf(quiet), [{}, 0]);
    const audited = 'would violate PodSecurity "baseline:latest": host namespaces (hostPID=true)';
    assert.deepEqual(await annotationsOf({ ...quiet, ...label('audit', 'baseline') }), [
      { 'pod-security.kubernetes.io/audit-violations': audited },
      0,
    ]);
    assert.deepEqual(await annotationsOf(label('warn', 'baseline'), exempting({ namespaces: ['default'] })), [
      { 'pod-security.kubernetes.io/exempt': 'namespace' },
      0,
    ]);
  });

  it("checks a pod again when an init container's image changes, not for an existing debug container", async () => {
    const { fixture, plugin } = setUp(label('enforce', 'baseline'));
    const debugged = (image: string, initImage = 'i') =>
      buildPod({
        'spec.hostPID': true,
        'spec.initContainers': [{ name: 'i', image: initImage }],
        'spec.ephemeralContainers': [{ name: 'd', image }],
      });
    const update = async (object: typeof bad) =>
      (await fixture.refusal(plugin, pods, { object, old: debugged('x'), subresource: 'ephemeralcontainers' })) !== '';
    assert.equal(await update(debugged('x')), false);
    assert.equal(await update(debugged('y')), true);
    assert.equal(await update(debugged('x', 'j')), true);
  });

  it('warns about existing pods when the version changes, but not about exempt ones', async () => {
    const warningsOf = async (
      from: Record<string, string>,
      to: Record<string, string>,
      settings = podSecurityDefaults,
    ) => {
      const { fixture, plugin } = setUp({}, settings);
      fixture.reader.put(
        pods,
        bad,
        buildPod({ 'metadata.name': 'vm', [`${c0}.privileged`]: true, 'spec.runtimeClassName': 'vm' }),
      );
      const object = namespace('default', to);
      return (await fixture.write(plugin, namespaces, { object, old: namespace('default', from) })).warnings;
    };
    const old = { ...label('enforce', 'baseline'), ...label('enforce-version', 'v1.20') };
    assert.equal((await warningsOf(old, label('enforce', 'baseline'))).length, 3);
    assert.equal(
      (await warningsOf(old, label('enforce', 'baseline'), exempting({ runtimeClasses: ['vm'] }))).length,
      2,
    );
    assert.deepEqual(await warningsOf(old, { ...old, ...label('audit', 'restricted') }), []);
    assert.deepEqual(await warningsOf(old, label('enforce', 'privileged')), []);
    assert.deepEqual(await warningsOf({}, old, exempting({ namespaces: ['default'] })), [
      'namespace "default" is exempt from Pod Security, and the policy (enforce=baseline:v1.20) will be ignored',
    ]);
  });

  it('warns that an exempt namespace ignores its policy only if a label sets one', async () => {
    const warningsOf = async (labels: Record<string, string>, defaults: Partial<Policy> = {}) => {
      const { fixture, plugin } = setUp(
        {},
        {
          ...exempting({ namespaces: ['mine'] }),
          defaults: { ...podSecurityDefaults.defaults, ...defaults },
        },
      );
      return (await fixture.write(plugin, namespaces, { object: namespace('mine', labels) })).warnings;
    };
    assert.deepEqual(await warningsOf({}, { audit: { level: 'baseline', minor: 20 } }), []);
    assert.deepEqual(await warningsOf(label('enforce-version', 'v1.20')), []);
    const audit = { level: 'baseline', minor: 20 } as const;
    const text = (modes: string) =>
      `namespace "mine" is exempt from Pod Security, and the policy (${modes}) will be ignored`;
    assert.deepEqual(await warningsOf(label('audit-version', 'v1.21'), { audit }), [text('audit=baseline:v1.21')]);
    assert.deepEqual(await warningsOf(label('enforce', 'restricted'), { audit }), [text('enforce=restricted:latest')]);
  });
});
