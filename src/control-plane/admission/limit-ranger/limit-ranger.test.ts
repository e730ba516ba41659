import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { limitRanges, persistentVolumeClaims, pods } from '../../../api/client/resource-types.ts';
import type { LimitRangeItem } from '../../../api/core/limit-range.ts';
import type { PersistentVolumeClaim } from '../../../api/core/persistent-volume-claim.ts';
import { buildPod } from '../../../api/testing/pod-builder.ts';
import { AdmissionFixture } from '../testing/admission-fixture.ts';
import { createLimitRanger } from './limit-ranger.ts';

function setUp(...limits: LimitRangeItem[]) {
  const fixture = new AdmissionFixture();
  fixture.reader.put(limitRanges, { metadata: { name: 'range', namespace: 'default', uid: '' }, spec: { limits } });
  return { fixture, plugin: createLimitRanger(fixture.reader) };
}
const resources = 'spec.containers[0].resources';
const claim = (storage: string): PersistentVolumeClaim => ({
  metadata: { name: 'data', namespace: 'default', uid: '' },
  spec: { resources: { requests: { storage } } },
});

describe('LimitRanger', () => {
  it('sets missing requests and limits, also in init containers, and records it in an annotation', async () => {
    const { fixture, plugin } = setUp({
      type: 'Container',
      default: { cpu: '400m', memory: '1Gi' },
      defaultRequest: { cpu: '200m' },
    });
    const { object } = await fixture.write(plugin, pods, {
      object: buildPod({
        [resources]: { requests: { cpu: '1m' }, limits: { memory: '2Gi' } },
        'spec.initContainers': [{ name: 'i', image: 'x' }],
      }),
    });
    assert.deepEqual(object?.spec.containers[0]?.resources, {
      limits: { cpu: '400m', memory: '2Gi' },
      requests: { cpu: '1m', memory: '2Gi' },
    });
    assert.deepEqual(object.spec.initContainers?.[0]?.resources, {
      limits: { cpu: '400m', memory: '1Gi' },
      requests: { cpu: '200m' },
    });
    assert.deepEqual(object.metadata.annotations, {
      'kubernetes.io/limit-ranger':
        'LimitRanger plugin set: cpu limit for container main; cpu request for init container i; cpu, memory limit for init container i',
    });
  });

  it('does not change complete pods, pods of other namespaces, and updates', async () => {
    const { fixture, plugin } = setUp({ type: 'Container', default: { cpu: '1' }, defaultRequest: { cpu: '1' } });
    const whole = buildPod({ [resources]: { requests: { cpu: '1' }, limits: { cpu: '1' } } });
    assert.equal((await fixture.write(plugin, pods, { object: whole })).object, whole);
    const elsewhere = buildPod({ 'metadata.namespace': 'kube-system' });
    assert.equal((await fixture.write(plugin, pods, { object: elsewhere })).object, elsewhere);
    assert.equal(plugin.handles(fixture.attributes(pods, { object: buildPod(), old: buildPod() })), false);
    assert.equal(
      plugin.handles(fixture.attributes(pods, { object: buildPod(), old: buildPod(), subresource: 'status' })),
      false,
    );
  });

  it('reports everything that is out of range, once each', async () => {
    const { fixture, plugin } = setUp({
      type: 'Container',
      min: { cpu: '100m' },
      max: { cpu: '1' },
      maxLimitRequestRatio: { cpu: '2' },
    });
    const refusal = (asked: object) => fixture.refusal(plugin, pods, { object: buildPod({ [resources]: asked }) });
    assert.equal(
      await refusal({ requests: { cpu: '50m' }, limits: { cpu: '2' } }),
      'pods "web" is forbidden: [minimum cpu usage per Container is 100m, but request is 50m, maximum cpu usage per Container is 1, but limit is 2, cpu max limit to request ratio per Container is 2, but provided ratio is 40.000000]',
    );
    assert.equal(
      await refusal({}),
      'pods "web" is forbidden: [minimum cpu usage per Container is 100m.  No request is specified, maximum cpu usage per Container is 1.  No limit is specified, cpu max limit to request ratio per Container is 2, but no request is specified or request is 0]',
    );
    assert.equal(await refusal({ requests: { cpu: '500m' }, limits: { cpu: '1' } }), '');
    assert.match(
      await refusal({ requests: { cpu: '400m' }, limits: { cpu: '1' } }),
      /: cpu max limit to request ratio per Container is 2, but provided ratio is 2.500000$/,
    );
    assert.match(await refusal({ requests: { cpu: '3' }, limits: { cpu: '1' } }), /but request is 3$/);
  });

  it('counts the resources that a pod needs at the same time: sidecars and the largest init container, or its own', async () => {
    const { fixture, plugin } = setUp({ type: 'Pod', max: { memory: '1Gi' } });
    const asks = (memory: string) => ({ requests: { memory }, limits: { memory } });
    const refusal = (changes: Record<string, unknown>) =>
      fixture.refusal(plugin, pods, { object: buildPod({ [resources]: asks('600Mi'), ...changes }) });
    assert.equal(await refusal({}), '');
    assert.equal(await refusal({ 'spec.initContainers': [{ name: 'i', image: 'x', resources: asks('1Gi') }] }), '');
    const sidecar = [{ name: 'i', image: 'x', restartPolicy: 'Always', resources: asks('600Mi') }];
    assert.equal(
      await refusal({ 'spec.initContainers': sidecar }),
      'pods "web" is forbidden: maximum memory usage per Pod is 1Gi, but limit is 1200Mi',
    );
    assert.equal(await refusal({ 'spec.initContainers': sidecar, 'spec.resources': asks('1Gi') }), '');
  });

  it('also checks a resize', async () => {
    const { fixture, plugin } = setUp({ type: 'Container', max: { cpu: '1' } });
    const resized = buildPod({ [resources]: { requests: { cpu: '1' }, limits: { cpu: '2' } } });
    assert.match(
      await fixture.refusal(plugin, pods, { object: resized, old: buildPod(), subresource: 'resize' }),
      /maximum cpu usage per Container is 1, but limit is 2$/,
    );
    const leaving = buildPod({ 'metadata.deletionTimestamp': '2026-01-01T00:00:00Z' });
    assert.equal(
      await fixture.refusal(plugin, pods, { object: resized, old: leaving, subresource: 'resize' }),
      '',
      'what is going is left alone',
    );
  });

  it('limits the storage that claims request', async () => {
    const { fixture, plugin } = setUp({
      type: 'PersistentVolumeClaim',
      min: { storage: '1Gi' },
      max: { storage: '2Gi' },
    });
    assert.equal(
      await fixture.refusal(plugin, persistentVolumeClaims, { object: claim('3Gi') }),
      'persistentvolumeclaims "data" is forbidden: maximum storage usage per PersistentVolumeClaim is 2Gi, but request is 3Gi',
    );
    assert.match(
      await fixture.refusal(plugin, persistentVolumeClaims, { object: claim('1Mi') }),
      /minimum storage usage per PersistentVolumeClaim is 1Gi, but request is 1Mi$/,
    );
    assert.equal(
      await fixture.refusal(plugin, persistentVolumeClaims, { object: claim('2Gi'), old: claim('1Gi') }),
      '',
    );
  });
});
