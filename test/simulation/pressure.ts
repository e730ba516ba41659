import { pods } from '../../src/api/client/resource-types.ts';
import { buildPod } from '../../src/api/testing/pod-builder.ts';
import type { Random } from '../../src/base/random.ts';
import { seededRandom } from '../../src/base/random.ts';
import { PressureInvariants } from './invariants-pressure.ts';
import { between, chance, pick } from './manifests.ts';
import { PressureModel, pressureConfig, TRANSITION_MS } from './pressure-model.ts';
import { IMAGES, NODE_NAME, SimulatedNode } from './world.ts';

const GiB = 2 ** 30;

/** A node of a cluster whose pods use more and more until a resource is short, with agents that are killed. */
export class PressureScenario {
  readonly node: SimulatedNode;
  readonly model: PressureModel;
  readonly random: Random;
  readonly violations: string[] = [];
  readonly trace: string[] = [];
  readonly invariants: PressureInvariants;
  #count = 0;

  constructor(seed: number) {
    this.random = seededRandom(seed);
    this.model = new PressureModel(() => this.node);
    this.node = new SimulatedNode({
      seed,
      cluster: true,
      stats: this.model.sources(),
      config: pressureConfig,
    });
    this.invariants = new PressureInvariants(this.node, this.model, {
      report: (message) => this.report(message),
      trace: (message) => this.trace.push(`${this.node.clock.monotonicMs()} ${message}`),
    });
    this.node.onAgent = (_agent, kubelet) => this.invariants.watch(kubelet);
    this.node.onAgentEnd = () => this.invariants.agentEnded();
  }

  async run(steps: number): Promise<void> {
    this.node.start();
    await this.advance(2000);
    for (let step = 0; step < steps; step++) {
      this.#act();
      await this.advance(chance(this.random, 0.5) ? between(this.random, 1, 400) : between(this.random, 1000, 30_000));
    }
    if (this.node.agent === undefined) this.node.start();
    this.model.relax();
    await this.advance(3 * TRANSITION_MS);
    this.invariants.checkEnd();
    await this.node.terminate();
  }

  /** Advances in small steps, so that conditions are observed. */
  async advance(ms: number): Promise<void> {
    for (let left = ms; left > 0; left -= 500) {
      await this.node.clock.advance(Math.min(500, left));
      this.invariants.checkConditions();
    }
    this.node.forgetCalls();
    if (this.node.api !== undefined) this.node.api.server.calls.length = 0;
  }

  report(message: string): void {
    this.violations.push(`${(this.node.clock.monotonicMs() / 1000).toFixed(3)} ${message}`);
  }

  #act(): void {
    const uids = [...this.model.uses.keys()];
    const kind = this.random.next();
    if (kind < 0.35 || uids.length === 0) this.#addPod();
    else if (kind < 0.85) {
      const uid = pick(this.random, uids);
      const grown = {
        memoryBytes: between(this.random, 0, 3000) * 2 ** 20,
        diskBytes: chance(this.random, 0.3) ? between(this.random, 0, 30) * GiB : 0,
      };
      this.model.uses.set(uid, grown);
      this.trace.push(`${this.node.clock.monotonicMs()} ${uid.slice(0, 8)} uses ${JSON.stringify(grown)}`);
    } else {
      this.node.kill();
      this.node.start();
    }
  }

  #addPod(): void {
    const api = this.node.api;
    if (api === undefined) return;
    const pod = buildPod({
      'metadata.name': `pod-${++this.#count}`,
      'metadata.uid': '',
      'spec.nodeName': NODE_NAME,
      'spec.priority': chance(this.random, 0.2) ? 2_000_000_000 : between(this.random, 0, 2),
      'spec.terminationGracePeriodSeconds': between(this.random, 0, 60),
      'spec.containers': [
        {
          name: 'main',
          image: pick(this.random, IMAGES),
          command: ['simulate'],
          args: [JSON.stringify({ stopMs: between(this.random, 1, 5000), ignoresTerm: chance(this.random, 0.2) })],
          resources: { requests: { memory: `${between(this.random, 1, 500)}Mi` } },
        },
      ],
    });
    this.model.uses.set(api.server.seed(pods, pod).metadata.uid, { memoryBytes: 50 * 2 ** 20, diskBytes: 0 });
  }
}
