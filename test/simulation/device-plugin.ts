import { KubeletError } from '../../src/base/errors.ts';
import type { Random } from '../../src/base/random.ts';
import { FakeDevicePlugin, plainDevice } from '../../src/kubelet/ports/testing/fake-device-plugins.ts';
import { between, chance } from './manifests.ts';
import type { SimulatedNode } from './world.ts';
import { paths } from './world.ts';

export const RESOURCE = 'devices.test/sim';
const SOCKET = `${paths.root}/device-plugins/sim.sock`;
const CHECKPOINT = `${paths.root}/device-plugins/kubelet_internal_checkpoint`;
const DEVICES = ['a', 'b', 'c', 'd'];
const RETRY_MS = 500;

/** A device plugin on a simulated node. It checks which pods have its devices. */
export class SimulatedPlugin {
  readonly violations = new Set<string>();
  readonly #node: SimulatedNode;
  readonly #random: Random;
  /** The first allocation of each pod, by its UID. */
  readonly #first = new Map<string, string>();
  #plugin = new FakeDevicePlugin([]);
  #isUp = false;

  constructor(node: SimulatedNode, random: Random) {
    this.#node = node;
    this.#random = random;
    node.devicePlugins.onServe = () => this.#register(this.#plugin);
  }

  get isUp(): boolean {
    return this.#isUp;
  }

  come(): void {
    this.#plugin = new FakeDevicePlugin(DEVICES.map((id) => plainDevice(id)));
    this.#node.devicePlugins.plugins.set(SOCKET, this.#plugin);
    this.#isUp = true;
    this.#register(this.#plugin);
  }

  go(): void {
    this.#plugin.die();
    this.#node.devicePlugins.plugins.delete(SOCKET);
    this.#isUp = false;
  }

  /** The plugin stops, restarts, fails, hangs or reports unhealthy devices. */
  disturb(): string {
    const kind = this.#random.next();
    if (kind < 0.2) this.#plugin.fail('allocate', new KubeletError('Internal', 'scripted'));
    else if (kind < 0.4) this.#plugin.hang('allocate');
    else if (kind < 0.6) this.#plugin.heal('allocate');
    else if (kind < 0.8)
      this.#plugin.list(DEVICES.map((id) => plainDevice(id, { healthy: chance(this.#random, 0.7) })));
    else if (this.#isUp) this.go();
    else this.come();
    return `the device plugin is disturbed: ${kind.toFixed(2)}`;
  }

  heal(): void {
    this.#plugin.heal('allocate');
    if (!this.#isUp) this.come();
    this.#plugin.list(DEVICES.map((id) => plainDevice(id)));
  }

  /** Truncates the checkpoint while no agent runs. */
  async damageCheckpoint(): Promise<void> {
    const text = this.#node.files.peek(CHECKPOINT);
    if (text !== undefined)
      await this.#node.files.writeFile(CHECKPOINT, text.slice(0, between(this.#random, 0, text.length - 1)), 0o600);
  }

  /** Checks that no device is in two running pods, and that no pod's devices change. */
  check(wantsDevices: (podUid: string) => boolean = () => true): void {
    const owners = new Map<string, string>();
    for (const { config, sandbox, state, dead } of this.#node.runtime.containers()) {
      const ids = config.envs.find(({ key }) => key === 'DEVICES')?.value;
      const { uid } = sandbox.config;
      if (ids === undefined) {
        if (wantsDevices(uid)) this.violations.add(`${uid} has a container without devices`);
        continue;
      }
      if (state !== 'running' || dead === true) continue;
      for (const id of ids.split(',')) {
        const owner = owners.get(id) ?? uid;
        if (owner !== uid) this.violations.add(`device ${id} is in ${owner} and in ${uid}`);
        owners.set(id, uid);
      }
      const first = this.#first.get(uid) ?? ids;
      if (first !== ids) this.violations.add(`${uid} had ${first} and has ${ids}`);
      this.#first.set(uid, ids);
    }
  }

  /** Registers as a plugin does: when it starts, and when an agent's socket appears. */
  #register(plugin: FakeDevicePlugin): void {
    const { clock, devicePlugins } = this.#node;
    if (!this.#isUp || plugin !== this.#plugin) return;
    const registration = { version: 'v1beta1', endpoint: 'sim.sock', resource: RESOURCE };
    const again = (): void => void clock.setTimer(RETRY_MS, () => this.#register(plugin));
    void devicePlugins.register(registration).catch(again);
  }
}
