import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  configMaps,
  events,
  nodes,
  persistentVolumeClaims,
  persistentVolumes,
  pods,
  services,
  storageClasses,
} from '../../api/client/resource-types.ts';
import type { Event } from '../../api/core/event.ts';
import type { PersistentVolumeClaim } from '../../api/core/persistent-volume-claim.ts';
import type { StorageClass } from '../../api/storage/storage-class.ts';
import { buildPod } from '../../api/testing/pod-builder.ts';
import { readAdmissionConfiguration } from './configuration/admission-configuration.ts';
import { createEventRateLimit, readEventRateLimitConfiguration } from './event-rate-limit.ts';
import { alwaysDeny, createNamespaceExists } from './everything-or-nothing.ts';
import { knownPlugins, pluginFlagProblems, pluginsThatAreOn } from './plugin-names.ts';
import {
  alwaysPullImages,
  createPodResizeValidator,
  denyServiceExternalIps,
  extendedResourceToleration,
  limitPodHardAntiAffinityTopology,
} from './pod-extras.ts';
import { readResourceQuotaConfiguration } from './resource-quota/resource-quota-configuration.ts';
import {
  createDefaultStorageClass,
  createPersistentVolumeClaimResize,
  storageObjectInUseProtection,
} from './storage.ts';
import { AdmissionFixture } from './testing/admission-fixture.ts';

const claim = (
  spec: Partial<PersistentVolumeClaim['spec']>,
  status?: PersistentVolumeClaim['status'],
): PersistentVolumeClaim => ({
  metadata: { name: 'data', namespace: 'default', uid: '' },
  spec,
  ...(status !== undefined && { status }),
});
const storageClass = (
  name: string,
  creationTimestamp: string,
  isDefault: boolean,
  more: Partial<StorageClass> = {},
): StorageClass => ({
  metadata: {
    name,
    namespace: '',
    uid: '',
    creationTimestamp,
    ...(isDefault && { annotations: { 'storageclass.kubernetes.io/is-default-class': 'true' } }),
  },
  provisioner: 'x',
  ...more,
});

describe('storage', () => {
  it('gives a claim without a class the youngest default', async () => {
    const fixture = new AdmissionFixture();
    const plugin = createDefaultStorageClass(fixture.reader);
    const classOf = async (object: PersistentVolumeClaim) =>
      (await fixture.write(plugin, persistentVolumeClaims, { object })).object?.spec.storageClassName;
    assert.equal(await classOf(claim({})), undefined);
    fixture.reader.put(
      storageClasses,
      storageClass('old', '2025-01-01T00:00:00Z', true),
      storageClass('b', '2026-01-01T00:00:00Z', true),
      storageClass('a', '2026-01-01T00:00:00Z', true),
      storageClass('new', '2027-01-01T00:00:00Z', false),
    );
    assert.equal(await classOf(claim({})), 'a');
    assert.equal(await classOf(claim({ storageClassName: '' })), '', 'none is also a choice');
  });

  it('lets only bound claims grow, and only if their class allows expansion', async () => {
    const fixture = new AdmissionFixture();
    fixture.reader.put(
      storageClasses,
      storageClass('fixed', '', false),
      storageClass('elastic', '', false, { allowVolumeExpansion: true }),
    );
    const plugin = createPersistentVolumeClaimResize(fixture.reader);
    const grow = (storageClassName: string, phase: 'Bound' | 'Pending', to = '2Gi') => {
      const sized = (storage: string) => claim({ storageClassName, resources: { requests: { storage } } }, { phase });
      return fixture.refusal(plugin, persistentVolumeClaims, { object: sized(to), old: sized('1Gi') });
    };
    assert.equal(await grow('elastic', 'Bound'), '');
    assert.equal(await grow('fixed', 'Pending', '1Gi'), '');
    assert.equal(
      await grow('elastic', 'Pending'),
      'persistentvolumeclaims "data" is forbidden: Only bound persistent volume claims can be expanded',
    );
    assert.match(
      await grow('fixed', 'Bound'),
      /only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize$/,
    );
  });
});

