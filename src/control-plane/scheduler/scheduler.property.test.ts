import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { namespaces, nodes, pods, services } from '../../api/client/resource-types.ts';
import { ApiStatusError } from '../../api/status/api-status-error.ts';
import type { Pod } from '../../api/core/pod.ts';
import { buildNode, buildPod } from './testing/builders.ts';
import type { NodeChanges, PodChanges } from './testing/builders.ts';
import { SchedulerWorld } from './testing/scheduler-world.ts';

const names = ['n0', 'n1', 'n2'] as const;
const nodeArb: fc.Arbitrary<NodeChanges> = fc.record({
  labels: fc.constantFrom<Record<string, string>>({}, { zone: 'one' }, { zone: 'two' }),
  allocatable: fc.constantFrom<Record<string, string>>({ cpu: '1' }, { cpu: '2' }, { cpu: '4', pods: '2' }),
  taints: fc.constantFrom<Record<string, string>[]>([], [], [{ key: 'k', effect: 'NoSchedule' }]),
  spec: fc.constantFrom({}, {}, { unschedulable: true }),
});
const term = (app: string): object => ({ topologyKey: 'zone', labelSelector: { matchLabels: { app } } });
const required = (kind: string, ...apps: readonly string[]): Record<string, unknown> => ({
  affinity: { [kind]: { requiredDuringSchedulingIgnoredDuringExecution: apps.map(term) } },
});
const podArb: fc.Arbitrary<PodChanges> = fc.record({
  labels: fc.constantFrom({ app: 'a' }, { app: 'b' }),
  requests: fc.constantFrom<Record<string, string>>({}, { cpu: '500m' }, { cpu: '1' }, { cpu: '2' }),
  hostPorts: fc.constantFrom([], [], [80]),
  spec: fc.constantFrom<Record<string, unknown>>(
    {},
    {},
    { nodeSelector: { zone: 'one' } },
    { tolerations: [{ operator: 'Exists' }] },
    required('podAffinity', 'a'),
    required('podAffinity', 'b'),
    required('podAntiAffinity', 'a', 'b'),
    required('podAntiAffinity', 'b'),
    {
      topologySpreadConstraints: [
        {
          maxSkew: 1,
          topologyKey: 'zone',
          whenUnsatisfiable: 'DoNotSchedule',
          labelSelector: { matchLabels: { app: 'a' } },
        },
      ],
    },
    { schedulingGates: [{ name: 'gate' }] },
    { priority: 5 },
  ),
});
const waitArb = fc.constantFrom(0, 0, 50, 1500, 4000);
const stepArb = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('addPod' as const), pod: podArb, waitMs: waitArb }) },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('setNode' as const), index: fc.nat(2), node: nodeArb, waitMs: waitArb }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('removeNode' as const), index: fc.nat(2), waitMs: waitArb }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('removePod' as const), index: fc.nat(11), waitMs: waitArb }) },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('relabelPod' as const),
      index: fc.nat(11),
      app: fc.constantFrom('a', 'b', 'c'),
      waitMs: waitArb,
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('ungate' as const), index: fc.nat(11), waitMs: waitArb }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('finishPod' as const), index: fc.nat(11), waitMs: waitArb }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('failBinds' as const), times: fc.nat(2), waitMs: waitArb }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('restart' as const), waitMs: waitArb }) },
);
type Step = typeof stepArb extends fc.Arbitrary<infer T> ? T : never;

async function perform(world: SchedulerWorld, step: Step, serial: number): Promise<void> {
  const nth = (index: number): Pod | undefined => world.api.all(pods)[index];
  const at = (pod: Pod): { namespace: string; name: string } => ({ namespace: 'default', name: pod.metadata.name });
  switch (step.kind) {
    case 'addPod':
      return world.addPod(buildPod(`p${serial}`, step.pod));
    case 'setNode':
      return world.addNode(buildNode(names[step.index] ?? 'n0', step.node));
    case 'removeNode':
      return world.api.remove(nodes, { namespace: '', name: names[step.index] ?? 'n0' });
    case 'failBinds':
      if (step.times > 0) world.api.fail('post', 'pods', new ApiStatusError('InternalError', 'away'), step.times);
      return undefined;
    case 'restart':
      await world.stop();
      return world.start();
    case 'removePod':
    case 'relabelPod':
    case 'ungate':
    case 'finishPod': {
      const pod = nth(step.index);
      if (pod === undefined) return undefined;
      if (step.kind === 'removePod') return world.api.remove(pods, at(pod));
      if (step.kind === 'relabelPod')
        return void world.api.change(pods, at(pod), (one) => ({
          ...one,
          metadata: { ...one.metadata, labels: { app: step.app } },
        }));
      if (step.kind === 'ungate')
        return void world.api.change(pods, at(pod), (one) => ({ ...one, spec: { ...one.spec, schedulingGates: [] } }));
      if ((pod.spec.nodeName ?? '') !== '')
        world.api.change(pods, at(pod), (one) => ({ ...one, status: { ...one.status, phase: 'Succeeded' as const } }));
    }
  }
}

