import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import type { Container } from '../../../../api/core/container.ts';
import type { ResourceRequirements } from '../../../../api/core/resource-requirements.ts';
import type { ContainerRuntimeStatus, PodRuntimeStatus } from '../../../model/runtime-status.ts';
import { computePodActions } from './compute-pod-actions.ts';
import { computeContainerResize, isResizeUnderWay, type ActuatedFacts } from './compute-resize.ts';
import { withContainer } from '../status-fold.ts';
import type { Step } from './steps.ts';
import { aContainer, aPod, aRun, aStatus, factsOf } from '../testing/builders.ts';

const of = (requests: Record<string, string>, limits?: Record<string, string>): ResourceRequirements =>
  limits === undefined ? { requests } : { requests, limits };
const records = (containers: Record<string, ResourceRequirements>, podLevel?: ResourceRequirements): ActuatedFacts => ({
  container: (name) => containers[name],
  podLevel,
});
const short = (step: Step): string => {
  switch (step.kind) {
    case 'resizePod':
      return `pod ${step.phase} ${step.resource}${step.lowered.map(({ name, limitBytes }) => ` ${name}<${limitBytes}`).join('')}`;
    case 'resizeContainer':
      return `${step.name} ${step.resource}`;
    case 'killContainer':
      return `kill ${step.name}: ${step.message}`;
    case 'startContainer':
      return `start ${step.name}#${step.attempt}`;
    default:
      return step.kind;
  }
};

function plan(
  containers: Container[],
  actuated: ActuatedFacts | undefined,
  more: { initContainers?: Container[]; resources?: ResourceRequirements; runs?: ContainerRuntimeStatus[] } = {},
): string[] {
  const { initContainers, resources, runs } = more;
  const pod = aPod({
    containers,
    ...(initContainers === undefined ? {} : { initContainers }),
    ...(resources === undefined ? {} : { resources }),
  });
  const status = aStatus(runs ?? [...(initContainers ?? []), ...containers].map(({ name }) => aRun(name, 'running')));
  return computePodActions(factsOf(pod, status, actuated === undefined ? {} : { actuated })).steps.map(short);
}

const app = (resources: ResourceRequirements, fields: Partial<Container> = {}): Container =>
  aContainer('app', { resources, ...fields });

