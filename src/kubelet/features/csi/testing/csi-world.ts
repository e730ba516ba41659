import type { PersistentVolume } from '../../../../api/core/persistent-volume.ts';
import type { PersistentVolumeClaim } from '../../../../api/core/persistent-volume-claim.ts';
import type { Pod } from '../../../../api/core/pod.ts';
import type { Secret } from '../../../../api/core/secret.ts';
import type { CSIVolumeSource } from '../../../../api/core/volume-source.ts';
import type { CSIDriverSpec } from '../../../../api/storage/csi-driver.ts';
import { FakeClock } from '../../../../base/testing/fake-clock.ts';
import { recordingLog } from '../../../../base/testing/recording-log.ts';
import type { ClusterKind, ClusterKinds, ClusterObjects } from '../../../ports/cluster-objects.ts';
import { FakeCsiDriver, FakeCsiDrivers } from '../../../ports/testing/fake-csi-drivers.ts';
import { FakeHostFiles } from '../../../ports/testing/fake-host-files.ts';
import { FakeMounts } from '../../../ports/testing/fake-mounts.ts';
import type { TokenOrder } from '../../../ports/tokens.ts';
import type { StagedVolume, VolumeOnDisk, VolumeRequest, VolumeSpec } from '../../../ports/volume-plugin.ts';
import type { ClaimReporter } from '../claim-resize.ts';
import { CsiLookup, standaloneAttachments } from '../csi-lookup.ts';
import { CsiPaths } from '../csi-names.ts';
import { CsiPlugin } from '../csi-plugin.ts';
import { DriverRegistry } from '../driver-registry.ts';

const ROOT = '/root';
export const DRIVER = 'd.example';

export function testPod(uid: string, more: Partial<Pod['spec']> = {}): Pod {
  return {
    metadata: { name: `pod-${uid}`, namespace: 'ns', uid },
    spec: { containers: [], serviceAccountName: 'robot', ...more },
  };
}

export function inlineSpec(csi: Partial<CSIVolumeSource> = {}): VolumeSpec {
  return {
    kind: 'inline',
    name: 'vol',
    podVolume: 'vol',
    readOnly: csi.readOnly ?? false,
    mode: 'Filesystem',
    mountOptions: [],
    volume: { name: 'vol', csi: { driver: DRIVER, ...csi } },
  };
}

export interface PersistentOptions {
  readonly pv?: Partial<PersistentVolume['spec']>;
  readonly csi?: Partial<NonNullable<PersistentVolume['spec']['csi']>>;
  readonly capacity?: string;
  /** The size in the claim's status. */
  readonly claimed?: string;
  readonly status?: PersistentVolumeClaim['status'];
  readonly mode?: 'Filesystem' | 'Block';
  readonly readOnly?: boolean;
}

export function persistentSpec(options: PersistentOptions = {}): VolumeSpec {
  const { pv, csi, capacity = '1Gi', claimed, mode = 'Filesystem', readOnly = false } = options;
  const persistentVolume: PersistentVolume = {
    metadata: { name: 'pv1', namespace: '', uid: '' },
    spec: {
      capacity: { storage: capacity },
      accessModes: ['ReadWriteOnce'],
      volumeMode: mode,
      csi: { driver: DRIVER, volumeHandle: 'h1', ...csi },
      ...pv,
    },
  };
  const status = options.status ?? (claimed === undefined ? {} : { capacity: { storage: claimed } });
  const claim: PersistentVolumeClaim = {
    metadata: { name: 'c', namespace: 'ns', uid: '' },
    spec: { volumeName: 'pv1' },
    status,
  };
  return {
    kind: 'persistent',
    name: 'pv1',
    podVolume: 'data',
    readOnly,
    mode,
    mountOptions: pv?.mountOptions ?? [],
    persistentVolume,
    claim,
  };
}

/**
 * Creates a CSI plugin on a fake host with one registered driver. `restart` creates a new agent on the same host, and
 * the driver must register again.
 */
