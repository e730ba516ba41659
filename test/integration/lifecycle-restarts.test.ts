// What restarts, what does not, and what changes while it runs: rules, restarts of whole pods, deadlines, sidecars,
// grace periods, and their events.
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import type { Event } from '../../src/api/core/event.ts';
import type { ListOf } from '../../src/api/core/meta.ts';
import { eventually } from '../e2e/support/eventually.ts';
import { podName } from './support/agent.ts';
import { container, pod, shell, SLEEP, thenSleep } from './support/manifests.ts';
import { agentFixture, SIDE_BY_SIDE } from './support/suite.ts';
import { conditionOf, containerOf } from './support/watch.ts';

const fixture = agentFixture({ name: 'again' });
const folder = mkdtempSync(join(tmpdir(), 'kts-again-'));
after(() => rmSync(folder, { recursive: true, force: true }));

/** A folder of the host, in which the containers count their runs. */
const volumes = [{ name: 'host', hostPath: { path: folder } }];
const volumeMounts = [{ name: 'host', mountPath: '/host' }];
/** Exits with each of these codes in turn, one per start, and then keeps running. */
const exiting = (name: string, ...codes: number[]): string[] =>
  shell(
    `echo run >> /host/${name}; n=$(wc -l < /host/${name}); set -- ${codes.join(' ')}; if [ $n -le $# ]; then eval "exit \\$\{$n}"; fi; trap "exit 0" TERM; sleep 100000 & wait`,
  );
const rule = (action: string, operator: string, ...values: number[]) => ({ action, exitCodes: { operator, values } });

describe('restart rules', SIDE_BY_SIDE, () => {
  test('a code that a rule names restarts a container that never would; one that none names ends it', async () => {
    const { agent } = fixture;
    const main = container('main', {
      volumeMounts,
      restartPolicy: 'Never',
      restartPolicyRules: [rule('Restart', 'In', 42)],
      command: exiting('rule', 42, 3),
    });
    agent.writeManifest('rule', pod('rule', { restartPolicy: 'Never', volumes, containers: [main] }));
    const done = await agent.phase('rule', 'Failed', 40_000);
    assert.deepEqual([containerOf(done).restartCount, containerOf(done).state?.terminated?.exitCode], [1, 3]);
  });

  test('an init container that a rule restarts holds the others back until it succeeds', async () => {
    const { agent } = fixture;
    const first = container('first', {
      volumeMounts,
      restartPolicy: 'Never',
      restartPolicyRules: [rule('Restart', 'NotIn', 3)],
      command: shell('echo run >> /host/init-rule; [ $(wc -l < /host/init-rule) -ge 2 ] && exit 0; exit 7'),
    });
    agent.writeManifest(
      'init-rule',
      pod('init-rule', {
        restartPolicy: 'Never',
        volumes,
        initContainers: [first],
        containers: [container('main', { command: shell('exit 0') })],
      }),
    );
    const done = await agent.phase('init-rule', 'Succeeded', 40_000);
    assert.deepEqual(
      [containerOf(done, 'first').restartCount, containerOf(done, 'first').state?.terminated?.exitCode],
      [1, 0],
    );
  });

  test('RestartAllContainers restarts the whole pod in the same sandbox, init containers first, and reports it', async () => {
    const { agent } = fixture;
    const first = container('first', { volumeMounts, command: shell('echo first >> /host/all-order') });
    const main = container('main', {
      volumeMounts,
      restartPolicy: 'Never',
      restartPolicyRules: [rule('RestartAllContainers', 'In', 42)],
      command: exiting('all', 42),
    });
    const other = container('other', { volumeMounts, command: thenSleep('echo other >> /host/all-order') });
    agent.writeManifest(
      'all',
      pod('all', { restartPolicy: 'Never', volumes, initContainers: [first], containers: [main, other] }),
    );
    const now = await agent.waitFor(
      'all',
      'started again',
      (seen) =>
        containerOf(seen).restartCount === 1 &&
        containerOf(seen, 'other').restartCount === 1 &&
        containerOf(seen).ready &&
        containerOf(seen, 'other').ready,
      40_000,
    );
    assert.equal(containerOf(now, 'first').restartCount, 1);
    assert.equal(conditionOf(now, 'AllContainersRestarting'), 'False');
    const conditions = agent.watch.history
      .filter(({ pod: seen }) => seen.metadata.name === podName('all'))
      .map(({ pod: seen }) => conditionOf(seen, 'AllContainersRestarting'));
    assert.ok(conditions.includes('True'), 'the condition was never True');
    const addresses = new Set(
      agent.watch.history
        .filter(({ pod: seen }) => seen.metadata.name === podName('all'))
        .flatMap(({ pod: seen }) => seen.status?.podIP ?? []),
    );
    assert.equal(addresses.size, 1, 'the sandbox was kept');
    // A container without a probe is ready before its command has written anything.
    const order = (): string[] => readFileSync(join(folder, 'all-order'), 'utf8').trim().split('\n');
    await eventually(async () => assert.deepEqual(order(), ['first', 'other', 'first', 'other']));
  });
});

