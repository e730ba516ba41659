import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Container, ContainerRestartRule } from '../../../../api/core/container.ts';
import type { Pod } from '../../../../api/core/pod.ts';
import { isRestartableInit } from '../../../../api/pod.ts';
import type { ContainerRuntimeStatus, PodRuntimeStatus } from '../../../model/runtime-status.ts';
import { sandboxId } from '../../../model/ids.ts';
import { computePodActions } from './compute-pod-actions.ts';
import { normaliseStatus, withContainer, withSandbox, withoutContainer } from '../status-fold.ts';
import type { RunState } from '../testing/builders.ts';
import { aContainer, aPod, aRun, aSandbox, aStatus, factsOf } from '../testing/builders.ts';

const policies = ['Always', 'OnFailure', 'Never'] as const;
const states: fc.Arbitrary<RunState | 'none'> = fc.constantFrom<(RunState | 'none')[]>(
  'none',
  'running',
  'created',
  'unknown',
  0,
  1,
);

interface Model {
  readonly pod: Pod;
  readonly status: PodRuntimeStatus;
}

/** Builds a rule for a container that exits with 1. */
function ruleFor(action: ContainerRestartRule['action'] | undefined): ContainerRestartRule[] | undefined {
  return action === undefined ? undefined : [{ action, exitCodes: { operator: 'In', values: [1] } }];
}

/** Generates any pod in any state that a runtime could report, including states that no agent would have produced. */
const worlds: fc.Arbitrary<Model> = fc
  .record({
    policy: fc.constantFrom(...policies),
    inits: fc.array(fc.boolean(), { maxLength: 3 }),
    regular: fc.array(fc.constantFrom(undefined, ...policies), { minLength: 1, maxLength: 3 }),
    rules: fc.array(
      fc.constantFrom<(ContainerRestartRule['action'] | undefined)[]>(
        undefined,
        undefined,
        'Restart',
        'RestartAllContainers',
      ),
      { minLength: 3, maxLength: 3 },
    ),
    sandboxes: fc.array(fc.record({ ready: fc.boolean(), ips: fc.constantFrom(['10.0.0.5'], []) }), { maxLength: 3 }),
    runs: fc.array(fc.array(states, { maxLength: 3 }), { minLength: 6, maxLength: 6 }),
    changed: fc.boolean(),
  })
  .map(({ policy, inits, regular, rules, sandboxes, runs, changed }) => {
    const initContainers = inits.map((sidecar, index) =>
      aContainer(`i${index}`, sidecar ? { restartPolicy: 'Always' } : {}),
    );
    const containers = regular.map((restartPolicy, index) =>
      aContainer(
        `c${index}`,
        restartPolicy === undefined ? {} : { restartPolicy, restartPolicyRules: ruleFor(rules[index]) },
      ),
    );
    const pod = aPod({ restartPolicy: policy, initContainers, containers });
    const runtime = [...initContainers, ...containers].flatMap(({ name }, which) =>
      (runs[which] ?? []).flatMap((state, attempt) =>
        state === 'none'
          ? []
          : [aRun(name, state, { attempt, annotations: changed ? {} : aRun(name, state).annotations })],
      ),
    );
    return {
      pod,
      status: normaliseStatus(
        aStatus(
          runtime,
          sandboxes.map((sandbox, attempt) => aSandbox({ ...sandbox, attempt })),
        ),
      ),
    };
  });

/** Executes the steps. Afterwards init containers have succeeded, and other containers run. */
function apply(world: Model): { kinds: string[]; next: PodRuntimeStatus } {
  const { pod } = world;
  let { status } = world;
  const { steps } = computePodActions(factsOf(pod, status));
  const stop = (run: ContainerRuntimeStatus): ContainerRuntimeStatus => ({
    ...run,
    state: 'exited',
    exitCode: 143,
    finishedAtMs: 3000,
  });
  for (const step of steps) {
    switch (step.kind) {
      case 'killPod':
        for (const run of status.containers)
          if (run.state === 'running' || run.state === 'unknown') status = withContainer(status, stop(run));
        for (const sandbox of status.sandboxes) status = withSandbox(status, { ...sandbox, ready: false });
        break;
      case 'createSandbox':
        assert.ok(
          !status.sandboxes.some(({ attempt }) => attempt === step.attempt),
          'a sandbox attempt is never used twice',
        );
        status = withSandbox(status, aSandbox({ attempt: step.attempt }));
        break;
      case 'killContainer': {
        const run = status.containers.find(({ id }) => id === step.id);
        assert.ok(run !== undefined, 'only what exists is killed');
        status = withContainer(status, stop(run));
        break;
      }
      case 'removeContainer':
        assert.notEqual(
          status.containers.find(({ id }) => id === step.id)?.state,
          'running',
          'nothing that runs is removed',
        );
        status = withoutContainer(status, step.id);
        break;
      case 'resizePod':
      case 'resizeContainer':
        assert.fail('nothing is on record, so nothing is resized');
      case 'startContainer': {
        const runs = status.containers.filter(({ name }) => name === step.name);
        assert.ok(!runs.some(({ state }) => state === 'running'), `a second instance of ${step.name}`);
        assert.ok(
          step.adopt !== undefined || !runs.some(({ attempt }) => attempt === step.attempt),
          `attempt ${step.attempt} of ${step.name} twice`,
        );
        checkInitOrder(pod, { before: world.status, status }, step.name);
        const newest = status.sandboxes[0];
        assert.equal(newest?.ready, true, 'containers start in a ready sandbox');
        status = withContainer(
          status,
          aRun(step.name, step.role === 'init' ? 0 : 'running', {
            attempt: step.attempt,
            sandboxId: newest?.id ?? sandboxId(''),
          }),
        );
        break;
      }
    }
  }
  return { kinds: steps.map(({ kind }) => kind), next: status };
}

/**
 * Checks the order: a regular container starts only if the last init container has succeeded or runs as a sidecar, or
 * if other regular containers run.
 */
function checkInitOrder(
  pod: Pod,
  { before, status }: { before: PodRuntimeStatus; status: PodRuntimeStatus },
  name: string,
): void {
  const inits = pod.spec.initContainers ?? [];
  const newest = (container: Container): ContainerRuntimeStatus | undefined =>
    status.containers.find((run) => run.name === container.name);
  const last = inits.at(-1);
  if (last === undefined || !pod.spec.containers.some((container) => container.name === name)) return;
  // A regular container that ran when this was planned proves initialization, even if the plan killed it.
  const lived = pod.spec.containers.some((container) =>
    before.containers.some(
      (run) => run.name === container.name && (run.state === 'running' || run.state === 'created'),
    ),
  );
  const run = newest(last);
  const done = isRestartableInit(last) ? run?.state === 'running' : run?.state === 'exited' && run.exitCode === 0;
  assert.ok(done || lived, `${name} starts before ${last.name} is done (${run?.state ?? 'never ran'})`);
}

test('from any state the plans converge in a few rounds, without ever running two instances of a container', () => {
  fc.assert(
    fc.property(worlds, ({ pod, status }) => {
      let current = status;
      let kinds: string[] = ['start'];
      for (let round = 0; kinds.length > 0; round++) {
        assert.ok(round < 12, `still ${kinds.join(', ')} after ${round} rounds`);
        const { kinds: did, next } = apply({ pod, status: current });
        kinds = did;
        current = next;
      }
      assert.ok(
        pod.spec.containers.every(
          ({ name }) => current.containers.filter((run) => run.name === name && run.state === 'running').length <= 1,
        ),
      );
    }),
    { numRuns: 2000 },
  );
});
