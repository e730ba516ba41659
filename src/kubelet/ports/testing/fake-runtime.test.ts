import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import { errorKind, KubeletError } from '../../../base/errors.ts';
import { podUid } from '../../model/ids.ts';
import type { RuntimeEvent } from '../runtime.ts';
import type { FakeRuntimeOptions } from './fake-runtime.ts';
import { FakeRuntime } from './fake-runtime.ts';
import { buildContainerConfig, buildSandboxConfig, runPod } from './runtime-builders.ts';
import { runtimeContract } from './runtime-contract.ts';

const IMAGE = 'example/app:1';

function setUp(options: Partial<FakeRuntimeOptions> = {}): {
  clock: FakeClock;
  runtime: FakeRuntime;
  run: <T>(work: Promise<T>) => Promise<T>;
} {
  const clock = new FakeClock();
  const runtime = new FakeRuntime({ clock, images: [IMAGE], ...options });
  const run = async <T>(work: Promise<T>): Promise<T> => {
    let done = false;
    const end = (): void => void (done = true);
    work.then(end, end);
    assert.ok(await clock.advanceUntil(() => done, 600_000), 'the call ends');
    return work;
  };
  return { clock, runtime, run };
}

runtimeContract('fake runtime', async () => {
  const { clock, runtime, run } = setUp({ exitLagMs: 3 });
  const sleepCommand = ['sleep'];
  runtime.behaviour(
    () => true,
    ({ command }) => ({
      exec: (argv) => (argv[0] === 'sleep' ? { afterMs: Infinity } : { exitCode: Number(argv[1]) }),
      ...(command[0] === 'exit' ? { exitAfterMs: 1, exitCode: Number(command[1]) } : {}),
    }),
  );
  return {
    runtime,
    events: runtime.eventSource('cri'),
    image: IMAGE,
    sleepCommand,
    exitCommand: (code) => ['exit', String(code)],
    logDirectory: '/var/log/pods',
    cgroupParent: '/kubepods',
    eventually: async (what, done) => {
      for (let turn = 0; turn < 100; turn++) {
        if (await done()) return;
        await clock.advance(10);
      }
      assert.fail(what);
    },
    run,
    close: () => Promise.resolve(),
  };
});

test('scripted failures affect the scripted number of calls and leave nothing behind', async () => {
  const { runtime, run } = setUp();
  runtime.fail('runSandbox', { times: 1, kind: 'Unavailable', message: 'no' });
  await assert.rejects(
    run(runtime.runSandbox(buildSandboxConfig({ uid: 'a' }), '')),
    new KubeletError('Unavailable', 'no', { op: 'runSandbox' }),
  );
  await run(runtime.runSandbox(buildSandboxConfig({ uid: 'a' }), ''));
  assert.deepEqual(
    runtime.journal.writes.map((entry) => entry.outcome),
    ['KubeletError: no', 'ok'],
  );
});

test('a hung call ends at its deadline, or at once with its signal', async () => {
  const { clock, runtime, run } = setUp();
  runtime.hang('runSandbox');
  const startMs = clock.monotonicMs();
  const work = run(runtime.runSandbox(buildSandboxConfig({ uid: 'a' }), '', { timeoutMs: 5000 }));
  await assert.rejects(work, (error) => errorKind(error) === 'Timeout');
  assert.equal(clock.monotonicMs() - startMs, 5000);
  const controller = new AbortController();
  const second = runtime.runSandbox(buildSandboxConfig({ uid: 'a' }), '', { signal: controller.signal });
  controller.abort();
  await assert.rejects(second, (error) => errorKind(error) === 'Aborted');
});

test('a late success is a Timeout for the caller and creates the container', async () => {
  const { runtime, run } = setUp();
  const pod = { uid: 'a' };
  const sandbox = await run(runtime.runSandbox(buildSandboxConfig(pod), ''));
  runtime.lateSuccess('createContainer', { times: 1 });
  const create = (): Promise<unknown> =>
    run(
      runtime.createContainer(
        sandbox,
        buildContainerConfig(pod, { name: 'main', image: IMAGE }),
        buildSandboxConfig(pod),
      ),
    );
  await assert.rejects(create(), (error) => errorKind(error) === 'Timeout');
  assert.equal((await run(runtime.listContainers())).length, 1);
  await assert.rejects(create(), (error) => errorKind(error) === 'AlreadyExists');
});

test('a hung create can keep its name reserved after its caller timed out', async () => {
  const { clock, runtime, run } = setUp();
  const pod = { uid: 'a' };
  runtime.hang('runSandbox', { times: 1, keepsNameMs: 1000 });
  await assert.rejects(run(runtime.runSandbox(buildSandboxConfig(pod), '', { timeoutMs: 10 })));
  await assert.rejects(
    run(runtime.runSandbox(buildSandboxConfig(pod), '')),
    (error) => errorKind(error) === 'AlreadyExists',
  );
  await clock.advance(1000);
  await run(runtime.runSandbox(buildSandboxConfig(pod), ''));
});