describe('StorageObjectInUseProtection', () => {
  it('protects claims and volumes by a finalizer from their creation', async () => {
    const fixture = new AdmissionFixture();
    const { object } = await fixture.write(storageObjectInUseProtection, persistentVolumeClaims, { object: claim({}) });
    assert.deepEqual(object?.metadata.finalizers, ['kubernetes.io/pvc-protection']);
    assert.equal(
      (await fixture.write(storageObjectInUseProtection, persistentVolumeClaims, { object })).object,
      object,
    );
    const volume = { metadata: { name: 'v', namespace: '', uid: '', finalizers: ['x'] }, spec: {} };
    assert.deepEqual(
      (await fixture.write(storageObjectInUseProtection, persistentVolumes, { object: volume })).object?.metadata
        .finalizers,
      ['x', 'kubernetes.io/pv-protection'],
    );
    assert.equal(
      storageObjectInUseProtection.handles(
        fixture.attributes(persistentVolumeClaims, { object: claim({}), old: claim({}) }),
      ),
      false,
    );
  });
});

describe('the plugins for pods and services that are off by default', () => {
  const fixture = new AdmissionFixture();

  it('pull images for every start', async () => {
    const object = buildPod({
      'spec.initContainers': [{ name: 'i', image: 'x:1' }],
      'spec.volumes': [{ name: 'v', image: { reference: 'r:1' } }],
    });
    const pulled = (await fixture.write(alwaysPullImages, pods, { object })).object;
    assert.deepEqual(
      [
        pulled?.spec.containers[0]?.imagePullPolicy,
        pulled?.spec.initContainers?.[0]?.imagePullPolicy,
        pulled?.spec.volumes?.[0]?.image?.pullPolicy,
      ],
      ['Always', 'Always', 'Always'],
    );
    assert.equal(alwaysPullImages.handles(fixture.attributes(pods, { object, old: object })), false);
    const refused = fixture.attributes(pods, { object: buildPod({ 'spec.containers[0].imagePullPolicy': 'Never' }) });
    assert.throws(
      () => alwaysPullImages.validate?.(refused),
      /spec.containers\[0\].imagePullPolicy: Unsupported value: "Never": supported values: "Always"/,
    );
  });

  it('tolerate the taints of extended resources', async () => {
    const object = buildPod({
      'spec.containers[0].resources': {
        requests: { 'b.io/x': '1', 'a.io/y': '1', cpu: '1' },
        limits: { 'b.io/x': '1', 'a.io/y': '1' },
      },
    });
    const added = (key: string) => ({ key, operator: 'Exists', effect: 'NoSchedule' });
    const tolerating = (await fixture.write(extendedResourceToleration, pods, { object })).object ?? object;
    assert.deepEqual(tolerating.spec.tolerations, [added('a.io/y'), added('b.io/x')]);
    assert.equal((await fixture.write(extendedResourceToleration, pods, { object: tolerating })).object, tolerating);
  });

  it('refuse new external addresses, but keep existing ones', async () => {
    const service = (...externalIPs: string[]) => ({
      metadata: { name: 's', namespace: 'default', uid: '' },
      spec: { externalIPs },
    });
    assert.equal(
      await fixture.refusal(denyServiceExternalIps, services, { object: service('1.2.3.4') }),
      'services "s" is forbidden: Use of external IPs is denied by admission control',
    );
    assert.equal(
      await fixture.refusal(denyServiceExternalIps, services, {
        object: service('1.2.3.4'),
        old: service('1.2.3.4', '5.6.7.8'),
      }),
      '',
    );
  });

  it('refuse anti-affinity beyond a single node', async () => {
    const keeping = (topologyKey: string) =>
      buildPod({
        'spec.affinity': {
          podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey, labelSelector: {} }] },
        },
      });
    assert.equal(
      await fixture.refusal(limitPodHardAntiAffinityTopology, pods, { object: keeping('kubernetes.io/hostname') }),
      '',
    );
    assert.match(
      await fixture.refusal(limitPodHardAntiAffinityTopology, pods, { object: keeping('zone') }),
      /TopologyKey zone but only key kubernetes.io\/hostname is allowed$/,
    );
  });

  it('deny everything, or objects without a namespace', async () => {
    assert.match(
      await fixture.refusal(alwaysDeny, pods, { object: buildPod() }),
      /admission control is denying all modifications$/,
    );
    assert.equal(
      await fixture.refusal(createNamespaceExists(fixture.reader), pods, {
        object: buildPod({ 'metadata.namespace': 'nope' }),
      }),
      'namespaces "nope" not found',
    );
  });
});