/** Completes the graceful deletion of victims, as a working node does. */
function reap(world: SchedulerWorld): void {
  for (const pod of world.api.all(pods))
    if (pod.metadata.deletionTimestamp !== undefined)
      world.api.remove(pods, { namespace: 'default', name: pod.metadata.name });
}

const millisOf = ({ spec }: Pod): number => {
  const text = spec.containers[0]?.resources?.requests?.['cpu'] ?? '0';
  return text.endsWith('m') ? Number(text.slice(0, -1)) : Number(text) * 1000;
};

describe('the scheduler under random events', () => {
  it('never exceeds the capacity of a node, retries every pod that can run, and binds each pod at most once', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(stepArb, { minLength: 5, maxLength: 25 }),
        fc.integer({ min: 1, max: 1000 }),
        fc.constantFrom(0, 400),
        async (steps, seed, lagMs) => {
          const world = new SchedulerWorld({ seed, lagMs });
          world.addNode(buildNode('n0', { labels: { zone: 'one' } }));
          world.api.seed(namespaces, { metadata: { name: 'default', namespace: '', uid: 'ns' }, spec: {} });
          world.api.seed(services, {
            metadata: { name: 's', namespace: 'default', uid: 's' },
            spec: { selector: { app: 'a' } },
          });
          await world.start();
          // A node that shrinks below its pods' requests is not a scheduling error.
          let shrunk = false;
          for (const [serial, step] of steps.entries()) {
            if (step.kind === 'setNode' || step.kind === 'removeNode') shrunk = true;
            await perform(world, step, serial);
            await world.run(step.waitMs);
            if (!shrunk) checkRoom(world);
          }
          // The time is well below five minutes, after which every pod is retried. So only events can have retried the
          // pods.
          for (let turn = 0; turn < 12; turn++) {
            await world.run(10_000);
            reap(world);
          }
          await world.run(20_000);
          for (const pod of world.api.all(pods)) {
            if ((pod.spec.nodeName ?? '') !== '' || pod.status?.phase === 'Succeeded') continue;
            const explained = world.scheduler.explain({ namespace: 'default', name: pod.metadata.name });
            assert.notEqual(
              explained.kind === 'decision' ? explained.decision.kind : explained.kind,
              'placed',
              `${pod.metadata.name} was forgotten`,
            );
            if (explained.kind === 'gated') assert.ok((pod.spec.schedulingGates ?? []).length > 0);
          }
          const boundKeys = world.events
            .filter((event) => event.includes(' Scheduled: '))
            .map((event) => event.split(' ')[0]);
          assert.equal(new Set(boundKeys).size, boundKeys.length);
          assert.deepEqual(
            world.log.lines.filter(({ level }) => level === 'error'),
            [],
          );
          await world.stop();
        },
      ),
      { numRuns: 60 },
    );
  });
});

function checkRoom(world: SchedulerWorld): void {
  for (const node of world.api.all(nodes)) {
    const here = world.api
      .all(pods)
      .filter(({ spec, status }) => spec.nodeName === node.metadata.name && status?.phase !== 'Succeeded');
    const used = here.reduce((sum, pod) => sum + millisOf(pod), 0);
    const capacity = Number(node.status?.allocatable?.['cpu']) * 1000;
    assert.ok(
      used <= capacity && here.length <= Number(node.status?.allocatable?.['pods']),
      `${node.metadata.name} holds ${used} of ${capacity}`,
    );
  }
}
