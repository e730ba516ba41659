import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Pod } from '../../../../api/core/pod.ts';
import type { PodRuntimeStatus } from '../../../model/runtime-status.ts';
import { sandboxId } from '../../../model/ids.ts';
import { computePodActions, isGivenUp } from './compute-pod-actions.ts';
import type { PlanFacts } from './plan-facts.ts';
import { aContainer, aPod, aRun, aSandbox, aStatus, factsOf } from '../testing/builders.ts';
import { plan } from '../testing/plan-text.ts';

const two = aPod({ containers: [aContainer('app'), aContainer('log')] });
const noSandbox: readonly never[] = [];

describe('sandbox', () => {
  const rows: [name: string, pod: Pod, status: PodRuntimeStatus, expected: string[]][] = [
    [
      'a new pod gets a sandbox and all its containers in order',
      two,
      aStatus([], noSandbox),
      ['sandbox 0 new-pod', 'start regular app#0', 'start regular log#0'],
    ],
    ['a settled pod needs nothing', two, aStatus([aRun('app', 'running'), aRun('log', 'running')]), []],
    [
      'a sandbox that is not ready is created again with the next attempt, and containers keep their counts',
      aPod(),
      aStatus([aRun('app', 137)], [aSandbox({ ready: false })]),
      ['killPod sandbox-changed 30000', 'sandbox 1 not-ready', 'start regular app#1'],
    ],
    [
      'two ready sandboxes are reconciled into a new one',
      aPod(),
      aStatus([aRun('app', 'running')], [aSandbox({ attempt: 1 }), aSandbox()]),
      ['killPod sandbox-changed 30000', 'sandbox 2 several-ready', 'start regular app#1'],
    ],
    [
      'a ready sandbox that is not the newest does not count',
      aPod(),
      aStatus([aRun('app', 'running')], [aSandbox({ attempt: 1, ready: false }), aSandbox()]),
      ['killPod sandbox-changed 30000', 'sandbox 2 not-ready', 'start regular app#1'],
    ],
    [
      'a pod that changed to the host network gets a new sandbox',
      aPod({ hostNetwork: true }),
      aStatus([aRun('app', 'running')]),
      ['killPod sandbox-changed 30000', 'sandbox 1 network-mode-changed', 'start regular app#1'],
    ],
    [
      'a sandbox without an IP is created again',
      aPod(),
      aStatus([], [aSandbox({ ips: [] })]),
      ['killPod sandbox-changed 30000', 'sandbox 1 no-ip', 'start regular app#0'],
    ],
    [
      'a sandbox whose IP cannot be read is kept',
      aPod(),
      aStatus([aRun('app', 'running')], [aSandbox({ ips: [], isAddressUnreadable: true })]),
      [],
    ],
    [
      'a host network pod needs no IP',
      aPod({ hostNetwork: true }),
      aStatus([aRun('app', 'running')], [aSandbox({ ips: [], hostNetwork: true })]),
      [],
    ],
    [
      'with Never a pod that had containers is stopped, not created again',
      aPod({ restartPolicy: 'Never' }),
      aStatus([aRun('app', 'running')], [aSandbox({ attempt: 1, ready: false }), aSandbox()]),
      ['killPod nothing-to-run 30000'],
    ],
    [
      'with Never a pod that had containers and is stopped needs nothing',
      aPod({ restartPolicy: 'Never' }),
      aStatus([aRun('app', 137)], [aSandbox({ ready: false })]),
      [],
    ],
    [
      'with Never a sandbox is retried while no container was ever created',
      aPod({ restartPolicy: 'Never' }),
      aStatus([], [aSandbox({ ready: false })]),
      ['killPod sandbox-changed 30000', 'sandbox 1 not-ready', 'start regular app#0'],
    ],
    [
      'with OnFailure containers that succeeded are not run again in the new sandbox',
      aPod({ restartPolicy: 'OnFailure', containers: two.spec.containers }),
      aStatus([aRun('app', 0), aRun('log', 1)], [aSandbox({ ready: false })]),
      ['killPod sandbox-changed 30000', 'sandbox 1 not-ready', 'start regular log#1'],
    ],
    [
      'with OnFailure a pod whose containers all succeeded needs no new sandbox',
      aPod({ restartPolicy: 'OnFailure' }),
      aStatus([aRun('app', 0)], [aSandbox({ ready: false })]),
      [],
    ],
    [
      "a container's own OnFailure counts over the pod's Always",
      aPod({ containers: [aContainer('app', { restartPolicy: 'OnFailure' }), aContainer('log')] }),
      aStatus([aRun('app', 0), aRun('log', 0)], [aSandbox({ ready: false })]),
      ['killPod sandbox-changed 30000', 'sandbox 1 not-ready', 'start regular log#1'],
    ],
    [
      'a new sandbox purges init containers and begins with the first',
      aPod({ initContainers: [aContainer('i1'), aContainer('i2')] }),
      aStatus([aRun('app', 137), aRun('i2', 0), aRun('i1', 0)], [aSandbox({ ready: false })]),
      [
        'killPod sandbox-changed 30000',
        'remove i1-0 purge',
        'remove i2-0 purge',
        'sandbox 1 not-ready',
        'start init i1#1',
      ],
    ],
    [
      'a new pod with init containers starts only the first',
      aPod({ initContainers: [aContainer('i1'), aContainer('i2')] }),
      aStatus([], noSandbox),
      ['sandbox 0 new-pod', 'start init i1#0'],
    ],
    [
      'the grace of a deleted pod is the one the deleter gave',
      aPod({}, { deletionGracePeriodSeconds: 5 }),
      aStatus([aRun('app', 'running')], [aSandbox({ ready: false })]),
      ['killPod sandbox-changed 5000', 'sandbox 1 not-ready', 'start regular app#1'],
    ],
  ];
  for (const [name, pod, status, expected] of rows) test(name, () => assert.deepEqual(plan(pod, status), expected));
});

