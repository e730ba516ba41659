import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { LoadedModules } from './config/profile-modules.ts';
import { readSchedulerConfig } from './config/scheduler-config.ts';
import type { SchedulerConfig } from './config/scheduler-config.ts';
import type { ModulePlugin, PluginFactory } from './modules/plugin-module.ts';
import { bound, buildNode, buildPod } from './testing/builders.ts';
import { started } from './testing/scheduler-world.ts';

const logged: string[] = [];
const loaded = (factory: unknown): LoadedModules => ({
  factories: new Map([['./mine.js', factory]]),
  log: (plugin, message) => void logged.push(`${plugin}: ${message}`),
});

function read(factory: unknown, profile: object = {}, args: object = {}): ReturnType<typeof readSchedulerConfig> {
  return readSchedulerConfig(
    {
      apiVersion: 'kubescheduler.config.k8s.io/v1',
      kind: 'KubeSchedulerConfiguration',
      profiles: [
        {
          plugins: { multiPoint: { enabled: [{ name: 'Mine', weight: 100 }] } },
          pluginConfig: [{ name: 'Mine', args: { module: './mine.js', ...args } }],
          ...profile,
        },
      ],
    },
    loaded(factory),
  );
}

function configOf(plugin: ModulePlugin | PluginFactory, profile: object = {}, args: object = {}): SchedulerConfig {
  const result = read(typeof plugin === 'function' ? plugin : () => plugin, profile, args);
  if ('errors' in result) throw new Error(result.errors.join('\n'));
  return result.config;
}

const errorsOf = (factory: unknown, profile: object = {}): string => {
  const result = read(factory, profile);
  return 'errors' in result ? result.errors.join('\n') : '';
};

