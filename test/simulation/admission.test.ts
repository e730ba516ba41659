import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Pod } from '../../src/api/core/pod.ts';
import { podRequests } from '../../src/api/resources.ts';
import { quantityMilliValue } from '../../src/api/quantity.ts';
import { seededRandom } from '../../src/base/random.ts';
import type { PodStatus } from '../../src/api/core/pod-status.ts';
import { between, chance, ManifestFolder, pick } from './manifests.ts';
import { SimulatedNode } from './world.ts';

/** The CPU of the simulated node, in thousandths. */
const CAPACITY_MILLIS = 4000;

function podOf(name: string, millis: number, critical: boolean): string {
  const spec = {
    terminationGracePeriodSeconds: 5,
    ...(critical ? { priorityClassName: 'system-node-critical' } : {}),
    containers: [
      {
        name: 'main',
        image: 'docker.io/library/app:1',
        command: ['simulate'],
        args: ['{}'],
        resources: { requests: { cpu: `${millis}m` } },
      },
    ],
  };
  return JSON.stringify({ apiVersion: 'v1', kind: 'Pod', metadata: { name }, spec });
}

/** A small node on which pods compete for CPU while its agent is killed repeatedly. */
class Contest {
  readonly node: SimulatedNode;
  readonly manifests: ManifestFolder;
  readonly names = new Set<string>();
  readonly #random;
  /** The UIDs of pods that have run: none of them may be rejected any more. */
  readonly #ran = new Set<string>();
  #count = 0;

  constructor(seed: number) {
    this.#random = seededRandom(seed);
    this.node = new SimulatedNode({ seed });
    this.manifests = new ManifestFolder(this.node);
    this.node.onAgent = (_agent, kubelet) =>
      void kubelet.records.statuses.onChange(({ pod, status }) => this.#judge(pod, status));
  }

  async step(): Promise<void> {
    const kind = this.#random.next();
    if (kind < 0.5) {
      const name = `p${this.#count++}`;
      this.names.add(name);
      await this.manifests.write(
        `${name}.yaml`,
        podOf(name, pick(this.#random, [300, 700, 1000, 1700, 2500]), chance(this.#random, 0.25)),
      );
    } else if (kind < 0.7 && this.names.size > 0) {
      const name = pick(this.#random, [...this.names]);
      this.names.delete(name);
      await this.manifests.remove(`${name}.yaml`);
    } else if (kind < 0.9) {
      this.node.kill();
      this.node.start();
    }
    await this.node.clock.advance(
      chance(this.#random, 0.5) ? between(this.#random, 1, 60) : between(this.#random, 1000, 20_000),
    );
    this.#checkRoom();
  }

  statuses(): PodStatus[] {
    const kubelet = this.node.kubelet;
    return kubelet?.store.pods().flatMap((pod) => kubelet.records.statuses.get(pod.metadata.uid as never) ?? []) ?? [];
  }

  #running(): Set<string> {
    return new Set(
      this.node.runtime
        .containers()
        .filter(({ state }) => state === 'running')
        .map(({ sandbox }) => sandbox.config.uid),
    );
  }

  #judge(pod: Pod, status: PodStatus): void {
    const { uid, name } = pod.metadata;
    const isRejected = status.phase === 'Failed' && status.message?.startsWith('Pod was rejected: ') === true;
    if (isRejected) assert.ok(!this.#ran.has(uid), `${name} was turned away though it had run: ${status.message}`);
    if (isRejected) assert.ok(!this.#running().has(uid), `${name} runs and was turned away`);
    if (status.phase === 'Running') this.#ran.add(uid);
  }

  /**
   * The running and wanted pods never request more than the node has. Pods that are being stopped to make room do not
   * count.
   */
  #checkRoom(): void {
    const kubelet = this.node.kubelet;
    if (kubelet === undefined) return;
    const running = this.#running();
    const wanted = kubelet.store
      .pods()
      .filter(
        (pod) =>
          running.has(pod.metadata.uid) &&
          kubelet.records.statuses.get(pod.metadata.uid as never)?.reason !== 'Preempting',
      );
    const millis = wanted.reduce((sum, pod) => sum + quantityMilliValue(podRequests(pod)['cpu'] ?? '0'), 0);
    assert.ok(
      millis <= CAPACITY_MILLIS,
      `${wanted.map((pod) => pod.metadata.name).join(', ')} run and ask for ${millis}m`,
    );
  }
}

describe('pods that compete for a small node', () => {
  it('never get more than there is, are judged once, and all know where they stand, however often the agent is killed', async () => {
    const seen = new Set<string>();
    for (let seed = 1; seed <= 15; seed++) {
      const contest = new Contest(seed);
      contest.node.start();
      await contest.node.clock.advance(1000);
      for (let step = 0; step < 60; step++) await contest.step();
      if (contest.node.agent === undefined) contest.node.start();
      await contest.node.clock.advance(120_000);
      const statuses = contest.statuses();
      assert.equal(statuses.length, contest.names.size);
      for (const { phase, reason = '' } of statuses) {
        assert.ok(
          phase === 'Running' || (phase === 'Failed' && ['OutOfcpu', 'Preempting'].includes(reason)),
          `seed ${seed}: a pod is ${phase} ${reason}`,
        );
        seen.add(`${phase} ${reason}`.trim());
      }
      assert.deepEqual(contest.node.agentErrors, []);
      await contest.node.terminate();
    }
    assert.deepEqual([...seen].sort(), ['Failed OutOfcpu', 'Failed Preempting', 'Running']);
  });
});
