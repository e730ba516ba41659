import type { ConfigMap } from '../../../../api/core/config-map.ts';
import type { Pod } from '../../../../api/core/pod.ts';
import type { PodSpec } from '../../../../api/core/pod-spec.ts';
import type { Secret } from '../../../../api/core/secret.ts';
import type { Volume } from '../../../../api/core/volume.ts';
import { FakeClock } from '../../../../base/testing/fake-clock.ts';
import { recordingLog } from '../../../../base/testing/recording-log.ts';
import { seededRandom } from '../../../../base/random.ts';
import { FakeHostFiles } from '../../../ports/testing/fake-host-files.ts';
import { FakeMounts } from '../../../ports/testing/fake-mounts.ts';
import { createVolumeManager } from '../create-volume-manager.ts';

export const ROOT = '/var/lib/kubelet';

export function testPod(uid: string, volumes: readonly Volume[], spec: Partial<PodSpec> = {}): Pod {
  return {
    metadata: { name: `pod-${uid}`, namespace: 'default', uid },
    spec: { containers: [{ name: 'main', image: 'x' }], volumes: [...volumes], ...spec },
  };
}

export function configMap(name: string, data: Record<string, string>): ConfigMap {
  return { metadata: { name, namespace: 'default', uid: '' }, data };
}

export function secret(name: string, data: Record<string, string>): Secret {
  return { metadata: { name, namespace: 'default', uid: '' }, data: Object.fromEntries(Object.entries(data).map(([key, value]) => [key, Buffer.from(value).toString('base64')])) };
}

/** A volume manager on a fake host, with objects and events in reach. `restart` gives a new manager on the same host. */
export function volumeWorld() {
  const clock = new FakeClock();
  const files = new FakeHostFiles(clock);
  const mounts = new FakeMounts(files);
  const log = recordingLog();
  const configMaps = new Map<string, ConfigMap>();
  const secrets = new Map<string, Secret>();
  const events: string[] = [];
  const start = () =>
    createVolumeManager({
      rootDir: ROOT,
      files,
      guardedFiles: files,
      mounts,
      objects: { configMap: (_namespace, name) => configMaps.get(name), secret: (_namespace, name) => secrets.get(name) },
      clock,
      random: seededRandom(1),
      log,
      recorder: { event: (pod, type, reason, message) => events.push(`${pod.metadata.name} ${type} ${reason} ${message}`) },
      nodeAllocatableMemoryBytes: () => 8 * 2 ** 30,
    });
  return { clock, files, mounts, log, configMaps, secrets, events, manager: start(), restart: start };
}

export const volumePath = (uid: string, folder: string, name: string): string => `${ROOT}/pods/${uid}/volumes/kubernetes.io~${folder}/${name}`;
