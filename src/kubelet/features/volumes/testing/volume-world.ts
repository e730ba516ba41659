import type { ConfigMap } from '../../../../api/core/config-map.ts';
import type { Pod } from '../../../../api/core/pod.ts';
import type { PodSpec } from '../../../../api/core/pod-spec.ts';
import type { Secret } from '../../../../api/core/secret.ts';
import type { Volume } from '../../../../api/core/volume.ts';
import { FakeClock } from '../../../../base/testing/fake-clock.ts';
import { recordingLog } from '../../../../base/testing/recording-log.ts';
import { KubeletError } from '../../../../base/errors.ts';
import { seededRandom } from '../../../../base/random.ts';
import type { ClusterKind, ClusterKinds, ClusterObjects } from '../../../ports/cluster-objects.ts';
import { FakeHostFiles } from '../../../ports/testing/fake-host-files.ts';
import { FakeMounts } from '../../../ports/testing/fake-mounts.ts';
import { FakeProcesses } from '../../../ports/testing/fake-processes.ts';
import type { TokenSource } from '../../../ports/tokens.ts';
import { podTokens } from '../../tokens/testing/pod-tokens.ts';
import type { VolumePlugin } from '../../../ports/volume-plugin.ts';
import type { VolumeAttachWaiter } from '../volume-attach-waiter.ts';
import { createVolumeManager } from '../create-volume-manager.ts';
import type { VolumeManagerPorts } from '../create-volume-manager.ts';

export const ROOT = '/var/lib/kubelet';

/** A pod whose only container mounts each volume, unless `spec` defines otherwise. */
export function testPod(uid: string, volumes: readonly Volume[], spec: Partial<PodSpec> = {}): Pod {
  const volumeMounts = volumes.map(({ name }) => ({ name, mountPath: `/v/${name}` }));
  return {
    metadata: { name: `pod-${uid}`, namespace: 'default', uid },
    spec: { containers: [{ name: 'main', image: 'x', volumeMounts }], volumes: [...volumes], ...spec },
  };
}

export function configMap(name: string, data: Record<string, string>): ConfigMap {
  return { metadata: { name, namespace: 'default', uid: '' }, data };
}

export function secret(name: string, data: Record<string, string>): Secret {
  return {
    metadata: { name, namespace: 'default', uid: '' },
    data: Object.fromEntries(Object.entries(data).map(([key, value]) => [key, Buffer.from(value).toString('base64')])),
  };
}

/** Objects by kind and name, whatever their namespace. */
class TestObjects implements ClusterObjects {
  readonly #objects = new Map<string, unknown>();

  set<Kind extends ClusterKind>(kind: Kind, object: ClusterKinds[Kind]): void {
    this.#objects.set(`${kind}/${object.metadata.name}`, object);
  }

  delete(kind: ClusterKind, name: string): void {
    this.#objects.delete(`${kind}/${name}`);
  }

  get<Kind extends ClusterKind>(kind: Kind, _namespace: string, name: string): ClusterKinds[Kind] | undefined {
    return this.#objects.get(`${kind}/${name}`) as ClusterKinds[Kind] | undefined;
  }

  list<Kind extends ClusterKind>(kind: Kind): readonly ClusterKinds[Kind][] {
    return [...this.#objects]
      .filter(([key]) => key.startsWith(`${kind}/`))
      .map(([, object]) => object as ClusterKinds[Kind]);
  }

  onChange(): () => void {
    return () => undefined;
  }
}

export interface VolumeWorldOptions {
  readonly standalone?: boolean;
  readonly tokens?: TokenSource;
  readonly plugins?: readonly VolumePlugin[];
  readonly labels?: Record<string, string>;
  readonly attachWaiter?: VolumeAttachWaiter;
  readonly credentials?: Pick<VolumeManagerPorts, 'credentials'>['credentials'];
  readonly onInUseChanged?: () => void;
}

/**
 * A volume manager on a fake host, with access to objects and events. `restart` creates a new manager on the same host.
 */
export function volumeWorld(options: VolumeWorldOptions = {}) {
  const clock = new FakeClock();
  const files = new FakeHostFiles(clock);
  const mounts = new FakeMounts(files);
  const processes = new FakeProcesses();
  const log = recordingLog();
  const objects = new TestObjects();
  const events: string[] = [];
  const noTokens: TokenSource = {
    request: () =>
      Promise.reject(new KubeletError('Unavailable', 'cannot use TokenManager when kubelet is in standalone mode')),
  };
  const start = () =>
    createVolumeManager({
      rootDir: ROOT,
      files,
      guardedFiles: files,
      mounts,
      processes,
      objects,
      tokens: podTokens(options.tokens ?? noTokens, { clock, random: seededRandom(1), log }),
      clock,
      random: seededRandom(1),
      log,
      recorder: {
        event: (pod, type, reason, message) => events.push(`${pod.metadata.name} ${type} ${reason} ${message}`),
        nodeEvent: (type, reason, message) => events.push(`node ${type} ${reason} ${message}`),
      },
      standalone: options.standalone ?? true,
      driverDir: '/drivers',
      attachWaiter: options.attachWaiter,
      ...(options.credentials !== undefined && { credentials: options.credentials }),
      onInUseChanged: options.onInUseChanged,
      node: () => ({ name: 'node-1', labels: { 'kubernetes.io/hostname': 'node-1', ...options.labels } }),
      nodeAllocatable: () => ({ cpu: '3500m', memory: '8Gi', 'ephemeral-storage': '50Gi' }),
      morePlugins: options.plugins ?? [],
    });
  return { clock, files, mounts, processes, log, objects, events, manager: start(), restart: start };
}

export const volumePath = (uid: string, folder: string, name: string): string =>
  `${ROOT}/pods/${uid}/volumes/kubernetes.io~${folder}/${name}`;
