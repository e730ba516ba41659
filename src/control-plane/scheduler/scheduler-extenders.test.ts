import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { pods } from '../../api/client/resource-types.ts';
import { readSchedulerConfig } from './config/scheduler-config.ts';
import type { SchedulerConfig } from './config/scheduler-config.ts';
import type { AskExtender, ExtenderRequest } from './framework/extender.ts';
import { bound, buildNode, buildPod } from './testing/builders.ts';
import { SchedulerWorld, started } from './testing/scheduler-world.ts';

const URL_PREFIX = 'http://extender';

function configOf(...extenders: readonly object[]): SchedulerConfig {
  const read = readSchedulerConfig({
    apiVersion: 'kubescheduler.config.k8s.io/v1',
    kind: 'KubeSchedulerConfiguration',
    extenders: extenders.map((each) => ({ urlPrefix: `${URL_PREFIX}/`, ...each })),
  });
  if ('errors' in read) throw new Error(read.errors.join('\n'));
  return read.config;
}

/** A fake extender. It has no clock of its own: requests time out only in the virtual time of the world. */
class FakeExtender {
  readonly asked: { readonly verb: string; readonly args: Args }[] = [];
  answers = new Map<string, (args: Args) => unknown>();

  readonly ask: AskExtender = async ({ url, body }: ExtenderRequest) => {
    const verb = url.slice(URL_PREFIX.length + 1);
    const args = JSON.parse(body.join('')) as Args;
    this.asked.push({ verb, args });
    const answer = this.answers.get(verb);
    if (answer === undefined) throw new Error(`no verb ${verb}`);
    return await answer(args);
  };

  get verbs(): readonly string[] {
    return this.asked.map(({ verb }) => verb);
  }
}

interface Args {
  readonly Pod: { readonly metadata: { readonly name: string } };
  readonly Nodes: { readonly items: readonly { readonly metadata: { readonly name: string } }[] } | null;
  readonly NodeNames: readonly string[] | null;
  readonly NodeNameToVictims: Record<string, { Pods: { metadata: { uid: string } }[] }> | null;
  readonly Node?: string;
}

const named = (args: Args, keep: (name: string) => boolean): object => ({
  nodes: { items: (args.Nodes?.items ?? []).filter(({ metadata }) => keep(metadata.name)) },
});