describe('changes to a running pod', SIDE_BY_SIDE, () => {
  test('activeDeadlineSeconds may be set on a running pod, and ends it', async () => {
    const { agent } = fixture;
    const metadata = { uid: '6f1d3c52-0000-4000-8000-000000000002' };
    const before = await agent.run(pod('late-deadline', {}, metadata));
    agent.writeManifest('late-deadline', pod('late-deadline', { activeDeadlineSeconds: 1 }, metadata));
    const over = await agent.phase('late-deadline', 'Failed');
    assert.deepEqual([over.status?.reason, over.metadata.uid], ['DeadlineExceeded', before.metadata.uid]);
  });

  test('a pod is removed while its image is pulled, in an init container, and in its postStart hook', async () => {
    const { agent } = fixture;
    agent.writeManifest(
      'in-pull',
      pod('in-pull', { containers: [container('main', { image: '10.255.255.1:5000/never/comes:1' })] }),
    );
    agent.writeManifest(
      'in-init',
      pod('in-init', {
        terminationGracePeriodSeconds: 1,
        initContainers: [container('first', { command: SLEEP })],
        containers: [container('main')],
      }),
    );
    agent.writeManifest(
      'in-post',
      pod('in-post', {
        terminationGracePeriodSeconds: 1,
        containers: [container('main', { lifecycle: { postStart: { exec: { command: ['sleep', '1000'] } } } })],
      }),
    );
    await Promise.all([
      agent.waitFor('in-pull', 'there', (seen) => seen.status?.phase === 'Pending'),
      agent.waitFor(
        'in-init',
        'in its init container',
        (seen) => containerOf(seen, 'first').state?.running !== undefined,
      ),
      agent.waitFor('in-post', 'in its hook', (seen) => containerOf(seen).state?.running !== undefined),
    ]);
    await agent.remove('in-pull', 'in-init', 'in-post');
  });
});

