import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { DeviceTaint, DeviceToleration } from '../../../api/resource/device-config.ts';
import type { DeviceRequestAllocationResult, ResourceClaim } from '../../../api/resource/resource-claim.ts';
import type { ResourceSlice } from '../../../api/resource/resource-slice.ts';
import { buildPod } from '../../../api/testing/pod-builder.ts';
import { claimsInUse, evictingDeviceTaints, planDeviceEviction, poolKey } from './plan-device-eviction.ts';

const NOW_MS = Date.parse('2026-01-01T01:00:00Z');
const ADDED = '2026-01-01T00:59:50Z';
const taint = (key: string, changes: Partial<DeviceTaint> = {}): DeviceTaint => ({
  key,
  effect: 'NoExecute',
  timeAdded: ADDED,
  ...changes,
});
const tolerating = (seconds?: number, changes: Partial<DeviceToleration> = {}): DeviceToleration => ({
  ...{ key: 'broken', operator: 'Exists', effect: 'NoExecute' },
  ...(seconds !== undefined && { tolerationSeconds: seconds }),
  ...changes,
});
const result = (device: string, ...tolerations: DeviceToleration[]): DeviceRequestAllocationResult => ({
  ...{ request: 'r', driver: 'd', pool: 'p', device },
  ...(tolerations.length > 0 && { tolerations }),
});
const slice = (
  generation: number,
  devices?: Readonly<Record<string, readonly DeviceTaint[] | undefined>>,
): ResourceSlice => ({
  metadata: { name: 's', namespace: '', uid: 's' },
  spec: {
    ...{ driver: 'd', nodeName: 'n1', pool: { name: 'p', generation, resourceSliceCount: 1 } },
    ...(devices !== undefined && {
      devices: Object.entries(devices).map(([name, taints]) => ({
        name,
        ...(taints !== undefined && { taints: [...taints] }),
      })),
    }),
  },
});
const claim = (...results: DeviceRequestAllocationResult[]): ResourceClaim => ({
  metadata: { name: 'c', namespace: 'default', uid: 'c' },
  spec: { devices: {} },
  ...(results.length > 0 && { status: { allocation: { devices: { results } } } }),
});

describe('when pods have to leave a device', () => {
  /** Returns the eviction time in seconds from now. */
  const leaves = (claims: readonly ResourceClaim[], ...slices: ResourceSlice[]): number | undefined => {
    const whenMs = planDeviceEviction(claims, (pool) => (pool === 'd/p' ? slices : []), NOW_MS);
    return whenMs === undefined ? undefined : (whenMs - NOW_MS) / 1_000;
  };
  const broken = slice(1, { g0: [taint('broken')], g1: undefined });

  it('is when the taint was added, or now if its time is unknown', () => {
    assert.equal(leaves([claim(result('g0'))], broken), -10);
    assert.equal(leaves([claim(result('g0'))], slice(1, { g0: [taint('broken', { timeAdded: undefined })] })), 0);
  });

  it('is never without a NoExecute taint', () => {
    assert.equal(leaves([claim(result('g1'))], broken), undefined);
    assert.equal(leaves([claim()], broken), undefined);
    assert.equal(
      leaves([claim(result('g0'))], slice(1, { g0: [taint('broken', { effect: 'NoSchedule' })] })),
      undefined,
    );
    assert.equal(leaves([claim({ ...result('g0'), pool: 'other' })], broken), undefined);
  });

  it('is delayed by the toleration period, and the shortest one decides', () => {
    const tolerated = (...tolerations: DeviceToleration[]): number | undefined =>
      leaves([claim(result('g0', ...tolerations))], broken);
    assert.equal(tolerated(tolerating(30)), 20);
    assert.equal(tolerated(tolerating(30), tolerating(25)), 15);
    assert.equal(tolerated(tolerating(0)), -10);
    assert.equal(tolerated(tolerating(-5)), -10);
    assert.equal(tolerated(tolerating()), undefined);
    assert.equal(tolerated(tolerating(30), tolerating()), undefined);
    assert.equal(tolerated(tolerating(30, { key: 'other' })), -10);
    assert.equal(tolerated(tolerating(30, { effect: 'NoSchedule' })), -10);
    assert.equal(tolerated(tolerating(30, { effect: undefined })), -10);
  });

  it('is the earliest of all claims, devices and taints', () => {
    const two = slice(1, {
      g0: [taint('broken'), taint('lost', { timeAdded: '2026-01-01T00:59:40Z' })],
      g1: [taint('broken')],
    });
    assert.equal(leaves([claim(result('g0')), claim(result('g1'))], two), -20);
    assert.equal(leaves([claim(result('g1')), claim(result('g0'))], two), -20);
    assert.equal(leaves([claim(result('g1', tolerating(60)), result('g1'))], two), -10);
    assert.equal(leaves([claim(result('g0', tolerating()))], two), -20);
  });
});

describe('the taints of a device', () => {
  it('are those in the newest generation of its pool', () => {
    const of = (...slices: ResourceSlice[]): string =>
      evictingDeviceTaints(result('g0'), slices)
        .map(({ key }) => key)
        .join();
    assert.equal(of(slice(1, { g0: [taint('old')] }), slice(2, { g0: [taint('new')] })), 'new');
    assert.equal(of(slice(2, { g0: [taint('new')] }), slice(1, { g0: [taint('old')] })), 'new');
    assert.equal(of(slice(1, { g0: [taint('old')] }), slice(2, { g0: [] })), '');
    assert.equal(of(slice(2), slice(2, { g1: [taint('other')], g0: [taint('new')] })), 'new');
    assert.equal(of(), '');
  });

  it('are looked up by driver and pool', () => assert.equal(poolKey({ driver: 'd', pool: 'p' }), 'd/p'));
});

describe('the claims that a pod uses', () => {
  const pod = buildPod({
    'spec.resourceClaims': [
      { name: 'own', resourceClaimName: 'c' },
      { name: 'made', resourceClaimTemplateName: 't' },
      { name: 'late', resourceClaimTemplateName: 't' },
    ],
    'status.resourceClaimStatuses': [{ name: 'made', resourceClaimName: 'm' }],
  });
  const { uid, namespace } = pod.metadata;
  const reserved = (name: string, changes: { owner?: string; user?: string } = {}): ResourceClaim => ({
    metadata: {
      ...{ name, namespace, uid: name },
      ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name: 'web', uid: changes.owner ?? uid, controller: true }],
    },
    spec: { devices: {} },
    status: { reservedFor: [{ resource: 'pods', name: 'web', uid: changes.user ?? uid }] },
  });
  const used = (...claims: ResourceClaim[]): string =>
    claimsInUse(pod, (name) => claims.find(({ metadata }) => metadata.name === name))
      .map(({ metadata }) => metadata.name)
      .join(' ');

  it('are those reserved for it', () => {
    assert.equal(used(reserved('c'), reserved('m')), 'c m');
    assert.equal(used(reserved('c', { user: 'other' }), reserved('m')), 'm');
    assert.equal(used(), '');
    assert.deepEqual(
      claimsInUse(buildPod(), () => reserved('c')),
      [],
    );
  });

  it('are those it owns, if they were generated', () => {
    assert.equal(used(reserved('c', { owner: 'other' }), reserved('m', { owner: 'other' })), 'c');
  });
});