describe('a scheduler with an extender', () => {
  it('excludes the nodes that the extender filters, and takes the one it scores best', async () => {
    const extender = new FakeExtender();
    extender.answers.set('filter', (args) => ({
      ...named(args, (name) => name !== 'a'),
      failedNodes: { a: 'too old' },
    }));
    extender.answers.set('score', () => [
      { host: 'b', score: 1 },
      { Host: 'c', Score: 10 },
    ]);
    const config = configOf({ filterVerb: 'filter', prioritizeVerb: 'score', weight: 5 });
    const world = await started({ config, askExtender: extender.ask }, 'a', 'b', 'c');
    world.addPod(buildPod('x'));
    await world.run(100);
    assert.equal(world.nodeOf('x'), 'c');
    assert.deepEqual(extender.verbs, ['filter', 'score']);
    assert.deepEqual(
      extender.asked[1]?.args.Nodes?.items.map(({ metadata }) => metadata.name),
      ['b', 'c'],
    );
    await world.stop();
  });

  it('reports the extender’s reasons, and retries the pod after any event', async () => {
    const extender = new FakeExtender();
    let isOpen = false;
    extender.answers.set('filter', (args) =>
      isOpen
        ? { nodenames: args.NodeNames }
        : { nodenames: [], failedNodes: { a: 'full' }, failedAndUnresolvableNodes: { b: 'broken' } },
    );
    const config = configOf({ filterVerb: 'filter', nodeCacheCapable: true });
    const world = await started({ config, askExtender: extender.ask }, 'a', 'b');
    world.addPod(buildPod('x'));
    await world.run(100);
    assert.match(world.condition('x') ?? '', /^False Unschedulable: 0\/2 nodes are available: 1 broken, 1 full\./);
    isOpen = true;
    await world.run(60_000);
    assert.equal(extender.asked.length, 1, 'no event, no attempt');
    world.addNode(buildNode('c'));
    await world.run(20_000);
    assert.notEqual(world.nodeOf('x'), undefined);
    await world.stop();
  });

  it('fails the attempt if the extender fails, unless it is ignorable', async () => {
    for (const ignorable of [false, true]) {
      const extender = new FakeExtender();
      const config = configOf({ filterVerb: 'filter', ignorable });
      const world = await started({ config, askExtender: extender.ask }, 'a');
      world.addPod(buildPod('x'));
      await world.run(100);
      if (ignorable) assert.equal(world.nodeOf('x'), 'a');
      else assert.equal(world.condition('x'), 'False SchedulerError: extender http://extender: no verb filter');
      await world.stop();
    }
  });

  it('rejects a node in the response that was not in the request', async () => {
    const extender = new FakeExtender();
    extender.answers.set('filter', () => ({ nodeNames: ['elsewhere'] }));
    const world = await started(
      { config: configOf({ filterVerb: 'filter', nodeCacheCapable: true }), askExtender: extender.ask },
      'a',
    );
    world.addPod(buildPod('x'));
    await world.run(100);
    assert.match(world.condition('x') ?? '', /SchedulerError: .* claims a filtered node "elsewhere"/);
    await world.stop();
  });

  it('calls the extender only for pods with its resources, and does not check the resources that only it counts', async () => {
    const extender = new FakeExtender();
    extender.answers.set('filter', (args) => named(args, () => true));
    const config = configOf({
      filterVerb: 'filter',
      managedResources: [{ name: 'example.com/gpu-mem', ignoredByScheduler: true }],
    });
    const world = await started({ config, askExtender: extender.ask }, 'a');
    world.addPod(buildPod('plain'));
    world.addPod(buildPod('gpu', { requests: { 'example.com/gpu-mem': '8' } }));
    await world.run(100);
    assert.deepEqual(
      [world.nodeOf('plain'), world.nodeOf('gpu'), extender.asked.map(({ args }) => args.Pod.metadata.name)],
      ['a', 'a', ['gpu']],
    );
    await world.stop();
  });

  it('lets the extender bind the pod', async () => {
    const extender = new FakeExtender();
    const world = new SchedulerWorld({
      config: configOf({ bindVerb: 'bind' }),
      askExtender: extender.ask,
    });
    extender.answers.set('bind', async (args) => {
      await world.api.post(pods, { namespace: 'default', name: 'x' }, 'binding', {
        apiVersion: 'v1',
        kind: 'Binding',
        metadata: { name: 'x', namespace: 'default' },
        target: { kind: 'Node', name: args.Node ?? '' },
      });
      return {};
    });
    world.addNode(buildNode('a'));
    await world.start();
    world.addPod(buildPod('x'));
    await world.run(100);
    assert.deepEqual(extender.asked, [
      { verb: 'bind', args: { PodName: 'x', PodNamespace: 'default', PodUID: 'uid-x', Node: 'a' } },
    ]);
    assert.equal(world.nodeOf('x'), 'a');
    assert.equal(world.api.calls.filter(({ verb }) => verb === 'post').length, 1);
    await world.stop();
  });

  it('evicts only the victims, and only on the nodes, that the extender accepts', async () => {
    const extender = new FakeExtender();
    extender.answers.set('preempt', ({ NodeNameToVictims }) => ({
      nodeNameToMetaVictims: {
        b: { pods: NodeNameToVictims?.['b']?.Pods.map(({ metadata }) => ({ uid: metadata.uid })) },
      },
    }));
    const world = await started({ config: configOf({ preemptVerb: 'preempt' }), askExtender: extender.ask }, 'a', 'b');
    const low = (name: string, node: string, priority: number): void =>
      world.addPod(bound(buildPod(name, { requests: { cpu: '4' }, spec: { priority } }), node));
    // Without the extender, the pod of lower priority would be evicted.
    low('on-a', 'a', 0);
    low('on-b', 'b', 5);
    await world.run(10);
    world.addPod(buildPod('vip', { requests: { cpu: '4' }, spec: { priority: 10 } }));
    await world.run(200);
    const isLeaving = (name: string): boolean => world.pod(name)?.metadata.deletionTimestamp !== undefined;
    assert.deepEqual([isLeaving('on-a'), isLeaving('on-b')], [false, true]);
    await world.stop();
  });

  it('keeps events that arrive during a request to the extender', async () => {
    const extender = new FakeExtender();
    const gate = Promise.withResolvers<void>();
    extender.answers.set('filter', async (args) => {
      await gate.promise;
      return { ...named(args, (name) => name === 'c'), failedNodes: { a: 'no' } };
    });
    const world = await started({ config: configOf({ filterVerb: 'filter' }), askExtender: extender.ask }, 'a');
    world.addPod(buildPod('x'));
    await world.run(100);
    // A suitable node is added while the request is running.
    world.addNode(buildNode('c'));
    await world.run(100);
    gate.resolve();
    await world.run(20_000);
    assert.equal(world.nodeOf('x'), 'c');
    await world.stop();
  });

  it('does not place a pod on a node that was filled or removed while the extender was called', async () => {
    const extender = new FakeExtender();
    const gates = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    extender.answers.set('filter', async (args) => {
      await gates[0]?.promise;
      return named(args, () => true);
    });
    const world = await started({ config: configOf({ filterVerb: 'filter' }), askExtender: extender.ask }, 'a', 'b');
    world.addPod(buildPod('x', { requests: { cpu: '3' } }));
    await world.run(100);
    world.addPod(bound(buildPod('other', { requests: { cpu: '3' } }), 'a'));
    await world.run(100);
    gates[0]?.resolve();
    await world.run(100);
    assert.equal(world.nodeOf('x'), 'b');
    await world.stop();
  });

  it('drops a pod that is deleted during the request, and continues with the next one', async () => {
    const extender = new FakeExtender();
    const gate = Promise.withResolvers<void>();
    extender.answers.set('filter', async (args) => {
      if (args.Pod.metadata.name === 'x') await gate.promise;
      return named(args, () => true);
    });
    const world = await started({ config: configOf({ filterVerb: 'filter' }), askExtender: extender.ask }, 'a');
    world.addPod(buildPod('x'));
    await world.run(50);
    world.addPod(buildPod('next'));
    await world.api.delete(pods, { namespace: 'default', name: 'x' });
    await world.run(100);
    assert.equal(world.nodeOf('next'), undefined, 'one pod at a time');
    gate.resolve();
    await world.run(100);
    assert.deepEqual([world.pod('x'), world.nodeOf('next')], [undefined, 'a']);
    await world.stop();
  });

  it('stops although an extender does not respond', async () => {
    const world = await started(
      {
        config: configOf({ filterVerb: 'filter' }),
        askExtender: ({ signal }) =>
          new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('aborted')))),
      },
      'a',
    );
    world.addPod(buildPod('x'));
    await world.run(100);
    await world.stop();
    assert.equal(world.nodeOf('x'), undefined);
  });
});