describe('a pod that will not be started again', () => {
  const dead = [aSandbox({ ready: false })];
  const never = (spec: Partial<Pod['spec']> = {}): Pod => aPod({ restartPolicy: 'Never', ...spec });
  const rows: [name: string, pod: Pod, status: PodRuntimeStatus, expected: boolean][] = [
    [
      'is one with Never whose sandbox died after containers were made, whether they are known or not',
      never({ containers: two.spec.containers }),
      aStatus([aRun('app', 0)], dead),
      true,
    ],
    [
      'is one with Never whose sandbox died between its init and its regular containers',
      never({ initContainers: [aContainer('i1')] }),
      aStatus([aRun('i1', 0)], dead),
      true,
    ],
    [
      'is one with OnFailure whose containers all succeeded',
      aPod({ restartPolicy: 'OnFailure' }),
      aStatus([aRun('app', 0)], dead),
      true,
    ],
    ['is not one with a sandbox', never(), aStatus([aRun('app', 0)]), false],
    ['is not one that never had a container', never(), aStatus([], dead), false],
    ['is not one that has not started', never(), aStatus([], noSandbox), false],
    ['is not one that restarts', aPod(), aStatus([aRun('app', 1)], dead), false],
  ];
  for (const [name, pod, status, expected] of rows) test(name, () => assert.equal(isGivenUp(pod, status), expected));
});

