import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import type { Container } from '../../../../api/core/container.ts';
import type { ResourceRequirements } from '../../../../api/core/resource-requirements.ts';
import type { ContainerRuntimeStatus, PodRuntimeStatus } from '../../../model/runtime-status.ts';
import { computePodActions } from './compute-pod-actions.ts';
import type { ActuatedFacts } from './compute-resize.ts';
import { computeContainerResize, isDoneUnrecorded, isResizeUnderWay, recordOfRuntime } from './compute-resize.ts';
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

  test('resources that equal the allocation need no step, however they are written', () => {
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

  test('a lower memory limit is named, so that usage is checked; a limit where there was none counts as lower', () => {
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

  test('containers that shrink come before those that grow', () => {
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

  test('a container that was down during its resize starts after the pod has grown for it; the first start of a container changes nothing', () => {
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

  test('a pod cgroup that could not be changed is retried, though its containers are correct', () => {
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

  test('each amount alone makes a container that starts one for which the pod grows first', () => {
    const before = { requests: { cpu: '100m', memory: '64Mi' }, limits: { cpu: '1', memory: '128Mi' } };
    for (const [list, name, amount] of [
      ['requests', 'cpu', '200m'],
      ['requests', 'memory', '96Mi'],
      ['limits', 'cpu', '2'],
      ['limits', 'memory', '256Mi'],
    ] as const) {
      const grown = app({ ...before, [list]: { ...before[list], [name]: amount } });
      const steps = plan([grown], records({ app: before }), { runs: [aRun('app', 1)] });
      assert.equal(steps[0], 'pod raise memory', `${list} ${name}`);
    }
  });

  test('one resource that asks for a restart is enough, and a lower CPU limit is not named', () => {
    const both = app(of({ cpu: '100m', memory: '64Mi' }), {
      resizePolicy: [
        { resourceName: 'cpu', restartPolicy: 'NotRequired' },
        { resourceName: 'memory', restartPolicy: 'RestartContainer' },
      ],
    });
    const kill = plan([both], records({ app: of({ cpu: '200m', memory: '32Mi' }) }))[0];
    assert.equal(kill, 'kill app: Container app resize requires restart');
    const lower = app(of({ cpu: '100m' }, { cpu: '100m' }));
    assert.deepEqual(plan([lower], records({ app: of({ cpu: '100m' }, { cpu: '200m' }) })), [
      'pod raise cpu',
      'app cpu',
      'pod lower cpu',
    ]);
  });

  test('only what starts makes the pod grow, not what waits', () => {
    const [grown, same] = [app(of({ cpu: '200m' })), aContainer('same', { resources: of({ cpu: '100m' }) })];
    const actuated = records({ app: of({ cpu: '100m' }), same: of({ cpu: '100m' }) });
    const runs = [aRun('app', 1), aRun('same', 1)];
    assert.equal(plan([grown, same], actuated, { runs })[0], 'pod raise memory');
    const kinds = computePodActions(
      factsOf(aPod({ containers: [grown, same] }), aStatus(runs), {
        actuated,
        crashWait: ({ name }) => (name === 'app' ? { waitMs: 1, delayMs: 2 } : undefined),
      }),
    ).steps.map(short);
    assert.deepEqual(kinds, ['start same#1']);
  });

  test('a container without a limit of its own has that of the pod, as recorded for the pod', () => {
    const actuated = records({ app: {} }, of({}, { memory: '128Mi' }));
    assert.deepEqual(plan([app({})], actuated, { resources: of({}, { memory: '128Mi' }) }), []);
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

  test('a container counts as correct if the runtime reports so, or reports nothing: a lost file restarts nothing', () => {
    assert.deepEqual([resize(undefined), resize(made), resize({ ...made, cpuShares: 104 })], ['none', 'none', 'none']);
  });

  test("the runtime's facts count where they differ", () => {
    assert.deepEqual(
      [resize({ ...made, memoryLimitBytes: 64 * 2 ** 20 }), resize({ ...made, cpuShares: 512 })],
      ['restart', 'restart'],
    );
  });

  test('the facts are read back as requests and limits, and what was not limited has no limit', () => {
    const pod = aPod({ containers: [container] });
    const recordOf = (resources: ContainerRuntimeStatus['resources'], of = container): unknown =>
      recordOfRuntime(pod, of, aRun('app', 'running', resources === undefined ? {} : { resources }));
    const limited = { cpuShares: 512, cpuQuota: 50_000, cpuPeriod: 100_000, memoryLimitBytes: 64 * 2 ** 20 };
    assert.deepEqual(recordOf(limited), {
      limits: { cpu: '500m', memory: '64Mi' },
      requests: { cpu: '500m', memory: '64Mi' },
    });
    assert.deepEqual(recordOf({ ...limited, cpuQuota: 0, memoryLimitBytes: 0 }), {
      limits: {},
      requests: { cpu: '500m', memory: '64Mi' },
    });
    assert.deepEqual(recordOf(limited, app({ limits: { memory: '1Gi' } })), {
      limits: { cpu: '500m', memory: '64Mi' },
      requests: {},
    });
    assert.deepEqual([recordOf(made), recordOf(undefined)], [undefined, undefined]);
  });

  test('a resize that the runtime has made and the former agent did not record is done', () => {
    const grown = app(of({ cpu: '100m', memory: '64Mi' }, { memory: '128Mi' }));
    const pod = aPod({ containers: [grown] });
    const before = of({ cpu: '100m', memory: '64Mi' }, { memory: '96Mi' });
    const run = aRun('app', 'running', { resources: made });
    assert.equal(isDoneUnrecorded(pod, grown, run, before), true);
    assert.equal(isDoneUnrecorded(pod, grown, run, undefined), false);
    assert.equal(isDoneUnrecorded(pod, grown, aRun('app', 1, { resources: made }), before), false);
    assert.equal(isDoneUnrecorded(pod, grown, aRun('app', 'running'), before), false);
    // The runtime does not report memory requests.
    assert.equal(isDoneUnrecorded(pod, grown, run, of({ cpu: '100m', memory: '32Mi' }, { memory: '96Mi' })), false);
    const other = aRun('app', 'running', { resources: { ...made, memoryLimitBytes: 96 * 2 ** 20 } });
    assert.equal(isDoneUnrecorded(pod, grown, other, before), false);
  });
});

describe('a resize is in progress', () => {
  const old = of({ cpu: '100m' });
  const [a, b] = [aContainer('a', { resources: of({ cpu: '200m' }) }), aContainer('b', { resources: old })];
  const pod = aPod({ containers: [a, b] });
  const bothRun = aStatus([aRun('a', 'running'), aRun('b', 'running')]);
  const done = records({ a: of({ cpu: '200m' }), b: old });

  test('while one running container does not match its allocation', () => {
    assert.equal(isResizeUnderWay(pod, bothRun, records({ a: old, b: old })), true);
    assert.equal(isResizeUnderWay(pod, bothRun, done), false);
    assert.equal(
      isResizeUnderWay(pod, aStatus([aRun('a', 1), aRun('b', 'running')]), records({ a: old, b: old })),
      false,
    );
    assert.equal(isResizeUnderWay(pod, aStatus([]), records({ a: old, b: old })), false);
  });

  test("while the pod's own cgroup does not", () => {
    assert.equal(isResizeUnderWay(pod, bothRun, { ...done, podUnsettled: true }), true);
    const whole = aPod({ containers: [a, b], resources: of({ cpu: '1' }) });
    assert.equal(isResizeUnderWay(whole, bothRun, { ...done, podLevel: of({ cpu: '500m' }) }), true);
    assert.equal(isResizeUnderWay(whole, bothRun, { ...done, podLevel: of({ cpu: '1' }) }), false);
    assert.equal(isResizeUnderWay(whole, bothRun, done), false);
    assert.equal(isResizeUnderWay(pod, bothRun, { ...done, podLevel: of({ cpu: '500m' }) }), false);
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
    allocated: fc.array(resources, { minLength: 3, maxLength: 3 }),
    recorded: fc.array(fc.option(resources, { nil: undefined }), { minLength: 3, maxLength: 3 }),
    policies: fc.array(fc.record({ cpu: policy, memory: policy }), { minLength: 3, maxLength: 3 }),
    podLevel: fc.option(resources, { nil: undefined }),
    podRecord: fc.option(resources, { nil: undefined }),
    /** The number of steps that are done before the agent stops and plans again. */
    dies: fc.nat(8),
  });

  test('ends, in plans that change each container in place or restart it, never both, and never twice; also when the agent dies in between', () => {
    fc.assert(
      fc.property(worlds, ({ allocated, recorded, policies, podLevel, podRecord, dies }) => {
        const names = ['side', 'app', 'log'];
        const make = (index: number): Container => ({
          ...aContainer(names[index] ?? '', {
            resources: allocated[index] ?? {},
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
          const wanted: ResourceRequirements = allocated[names.indexOf(name)] ?? {};
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
        // What was killed before the agent stopped starts again in order, sidecars first.
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
