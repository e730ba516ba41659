import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { seededRandom } from '../../src/base/random.ts';
import { RESOURCE, SimulatedPlugin } from './device-plugin.ts';
import { between, chance, ManifestFolder, pick } from './manifests.ts';
import { SimulatedNode } from './world.ts';

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
 * A node whose pods use the devices of a plugin that fails, stops and reports unhealthy devices. The agent is killed at
 * any time and may find its checkpoint corrupt.
 */
class Workshop {
  readonly node: SimulatedNode;
  readonly manifests: ManifestFolder;
  readonly plugin: SimulatedPlugin;
  /** The number of devices that each pod requests, by name. */
  readonly pods = new Map<string, number>();
  readonly #random;
  #count = 0;

  constructor(seed: number) {
    this.#random = seededRandom(seed);
    this.node = new SimulatedNode({ seed });
    this.manifests = new ManifestFolder(this.node);
    this.plugin = new SimulatedPlugin(this.node, this.#random);
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
    } else if (kind < 0.75) this.plugin.disturb();
    else if (kind < 0.85) {
      const running = this.node.runtime.containers().filter(({ state }) => state === 'running');
      if (running.length > 0) this.node.runtime.killContainer(pick(this.#random, running).id);
    } else await this.#end();
    if (this.node.agent === undefined) this.node.start();
    await this.advance(chance(this.#random, 0.5) ? between(this.#random, 1, 100) : between(this.#random, 1000, 30_000));
  }

  async advance(ms: number): Promise<void> {
    for (let left = ms; left > 0; left -= 500) {
      await this.node.clock.advance(Math.min(left, 500));
      this.plugin.check();
    }
  }

  async #end(): Promise<void> {
    if (chance(this.#random, 0.3)) await this.node.terminate();
    else this.node.kill();
    if (chance(this.#random, 0.4)) await this.plugin.damageCheckpoint();
  }

  async heal(): Promise<void> {
    this.plugin.heal();
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
      workshop.plugin.come();
      workshop.node.start();
      // A node that never had a resource knows nothing of it, and ignores requests for it, as upstream.
      await workshop.advance(1000);
      for (let step = 0; step < 60; step++) await workshop.step();
      await workshop.heal();
      assert.deepEqual([...workshop.plugin.violations], [], `seed ${seed}`);
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