describe('regular containers', () => {
  const policy = (restartPolicy: 'Always' | 'OnFailure' | 'Never'): Pod =>
    aPod({ restartPolicy, containers: two.spec.containers });
  const never = policy('Never');
  const rows: [name: string, pod: Pod, status: PodRuntimeStatus, expected: string[], more?: Partial<PlanFacts>][] = [
    ['one that is missing is started', two, aStatus([aRun('app', 'running')]), ['start regular log#0']],
    [
      'Always restarts after success',
      policy('Always'),
      aStatus([aRun('app', 0), aRun('log', 'running')]),
      ['start regular app#1'],
    ],
    [
      'OnFailure restarts after failure',
      policy('OnFailure'),
      aStatus([aRun('app', 3), aRun('log', 'running')]),
      ['start regular app#1'],
    ],
    ['OnFailure leaves success alone', policy('OnFailure'), aStatus([aRun('app', 0), aRun('log', 'running')]), []],
    ['Never leaves failure alone', never, aStatus([aRun('app', 3), aRun('log', 'running')]), []],
    [
      'the pod is stopped when nothing is kept and nothing starts',
      never,
      aStatus([aRun('app', 3), aRun('log', 0)]),
      ['killPod nothing-to-run 30000'],
    ],
    [
      'OnFailure stops the pod once all succeeded',
      policy('OnFailure'),
      aStatus([aRun('app', 0), aRun('log', 0)]),
      ['killPod nothing-to-run 30000'],
    ],
    [
      'one in unknown state is killed first, then started',
      aPod(),
      aStatus([aRun('app', 'unknown')]),
      ['kill app-0 Unknown', 'start regular app#1'],
    ],
    [
      'one left created in this sandbox is adopted',
      aPod(),
      aStatus([aRun('app', 'created', { attempt: 2 })]),
      ['start regular app#2 adopted'],
    ],
    [
      'one left created in another sandbox is not',
      aPod(),
      aStatus([aRun('app', 'created', { sandboxId: sandboxId('old') })]),
      ['start regular app#1'],
    ],
    [
      'one left created of another image is not',
      aPod(),
      aStatus([aRun('app', 'created', { annotations: {} })]),
      ['start regular app#1'],
    ],
    [
      'a changed image restarts even with Never',
      never,
      aStatus([aRun('app', 'running', { annotations: {} }), aRun('log', 'running')]),
      ['kill app-0 DefinitionChanged', 'start regular app#1'],
    ],
    [
      'failed liveness kills and restarts',
      aPod(),
      aStatus([aRun('app', 'running')]),
      ['kill app-0 LivenessProbe', 'start regular app#1'],
      { probe: (type) => (type === 'liveness' ? 'failure' : undefined) },
    ],
    [
      'failed startup kills and restarts',
      aPod(),
      aStatus([aRun('app', 'running')]),
      ['kill app-0 StartupProbe', 'start regular app#1'],
      { probe: (type) => (type === 'startup' ? 'failure' : 'success') },
    ],
    [
      'failed readiness kills nothing',
      aPod(),
      aStatus([aRun('app', 'running')]),
      [],
      { probe: (type) => (type === 'readiness' ? 'failure' : 'success') },
    ],
    [
      'an inconclusive liveness kills nothing',
      aPod(),
      aStatus([aRun('app', 'running')]),
      [],
      { probe: () => 'inconclusive' },
    ],
    [
      'failed liveness with Never kills and does not restart',
      never,
      aStatus([aRun('app', 'running'), aRun('log', 'running')]),
      ['kill app-0 LivenessProbe'],
      { probe: (type, id) => (type === 'liveness' && id === 'app-0' ? 'failure' : undefined) },
    ],
    [
      'failed liveness of the last one with Never stops the pod',
      aPod({ restartPolicy: 'Never' }),
      aStatus([aRun('app', 'running')]),
      ['killPod nothing-to-run 30000'],
      { probe: (type) => (type === 'liveness' ? 'failure' : undefined) },
    ],
    [
      "a container's own Never counts over the pod's Always",
      aPod({ containers: [aContainer('app', { restartPolicy: 'Never' }), aContainer('log')] }),
      aStatus([aRun('app', 1), aRun('log', 'running')]),
      [],
    ],
    [
      "a container's own Always counts over the pod's Never",
      aPod({ restartPolicy: 'Never', containers: [aContainer('app', { restartPolicy: 'Always' })] }),
      aStatus([aRun('app', 0)]),
      ['start regular app#1'],
    ],
    [
      'a deleted pod starts nothing',
      aPod({}, { deletionTimestamp: '2026-01-01T00:00:00Z' }),
      aStatus([aRun('app', 1)]),
      ['killPod nothing-to-run 30000'],
    ],
    [
      'only the newest run counts',
      aPod({ restartPolicy: 'OnFailure' }),
      aStatus([aRun('app', 'running', { attempt: 1 }), aRun('app', 1)]),
      [],
    ],
  ];
  for (const [name, pod, status, expected, more] of rows)
    test(name, () => assert.deepEqual(plan(pod, status, more), expected));

  test('the message mentions a restart, and a plain kill has no such message', () => {
    const probe: PlanFacts['probe'] = (type, id) => (type === 'liveness' && id === 'app-0' ? 'failure' : undefined);
    const running = aStatus([aRun('app', 'running'), aRun('log', 'running')]);
    const messages = [policy('Always'), never].map(
      (pod) =>
        computePodActions(factsOf(pod, running, { probe })).steps.find((step) => step.kind === 'killContainer')
          ?.message,
    );
    assert.deepEqual(messages, [
      'Container app failed liveness probe, will be restarted',
      'Container app failed liveness probe',
    ]);
  });
});

describe('a container that was removed from the pod', () => {
  const fromFile = aPod({}, { annotations: { 'kubernetes.io/config.source': 'file' } });
  const both = aStatus([aRun('app', 'running'), aRun('log', 'running')]);

  test('is the only one stopped if its manifest keeps the UID', () => {
    assert.deepEqual(plan(fromFile, both), ['kill log-0 DefinitionChanged']);
    assert.deepEqual(plan(fromFile, aStatus([aRun('app', 'running'), aRun('log', 143)])), []);
  });

  test('keeps running in an API pod, because that pod object may be older than the container', () => {
    assert.deepEqual(plan(aPod(), both), []);
  });
});