describe('PodResizeValidator', () => {
  it('refuse pods that the node could never run', async () => {
    const fixture = new AdmissionFixture();
    const plugin = createPodResizeValidator(fixture.reader);
    const node = (os: string) => ({
      metadata: { name: 'n', namespace: '', uid: '', labels: { 'kubernetes.io/os': os } },
      spec: {},
      status: { allocatable: { cpu: '2', memory: '1Gi' } },
    });
    const pod = (cpu: string, generation: number) =>
      buildPod({
        'spec.nodeName': 'n',
        'metadata.generation': generation,
        'spec.containers[0].resources': { requests: { cpu, memory: '2Gi' } },
      });
    const resize = (cpu: string, generation = 2) =>
      fixture.write(plugin, pods, { object: pod(cpu, generation), old: pod('1', 1), subresource: 'resize' });
    assert.equal((await resize('3')).refusal, 'pods "web" is forbidden: node "n" not found');
    fixture.reader.put(nodes, node('linux'));
    const { refusal, error } = await resize('3');
    assert.equal(
      refusal,
      'pods "web" is forbidden: node didn\'t have enough allocatable resources: cpu, requested: 3000, allocatable: 2000; memory, requested: 2147483648, allocatable: 1073741824',
    );
    assert.deepEqual(error?.details?.causes, [{ reason: 'NodeCapacity' }]);
    assert.equal((await resize('3', 1)).refusal, '', 'nothing has changed');
    fixture.reader.put(nodes, node('windows'));
    assert.match((await resize('1')).refusal, /pod resize is only supported on linux nodes, node "n" is "windows"$/);
  });
});

describe('EventRateLimit', () => {
  const event = (name: string, object: string): Event => ({
    metadata: { name, namespace: 'default', uid: '' },
    involvedObject: { kind: 'Pod', name: object },
    source: { component: 'c' },
    reportingComponent: '',
    reportingInstance: '',
  });

  it('admits a burst, and then a fixed rate for each bucket', async () => {
    let nowMs = 0;
    const fixture = new AdmissionFixture();
    const plugin = createEventRateLimit(
      [
        { type: 'SourceAndObject', qps: 1, burst: 2, cacheSize: 1 },
        { type: 'User', qps: 100, burst: 5, cacheSize: 10 },
      ],
      () => nowMs,
    );
    const write = (object: string, dryRun = false) =>
      fixture.refusal(plugin, events, { object: event('e', object), dryRun });
    assert.deepEqual(
      [await write('a'), await write('a'), await write('a')],
      ['', '', 'limit reached on type SourceAndObject for key cPoda'],
    );
    assert.equal(await write('a', true), '', 'nothing is stored for a dry run');
    nowMs = 1000;
    assert.deepEqual([await write('a'), await write('a')], ['', 'limit reached on type SourceAndObject for key cPoda']);
    assert.equal(await write('b'), '');
    assert.equal(await write('a'), '', 'a bucket that was forgotten is full again');
    for (let i = 0; i < 3; i++) await write(`x${i}`);
    const { error } = await fixture.write(plugin, events, { object: event('e', 'y') });
    assert.deepEqual([error?.code, error?.message], [429, 'limit reached on type User for key jane']);
    assert.equal(
      plugin.handles(
        fixture.attributes(configMaps, { object: { metadata: { name: 'c', namespace: 'default', uid: '' } } }),
      ),
      false,
    );
  });

  it('an event whose joined fields equal those of another one uses a separate bucket', async () => {
    const fixture = new AdmissionFixture();
    const plugin = createEventRateLimit([{ type: 'SourceAndObject', qps: 1, burst: 1, cacheSize: 10 }], () => 0);
    const write = (component: string, kind: string, name: string) =>
      fixture.refusal(plugin, events, {
        object: { ...event('e', name), source: { component }, involvedObject: { kind, name } },
      });
    assert.deepEqual(
      [await write('cP', 'od', 'victim'), await write('c', 'Podvic', 'tim'), await write('c', 'Pod', 'victim')],
      ['', '', ''],
    );
    assert.match(await write('c', 'Pod', 'victim'), /limit reached/);
  });

  it('fields of megabytes are neither stored nor quoted, and a clock that is set back causes no refusals', async () => {
    let nowMs = 3_600_000;
    const fixture = new AdmissionFixture();
    const plugin = createEventRateLimit([{ type: 'SourceAndObject', qps: 10, burst: 2, cacheSize: 10 }], () => nowMs);
    const write = (name: string) => fixture.refusal(plugin, events, { object: event('e', name) });
    const long = 'x'.repeat(1_000_000);
    assert.deepEqual([await write(long), await write(long)], ['', '']);
    assert.ok((await write(long)).length < 500);
    assert.equal(await write('a'), '');
    nowMs = 0;
    assert.equal(await write('a'), '', 'one of the burst is left');
    nowMs = 1000;
    assert.equal(await write('a'), '');
  });

  it('reads its limits from a validated file', () => {
    const file = (limits: object[]) =>
      readEventRateLimitConfiguration({
        kind: 'Configuration',
        apiVersion: 'eventratelimit.admission.k8s.io/v1alpha1',
        limits,
      });
    assert.deepEqual(file([{ type: 'Server', qps: 1, burst: 2 }]), [
      { type: 'Server', qps: 1, burst: 2, cacheSize: 4096 },
    ]);
    assert.match(String(file([])), /limits: Invalid value: .*must not be empty/);
    assert.equal(
      file([{ type: 'X', qps: 0, burst: 0, cacheSize: -1 }]),
      'limits[0].type: Unsupported value: "X": supported values: "Server", "Namespace", "User", "SourceAndObject", limits[0].burst: Invalid value: 0: must be positive, limits[0].qps: Invalid value: 0: must be positive, limits[0].cacheSize: Invalid value: -1: must not be negative',
    );
  });
});

