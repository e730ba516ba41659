import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { aContainer, anEphemeral, aPod } from './testing/builders.ts';
import { Harness } from './testing/harness.ts';

const two = aPod({ containers: [aContainer('app'), aContainer('log')] });

describe('a pod that runs', () => {
  test('in its desired state costs no call at all', async () => {
    const h = new Harness();
    await h.sync(two);
    const status = await h.status(two);
    h.runtime.journal.clear();
    const outcome = await h.finish(h.begin(two, { status }));
    assert.deepEqual([outcome.changed, h.runtime.journal.callCounts.size], [false, 0]);
  });

  test('restarts a container that crashed at once, then after its back-off, and reports until when', async () => {
    const h = new Harness();
    await h.sync(aPod());
    h.runtime.killContainer(h.runtime.container('uid-1', 'app')?.id ?? '');
    await h.sync(aPod());
    assert.deepEqual(h.containers, ['app#0 137', 'app#1 running']);
    h.runtime.killContainer(h.runtime.container('uid-1', 'app')?.id ?? '');
    const waiting = await h.sync(aPod());
    assert.deepEqual(waiting.waits, [
      { container: 'app', untilMs: h.clock.nowMs() + 10_000, waitMs: 10_000, delayMs: 10_000, why: 'CrashLoopBackOff' },
    ]);
    assert.equal(
      h.events.at(-1),
      'Warning BackOff Back-off restarting failed container app in pod web_default(uid-1) [app]',
    );
    assert.deepEqual(h.pods.startFailures.get(h.uid(two), 'app'), {
      reason: 'CrashLoopBackOff',
      message: 'back-off 10s restarting failed container=app pod=web_default(uid-1)',
      retryAtMs: h.clock.nowMs() + 10_000,
    });
    await h.clock.advance(10_000);
    await h.sync(aPod());
    assert.equal(h.containers.at(-1), 'app#2 running');
  });

  test('starts at once again on request', async () => {
    const h = new Harness();
    for (let crash = 0; crash < 2; crash++) {
      await h.sync(aPod());
      h.runtime.killContainer(h.runtime.container('uid-1', 'app')?.id ?? '');
    }
    assert.equal((await h.sync(aPod())).waits.length, 1);
    h.pods.retryNow(aPod(), 'app');
    await h.sync(aPod());
    assert.equal(h.containers.at(-1), 'app#2 running');
  });

  test('gets a new sandbox when the old one died', async () => {
    const h = new Harness();
    await h.sync(aPod());
    h.runtime.killSandbox(h.runtime.sandboxes()[0]?.id ?? '', { withContainers: true });
    h.events.length = 0;
    await h.sync(aPod());
    assert.deepEqual(
      [h.runtime.sandboxes().map(({ config, ready }) => `${config.attempt} ${ready}`), h.containers],
      [
        ['0 false', '1 true'],
        ['app#0 137', 'app#1 running'],
      ],
    );
    assert.equal(h.events[0], 'Normal SandboxChanged Pod sandbox changed, it will be killed and re-created.');
  });

  test('starts nothing more when everything that stopped with the old sandbox succeeded: the pod is over', async () => {
    const h = new Harness();
    const onFailure = aPod({ restartPolicy: 'OnFailure' });
    h.runtime.behaviour('app', () => ({ termExitCode: 0 }));
    await h.sync(onFailure);
    h.runtime.killSandbox(h.runtime.sandboxes()[0]?.id ?? '');
    await h.sync(onFailure);
    assert.deepEqual(h.containers, ['app#0 0']);
  });

  test('an ephemeral container joins a running pod, shares the process namespace of its target, runs once, and affects nothing else', async () => {
    const h = new Harness();
    await h.sync(aPod());
    const debugged = aPod({ ephemeralContainers: [anEphemeral('debug', { targetContainerName: 'app' })] });
    await h.sync(debugged);
    assert.deepEqual(h.containers.toSorted(), ['app#0 running', 'debug#0 running']);
    const { id = '', config } = h.runtime.container('uid-1', 'debug') ?? {};
    assert.deepEqual(
      [config?.security.namespaces.pid, config?.security.namespaces.targetId],
      ['target', h.runtime.container('uid-1', 'app')?.id],
    );
    h.runtime.killContainer(id, { exitCode: 5 });
    await h.sync(debugged);
    assert.deepEqual(h.containers.toSorted(), ['app#0 running', 'debug#0 5']);
  });

  test('a container whose liveness failed is killed and started again in the same pass', async () => {
    const h = new Harness();
    await h.sync(aPod());
    h.verdicts.set('liveness app#0', 'failure');
    await h.sync(aPod());
    assert.deepEqual(h.containers, ['app#0 143', 'app#1 running']);
    assert.ok(h.events.includes('Normal Killing Container app failed liveness probe, will be restarted [app]'));
  });

  test('a container that cannot be killed is not started a second time', async () => {
    const h = new Harness();
    await h.sync(aPod());
    h.verdicts.set('liveness app#0', 'failure');
    h.runtime.fail('stopContainer', { kind: 'Internal', message: 'shim stuck' });
    const outcome = await h.sync(aPod());
    assert.deepEqual(
      [outcome.failures.map(({ reason }) => reason), h.containers],
      [['KillContainerError'], ['app#0 running']],
    );
  });

  test('RestartAllContainers resets the whole pod in one pass and keeps the restart count', async () => {
    const h = new Harness();
    const rule = { action: 'RestartAllContainers' as const, exitCodes: { operator: 'In' as const, values: [42] } };
    const pod = aPod({
      containers: [aContainer('app', { restartPolicy: 'Never', restartPolicyRules: [rule] }), aContainer('log')],
    });
    await h.sync(pod);
    for (const name of ['app', 'log'])
      await h.files.writeFile(`/var/log/pods/default_web_uid-1/${name}/0.log`, '', 0o644);
    h.runtime.killContainer(h.runtime.container('uid-1', 'app')?.id ?? '', { exitCode: 42 });
    await h.sync(pod);
    assert.deepEqual([h.containers, h.runtime.sandboxes().length], [['app#1 running', 'log#1 running'], 1]);
  });

  test('a container that asks for a reset again at once gets a back-off like a crash, while the others run on', async () => {
    const h = new Harness();
    const rule = { action: 'RestartAllContainers' as const, exitCodes: { operator: 'In' as const, values: [42] } };
    const pod = aPod({
      containers: [aContainer('app', { restartPolicy: 'Never', restartPolicyRules: [rule] }), aContainer('log')],
    });
    await h.sync(pod);
    const crash = async (): Promise<void> => {
      for (const name of ['app', 'log'])
        await h.files.writeFile(
          `/var/log/pods/default_web_uid-1/${name}/${h.runtime.container('uid-1', name)?.config.attempt}.log`,
          '',
          0o644,
        );
      h.runtime.killContainer(h.runtime.container('uid-1', 'app')?.id ?? '', { exitCode: 42 });
    };
    await crash();
    await h.sync(pod);
    assert.deepEqual(h.containers, ['app#1 running', 'log#1 running']);
    await crash();
    const outcome = await h.sync(pod);
    assert.deepEqual(
      [outcome.waits.map(({ container, why, delayMs }) => [container, why, delayMs]), h.containers],
      [[['app', 'CrashLoopBackOff', 10_000]], ['app#1 42', 'log#1 running']],
    );
    await h.clock.advance(10_000);
    await h.sync(pod);
    assert.deepEqual(h.containers, ['app#2 running', 'log#2 running']);
  });

  test('a plan changes nothing', async () => {
    const h = new Harness();
    const { steps } = h.pods.plan(two, await h.status(two));
    assert.deepEqual(
      [steps.map(({ kind }) => kind), h.runtime.journal.writes],
      [['createSandbox', 'startContainer', 'startContainer'], []],
    );
  });
});

