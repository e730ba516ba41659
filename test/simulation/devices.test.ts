import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { KubeletError } from '../../src/base/errors.ts';
import { seededRandom } from '../../src/base/random.ts';
import { FakeDevicePlugin, plainDevice } from '../../src/kubelet/ports/testing/fake-device-plugins.ts';
import { between, chance, ManifestFolder, pick } from './manifests.ts';
import { paths, SimulatedNode } from './world.ts';

const RESOURCE = 'devices.test/sim';
const SOCKET = `${paths.root}/device-plugins/sim.sock`;
const CHECKPOINT = `${paths.root}/device-plugins/kubelet_internal_checkpoint`;
const DEVICES = ['a', 'b', 'c', 'd'];

function podText(name: string, count: number): string {
  const resources = { limits: { [RESOURCE]: String(count) } };
  const container = { image: 'docker.io/library/app:1', command: ['simulate'], args: ['{}'], resources };
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name },
    spec: { terminationGracePeriodSeconds: 2, containers: [{ ...container, name: 'main' }] },
  });
}

/**
 * A node whose pods use the devices of a plugin that fails, dies and lists unhealthy devices, under an agent that is
 * killed at any moment and finds its checkpoint corrupt.
 */
class Workshop {
  readonly node: SimulatedNode;
  readonly manifests: ManifestFolder;
  readonly violations: string[] = [];
  /** Devices that each pod asks for, by name. */
  readonly pods = new Map<string, number>();
  plugin = new FakeDevicePlugin([]);
  /** What each pod got at first, by its UID. */
  readonly #first = new Map<string, string>();
  readonly #random;
  #count = 0;
  #served: unknown;
  #isUp = false;

  constructor(seed: number) {
    this.#random = seededRandom(seed);
    this.node = new SimulatedNode({ seed });
    this.manifests = new ManifestFolder(this.node);
  }

  /** As a plugin does: registers when it starts, and again with each agent. */
  async register(): Promise<void> {
    const { devicePlugins, agent } = this.node;
    if (!this.#isUp || agent?.started !== true || this.#served === agent) return;
    this.#served = agent;
    const registration = { version: 'v1beta1', endpoint: 'sim.sock', resource: RESOURCE };
    void devicePlugins.register(registration).catch(() => (this.#served = undefined));
  }

  come(): void {
    this.plugin = new FakeDevicePlugin(DEVICES.map((id) => plainDevice(id)));
    this.node.devicePlugins.plugins.set(SOCKET, this.plugin);
    this.#isUp = true;
    this.#served = undefined;
  }

  go(): void {
    this.plugin.die();
    this.node.devicePlugins.plugins.delete(SOCKET);
    this.#isUp = false;
  }

  async step(): Promise<void> {
    const kind = this.#random.next();
    if (kind < 0.35 || this.pods.size === 0) {
      const name = `p${this.#count++}`;
      const count = between(this.#random, 1, 2);
      this.pods.set(name, count);
      await this.manifests.write(`${name}.yaml`, podText(name, count));
    } else if (kind < 0.55) {
      const name = pick(this.#random, [...this.pods.keys()]);
      this.pods.delete(name);
      await this.manifests.remove(`${name}.yaml`);
    } else if (kind < 0.65) this.#disturb();
    else if (kind < 0.75) {
      const running = this.node.runtime.containers().filter(({ state }) => state === 'running');
      if (running.length > 0) this.node.runtime.killContainer(pick(this.#random, running).id);
    } else if (kind < 0.9) await this.#end();
    else if (this.#isUp) this.go();
    else this.come();
    if (this.node.agent === undefined) this.node.start();
    await this.advance(chance(this.#random, 0.5) ? between(this.#random, 1, 100) : between(this.#random, 1000, 30_000));
  }

  async advance(ms: number): Promise<void> {
    for (let left = ms; left > 0; left -= 500) {
      await this.node.clock.advance(Math.min(left, 500));
      await this.register();
      this.#check();
    }
  }

  async #end(): Promise<void> {
    if (chance(this.#random, 0.3)) await this.node.terminate();
    else this.node.kill();
    const text = this.node.files.peek(CHECKPOINT);
    if (text !== undefined && chance(this.#random, 0.4))
      await this.node.files.writeFile(CHECKPOINT, text.slice(0, between(this.#random, 0, text.length - 1)), 0o600);
  }

  #disturb(): void {
    const kind = this.#random.next();
    if (kind < 0.3) this.plugin.fail('allocate', new KubeletError('Internal', 'scripted'));
    else if (kind < 0.6) this.plugin.hang('allocate');
    else if (kind < 0.8) this.plugin.heal('allocate');
    else this.plugin.list(DEVICES.map((id) => plainDevice(id, { healthy: chance(this.#random, 0.7) })));
  }

  /** No device is in two pods that run, and no pod changes its devices. */
  #check(): void {
    const owners = new Map<string, string>();
    for (const { config, sandbox, state } of this.node.runtime.containers()) {
      const ids = config.envs.find(({ key }) => key === 'DEVICES')?.value;
      const { uid } = sandbox.config;
      if (ids === undefined) this.violations.push(`${uid} has a container without devices`);
      else if (state === 'running') {
        for (const id of ids.split(',')) {
          const owner = owners.get(id) ?? uid;
          if (owner !== uid) this.violations.push(`device ${id} is in ${owner} and in ${uid}`);
          owners.set(id, uid);
        }
        const first = this.#first.get(uid) ?? ids;
        if (first !== ids) this.violations.push(`${uid} had ${first} and has ${ids}`);
        this.#first.set(uid, ids);
      }
    }
  }

  async heal(): Promise<void> {
    this.plugin.heal('allocate');
    if (!this.#isUp) this.come();
    this.plugin.list(DEVICES.map((id) => plainDevice(id)));
    if (this.node.agent === undefined) this.node.start();
    await this.advance(120_000);
  }

  running(): number {
    return this.node.runtime.containers().filter(({ state }) => state === 'running').length;
  }
}

describe('devices under faults', () => {
  it('are never in two pods, and a pod keeps its own', async () => {
    let shared = 0;
    for (let seed = 1; seed <= 8; seed++) {
      const workshop = new Workshop(seed);
      workshop.come();
      workshop.node.start();
      // A node that never had a resource knows nothing of it, and ignores requests for it, as upstream.
      await workshop.advance(1000);
      for (let step = 0; step < 60; step++) await workshop.step();
      await workshop.heal();
      assert.deepEqual([...new Set(workshop.violations)], [], `seed ${seed}`);
      assert.deepEqual(workshop.node.agentErrors, [], `seed ${seed}`);
      shared += workshop.running();
      for (const name of workshop.pods.keys()) await workshop.manifests.remove(`${name}.yaml`);
      await workshop.advance(60_000);
      // All devices are free again.
      await workshop.manifests.write('last-a.yaml', podText('last-a', 2));
      await workshop.manifests.write('last-b.yaml', podText('last-b', 2));
      await workshop.advance(60_000);
      assert.equal(workshop.running(), 2, `seed ${seed}`);
    }
    assert.ok(shared > 4, `only ${shared} pods ran at the end`);
  });
});