describe('plans of a resize', () => {
  const old = of({ cpu: '100m', memory: '64Mi' }, { cpu: '200m', memory: '128Mi' });

  test('what is as it was granted needs nothing, however it is written', () => {
    assert.deepEqual(
      plan([app(of({ cpu: '0.1', memory: '65536Ki' }, { cpu: '0.2', memory: '131072Ki' }))], records({ app: old })),
      [],
    );
    assert.deepEqual(plan([app(old)], undefined), []);
  });

  test('memory goes first, then CPU; the pod grows before and shrinks after its containers', () => {
    const more = of({ cpu: '100m', memory: '64Mi' }, { cpu: '400m', memory: '256Mi' });
    assert.deepEqual(plan([app(more)], records({ app: old })), [
      'pod raise memory',
      'app memory',
      'pod lower memory',
      'pod raise cpu',
      'app cpu',
      'pod lower cpu',
    ]);
    assert.deepEqual(
      plan([app(of({ cpu: '150m', memory: '64Mi' }, { cpu: '200m', memory: '128Mi' }))], records({ app: old })),
      ['pod raise cpu', 'app cpu', 'pod lower cpu'],
    );
  });

  test('a lower memory limit is named, so that usage is looked at; a limit where there was none counts as lower', () => {
    assert.deepEqual(
      plan(
        [app(of({ memory: '64Mi' }, { memory: '96Mi' }))],
        records({ app: of({ memory: '64Mi' }, { memory: '128Mi' }) }),
      ),
      [`pod raise memory app<${96 * 2 ** 20}`, 'app memory', 'pod lower memory'],
    );
    assert.deepEqual(
      plan([app(of({ memory: '64Mi' }, { memory: '96Mi' }))], records({ app: of({ memory: '64Mi' }) })),
      [`pod raise memory app<${96 * 2 ** 20}`, 'app memory', 'pod lower memory'],
    );
    assert.deepEqual(
      plan(
        [app(of({ memory: '32Mi' }, { memory: '128Mi' }))],
        records({ app: of({ memory: '64Mi' }, { memory: '128Mi' }) }),
      ),
      ['pod raise memory', 'app memory', 'pod lower memory'],
    );
  });

  test('containers that give up some come before those that get more', () => {
    const [a, b] = [
      aContainer('a', { resources: of({ cpu: '300m' }) }),
      aContainer('b', { resources: of({ cpu: '100m' }) }),
    ];
    assert.deepEqual(plan([a, b], records({ a: of({ cpu: '100m' }), b: of({ cpu: '300m' }) })), [
      'pod raise cpu',
      'b cpu',
      'a cpu',
      'pod lower cpu',
    ]);
  });

  test('RestartContainer restarts the container once, whatever the restart policy of the pod, and the pod is resized before it starts', () => {
    const container = app(of({ cpu: '200m' }), {
      resizePolicy: [{ resourceName: 'cpu', restartPolicy: 'RestartContainer' }],
    });
    assert.deepEqual(plan([container], records({ app: of({ cpu: '100m' }) })), [
      'kill app: Container app resize requires restart',
      'pod raise memory',
      'pod lower memory',
      'pod raise cpu',
      'pod lower cpu',
      'start app#1',
    ]);
    const onlyMemory = app(of({ cpu: '200m' }), {
      resizePolicy: [{ resourceName: 'memory', restartPolicy: 'RestartContainer' }],
    });
    assert.deepEqual(plan([onlyMemory], records({ app: of({ cpu: '100m' }) })), [
      'pod raise cpu',
      'app cpu',
      'pod lower cpu',
    ]);
  });

  test('sidecars and running init containers are resized, ended ones are not', () => {
    const side = aContainer('side', { restartPolicy: 'Always', resources: of({ cpu: '200m' }) });
    assert.deepEqual(
      plan([aContainer('app')], records({ side: of({ cpu: '100m' }), app: {} }), { initContainers: [side] }),
      ['pod raise cpu', 'side cpu', 'pod lower cpu'],
    );
    const init = aContainer('init', { resources: of({ cpu: '200m' }) });
    assert.deepEqual(
      plan([aContainer('app')], records({ init: of({ cpu: '100m' }) }), {
        initContainers: [init],
        runs: [aRun('init', 'running')],
      }),
      ['pod raise cpu', 'init cpu', 'pod lower cpu'],
    );
    assert.deepEqual(
      plan([aContainer('app')], records({ init: of({ cpu: '100m' }), app: {} }), {
        initContainers: [init],
        runs: [aRun('init', 0), aRun('app', 'running')],
      }),
      [],
    );
  });

  test('a container that was down during its resize starts after the pod has grown for it; the first start of a container concerns nobody', () => {
    const grown = app(of({ cpu: '200m' }, { memory: '128Mi' }));
    const before = of({ cpu: '200m' }, { memory: '64Mi' });
    const both = ['pod raise memory', 'pod lower memory', 'pod raise cpu', 'pod lower cpu', 'start app#1'];
    assert.deepEqual(plan([grown], records({ app: before }), { runs: [aRun('app', 1)] }), both);
    assert.deepEqual(
      plan([grown], records({ app: of({ cpu: '200m' }, { memory: '128Mi' }) }), { runs: [aRun('app', 1)] }),
      ['start app#1'],
    );
    assert.deepEqual(plan([grown], records({}), { runs: [aRun('app', 1)] }), ['start app#1']);
  });

  test("a pod's cgroup that could not be changed is tried again, though its containers are as they should be", () => {
    assert.deepEqual(plan([app(old)], { ...records({ app: old }), podUnsettled: true }), [
      'pod raise memory',
      'pod lower memory',
      'pod raise cpu',
      'pod lower cpu',
    ]);
  });

  test('a pod-level change reaches the pod, and containers that have no limit of their own', () => {
    const pod = of({ memory: '128Mi' }, { memory: '256Mi' });
    const own = aContainer('own', { resources: of({}, { memory: '64Mi' }) });
    const actuated = records(
      { app: of({}, { memory: '128Mi' }), own: of({}, { memory: '64Mi' }) },
      of({ memory: '128Mi' }, { memory: '128Mi' }),
    );
    assert.deepEqual(plan([app({}), own], actuated, { resources: pod }), [
      'pod raise memory',
      'app memory',
      'pod lower memory',
      'pod raise cpu',
      'pod lower cpu',
    ]);
  });
});

describe('without a record', () => {
  const container = app(of({ cpu: '100m', memory: '64Mi' }, { memory: '128Mi' }), {
    resizePolicy: [
      { resourceName: 'cpu', restartPolicy: 'RestartContainer' },
      { resourceName: 'memory', restartPolicy: 'RestartContainer' },
    ],
  });
  const made = { cpuShares: 102, cpuQuota: 0, cpuPeriod: 100_000, memoryLimitBytes: 128 * 2 ** 20 };
  const resize = (resources: ContainerRuntimeStatus['resources']): string =>
    computeContainerResize(
      aPod({ containers: [container] }),
      container,
      aRun('app', 'running', resources === undefined ? {} : { resources }),
      records({}),
    ).kind;

  test('a container counts as made as it should be if the runtime says so, or says nothing: a lost file restarts nothing', () => {
    assert.deepEqual([resize(undefined), resize(made), resize({ ...made, cpuShares: 104 })], ['none', 'none', 'none']);
  });

  test("the runtime's facts count where they differ", () => {
    assert.deepEqual(
      [resize({ ...made, memoryLimitBytes: 64 * 2 ** 20 }), resize({ ...made, cpuShares: 512 })],
      ['restart', 'restart'],
    );
  });
});