describe('an abort', () => {
  /** Aborts at `atMs`; then the agent continues normally, and the pod must start completely and without duplicates. */
  const atMoment = async (atMs: number): Promise<void> => {
    const h = new Harness();
    const pod = aPod({
      containers: [aContainer('app', { lifecycle: { postStart: { exec: { command: ['x'] } } } }), aContainer('log')],
    });
    h.hook = () => new Promise((resolve) => h.clock.setTimer(20, () => resolve({ ok: true })));
    const controller = new AbortController();
    const pass = h.begin(pod, { status: await h.status(pod), signal: controller.signal });
    await h.clock.advance(atMs);
    controller.abort();
    const outcome = await h.finish(pass);
    assert.equal(outcome.aborted, true, `at ${atMs} ms`);
    assert.deepEqual([h.pods.startPacer.held, h.pods.startPacer.waiting, h.clock.armedTimers <= 2], [0, 0, true]);
    await h.clock.advance(1000);
    await h.sync(pod);
    const running = h.containers.filter((line) => line.endsWith('running')).map((line) => line.split('#')[0]);
    assert.deepEqual(running, ['app', 'log'], `at ${atMs} ms`);
    assert.deepEqual(h.runtime.journal.violations, []);
  };

  test('at any moment of a start leaves nothing held, and the next pass completes the pod', async () => {
    for (let atMs = 0; atMs < 370; atMs += 10) await atMoment(atMs);
  });

  test('ends a wait for a pull that ignores it', async () => {
    const h = new Harness();
    h.image = () => new Promise(() => undefined);
    const controller = new AbortController();
    const pass = h.begin(aPod(), { status: await h.status(aPod()), signal: controller.signal });
    await h.clock.advance(1000);
    assert.equal(h.pods.startPacer.held, 0, 'a pull holds no slot');
    controller.abort();
    assert.equal((await h.finish(pass)).aborted, true);
  });

  test('before the pass began does nothing', async () => {
    const h = new Harness();
    const outcome = await h.finish(h.begin(two, { status: await h.status(two), signal: AbortSignal.abort() }));
    assert.deepEqual([outcome.aborted, h.runtime.sandboxes().length], [true, 0]);
  });
});
