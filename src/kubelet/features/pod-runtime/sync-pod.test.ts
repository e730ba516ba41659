import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { KubeletError } from '../../../base/errors.ts';
import type { Pod } from '../../../api/core/pod.ts';
import type { ImageOutcome } from './interfaces.ts';
import { aContainer, anEphemeral, aPod } from './testing/builders.ts';
import { Harness } from './testing/harness.ts';

const two = aPod({ containers: [aContainer('app'), aContainer('log')] });

describe('starting a new pod', () => {
  test('creates the sandbox, then creates and starts each container in order', async () => {
    const h = new Harness();
    const outcome = await h.sync(two);
    assert.deepEqual(
      [outcome.failures, outcome.aborted, h.containers],
      [[], false, ['app#0 running', 'log#0 running']],
    );
    assert.deepEqual(h.calls('runSandbox', 'createContainer', 'startContainer'), [
      '0 runSandbox',
      '200 createContainer app',
      '230 startContainer app',
      '290 createContainer log',
      '320 startContainer log',
    ]);
    assert.deepEqual(h.events, [
      'Normal Created Container created [app]',
      'Normal Started Container started [app]',
      'Normal Created Container created [log]',
      'Normal Started Container started [log]',
    ]);
  });

  test('updates cache and status for each container before it begins the next', async () => {
    const h = new Harness();
    await h.sync(two);
    assert.deepEqual(h.told, [
      'cache sandbox#0 ready',
      'change sandbox',
      'cache app#0 running',
      'change app',
      'cache log#0 running',
      'change log',
    ]);
  });

  test('makes no unnecessary call', async () => {
    const h = new Harness();
    const status = await h.status(two);
    h.runtime.journal.clear();
    await h.finish(h.begin(two, { status }));
    assert.deepEqual(Object.fromEntries(h.runtime.journal.callCounts), {
      runSandbox: 1,
      sandboxStatus: 1,
      createContainer: 2,
      startContainer: 2,
      containerStatus: 2,
    });
  });

  test('records its decisions and their results', async () => {
    const h = new Harness();
    await h.sync(aPod());
    assert.deepEqual(h.timeline, [
      'decision createSandbox Create sandbox number 0, because the pod has none.',
      'result createSandbox done',
      'decision startContainer Start container app.',
      'result startContainer done',
    ]);
  });

  test('pulls and mounts while the sandbox is being created', async () => {
    const h = new Harness();
    const after = async <T>(ms: number, value: T): Promise<T> =>
      new Promise((resolve) => h.clock.setTimer(ms, () => resolve(value)));
    h.image = (name) => after(150, { kind: 'present', imageRef: name, user: { username: '' } });
    h.volumes = () => after(180, new Map());
    await h.sync(two);
    assert.equal(h.calls('createContainer')[0], '200 createContainer app');
  });

  test('runs init containers one by one, and prefetches for later ones at once', async () => {
    const h = new Harness();
    const pod = aPod({ initContainers: [aContainer('i1'), aContainer('i2')] });
    h.runtime.behaviour('i1', { exitAfterMs: 1000 });
    h.runtime.behaviour('i2', { exitAfterMs: 1000 });
    await h.sync(pod);
    assert.deepEqual(h.containers, ['i1#0 running']);
    assert.ok(h.told.includes('prefetch i2 app'));
    assert.deepEqual((await h.sync(pod)).steps, []);
    await h.clock.advance(1000);
    await h.sync(pod);
    await h.clock.advance(1000);
    await h.sync(pod);
    assert.deepEqual(h.containers, ['i1#0 0', 'i2#0 0', 'app#0 running']);
  });

  test('starts what comes after a sidecar in the same pass', async () => {
    const h = new Harness();
    await h.sync(aPod({ initContainers: [aContainer('side', { restartPolicy: 'Always' })] }));
    assert.deepEqual(h.containers, ['side#0 running', 'app#0 running']);
  });

  test('continues the log numbers when the runtime has lost its state', async () => {
    const h = new Harness();
    await h.files.makeDirectory('/var/log/pods/default_web_uid-1/app', 0o755);
    await h.files.writeFile('/var/log/pods/default_web_uid-1/app/4.log.20260101-000000.gz', '', 0o644);
    await h.files.writeFile('/var/log/pods/default_web_uid-1/app/2.log', '', 0o644);
    await h.sync(aPod());
    assert.deepEqual(h.containers, ['app#5 running']);
  });

  test('creates log directory, termination log and hosts file', async () => {
    const h = new Harness();
    await h.sync(aPod());
    const mounts = h.runtime.container('uid-1', 'app')?.config.mounts ?? [];
    assert.deepEqual(
      mounts.map(({ containerPath }) => containerPath),
      ['/etc/hosts', '/dev/termination-log'],
    );
    assert.match(await h.files.readText('/var/lib/kubelet/pods/uid-1/etc-hosts'), /\n10\.\S+\tweb\n$/);
    assert.equal((await h.files.stat(mounts[1]?.hostPath ?? ''))?.mode, 0o666);
    assert.equal((await h.files.stat('/var/log/pods/default_web_uid-1/app'))?.type, 'directory');
  });
});