describe('restart rules', () => {
  const rules = (
    restartPolicy: 'Always' | 'Never' | 'OnFailure' | undefined,
    operator: 'In' | 'NotIn',
    values: number[],
    action: 'Restart' | 'RestartAllContainers' = 'Restart',
  ): Pod =>
    aPod({
      restartPolicy: 'Never',
      containers: [
        aContainer('app', { restartPolicy, restartPolicyRules: [{ action, exitCodes: { operator, values } }] }),
        aContainer('log'),
      ],
    });
  const exit = (code: number): PodRuntimeStatus => aStatus([aRun('app', code), aRun('log', 'running')]);
  const rows: [name: string, pod: Pod, code: number, expected: string[]][] = [
    ['a code that is listed restarts', rules('Never', 'In', [42]), 42, ['start regular app#1']],
    ['a code that is not listed falls to the policy', rules('Never', 'In', [42]), 1, []],
    ['NotIn matches all other codes', rules('Never', 'NotIn', [1]), 42, ['start regular app#1']],
    ['NotIn does not match its own', rules('Never', 'NotIn', [1]), 1, []],
    ['rules without a policy of the container do not count', rules(undefined, 'In', [42]), 42, []],
    ['without a match the own policy decides', rules('OnFailure', 'In', [42]), 7, ['start regular app#1']],
  ];
  for (const [name, pod, code, expected] of rows) test(name, () => assert.deepEqual(plan(pod, exit(code)), expected));

  test('the first rule that matches wins', () => {
    const pod = aPod({
      restartPolicy: 'Never',
      containers: [
        aContainer('app', {
          restartPolicy: 'Never',
          restartPolicyRules: [
            { action: 'Restart', exitCodes: { operator: 'In', values: [42] } },
            { action: 'RestartAllContainers', exitCodes: { operator: 'In', values: [42] } },
          ],
        }),
        aContainer('log'),
      ],
    });
    assert.deepEqual(plan(pod, exit(42)), ['start regular app#1']);
  });

  test('RestartAllContainers kills and removes regular, then init containers, and last the one that triggered it', () => {
    const pod = aPod({
      initContainers: [aContainer('i1'), aContainer('side', { restartPolicy: 'Always' })],
      containers: [
        aContainer('app', {
          restartPolicy: 'Never',
          restartPolicyRules: [{ action: 'RestartAllContainers', exitCodes: { operator: 'In', values: [42] } }],
        }),
        aContainer('log'),
      ],
    });
    const status = aStatus([
      aRun('app', 42, { attempt: 1 }),
      aRun('app', 1),
      aRun('log', 'running'),
      aRun('side', 'running'),
      aRun('i1', 0),
    ]);
    assert.deepEqual(plan(pod, status), [
      'remove app-0 restart-all',
      'kill log-0 RestartAllContainers 0',
      'remove log-0 restart-all',
      'remove i1-0 restart-all',
      'kill side-0 RestartAllContainers 0',
      'remove side-0 restart-all',
      'remove app-1 restart-all',
    ]);
    assert.deepEqual(
      plan(pod, aStatus([aRun('app', 42, { attempt: 1 })])),
      ['remove app-1 restart-all'],
      'an incomplete reset is continued',
    );
    assert.deepEqual(
      plan(pod, aStatus([])),
      ['start init i1#0'],
      'once all are removed the pod starts from its first init container',
    );
  });
});

describe('back-off', () => {
  test('a container in back-off waits, the others do not', () => {
    const actions = computePodActions(
      factsOf(two, aStatus([aRun('app', 1, { attempt: 3 }), aRun('log', 1)]), {
        crashWait: (container) => (container.name === 'app' ? { waitMs: 7000, delayMs: 40_000 } : undefined),
      }),
    );
    assert.deepEqual(actions.steps, [{ kind: 'startContainer', name: 'log', role: 'regular', attempt: 1 }]);
    assert.deepEqual(actions.waits, [
      { container: 'app', untilMs: 17_000, waitMs: 7000, delayMs: 40_000, why: 'CrashLoopBackOff' },
    ]);
  });

  test('a pod whose only container is in back-off is not stopped', () => {
    assert.deepEqual(plan(aPod(), aStatus([aRun('app', 1)]), { crashWait: () => ({ waitMs: 1, delayMs: 2 }) }), []);
  });

  test('a kill for failed liveness also happens when the start must wait for an earlier crash', () => {
    const status = aStatus([aRun('app', 'running', { attempt: 1 }), aRun('app', 1)]);
    const actions = computePodActions(
      factsOf(aPod(), status, { probe: () => 'failure', crashWait: () => ({ waitMs: 1, delayMs: 2 }) }),
    );
    assert.deepEqual([actions.steps.map((step) => step.kind), actions.waits.length], [['killContainer'], 1]);
  });
});