describe('a plugin of a module', () => {
  it('filters and scores with its arguments', async () => {
    const factory: PluginFactory = ({ avoid }, { log }) => ({
      filter: (_state, _pod, { node }) => (node.metadata.name === avoid ? 'node(s) were avoided' : undefined),
      score: (_state, _pod, { node, pods }) => {
        log(`${node.metadata.name} has ${pods.length}`);
        return node.metadata.name === 'c' ? 100 : 0;
      },
    });
    const world = await started({ config: configOf(factory, {}, { avoid: 'a' }) }, 'a', 'b', 'c');
    world.addPod(buildPod('x'));
    await world.run(100);
    assert.equal(world.nodeOf('x'), 'c');
    assert.ok(logged.includes('Mine: b has 0'));
    await world.stop();
  });

  it('reports its reason, and any event retries the pod', async () => {
    let isOpen = false;
    const config = configOf({ filter: () => (isOpen ? undefined : 'node(s) were closed') });
    const world = await started({ config }, 'a');
    world.addPod(buildPod('x'));
    await world.run(100);
    assert.match(world.condition('x') ?? '', /0\/1 nodes are available: 1 node\(s\) were closed\./);
    isOpen = true;
    world.addNode(buildNode('b'));
    await world.run(20_000);
    assert.notEqual(world.nodeOf('x'), undefined);
    await world.stop();
  });

  it('passes the state of preFilter to the other methods, and may restrict the nodes', async () => {
    const config = configOf({
      preFilter: (state) => {
        state.set('wanted', 'b');
        return { nodeNames: ['b', 'c'] };
      },
      filter: (state, _pod, { node }) => (node.metadata.name === state.get('wanted') ? undefined : 'another'),
    });
    const world = await started({ config }, 'a', 'b', 'c');
    world.addPod(buildPod('x'));
    await world.run(100);
    assert.equal(world.nodeOf('x'), 'b');
    await world.stop();
  });

  for (const [name, plugin, message] of [
    ['throws', { filter: () => JSON.parse('{') as undefined }, /SchedulerError: running Filter plugin "Mine": /],
    [
      'answers later',
      { filter: () => Promise.resolve() as never },
      /running Filter plugin "Mine": the answer is a promise/,
    ],
    ['answers nonsense', { preFilter: () => 7 as never }, /running PreFilter plugin "Mine": the answer is 7/],
    ['gives too many points', { score: () => 101 }, /running Score plugin "Mine": .* invalid score 101/],
    ['fails to prepare scores', { preScore: () => 'no', score: () => 1 }, /running PreScore plugin "Mine": no/],
    ['does not reserve', { reserve: () => 'taken' }, /running Reserve plugin "Mine": taken/],
    ['does not permit', { permit: () => Promise.reject(new Error('denied')) }, /running Permit plugin "Mine": denied/],
    [
      'fails before binding',
      { preBind: () => ({ code: 'Error', reasons: ['no disk'] }) },
      /running PreBind plugin "Mine": no disk/,
    ],
    ['fails to bind', { bind: () => 'refused' }, /running Bind plugin "Mine": refused/],
  ] as const satisfies readonly (readonly [string, ModulePlugin, RegExp])[]) {
    it(`a module's plugin that ${name} fails the attempt, and the scheduler continues`, async () => {
      const disabled = { bind: { disabled: [{ name: 'DefaultBinder' }], enabled: [{ name: 'Mine' }] } };
      const enabled = { multiPoint: { enabled: [{ name: 'Mine' }] }, ...('bind' in plugin && disabled) };
      const config = configOf(plugin, { plugins: enabled });
      const world = await started({ config: withSecondProfile(config) }, 'a', 'b');
      world.addPod(buildPod('x'));
      world.addPod(buildPod('y', { spec: { schedulerName: 'plain' } }));
      await world.run(100);
      assert.match(world.condition('x') ?? '', message);
      assert.notEqual(world.nodeOf('y'), undefined, 'others are scheduled');
      await world.stop();
    });
  }

  it('runs the binding steps in order, and undoes its reservation if the bind fails', async () => {
    const steps: string[] = [];
    let refuses = true;
    const step = (name: string) => (_state: unknown, pod: { metadata: { name: string } }, node: string) =>
      void steps.push(`${name} ${pod.metadata.name} ${node}`);
    const config = configOf({
      reserve: step('reserve'),
      unreserve: step('unreserve'),
      permit: async () => {
        await Promise.resolve();
        steps.push('permit');
      },
      preBind: () => {
        steps.push('preBind');
        return refuses ? 'not yet' : undefined;
      },
      postBind: step('postBind'),
    });
    const world = await started({ config }, 'a');
    world.addPod(buildPod('x'));
    await world.run(100);
    assert.deepEqual(steps, ['reserve x a', 'permit', 'preBind', 'unreserve x a']);
    steps.length = 0;
    refuses = false;
    await world.run(10_000);
    assert.deepEqual(steps, ['reserve x a', 'permit', 'preBind', 'postBind x a']);
    assert.equal(world.nodeOf('x'), 'a');
    await world.stop();
  });

  it('gates pods, orders the queue and nominates nodes', async () => {
    const order: string[] = [];
    const config = configOf(
      {
        preEnqueue: ({ metadata }) => (metadata.name === 'gated' ? 'not wanted' : undefined),
        less: (left, right) => left.pod.metadata.name > right.pod.metadata.name,
        filter: (_state, { metadata }) => {
          order.push(metadata.name);
          return metadata.name === 'p1' ? 'full' : undefined;
        },
        postFilter: (_state, _pod, reasons) => ({ nominatedNodeName: [...reasons.keys()][0] ?? '' }),
      },
      {
        plugins: {
          queueSort: { disabled: [{ name: '*' }], enabled: [{ name: 'Mine' }] },
          postFilter: { disabled: [{ name: '*' }], enabled: [{ name: 'Mine' }] },
          multiPoint: { enabled: [{ name: 'Mine' }] },
        },
      },
    );
    const world = await started({ config }, 'a');
    for (const name of ['p1', 'p2', 'p3', 'gated']) world.addPod(buildPod(name));
    await world.run(200);
    assert.deepEqual([...new Set(order)], ['p3', 'p2', 'p1']);
    assert.equal(world.pod('p1')?.status?.nominatedNodeName, 'a');
    assert.deepEqual(world.scheduler.counts().gated, 1);
    await world.stop();
  });

  it('keeps the queue in priority order if its own order throws', async () => {
    const order: string[] = [];
    const config = configOf(
      {
        less: () => {
          throw new Error('broken');
        },
        filter: (_state, { metadata }) => void order.push(metadata.name),
      },
      { plugins: { queueSort: { disabled: [{ name: 'PrioritySort' }] }, multiPoint: { enabled: [{ name: 'Mine' }] } } },
    );
    const world = await started({ config }, 'a');
    world.addPod(buildPod('low'));
    world.addPod(buildPod('high', { spec: { priority: 5 } }));
    await world.run(200);
    assert.deepEqual([...new Set(order)], ['high', 'low']);
    assert.ok(logged.some((line) => line.includes('QueueSort plugin "Mine" fails')));
    await world.stop();
  });

  it('receives nodes with their pods and resource sums', async () => {
    const seen: unknown[] = [];
    const config = configOf({
      filter: (_state, _pod, { node, pods, requested, allocatable }) => {
        const names = pods.map(({ metadata }) => metadata.name);
        seen.push([node.metadata.name, names, requested.milliCPU, allocatable.milliCPU]);
        return undefined;
      },
    });
    const world = await started({ config }, 'a');
    world.addPod(bound(buildPod('there', { requests: { cpu: '1' } }), 'a'));
    await world.run(10);
    world.addPod(buildPod('x'));
    await world.run(100);
    assert.deepEqual(seen, [['a', ['there'], 1000, 4000]]);
    await world.stop();
  });

  for (const [name, factory, profile, error] of [
    ['no function', { filter: () => undefined }, {}, /default export of the module must be a function/],
    ['a function that throws', () => JSON.parse('{') as unknown, {}, /the plugin cannot be made: /],
    [
      'a plugin without extension points',
      () => ({ filters: () => undefined }),
      {},
      /no method that is named as an extension point/,
    ],
    [
      'an extension point that it has not',
      () => ({ filter: () => undefined }),
      { plugins: { score: { enabled: [{ name: 'Mine' }] } } },
      /score.enabled\[0\]: Invalid value: "Mine": plugin does not extend score/,
    ],
    [
      'no module',
      () => ({ filter: () => undefined }),
      { pluginConfig: [] },
      /Not found: "Mine": no such plugin; one that is not built in needs args.module/,
    ],
  ] as const) {
    it(`a module's plugin is rejected with ${name}`, () => assert.match(errorsOf(factory, profile), error));
  }
});

function withSecondProfile(config: SchedulerConfig): SchedulerConfig {
  const plain = readSchedulerConfig({
    apiVersion: 'kubescheduler.config.k8s.io/v1',
    kind: 'KubeSchedulerConfiguration',
    profiles: [{ schedulerName: 'plain' }],
  });
  if ('errors' in plain) throw new Error(plain.errors.join('\n'));
  return { ...config, profiles: new Map([...config.profiles, ...plain.config.profiles]) };
}
