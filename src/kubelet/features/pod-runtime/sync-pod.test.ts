import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { KubeletError } from '../../../base/errors.ts';
import type { Pod } from '../../../api/core/pod.ts';
import type { ImageOutcome } from './interfaces.ts';
import { aContainer, aPod } from './testing/builders.ts';
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
    assert.deepEqual(h.notices, [
      'cache sandbox#0 ready',
      'change sandbox',
      'cache app#0 running',
      'change app',
      'cache log#0 running',
      'change log',
    ]);
  });

  test('creates no container of a pod that the node no longer takes once its image is there', async () => {
    const h = new Harness();
    const asked: string[] = [];
    const refused = await h.finish(
      h.begin(aPod(), {
        status: await h.status(aPod()),
        mayBegin: () => (asked.push(h.calls('runSandbox').length === 0 ? 'early' : 'late'), false),
      }),
    );
    assert.deepEqual([refused.aborted, refused.failures, h.containers, asked], [true, [], [], ['late']]);
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
    assert.ok(h.notices.includes('prefetch i2 app'));
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
    assert.deepEqual([h.containers, h.notices.at(-1)], [['app#0 running'], 'cache unsure']);
    const sound = new Harness();
    await sound.sync(aPod());
    assert.equal(sound.notices.includes('cache unsure'), false);
  });

  test('a start that fails is RunContainerError, names the container, and its end is known at once', async () => {
    const [h, failures] = await failing((it) => it.runtime.behaviour('app', { failStart: 'exec: "nope": not found' }));
    assert.deepEqual(failures, ['container app RunContainerError exec: "nope": not found']);
    assert.ok(h.notices.includes('cache app#0 exited'));
    assert.ok(h.events.includes('Warning Failed Error: exec: "nope": not found [app]'));
  });

  test('an exit that is read right after the start is observed: the agent did not cause it, and its event may change nothing', async () => {
    const h = new Harness();
    h.runtime.behaviour('app', { exitAfterMs: 0, exitCode: 1 });
    await h.sync(aPod());
    assert.ok(h.notices.includes('cache app#0 exited observed'), h.notices.join('\n'));
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