describe('failures of a start', () => {
  const failing = async (script: (h: Harness) => void, pod: Pod = aPod()): Promise<[Harness, string[]]> => {
    const h = new Harness();
    script(h);
    const outcome = await h.sync(pod);
    return [
      h,
      outcome.failures.map(
        ({ scope, container, reason, message }) => `${scope} ${container ?? ''} ${reason} ${message}`,
      ),
    ];
  };

  test('an image that cannot be pulled passes on its reason and next try, and delays no other container', async () => {
    const h = new Harness();
    h.image = async (name): Promise<ImageOutcome> =>
      name === 'app:1'
        ? { kind: 'failed', reason: 'ImagePullBackOff', message: 'Back-off pulling image "app:1"', retryAtMs: 99 }
        : { kind: 'present', imageRef: name, user: { username: '' } };
    const outcome = await h.sync(two);
    assert.deepEqual(outcome.failures, [
      {
        scope: 'container',
        container: 'app',
        reason: 'ImagePullBackOff',
        message: 'Back-off pulling image "app:1"',
        retryAtMs: 99,
      },
    ]);
    assert.deepEqual(h.containers, ['log#0 running']);
    assert.equal(h.events[0], 'Warning Failed Error: ImagePullBackOff [app]');
    assert.deepEqual(h.pods.startFailures.get(h.uid(two), 'app'), {
      reason: 'ImagePullBackOff',
      message: 'Back-off pulling image "app:1"',
      retryAtMs: 99,
    });
  });

  test('a missing ConfigMap is CreateContainerConfigError, and gone once it is there', async () => {
    const pod = aPod({
      containers: [
        aContainer('app', { env: [{ name: 'A', valueFrom: { configMapKeyRef: { name: 'cm', key: 'k' } } }] }),
      ],
    });
    const [h, failures] = await failing(() => {}, pod);
    assert.deepEqual(failures, ['container app CreateContainerConfigError configmap "cm" not found']);
    assert.deepEqual(h.events, ['Warning Failed Error: configmap "cm" not found [app]']);
    h.objects = {
      ...h.objects,
      configMap: () => ({ metadata: { name: 'cm', namespace: 'default', uid: '' }, data: { k: 'v' } }),
    };
    await h.sync(pod);
    assert.deepEqual([h.containers, h.pods.startFailures.get(h.uid(pod), 'app')], [['app#0 running'], undefined]);
    assert.deepEqual(h.runtime.container('uid-1', 'app')?.config.envs, [{ key: 'A', value: 'v' }]);
  });

  test('a create that is refused is CreateContainerError', async () => {
    const [h, failures] = await failing((it) =>
      it.runtime.fail('createContainer', { kind: 'Invalid', message: 'bad spec', times: 1 }),
    );
    assert.deepEqual(failures, ['container app CreateContainerError bad spec']);
    await h.sync(aPod());
    assert.deepEqual(h.containers, ['app#0 running']);
  });

  test('an error of the runtime is reported without its code, and in the event without the container id', async () => {
    const refused = await failing((it) =>
      it.runtime.fail('createContainer', {
        kind: 'Invalid',
        message: 'rpc error: code = InvalidArgument desc = bad spec',
        times: 1,
      }),
    );
    assert.deepEqual(
      [refused[1], refused[0].events],
      [['container app CreateContainerError bad spec'], ['Warning Failed Error: bad spec [app]']],
    );
    const [h, failures] = await failing((it) =>
      it.runtime.behaviour('app', { failStart: 'rpc error: code = Unknown desc = exec: "nope": not found' }),
    );
    assert.deepEqual(failures, ['container app RunContainerError exec: "nope": not found']);
    assert.ok(h.events.includes('Warning Failed Error: exec: "nope": not found [app]'));
  });

  test('a container whose status cannot be read after its start makes the pod uncertain, so that no second one is started', async () => {
    const h = new Harness();
    h.runtime.fail('containerStatus', { kind: 'Timeout', times: 1 });
    await h.sync(aPod());
    assert.deepEqual([h.containers, h.told.at(-1)], [['app#0 running'], 'cache unsure']);
    const sound = new Harness();
    await sound.sync(aPod());
    assert.equal(sound.told.includes('cache unsure'), false);
  });

  test('a start that fails is RunContainerError, names the container, and its end is known at once', async () => {
    const [h, failures] = await failing((it) => it.runtime.behaviour('app', { failStart: 'exec: "nope": not found' }));
    assert.deepEqual(failures, ['container app RunContainerError exec: "nope": not found']);
    assert.ok(h.told.includes('cache app#0 exited'));
    assert.ok(h.events.includes('Warning Failed Error: exec: "nope": not found [app]'));
  });

  test('an exit that is read right after the start is observed: the agent did not cause it, and its event may change nothing', async () => {
    const h = new Harness();
    h.runtime.behaviour('app', { exitAfterMs: 0, exitCode: 1 });
    await h.sync(aPod());
    assert.ok(h.told.includes('cache app#0 exited observed'), h.told.join('\n'));
  });

  test('a failed sandbox is reported and leaves the containers alone', async () => {
    const [h, failures] = await failing((it) =>
      it.runtime.fail('runSandbox', { kind: 'Invalid', message: 'cni: no', times: 1 }),
    );
    assert.deepEqual(failures, [
      'sandbox  CreatePodSandboxError Failed to create sandbox for pod "web_default(uid-1)": cni: no',
    ]);
    assert.deepEqual(
      [h.events, h.containers],
      [['Warning FailedCreatePodSandBox Failed to create pod sandbox: cni: no'], []],
    );
  });

  test('volumes that are not ready delay the containers, not the sandbox', async () => {
    const [h, failures] = await failing((it) => {
      it.volumes = () => Promise.reject(new KubeletError('NotFound', 'secret "s" not found'));
    }, two);
    assert.deepEqual(failures, ['volumes  FailedMount Unable to attach or mount volumes: secret "s" not found']);
    assert.deepEqual(h.events, ['Warning FailedMount Unable to attach or mount volumes: secret "s" not found']);
    assert.equal(h.runtime.sandboxes().length, 1);
    assert.deepEqual(h.containers, []);
  });

  test('a failed postStart hook kills the container and is PostStartHookError, without its output in the event', async () => {
    const pod = aPod({
      containers: [aContainer('app', { lifecycle: { postStart: { exec: { command: ['warm'] } } } }), aContainer('log')],
    });
    const [h, failures] = await failing((it) => {
      it.hook = async () => ({ ok: false, message: 'secret output' });
    }, pod);
    assert.deepEqual(failures, ['container app PostStartHookError secret output']);
    assert.deepEqual(h.containers, ['app#0 143', 'log#0 running']);
    assert.deepEqual(h.events.slice(2, 4), [
      'Warning FailedPostStartHook PostStartHook failed [app]',
      'Normal Killing FailedPostStartHook [app]',
    ]);
  });

  test('a failed init container start delays what comes after', async () => {
    const [h, failures] = await failing(
      (it) => it.runtime.fail('createContainer', { kind: 'Invalid', message: 'no', times: 1 }),
      aPod({ initContainers: [aContainer('i1')] }),
    );
    assert.deepEqual([failures.length, h.containers], [1, []]);
  });

  test('runAsNonRoot is checked against the image of this very start', async () => {
    const [, failures] = await failing(() => {}, aPod({ securityContext: { runAsNonRoot: true } }));
    assert.deepEqual(failures, [
      'container app CreateContainerConfigError container has runAsNonRoot and image will run as root (pod: "web_default(uid-1)", container: app)',
    ]);
  });
});