describe('the end of a pod', SIDE_BY_SIDE, () => {
  test('sidecars are stopped after the main container, in reverse order', async () => {
    const { agent } = fixture;
    const ending = (name: string): string[] => [
      'sh',
      '-c',
      `trap "echo ${name} >> /host/order; exit 0" TERM; sleep 100000 & wait`,
    ];
    const sidecar = (name: string): Record<string, unknown> =>
      container(name, { volumeMounts, restartPolicy: 'Always', command: ending(name) });
    await agent.run(
      pod('order', {
        terminationGracePeriodSeconds: 10,
        volumes,
        initContainers: [sidecar('one'), sidecar('two')],
        containers: [container('main', { volumeMounts, command: ending('main') })],
      }),
    );
    await Promise.all(['one', 'two', 'main'].map((name) => agent.handlesSigterm('order', name)));
    await agent.remove('order');
    assert.deepEqual(readFileSync(join(folder, 'order'), 'utf8').trim().split('\n'), ['main', 'two', 'one']);
  });

  test('a grace that is shortened while a container is being stopped holds from then on', async () => {
    const { agent } = fixture;
    const deaf = shell('trap "" TERM; while true; do sleep 1; done');
    const deleted = (deletionGracePeriodSeconds: number) => ({
      uid: '6f1d3c52-0000-4000-8000-000000000003',
      deletionTimestamp: new Date().toISOString(),
      deletionGracePeriodSeconds,
    });
    const spec = { terminationGracePeriodSeconds: 3600, containers: [container('main', { command: deaf })] };
    await agent.run(pod('hurried', spec, { uid: deleted(0).uid }));
    agent.writeManifest('hurried', pod('hurried', spec, deleted(3600)));
    await agent.explained('hurried', 'being stopped', (explanation) =>
      explanation.timeline.some((entry) => entry.reason === 'Killing'),
    );
    agent.writeManifest('hurried', pod('hurried', spec, deleted(1)));
    const ended = await agent.waitFor(
      'hurried',
      'killed',
      (seen) => containerOf(seen).state?.terminated !== undefined,
      20_000,
    );
    assert.equal(containerOf(ended).state?.terminated?.exitCode, 137);
  });

  test("liveness with a grace of its own kills by that, though the pod's is long", async () => {
    const { agent } = fixture;
    // Only its first run is deaf to SIGTERM.
    const main = shell(
      'echo run >> /host/own-grace; trap "exit 0" TERM; if [ $(wc -l < /host/own-grace) = 1 ]; then trap "" TERM; while true; do sleep 1; done; fi; sleep 100000 & wait',
    );
    const livenessProbe = {
      exec: { command: shell('[ $(wc -l < /host/own-grace) -gt 1 ]') },
      periodSeconds: 1,
      failureThreshold: 1,
      terminationGracePeriodSeconds: 1,
    };
    agent.writeManifest(
      'own-grace',
      pod('own-grace', {
        terminationGracePeriodSeconds: 3600,
        volumes,
        containers: [container('main', { volumeMounts, command: main, livenessProbe })],
      }),
    );
    await agent.waitFor('own-grace', 'restarted', (seen) => containerOf(seen).restartCount >= 1, 20_000);
    // Else its hour of grace would begin before its shell has read the trap.
    await agent.ready('own-grace');
    await agent.handlesSigterm('own-grace');
  });
});

describe('events', SIDE_BY_SIDE, () => {
  test('they are listed with object, source and count, over the API and on the command line', async () => {
    const { agent } = fixture;
    await agent.run(
      pod('shown', {
        containers: [container('main', { readinessProbe: { exec: { command: ['true'] }, periodSeconds: 1 } })],
      }),
    );
    const list = await agent.get<ListOf<Event>>('/api/events');
    const mine = list.items.filter(({ involvedObject }) => involvedObject.name === podName('shown'));
    assert.deepEqual(
      mine
        .filter(({ reason }) => reason === 'Created' || reason === 'Started')
        .map(({ type, reason, message, involvedObject, source, reportingComponent, count }) => [
          type,
          reason,
          message,
          involvedObject.fieldPath,
          source?.component,
          reportingComponent,
          count,
        ]),
      [
        ['Normal', 'Created', 'Container created', 'spec.containers{main}', 'kubelet', 'kubelet', 1],
        ['Normal', 'Started', 'Container started', 'spec.containers{main}', 'kubelet', 'kubelet', 1],
      ],
    );
    const { stdout, code } = await agent.cli('events', 'shown');
    assert.equal(code, 0);
    assert.match(stdout, /^LAST SEEN +TYPE +REASON +OBJECT +MESSAGE\n/);
    assert.match(stdout, new RegExp(`Normal +Started +pod/${podName('shown')} +Container started`));
  });
});
