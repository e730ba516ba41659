import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { leases, nodes } from '../../src/api/client/resource-types.ts';
import type { Node } from '../../src/api/core/node.ts';
import { ApiStatusError } from '../../src/api/status/api-status-error.ts';
import { parseTime } from '../../src/api/time.ts';
import type { Random } from '../../src/base/random.ts';
import { seededRandom } from '../../src/base/random.ts';
import type { SimulatedApi } from './cluster-api.ts';
import { between, pick } from './manifests.ts';
import { NODE_NAME, SimulatedNode } from './world.ts';

const SEEDS = Number(process.env['SIMULATION_NODE_SEEDS'] ?? 8);
const FROM = Number(process.env['SIMULATION_FROM'] ?? 1);
const STEPS = 40;
const HOUR_MS = 3_600_000;
const key = { namespace: '', name: NODE_NAME };
const leaseKey = { namespace: 'kube-node-lease', name: NODE_NAME };
const label = 'example.com/others';

/** Disturbs the node object, its lease, and the connection to the API server. The runtime works all the time. */
class NodeScenario {
  readonly node: SimulatedNode;
  readonly api: SimulatedApi;
  readonly random: Random;
  readonly violations: string[] = [];
  readonly trace: string[] = [];
  /** The label that a user set, by the uid of the node. */
  readonly labelled = new Map<string, string>();

  constructor(seed: number) {
    this.random = seededRandom(seed);
    this.node = new SimulatedNode({ seed, cluster: true });
    if (this.node.api === undefined) throw new Error('no API server');
    this.api = this.node.api;
  }

  get now(): Node | undefined {
    return this.api.server.peek(nodes, key);
  }

  readyOf(node: Node | undefined): string | undefined {
    return node?.status?.conditions?.find(({ type }) => type === 'Ready')?.status;
  }

  async run(): Promise<void> {
    const watching = this.#watchReady();
    this.node.start();
    await this.node.clock.advance(60_000);
    for (let step = 0; step < STEPS; step++) {
      const said = pick(this.random, acts)(this);
      this.trace.push(`${this.node.clock.monotonicMs()} ${said}`);
      await this.node.clock.advance(between(this.random, 0, pick(this.random, [100, 20_000, 600_000])));
      this.api.server.calls.length = 0;
    }
    await this.#judgeHealed();
    await this.#judgeQuiet();
    this.node.kill();
    watching.abort();
  }

  /** Nothing ails this node: the agent never says that it is not ready, once it was. */
  #watchReady(): AbortController {
    const ended = new AbortController();
    const follow = async (): Promise<void> => {
      let wasReady = '';
      for await (const event of this.api.server.watch(nodes, '', { sendInitialEvents: true }, ended.signal)) {
        if (event.type === 'ERROR' || event.type === 'BOOKMARK') continue;
        const { uid } = event.object.metadata;
        const ready = this.readyOf(event.object);
        // What the control plane has given up reports its state again.
        if (ready !== 'False') wasReady = ready === 'True' ? uid : '';
        else if (wasReady === uid)
          this.violations.push(
            `${this.node.clock.monotonicMs()} a ready node became unready: ${JSON.stringify(event.object.status?.conditions?.at(-1))}`,
          );
      }
    };
    const again = async (): Promise<void> => {
      while (!ended.signal.aborted) await follow();
    };
    void again();
    return ended;
  }

  /** Checks that everything is correct half a minute after the last fault. */
  async #judgeHealed(): Promise<void> {
    this.api.comeBack();
    this.api.storm = { share: 0, effective: 0 };
    if (this.node.agent === undefined) this.node.start();
    // Watches that are half dead are noticed after five minutes at the latest, and writing goes on without them.
    await this.node.clock.advance(40_000);
    const { now } = this;
    const lease = this.api.server.peek(leases, leaseKey);
    const renewedMs = parseTime(lease?.spec.renewTime) ?? 0;
    const wanted = this.labelled.get(now?.metadata.uid ?? '');
    const wrong = [
      ...(this.readyOf(now) === 'True' ? [] : ['the node is not ready']),
      ...(now?.metadata.labels?.['kubernetes.io/hostname'] === NODE_NAME ? [] : ['the labels of the node are missing']),
      ...(wanted === undefined || now?.metadata.labels?.[label] === wanted ? [] : ['the label of others is gone']),
      ...(Math.abs(this.node.clock.nowMs() - renewedMs) < 15_000
        ? []
        : [`the lease was renewed at ${lease?.spec.renewTime}`]),
      ...(lease?.metadata.ownerReferences?.[0]?.uid === now?.metadata.uid ? [] : ['the lease belongs to another node']),
    ];
    this.violations.push(...wrong.map((each) => `after the faults: ${each}`));
  }

  /** Checks that the agent only sends heartbeats when nothing changes. */
  async #judgeQuiet(): Promise<void> {
    await this.node.clock.advance(10 * 60_000);
    this.api.server.calls.length = 0;
    await this.node.clock.advance(HOUR_MS);
    const count = (verb: string, plural: string): number =>
      this.api.server.calls.filter((call) => call.verb === verb && call.plural === plural).length;
    const [patches, renewals, reads] = [
      count('patch', 'nodes'),
      count('update', 'leases'),
      count('get', 'nodes') + count('get', 'leases'),
    ];
    if (patches < 10 || patches > 13) this.violations.push(`${patches} reports in a quiet hour`);
    if (renewals < 340 || renewals > 361) this.violations.push(`${renewals} renewals in a quiet hour`);
    if (reads > 0) this.violations.push(`${reads} reads in a quiet hour`);
  }
}