describe('the plan besides its steps', () => {
  const init = aPod({ initContainers: [aContainer('i1')] });
  const initialized = (pod: Pod, status: PodRuntimeStatus): boolean =>
    computePodActions(factsOf(pod, status)).initialized;

  test('a pod is initialised when its last init container has succeeded', () => {
    assert.equal(initialized(aPod(), aStatus([], noSandbox)), true);
    assert.equal(initialized(init, aStatus([], noSandbox)), false);
    assert.equal(initialized(init, aStatus([aRun('i1', 'running')])), false);
    assert.equal(initialized(init, aStatus([aRun('i1', 0)])), true);
    assert.equal(initialized(aPod({ ...init.spec, restartPolicy: 'Never' }), aStatus([aRun('i1', 1)])), false);
  });

  test('one running regular container proves that the pod is initialized', () => {
    const pod = aPod({ containers: two.spec.containers, initContainers: [aContainer('i1')] });
    assert.deepEqual(plan(pod, aStatus([aRun('app', 'running')])), ['start regular log#0']);
  });

  test('logs are kept only when the whole pod restarts in place, because their numbers carry the restart count', () => {
    const keeps = (pod: Pod, status: PodRuntimeStatus): boolean[] =>
      computePodActions(factsOf(pod, status)).steps.flatMap((step) =>
        step.kind === 'removeContainer' ? [step.keepLogs] : [],
      );
    assert.deepEqual(keeps(init, aStatus([aRun('i1', 0)], [aSandbox({ ready: false })])), [false], 'purged');
    assert.deepEqual(keeps(init, aStatus([aRun('i1', 1, { attempt: 1 }), aRun('i1', 1)])), [false], 'pruned');
    const asks = aContainer('app', {
      restartPolicy: 'Never',
      restartPolicyRules: [{ action: 'RestartAllContainers', exitCodes: { operator: 'In', values: [42] } }],
    });
    assert.deepEqual(keeps(aPod({ containers: [asks] }), aStatus([aRun('app', 42)])), [true]);
  });

  test('an older run of an init container in unknown state is pruned as well', () => {
    const status = aStatus([aRun('i1', 0, { attempt: 1 }), aRun('i1', 'unknown')]);
    assert.deepEqual(plan(init, status), ['remove i1-0 prune', 'start regular app#0']);
  });

  test('a plan that waits for nothing has no waits', () => {
    const never = aPod({ restartPolicy: 'Never' });
    const over = [aStatus([aRun('app', 1)]), aStatus([aRun('app', 1)], [aSandbox({ ready: false })])];
    for (const status of over) assert.deepEqual(computePodActions(factsOf(never, status)).waits, []);
  });
});

describe('a pod that is over and whose sandbox is not ready', () => {
  const never = aPod({ restartPolicy: 'Never' });

  test('is stopped as long as a container or an older sandbox may still run', () => {
    const dead = [aSandbox({ ready: false, attempt: 1 })];
    assert.deepEqual(plan(never, aStatus([aRun('app', 'unknown')], dead)), ['killPod nothing-to-run 30000']);
    assert.deepEqual(plan(never, aStatus([aRun('app', 1)], [...dead, aSandbox()])), ['killPod nothing-to-run 30000']);
    assert.deepEqual(plan(never, aStatus([aRun('app', 1)], dead)), []);
  });

  test('continues while any of its sandboxes may run, or while it must restart in place', () => {
    const dead = aSandbox({ ready: false, attempt: 1 });
    assert.equal(isGivenUp(never, aStatus([aRun('app', 1)], [dead, aSandbox()])), false);
    assert.equal(isGivenUp(never, aStatus([aRun('app', 1)], [dead])), true);
    const asks = aContainer('app', {
      restartPolicy: 'Never',
      restartPolicyRules: [{ action: 'RestartAllContainers', exitCodes: { operator: 'In', values: [42] } }],
    });
    assert.equal(isGivenUp(aPod({ ...never.spec, containers: [asks] }), aStatus([aRun('app', 42)], [dead])), false);
  });

  test('is not over if a container neither ran nor ended, because it may have been created for this pod', () => {
    const dead = [aSandbox({ ready: false })];
    const onFailure = aPod({ restartPolicy: 'OnFailure' });
    assert.equal(isGivenUp(onFailure, aStatus([aRun('app', 'created')], dead)), false);
    assert.equal(isGivenUp(aPod({ containers: [] }), aStatus([], dead)), false);
  });
});
