import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { PodStatus } from '../../src/api/core/pod-status.ts';
import { seededRandom } from '../../src/base/random.ts';
import { between, chance, ManifestFolder } from './manifests.ts';
import { SimulatedNode } from './world.ts';

const SEEDS = 20;
/** 20 s for regular pods, 10 s for critical ones. */
const config = { shutdownGracePeriod: '30s', shutdownGracePeriodCriticalPods: '10s' };
const TOTAL_MS = 30_000;

function podOf(name: string, graceSeconds: number): string {
  const spec = {
    terminationGracePeriodSeconds: graceSeconds,
    ...(name.startsWith('critical') ? { priorityClassName: 'system-node-critical' } : {}),
    containers: [{ name: 'main', image: 'docker.io/library/app:1', command: ['simulate'], args: ['{}'] }],
  };
  return JSON.stringify({ apiVersion: 'v1', kind: 'Pod', metadata: { name }, spec });
}

/** One machine that shuts down and starts again, with an agent that may be killed at any time. */
class Reboot {
  readonly node: SimulatedNode;
  readonly #manifests: ManifestFolder;
  readonly #random;
  readonly #names: string[] = [];

  constructor(seed: number) {
    this.#random = seededRandom(seed);
    this.node = new SimulatedNode({ seed, config });
    this.#manifests = new ManifestFolder(this.node);
  }

  async begin(): Promise<void> {
    const count = between(this.#random, 1, 8);
    for (let index = 0; index < count; index++)
      await this.add(`${chance(this.#random, 0.4) ? 'critical' : 'plain'}-${index}`);
    this.node.start();
    await this.node.clock.advance(chance(this.#random, 0.3) ? between(this.#random, 1, 1500) : 30_000);
  }

  async add(name: string): Promise<void> {
    this.#names.push(name);
    await this.#manifests.write(`${name}.yaml`, podOf(name, between(this.#random, 1, 60)));
  }

  async kill(): Promise<void> {
    this.node.kill();
    await this.node.clock.advance(between(this.#random, 1, 2000));
    if (this.node.agent === undefined) this.node.start();
  }

  /** Advances in small steps until the machine is down; returns the time that took. */
  async goDown(onStep: () => Promise<void>): Promise<number> {
    const { clock, login } = this.node;
    const beganMs = clock.monotonicMs();
    login.shutDown();
    while (!login.isDown) {
      assert.ok(clock.monotonicMs() - beganMs < TOTAL_MS + 1000, 'the machine waits no longer than it was asked to');
      await clock.advance(250);
      await onStep();
    }
    return clock.monotonicMs() - beganMs;
  }

  /** Starts the machine: no process is left, and a new agent starts. */
  async comeUp(): Promise<void> {
    const { node } = this;
    node.kill();
    node.runtime.restart({ downMs: 500, containers: 'exit' });
    node.login.isPreparing = false;
    node.login.isDown = false;
    await node.clock.advance(1000);
    node.start();
    await node.clock.advance(120_000);
  }

  running(): string[] {
    return this.node.runtime
      .containers()
      .filter(({ state }) => state === 'running')
      .map(({ sandbox }) => sandbox.config.name.replace(/-sim$/, ''))
      .sort();
  }

  names(): string[] {
    return [...this.#names].sort();
  }

  statuses(): PodStatus[] {
    const { kubelet } = this.node;
    return kubelet?.store.pods().flatMap((pod) => kubelet.records.statuses.get(pod.metadata.uid as never) ?? []) ?? [];
  }

  chance(share: number): boolean {
    return chance(this.#random, share);
  }
}

describe('shutdown of the machine', () => {
  it('waits for its pods, critical ones last, rejects new ones, and has all of them again when it comes up', async () => {
    for (let seed = 1; seed <= SEEDS; seed++) {
      const reboot = new Reboot(seed);
      await reboot.begin();
      let isLate = false;
      const tookMs = await reboot.goDown(async () => {
        if (!isLate && reboot.chance(0.2)) {
          isLate = true;
          await reboot.add('late');
        }
      });
      await reboot.node.clock.advance(1);
      if (tookMs < TOTAL_MS) assert.deepEqual(reboot.running(), [], `seed ${seed}: nothing runs when the machine goes`);
      await reboot.node.clock.advance(60_000);
      assert.deepEqual(reboot.running(), [], `seed ${seed}: and nothing starts again`);
      for (const status of reboot.statuses())
        assert.ok(['Failed', 'Succeeded'].includes(status.phase ?? ''), `seed ${seed}: ${status.phase}`);
      await reboot.comeUp();
      assert.deepEqual(reboot.running(), reboot.names(), `seed ${seed}: all run after the reboot`);
      for (const { phase } of reboot.statuses()) assert.equal(phase, 'Running', `seed ${seed}`);
    }
  });

  it('stops what an agent finds that was killed in the middle of it, and starts nothing before the reboot', async () => {
    for (let seed = 100; seed < 100 + SEEDS; seed++) {
      const reboot = new Reboot(seed);
      await reboot.begin();
      let kills = 0;
      await reboot.goDown(async () => {
        if (kills < 3 && reboot.chance(0.3)) {
          kills++;
          await reboot.kill();
        }
      });
      await reboot.node.clock.advance(5000);
      await reboot.kill();
      await reboot.node.clock.advance(90_000);
      assert.deepEqual(reboot.running(), [], `seed ${seed}: all pods ended after ${kills} kills`);
      await reboot.comeUp();
      assert.deepEqual(reboot.running(), reboot.names(), `seed ${seed}: all run after the reboot`);
      for (const { phase } of reboot.statuses()) assert.equal(phase, 'Running', `seed ${seed}`);
    }
  });

  it('runs its static pods again when the shutdown is cancelled, at whatever moment', async () => {
    for (let seed = 200; seed < 200 + SEEDS; seed++) {
      const reboot = new Reboot(seed);
      await reboot.begin();
      reboot.node.login.shutDown();
      await reboot.node.clock.advance(seed * 137 - 27_000);
      reboot.node.login.cancel();
      await reboot.node.clock.advance(180_000);
      assert.deepEqual(reboot.running(), reboot.names(), `seed ${seed}`);
      for (const { phase } of reboot.statuses()) assert.equal(phase, 'Running', `seed ${seed}`);
      assert.equal(reboot.node.login.locks.length, 1, `seed ${seed}: the next shutdown waits, too`);
    }
  });
});
