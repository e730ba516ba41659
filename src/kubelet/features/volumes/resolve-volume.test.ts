import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PersistentVolume } from '../../../api/core/persistent-volume.ts';
import type { PersistentVolumeClaim } from '../../../api/core/persistent-volume-claim.ts';
import type { Volume } from '../../../api/core/volume.ts';
import { buildPod } from '../../../api/testing/pod-builder.ts';
import type { ClusterObjects } from '../../ports/cluster-objects.ts';
import type { VolumeSpec } from '../../ports/volume-plugin.ts';
import { claimedSpec, claimNameOf, extraGroupsOf, inlineSpec, volumeUses } from './resolve-volume.ts';

const byClaim: Volume = { name: 'v', persistentVolumeClaim: { claimName: 'c' } };
const made: Volume = { name: 'v', ephemeral: { volumeClaimTemplate: { spec: {} } } };
const claim = (
  spec: object = {},
  status: object = { phase: 'Bound' },
  metadata: object = {},
): PersistentVolumeClaim => ({
  metadata: { name: 'c', namespace: 'default', uid: 'claim-uid', ...metadata },
  spec: { volumeName: 'pv', ...spec },
  status,
});
const persistentVolume = (spec: object = {}, annotations: Record<string, string> = {}): PersistentVolume => ({
  metadata: { name: 'pv', namespace: '', uid: '', annotations },
  spec: { hostPath: { path: '/x' }, claimRef: { uid: 'claim-uid' }, ...spec },
});

interface Given {
  readonly claim?: PersistentVolumeClaim;
  readonly found?: PersistentVolume;
  readonly volume?: Volume;
  readonly standalone?: boolean;
  readonly container?: object;
}

/** The spec of the volume, or why there is none. */
async function resolve(given: Given): Promise<VolumeSpec | string> {
  const { found = persistentVolume(), volume = byClaim, standalone = false, container = {} } = given;
  const objects = {
    get: (kind: string) =>
      Promise.resolve(kind === 'PersistentVolume' ? found : 'claim' in given ? given.claim : claim()),
    list: () => Promise.resolve([found]),
  } as unknown as ClusterObjects;
  const pod = buildPod({ 'metadata.uid': 'pod-uid', 'spec.containers[0]': { name: 'main', image: 'x', ...container } });
  try {
    return await claimedSpec(pod, volume, { objects, standalone });
  } catch (error) {
    return (error as Error).message.replace('error processing PVC default/c: ', '');
  }
}

test('mount options come from the old annotation if there is one, and else from the volume', async () => {
  const optionsOf = async (found: PersistentVolume): Promise<unknown> => {
    const spec = await resolve({ found });
    return typeof spec === 'string' ? spec : spec.mountOptions;
  };
  const old = 'volume.beta.kubernetes.io/mount-options';
  assert.deepEqual(
    [
      await optionsOf(persistentVolume()),
      await optionsOf(persistentVolume({ mountOptions: ['ro'] })),
      await optionsOf(persistentVolume({ mountOptions: ['ro'] }, { [old]: 'hard, nolock,,' })),
      await optionsOf(persistentVolume({ mountOptions: ['ro'] }, { [old]: '' })),
    ],
    [[], ['ro'], ['hard', 'nolock'], []],
  );
});

test('a claim leads to its volume, which has the name, the mode and the readers that both give it', async () => {
  const whole = persistentVolume({ volumeMode: 'Block' });
  const readOnly: Volume = { name: 'v', persistentVolumeClaim: { claimName: 'c', readOnly: true } };
  assert.deepEqual(await resolve({ found: whole, volume: readOnly }), {
    kind: 'persistent',
    name: 'pv',
    podVolume: 'v',
    persistentVolume: whole,
    claim: claim(),
    readOnly: true,
    mode: 'Block',
    mountOptions: [],
  });
  const mounted = { volumeMounts: [{ name: 'v', mountPath: '/v' }] };
  const device = { volumeDevices: [{ name: 'v', devicePath: '/dev/v' }] };
  const outcomeOf = async (container: object, found: PersistentVolume): Promise<string> => {
    const spec = await resolve({ container, found });
    return typeof spec === 'string' ? spec : spec.mode;
  };
  assert.deepEqual(
    [
      await outcomeOf(mounted, persistentVolume()),
      await outcomeOf(mounted, whole),
      await outcomeOf(device, whole),
      await outcomeOf(device, persistentVolume()),
    ],
    [
      'Filesystem',
      'volume v has volumeMode Block, but is specified in volumeMounts',
      'Block',
      'volume v has volumeMode Filesystem, but is specified in volumeDevices',
    ],
  );
});