type Act = (scenario: NodeScenario) => string;

const outage: Act = ({ api, node, random }) => {
  const forMs = pick(random, [50, 5000, 120_000, 2 * HOUR_MS]);
  api.goAway();
  node.clock.setTimer(forMs, () => api.comeBack());
  return `the API server is away for ${forMs} ms`;
};

const storm: Act = ({ api, node, random }) => {
  const forMs = between(random, 500, 120_000);
  api.storm = { share: pick(random, [0.3, 0.9]), effective: pick(random, [0, 0.5]) };
  node.clock.setTimer(forMs, () => (api.storm = { share: 0, effective: 0 }));
  return `a storm for ${forMs} ms`;
};

const forget: Act = ({ api: { server } }) => {
  server.compact();
  server.endWatches(new ApiStatusError('Expired', 'too old resource version'));
  return 'the API server forgets the past';
};

const mute: Act = ({ api: { server } }) => {
  server.muteWatches();
  return 'watches are half dead';
};

const restart: Act = ({ node, random }) => {
  const awayMs = pick(random, [0, 500, 50_000]);
  node.kill();
  node.clock.setTimer(awayMs, () => {
    if (node.agent === undefined) node.start();
  });
  return `kill -9, start after ${awayMs} ms`;
};

const deleteNode: Act = ({ api: { server }, random }) => {
  server.remove(nodes, key);
  const withLease = random.next() < 0.5;
  if (withLease) server.remove(leases, leaseKey);
  return `the node is deleted${withLease ? ' with its lease' : ''}`;
};

const lose: Act = ({ api: { server } }) => {
  server.change(
    nodes,
    key,
    (found): Node => ({
      ...found,
      status: {
        ...found.status,
        conditions: found.status?.conditions?.map((each) => ({ ...each, status: 'Unknown' as const })) ?? [],
      },
    }),
  );
  return 'the control plane takes the node for lost';
};

const meddle: Act = (scenario) => {
  const value = String(between(scenario.random, 0, 9));
  const changed = scenario.api.server.change(nodes, key, (found) => ({
    ...found,
    metadata: { ...found.metadata, labels: { ...found.metadata.labels, [label]: value } },
    spec: { ...found.spec, unschedulable: value === '1' },
  }));
  if (changed !== undefined) scenario.labelled.set(changed.metadata.uid, value);
  return 'a user labels the node';
};

const takeLease: Act = ({ api: { server } }) => {
  server.change(leases, leaseKey, (found) => ({
    ...found,
    spec: { ...found.spec, leaseTransitions: (found.spec.leaseTransitions ?? 0) + 1 },
  }));
  return 'a user writes the lease';
};

const step: Act = ({ node, random }) => {
  const byMs = pick(random, [-HOUR_MS, HOUR_MS, -50 * 8766 * HOUR_MS, 70 * 8766 * HOUR_MS]);
  node.clock.stepWall(byMs);
  return `the wall clock is stepped by ${byMs / HOUR_MS} h`;
};

const acts: readonly Act[] = [
  outage,
  storm,
  forget,
  mute,
  restart,
  restart,
  deleteNode,
  lose,
  meddle,
  meddle,
  takeLease,
  step,
];

describe('the node of a cluster through outages, storms, deletions, meddling, stepped clocks and restarts', () => {
  it(`is ready, alive and its own again soon after, was never called unready, and costs nothing in quiet, with seeds ${FROM} to ${FROM + SEEDS - 1}`, async () => {
    for (let seed = FROM; seed < FROM + SEEDS; seed++) {
      const scenario = new NodeScenario(seed);
      await scenario.run();
      const log = scenario.node.logs
        .slice(-25)
        .map(
          ({ atMs, agent, level, message, fields }) => `${atMs} ${agent} ${level} ${message} ${JSON.stringify(fields)}`,
        );
      const report = [
        `seed ${seed} broke:`,
        ...scenario.violations,
        'after:',
        ...scenario.trace,
        'log:',
        ...log,
        `replay: SIMULATION_NODE_SEEDS=1 SIMULATION_FROM=${seed} node --test test/simulation/node.test.ts`,
      ];
      assert.deepEqual([...scenario.violations, ...scenario.node.agentErrors], [], report.join('\n'));
    }
  });
});