test('SIGTERM is followed by SIGKILL after the grace period, and by nothing when the process ends in time', async () => {
  const { clock, runtime, run } = setUp();
  runtime.behaviour('stubborn', { ignoresTerm: true });
  runtime.behaviour('polite', { stopMs: 300, termExitCode: 0 });
  const { containers } = await run(
    runPod(runtime, { uid: 'a' }, [
      { name: 'stubborn', image: IMAGE },
      { name: 'polite', image: IMAGE },
    ]),
  );
  const startMs = clock.monotonicMs();
  const took: number[] = [];
  await run(
    Promise.all(
      containers.map(async (id) => {
        await runtime.stopContainer(id, 1500);
        took.push(clock.monotonicMs() - startMs);
      }),
    ),
  );
  assert.deepEqual(
    [took, runtime.containers('a').map((container) => container.exitCode)],
    [
      [300, 2000],
      [137, 0],
    ],
  );
});

test('containers exit by script, once, with an entry in the journal', async () => {
  const { clock, runtime, run } = setUp();
  runtime.behaviour('main', ({ attempt }) => ({ exitAfterMs: 100, exitCode: 7 + attempt }));
  await run(runPod(runtime, { uid: 'a' }, [{ name: 'main', image: IMAGE }]));
  await clock.advance(100);
  assert.deepEqual(
    runtime.journal.processes.map((entry) => [entry.what, entry.by, entry.exitCode]),
    [
      ['started', 'agent', 0],
      ['exited', 'self', 7],
    ],
  );
});

test('a second live instance of a container is a violation', async () => {
  const { runtime, run } = setUp();
  const pod = { uid: 'a' };
  const { sandbox } = await run(runPod(runtime, pod, [{ name: 'main', image: IMAGE }]));
  const second = await run(
    runtime.createContainer(
      sandbox,
      buildContainerConfig(pod, { name: 'main', image: IMAGE, attempt: 1 }),
      buildSandboxConfig(pod),
    ),
  );
  await run(runtime.startContainer(second));
  assert.deepEqual(runtime.journal.violations, ['two live instances of main in pod a: attempts 0 and 1']);
});

test('a restart of the runtime breaks calls and streams, and containers keep running', async () => {
  const { clock, runtime, run } = setUp();
  await run(runPod(runtime, { uid: 'a' }, [{ name: 'main', image: IMAGE }]));
  const stream = runtime
    .eventSource('cri')
    .subscribe({ onOpen: () => undefined, onEvent: () => undefined }, new AbortController().signal);
  const call = runtime.runSandbox(buildSandboxConfig({ uid: 'b' }), '');
  runtime.restart({ downMs: 1000 });
  await assert.rejects(stream, (error) => errorKind(error) === 'Unavailable');
  await assert.rejects(call, (error) => errorKind(error) === 'Unavailable');
  await assert.rejects(runtime.listContainers(), (error) => errorKind(error) === 'Unavailable');
  await clock.advance(1000);
  assert.deepEqual(
    (await run(runtime.listContainers())).map((item) => item.state),
    ['running'],
  );
  await run(runtime.runSandbox(buildSandboxConfig({ uid: 'b' }), ''));
});

test('a killed client receives nothing more, and its calls take no effect unless scripted otherwise', async () => {
  for (const abandonedTakesEffect of [0, 1]) {
    const { clock, runtime, run } = setUp({ abandonedTakesEffect });
    const client = runtime.client('first agent');
    let settled = false;
    const settle = (): void => void (settled = true);
    client.runSandbox(buildSandboxConfig({ uid: 'a' }), '').then(settle, settle);
    await clock.advance(50);
    client.kill();
    client.listContainers().then(settle, settle);
    await clock.advance(1000);
    assert.deepEqual([settled, runtime.sandboxes().length], [false, abandonedTakesEffect]);
    if (abandonedTakesEffect === 0) await run(runtime.runSandbox(buildSandboxConfig({ uid: 'a' }), ''));
  }
});

test('events are dropped, duplicated, delayed and reordered as scripted', async () => {
  const { clock, runtime, run } = setUp();
  const seen: string[] = [];
  const note = (event: RuntimeEvent): void => void seen.push(event.kind);
  void runtime
    .eventSource('containerd')
    .subscribe({ onOpen: () => undefined, onEvent: note }, new AbortController().signal);
  runtime.events.drop(1, (event) => event.kind === 'created');
  runtime.events.duplicate(1, (event) => event.kind === 'started');
  const sandbox = await run(runtime.runSandbox(buildSandboxConfig({ uid: 'a' }), ''));
  await clock.settle();
  assert.deepEqual(seen.splice(0), ['started', 'started']);
  runtime.events.reorder(2);
  await run(runtime.stopSandbox(sandbox));
  await run(runtime.removeSandbox(sandbox));
  await clock.settle();
  assert.deepEqual(seen.splice(0), ['deleted', 'stopped']);
  runtime.events.delay(500);
  await run(runtime.runSandbox(buildSandboxConfig({ uid: 'b' }), ''));
  await clock.advance(499);
  assert.deepEqual(seen, []);
  await clock.advance(1);
  assert.deepEqual(seen, ['created', 'started']);
});

test('200 pods listed each second of a virtual hour cost little', async () => {
  const { clock, runtime, run } = setUp({ jitterFactor: 0.3 });
  await run(
    Promise.all(
      Array.from({ length: 200 }, (_, index) =>
        runPod(runtime, { uid: `pod-${index}` }, [{ name: 'main', image: IMAGE }]),
      ),
    ),
  );
  for (let second = 0; second < 3600; second++) {
    await runtime.listContainers();
    await clock.advance(1000);
  }
  assert.equal((await runtime.listContainers({ podUid: podUid('pod-7') })).length, 1);
  assert.deepEqual(runtime.journal.violations, []);
});