test('a claim that is deleted, not bound, or bound to another volume is not used', async () => {
  const gone = { deletionTimestamp: '2026-01-01T00:00:00Z' };
  const protectedClaim = { ...gone, finalizers: ['x', 'kubernetes.io/pvc-protection'] };
  const nameOf = async (given: Given): Promise<string> => {
    const spec = await resolve(given);
    return typeof spec === 'string' ? spec : spec.name;
  };
  const unreferenced = persistentVolume({ claimRef: undefined });
  const other = persistentVolume({ claimRef: {} });
  assert.deepEqual(
    [
      await nameOf({ claim: claim({}, undefined, gone) }),
      await nameOf({ claim: claim({}, undefined, { ...gone, finalizers: ['x'] }) }),
      await nameOf({ claim: claim({}, undefined, protectedClaim) }),
      await nameOf({ claim: claim({}, { phase: 'Pending' }) }),
      await nameOf({ claim: claim({ volumeName: '' }) }),
      await nameOf({ claim: claim({ volumeName: undefined }) }),
      await nameOf({ found: unreferenced }),
      await nameOf({ found: other }),
      await nameOf({ claim: claim({}, {}), standalone: true }),
      await nameOf({ claim: claim({ volumeName: '' }, {}), found: unreferenced, standalone: true }),
    ],
    [
      'PVC is being deleted',
      'PVC is being deleted',
      'pv',
      'PVC is not bound',
      'PVC has empty pvc.Spec.VolumeName',
      'PVC has empty pvc.Spec.VolumeName',
      'found PV object pv but it has a nil pv.Spec.ClaimRef indicating it is not yet bound to the claim',
      'found PV object pv but its pv.Spec.ClaimRef.UID  does not point to claim.UID claim-uid',
      'pv',
      'PVC is not bound',
    ],
  );
});

test('a claim that was made from a template belongs to its pod, or by name on a node without an API server', async () => {
  const owned = (owner: object): PersistentVolumeClaim => claim({}, undefined, { ownerReferences: [owner] });
  const isUsed = async (owner: object, standalone: boolean): Promise<boolean> =>
    typeof (await resolve({ claim: owned(owner), volume: made, standalone })) !== 'string';
  const pod = { kind: 'Pod', name: 'web', uid: 'pod-uid', controller: true };
  assert.deepEqual(
    [
      await isUsed(pod, false),
      await isUsed({ ...pod, controller: false }, false),
      await isUsed({ ...pod, uid: 'other' }, false),
      await isUsed({ ...pod, uid: 'other' }, true),
      await isUsed({ ...pod, uid: 'other', kind: 'Job' }, true),
      await isUsed({ ...pod, uid: 'other', name: 'db' }, true),
    ],
    [true, false, false, true, false, false],
  );
  const missing = 'failed to fetch PVC from API server: persistentvolumeclaims "web-v" not found';
  const hint =
    ': without an API server it is not created from the template; add a manifest of a PersistentVolumeClaim of this name, owned by the pod';
  const absent = async (volume: Volume, standalone: boolean): Promise<unknown> =>
    resolve({ claim: undefined, volume, standalone } as unknown as Given);
  assert.deepEqual(
    [await absent(made, true), await absent(made, false), await absent(byClaim, true)],
    [
      `error processing PVC default/web-v: ${missing}${hint}`,
      `error processing PVC default/web-v: ${missing}`,
      'failed to fetch PVC from API server: persistentvolumeclaims "c" not found',
    ],
  );
});

test('a volume without a claim is inline, and read-only as its source says', () => {
  const of = (source: object): unknown => {
    const spec = inlineSpec({ name: 'v', ...source }, 'default');
    return spec === undefined ? undefined : [spec.kind, spec.name, spec.readOnly, spec.mode, spec.mountOptions];
  };
  assert.deepEqual(
    [
      of({ persistentVolumeClaim: { claimName: 'c' } }),
      of({ ephemeral: {} }),
      of({ emptyDir: {} }),
      of({ nfs: { server: 's', path: '/', readOnly: true } }),
      of({ nfs: { server: 's', path: '/', readOnly: false } }),
    ],
    [
      undefined,
      undefined,
      ['inline', 'v', false, 'Filesystem', []],
      ['inline', 'v', true, 'Filesystem', []],
      ['inline', 'v', false, 'Filesystem', []],
    ],
  );
  const web = { metadata: { name: 'web' } };
  assert.deepEqual(
    [claimNameOf(web, byClaim), claimNameOf(web, made), claimNameOf(web, { name: 'v', emptyDir: {} })],
    ['c', 'web-v', undefined],
  );
});

test('only a number in the annotation of a volume is a group of the processes of the pod', async () => {
  const groups = async (gid?: string): Promise<readonly number[]> => {
    const found = persistentVolume({}, gid === undefined ? {} : { 'pv.beta.kubernetes.io/gid': gid });
    return extraGroupsOf((await resolve({ found })) as VolumeSpec);
  };
  const inline = inlineSpec({ name: 'v', emptyDir: {} }, 'default') as VolumeSpec;
  assert.deepEqual(
    [
      await groups(),
      await groups('1234'),
      await groups(' 1'),
      await groups('1x'),
      await groups('-1'),
      await groups('12345678901'),
      extraGroupsOf(inline),
    ],
    [[], [1234], [], [], [], [], []],
  );
});

test('volumes are used by mounts and devices of all containers', () => {
  const pod = buildPod({
    'spec.initContainers': [{ name: 'i', image: 'x', volumeMounts: [{ name: 'a', mountPath: '/a' }] }],
    'spec.containers[0].volumeDevices': [{ name: 'b', devicePath: '/b' }],
    'spec.containers[1]': { name: 'c', image: 'x', volumeMounts: [{ name: 'c', mountPath: '/c' }] },
  });
  assert.deepEqual(volumeUses(pod), { mounts: new Set(['a', 'c']), devices: new Set(['b']) });
});
