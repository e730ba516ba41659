import type { Container } from '../../../../api/core/container.ts';
import type { Pod } from '../../../../api/core/pod.ts';
import { FakeClock } from '../../../../base/testing/fake-clock.ts';
import { recordingLog } from '../../../../base/testing/recording-log.ts';
import type { PodUid } from '../../../model/ids.ts';
import { podUid } from '../../../model/ids.ts';
import type { PluginDevice } from '../../../ports/device-plugins.ts';
import { FakeDevicePlugin, FakeDevicePlugins } from '../../../ports/testing/fake-device-plugins.ts';
import { FakeHostFiles } from '../../../ports/testing/fake-host-files.ts';
import type { DeviceParts } from '../create-device-manager.ts';
import { createDeviceManager } from '../create-device-manager.ts';
import type { DeviceVerdict } from '../interfaces.ts';

export const FOLDER = '/root/device-plugins';
export const CHECKPOINT = `${FOLDER}/kubelet_internal_checkpoint`;
export const GPU = 'example.com/gpu';

export function containerOf(name: string, limits: Record<string, string>, more: Partial<Container> = {}): Container {
  return { name, image: 'i', resources: { limits, requests: limits }, ...more } as Container;
}

export function podOf(uid: string, containers: readonly Container[], initContainers: readonly Container[] = []): Pod {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: uid, namespace: 'default', uid },
    spec: { containers: [...containers], initContainers: [...initContainers] },
  } as Pod;
}

export const gpuPod = (uid: string, count = 1): Pod => podOf(uid, [containerOf('c', { [GPU]: String(count) })]);

/** A device manager with fakes. A restart keeps the disk, the plugins and the pods. */
export class DeviceWorld {
  readonly clock = new FakeClock();
  readonly files = new FakeHostFiles(this.clock);
  readonly log = recordingLog();
  readonly plugins = new FakeDevicePlugins();
  /** The active pods; undefined while the sources have not reported. */
  active: Pod[] | undefined = [];
  health: PodUid[] = [];
  capacityChanges = 0;
  devices: DeviceParts = this.#create();

  async start(): Promise<void> {
    await this.devices.start();
  }

  /** Restarts the agent as after a kill -9, without an orderly stop. */
  async restart(): Promise<void> {
    this.devices = this.#create();
    await this.devices.start();
  }

  async register(devices: readonly PluginDevice[], resource = GPU): Promise<FakeDevicePlugin> {
    const plugin = new FakeDevicePlugin(devices);
    await this.registerPlugin(plugin, resource);
    return plugin;
  }

  async registerPlugin(plugin: FakeDevicePlugin, resource = GPU): Promise<void> {
    const endpoint = `${resource.replace('/', '-')}.sock`;
    this.plugins.plugins.set(`${FOLDER}/${endpoint}`, plugin);
    await this.plugins.register({ version: 'v1beta1', endpoint, resource });
    await this.clock.settle();
  }

  /** Admits the pod as admission does. It is active from then on, unless it was rejected. */
  async admit(pod: Pod, signal = new AbortController().signal): Promise<DeviceVerdict> {
    this.active = [...(this.active ?? []), pod];
    for (const step of this.devices.manager.steps(pod)) {
      const verdict = await step.admit({ pod }, signal);
      if (verdict.kind === 'admit') continue;
      if (verdict.kind === 'reject') this.remove(pod.metadata.uid);
      return verdict;
    }
    return { kind: 'admit' };
  }

  remove(uid: string): void {
    this.active = this.active?.filter(({ metadata }) => metadata.uid !== uid);
  }

  ids(uid: string, container = 'c', resource = GPU): readonly string[] {
    return this.devices.manager.devicesOf(podUid(uid), container).get(resource)?.ids ?? [];
  }

  #create(): DeviceParts {
    return createDeviceManager({
      rootDir: '/root',
      plugins: this.plugins,
      files: this.files,
      nodeIds: [0, 1],
      holders: () => this.active && new Set(this.active.map(({ metadata }) => podUid(metadata.uid))),
      onCapacity: () => void this.capacityChanges++,
      onHealth: (uid) => void this.health.push(uid),
      onRegistered: () => undefined,
      onAllocated: () => undefined,
      clock: this.clock,
      log: this.log,
    });
  }
}