describe('any resize', () => {
  const amounts = fc.constantFrom('100m', '200m', '1');
  const sizes = fc.constantFrom('32Mi', '64Mi', '128Mi');
  const resources = fc.record({
    requests: fc.record({ cpu: amounts, memory: sizes }, { requiredKeys: [] }),
    limits: fc.record({ cpu: amounts, memory: sizes }, { requiredKeys: [] }),
  });
  const policy = fc.constantFrom('NotRequired' as const, 'RestartContainer' as const);
  const worlds = fc.record({
    granted: fc.array(resources, { minLength: 3, maxLength: 3 }),
    recorded: fc.array(fc.option(resources, { nil: undefined }), { minLength: 3, maxLength: 3 }),
    policies: fc.array(fc.record({ cpu: policy, memory: policy }), { minLength: 3, maxLength: 3 }),
    podLevel: fc.option(resources, { nil: undefined }),
    podRecord: fc.option(resources, { nil: undefined }),
    /** How many steps are done before the agent dies and plans anew. */
    dies: fc.nat(8),
  });

  test('ends, in plans that change each container in place or restart it, never both, and never twice; also when the agent dies in the middle', () => {
    fc.assert(
      fc.property(worlds, ({ granted, recorded, policies, podLevel, podRecord, dies }) => {
        const names = ['side', 'app', 'log'];
        const make = (index: number): Container => ({
          ...aContainer(names[index] ?? '', {
            resources: granted[index] ?? {},
            resizePolicy: [
              { resourceName: 'cpu', restartPolicy: policies[index]?.cpu ?? 'NotRequired' },
              { resourceName: 'memory', restartPolicy: policies[index]?.memory ?? 'NotRequired' },
            ],
          }),
        });
        const pod = aPod({
          initContainers: [{ ...make(0), restartPolicy: 'Always' }],
          containers: [make(1), make(2)],
          ...(podLevel === undefined ? {} : { resources: podLevel }),
        });
        const known = new Map(
          names.flatMap((name, index) => (recorded[index] === undefined ? [] : [[name, recorded[index]] as const])),
        );
        let ofPod = podRecord;
        let status: PodRuntimeStatus = aStatus(names.map((name) => aRun(name, 'running')));
        const facts = (): ActuatedFacts => ({ container: (name) => known.get(name), podLevel: ofPod });
        const steps = (): readonly Step[] => computePodActions(factsOf(pod, status, { actuated: facts() })).steps;
        const give = (name: string, which: 'cpu' | 'memory' | 'all'): void => {
          const wanted: ResourceRequirements = granted[names.indexOf(name)] ?? {};
          const before = known.get(name) ?? wanted;
          const effective = {
            ...(podLevel?.limits?.cpu === undefined ? {} : { cpu: podLevel.limits.cpu }),
            ...(podLevel?.limits?.memory === undefined ? {} : { memory: podLevel.limits.memory }),
            ...wanted.limits,
          };
          const pick = (
            list: Record<string, string | undefined> = {},
            old: Record<string, string | undefined> = {},
          ): Record<string, string> =>
            Object.fromEntries(
              (['cpu', 'memory'] as const).flatMap((one) => {
                const value = which === 'all' || which === one ? list[one] : old[one];
                return value === undefined ? [] : [[one, value]];
              }),
            );
          known.set(name, { requests: pick(wanted.requests, before.requests), limits: pick(effective, before.limits) });
        };
        const run = (step: Step): void => {
          if (step.kind === 'resizeContainer') give(step.name, step.resource);
          if (step.kind === 'resizePod' && step.phase === 'lower' && podLevel !== undefined) {
            const mix = (
              list: Record<string, string | undefined> = {},
              old: Record<string, string | undefined> = {},
            ): Record<string, string> => {
              const other = step.resource === 'cpu' ? 'memory' : 'cpu';
              return Object.fromEntries(
                [
                  [step.resource, list[step.resource]],
                  [other, old[other]],
                ].filter((pair): pair is [string, string] => pair[1] !== undefined),
              );
            };
            ofPod = { requests: mix(podLevel.requests, ofPod?.requests), limits: mix(podLevel.limits, ofPod?.limits) };
          }
          if (step.kind === 'killContainer') status = withContainer(status, { ...aRun(step.name, 143), id: step.id });
          if (step.kind === 'startContainer') {
            status = withContainer(status, aRun(step.name, 'running', { attempt: step.attempt }));
            give(step.name, 'all');
          }
        };
        const first = steps();
        const changed = new Set(first.flatMap((step) => (step.kind === 'resizeContainer' ? [step.name] : [])));
        assert.ok(first.every((step) => step.kind !== 'startContainer' || !changed.has(step.name)));
        for (const step of first.slice(0, dies)) run(step);
        // What was killed when the agent died starts again in its order, sidecars first.
        for (let round = 0; round < 3; round++) for (const step of steps()) run(step);
        assert.deepEqual(steps(), []);
        assert.equal(isResizeUnderWay(pod, status, facts()), false);
        assert.ok(
          status.containers.every(({ attempt }) => attempt <= 1),
          'restarted twice',
        );
      }),
      { numRuns: 1000 },
    );
  });
});