export function csiWorld({ claims }: { claims?: ClaimReporter } = {}) {
  const clock = new FakeClock();
  const files = new FakeHostFiles(clock);
  const mounts = new FakeMounts(files);
  const log = recordingLog();
  const driver = new FakeCsiDriver(files, mounts);
  const drivers = new FakeCsiDrivers();
  drivers.byEndpoint.set('/csi.sock', driver);
  const objects = new Map<string, ClusterKinds[ClusterKind]>();
  const lookedUp: ClusterObjects = {
    get: <Kind extends ClusterKind>(kind: Kind, namespace: string, name: string) =>
      objects.get(`${kind}/${namespace}/${name}`) as ClusterKinds[Kind] | undefined,
    list: () => [],
    onChange: () => () => undefined,
  };
  const orders: TokenOrder[] = [];
  const tokens = {
    get: (order: TokenOrder) => {
      orders.push(order);
      return Promise.resolve({
        token: `token-${orders.length}`,
        expiresAtMs: Date.UTC(2026, 0, 1, 2),
        againInMs: 3_600_000,
      });
    },
  };
  const events: string[] = [];
  const start = () => {
    const registry = new DriverRegistry({ drivers, clock, log });
    const recorder = {
      event: (pod: Pod, type: string, reason: string, message: string) =>
        void events.push(`${pod.metadata.name} ${type} ${reason} ${message}`),
    };
    const plugin = new CsiPlugin({
      registry,
      lookup: new CsiLookup({ objects: lookedUp, tokens }),
      attachments: standaloneAttachments(log),
      paths: new CsiPaths(ROOT),
      files,
      mounts,
      clock,
      log,
      recorder,
      nodeName: 'node1',
      claims,
    });
    const register = (): Promise<void> =>
      registry.register({ name: DRIVER, endpoint: '/csi.sock', versions: ['1.0.0'], socketPath: '/reg.sock' });
    return { registry, plugin, register };
  };
  const setObject = <Kind extends ClusterKind>(kind: Kind, object: ClusterKinds[Kind]): void => {
    objects.set(`${kind}/${object.metadata.namespace}/${object.metadata.name}`, object);
  };
  return {
    clock,
    files,
    mounts,
    log,
    driver,
    drivers,
    orders,
    events,
    ...start(),
    restart: start,
    setObject,
    setDriver: (spec: CSIDriverSpec) =>
      setObject('CSIDriver', { metadata: { name: DRIVER, namespace: '', uid: '' }, spec }),
    setSecret: (name: string, data: Record<string, string>) => {
      const encoded = Object.fromEntries(
        Object.entries(data).map(([key, value]) => [key, Buffer.from(value).toString('base64')]),
      );
      const secret: Secret = { metadata: { name, namespace: 'ns', uid: '' }, data: encoded };
      setObject('Secret', secret);
    },
  };
}

export type CsiWorld = ReturnType<typeof csiWorld>;

export function onDisk(spec: VolumeSpec, uid = 'u1'): VolumeOnDisk {
  const folder = spec.mode === 'Block' ? 'volumeDevices' : 'volumes';
  return {
    podUid: uid,
    specName: spec.name,
    mode: spec.mode,
    path: `${ROOT}/pods/${uid}/${folder}/kubernetes.io~csi/${spec.name}`,
  };
}

/** Sets up a volume as the volume manager does: stages it once, then sets it up for the pod. */
export async function setUp(
  world: Pick<CsiWorld, 'plugin' | 'files'>,
  spec: VolumeSpec,
  more: Partial<VolumeRequest> = {},
) {
  const pod = more.pod ?? testPod('u1');
  const staged = 'staged' in more ? more.staged : await stage(world, spec, pod, more.fsGroup);
  const { path } = onDisk(spec, pod.metadata.uid);
  await world.files.makeDirectory(path.slice(0, path.lastIndexOf('/')), 0o750);
  return world.plugin.setUp({ pod, spec, path, mounted: undefined, again: false, fsGroup: undefined, ...more, staged });
}

export async function stage(
  world: Pick<CsiWorld, 'plugin'>,
  spec: VolumeSpec,
  pod = testPod('u1'),
  fsGroup?: number,
): Promise<StagedVolume | undefined> {
  const planned = await world.plugin.staging.plan(spec, pod);
  return planned === undefined ? undefined : world.plugin.staging.stage({ pod, spec, planned, fsGroup });
}