describe('calls of unknown outcome', () => {
  test('a create that timed out and took effect is adopted, not repeated', async () => {
    const h = new Harness();
    h.runtime.lateSuccess('createContainer', { times: 1 });
    const outcome = await h.sync(aPod());
    assert.deepEqual([outcome.failures, h.containers], [[], ['app#0 running']]);
  });

  test('a create whose name is still reserved continues with the next attempt', async () => {
    const h = new Harness();
    h.runtime.hang('createContainer', { times: 1, keepsNameMs: 60_000 });
    const first = await h.sync(aPod());
    assert.equal(first.failures[0]?.reason, 'CreateContainerError');
    const second = await h.sync(aPod());
    assert.deepEqual([second.failures, h.containers], [[], ['app#1 running']]);
  });

  test('a create that takes effect long after it was given up leads to no second instance', async () => {
    const h = new Harness();
    h.runtime.lateSuccess('createContainer', { times: 1, effectAfterMs: 5000 });
    await h.sync(aPod());
    await h.sync(aPod());
    await h.clock.advance(6000);
    assert.deepEqual(h.containers, ['app#1 running', 'app#0 created']);
    const later = await h.sync(aPod());
    assert.deepEqual([later.steps, h.containers.filter((line) => line.endsWith('running')).length], [[], 1]);
  });

  test('a sandbox call that timed out and took effect is adopted', async () => {
    const h = new Harness();
    h.runtime.lateSuccess('runSandbox', { times: 1 });
    await h.sync(aPod());
    assert.deepEqual([h.runtime.sandboxes().length, h.containers], [1, ['app#0 running']]);
  });

  test('a sandbox whose name is still reserved is created with the next attempt', async () => {
    const h = new Harness();
    h.runtime.hang('runSandbox', { times: 1, keepsNameMs: 600_000 });
    const first = await h.sync(aPod());
    assert.equal(first.failures[0]?.scope, 'sandbox');
    await h.sync(aPod());
    assert.deepEqual(
      [h.runtime.sandboxes().map(({ config }) => config.attempt), h.containers],
      [[1], ['app#0 running']],
    );
  });

  test('a start that timed out and worked counts as started', async () => {
    const h = new Harness();
    h.runtime.lateSuccess('startContainer', { times: 1 });
    const outcome = await h.sync(aPod());
    assert.deepEqual([outcome.failures, h.containers], [[], ['app#0 running']]);
  });

  test('a start that timed out and did not work is retried on the same container', async () => {
    const h = new Harness();
    h.runtime.fail('startContainer', { kind: 'Timeout', times: 1 });
    assert.equal((await h.sync(aPod())).failures[0]?.reason, 'RunContainerError');
    await h.sync(aPod());
    assert.deepEqual(h.containers, ['app#0 running']);
  });
});

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