describe('the set of enabled plugins', () => {
  it('follows defaults and flags, in a fixed order', () => {
    const usual = pluginsThatAreOn([], []);
    assert.ok(
      ['NamespaceLifecycle', 'LimitRanger', 'PodSecurity', 'MutatingAdmissionWebhook', 'ResourceQuota'].every((name) =>
        usual.includes(name),
      ),
    );
    assert.ok(!usual.includes('AlwaysPullImages') && !usual.includes('EventRateLimit'));
    assert.equal(usual.at(-1), 'ResourceQuota');
    const chosen = pluginsThatAreOn(['AlwaysPullImages'], ['LimitRanger']);
    assert.deepEqual(
      chosen,
      [...usual.filter((name) => name !== 'LimitRanger'), 'AlwaysPullImages'].sort(
        (left, right) => place(left) - place(right),
      ),
    );
  });
  const place = (name: string): number => knownPlugins.findIndex((each) => each.name === name);

  it('refuses unknown names, and names that are both enabled and disabled', () => {
    assert.deepEqual(
      pluginFlagProblems(
        ['Nope', 'ImagePolicyWebhook', 'AlwaysPullImages'],
        ['Nix', 'AlwaysPullImages', 'DefaultIngressClass'],
      ),
      [
        'enable-admission-plugins plugin "Nope" is unknown',
        'enable-admission-plugins plugin "ImagePolicyWebhook" is not part of this API server',
        'disable-admission-plugins plugin "Nix" is unknown',
        '[AlwaysPullImages] in enable-admission-plugins and disable-admission-plugins overlapped',
      ],
    );
  });

  it('reads the configuration file of the plugins, and refuses unknown content', () => {
    const file = (more: object, apiVersion = 'apiserver.config.k8s.io/v1') =>
      readAdmissionConfiguration({ kind: 'AdmissionConfiguration', apiVersion, ...more });
    assert.deepEqual(
      file({
        plugins: [
          { name: 'PodSecurity', path: 'ps.yaml' },
          { name: 'X', configuration: { a: 1 } },
        ],
      }),
      [
        { name: 'PodSecurity', path: 'ps.yaml', configuration: undefined },
        { name: 'X', path: undefined, configuration: { a: 1 } },
      ],
    );
    assert.match(String(file({ plugin: [] })), /unknown field "plugin"/);
    assert.match(String(file({}, 'v1')), /^no kind "AdmissionConfiguration" is registered for version "v1"/);
    assert.equal(readAdmissionConfiguration(null), "Object 'Kind' is missing");
    const limited = (resource: string) =>
      readResourceQuotaConfiguration({
        kind: 'ResourceQuotaConfiguration',
        apiVersion: 'apiserver.config.k8s.io/v1',
        limitedResources: [{ resource, matchContains: ['requests.storage'] }],
      });
    assert.deepEqual(limited('persistentvolumeclaims'), [
      { apiGroup: '', resource: 'persistentvolumeclaims', matchContains: ['requests.storage'], matchScopes: [] },
    ]);
    assert.equal(limited(''), 'limitedResources[0].resource: Required value');
  });
});
