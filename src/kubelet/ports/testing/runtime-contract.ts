import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ErrorKind } from '../../../base/errors.ts';
import { errorKind, errorMessage, ignoreNotFound } from '../../../base/errors.ts';
import type { ContainerId, SandboxId } from '../../model/ids.ts';
import { podUid } from '../../model/ids.ts';
import type { ContainerConfig, ContainerRuntime, RuntimeEvent, RuntimeEventSource } from '../runtime.ts';
import type { ImageRuntime } from '../images.ts';
import { buildContainerConfig, buildSandboxConfig } from './runtime-builders.ts';

/** What a runtime under test provides. */
export interface RuntimeUnderTest {
  readonly runtime: ContainerRuntime & ImageRuntime;
  readonly events: RuntimeEventSource;
  /**
   * An image that is present and can run commands. `sleepCommand` runs until it is stopped, and `exitCommand(3)` ends
   * immediately with 3.
   */
  readonly image: string;
  readonly sleepCommand: readonly string[];
  readonly exitCommand: (code: number) => readonly string[];
  readonly logDirectory: string;
  readonly cgroupParent: string;
  /** Waits until `done`, or fails. With a real runtime it polls. */
  readonly eventually: (what: string, done: () => boolean | Promise<boolean>) => Promise<void>;
  /** Runs work that needs time, and advances a fake clock. */
  readonly run: <T>(work: Promise<T>) => Promise<T>;
  readonly close: () => Promise<void>;
}

async function kindOf(work: Promise<unknown>): Promise<ErrorKind | 'ok'> {
  try {
    await work;
    return 'ok';
  } catch (error) {
    return errorKind(error);
  }
}

class Bench {
  readonly subject: RuntimeUnderTest;
  readonly pod: { uid: string; name: string; namespace: string };
  readonly sandboxes: SandboxId[] = [];

  constructor(subject: RuntimeUnderTest, label: string) {
    this.subject = subject;
    this.pod = { uid: `uid-${label}`, name: `contract-${label}`, namespace: 'default' };
  }

  sandboxConfig(attempt = 0): ReturnType<typeof buildSandboxConfig> {
    return buildSandboxConfig(this.pod, {
      attempt,
      // A sandbox on the host's network shares its hostname and may not set one.
      hostname: '',
      logDirectory: `${this.subject.logDirectory}/${this.pod.uid}`,
      cgroupParent: this.subject.cgroupParent,
      // The host's network, so that the suite needs no CNI.
      security: {
        namespaces: { network: 'node', pid: 'container', ipc: 'pod' },
        supplementalGroups: [],
        privileged: false,
        readOnlyRootFilesystem: false,
      },
    });
  }

  config(name: string, command: readonly string[], attempt = 0): ContainerConfig {
    const config = buildContainerConfig(this.pod, { name, image: this.subject.image, attempt });
    return {
      ...config,
      command,
      security: { ...config.security, namespaces: { network: 'node', pid: 'container', ipc: 'pod' } },
    };
  }

  async sandbox(attempt = 0): Promise<SandboxId> {
    const id = await this.subject.run(this.subject.runtime.runSandbox(this.sandboxConfig(attempt), ''));
    this.sandboxes.push(id);
    return id;
  }

  create(sandbox: SandboxId, name: string, command: readonly string[], attempt = 0): Promise<ContainerId> {
    return this.subject.run(
      this.subject.runtime.createContainer(sandbox, this.config(name, command, attempt), this.sandboxConfig()),
    );
  }

  async started(sandbox: SandboxId, name: string, command: readonly string[]): Promise<ContainerId> {
    const id = await this.create(sandbox, name, command);
    await this.subject.run(this.subject.runtime.startContainer(id));
    return id;
  }

  async cleanUp(): Promise<void> {
    const { runtime, run } = this.subject;
    for (const id of this.sandboxes) {
      await ignoreNotFound(run(runtime.stopSandbox(id)));
      await ignoreNotFound(run(runtime.removeSandbox(id)));
    }
  }
}

type Case = (bench: Bench, subject: RuntimeUnderTest) => Promise<void>;

const cases: Readonly<Record<string, Case>> = {
  'a sandbox is ready, listed by its pod uid, and missing after removal': async (bench, { runtime, run }) => {
    const id = await bench.sandbox();
    const status = await run(runtime.sandboxStatus(id));
    const [listed] = await run(runtime.listSandboxes({ podUid: podUid(bench.pod.uid) }));
    assert.deepEqual(
      {
        ready: status.ready,
        uid: status.podUid,
        name: status.podName,
        namespace: status.podNamespace,
        attempt: status.attempt,
        host: status.hostNetwork,
        ips: status.ips,
        listed: listed?.id,
      },
      {
        ready: true,
        uid: bench.pod.uid,
        name: bench.pod.name,
        namespace: 'default',
        attempt: 0,
        host: true,
        ips: [],
        listed: id,
      },
    );
    await run(runtime.stopSandbox(id));
    await run(runtime.stopSandbox(id));
    assert.equal((await run(runtime.sandboxStatus(id))).ready, false);
    await run(runtime.removeSandbox(id));
    await run(runtime.removeSandbox(id));
    assert.equal(await kindOf(run(runtime.sandboxStatus(id))), 'NotFound');
    assert.deepEqual(await run(runtime.listSandboxes({ podUid: podUid(bench.pod.uid) })), []);
  },
  'a sandbox name can be used once': async (bench, { runtime, run }) => {
    await bench.sandbox();
    const error = await run(runtime.runSandbox(bench.sandboxConfig(), '')).then(
      () => undefined,
      (failure: unknown) => failure,
    );
    assert.equal(errorKind(error), 'AlreadyExists');
    assert.match(errorMessage(error), /is reserved for/);
    await bench.sandbox(1);
  },
  'a container goes from created to running to exited and keeps its exit record': async (
    bench,
    { runtime, run, exitCommand, eventually },
  ) => {
    const sandbox = await bench.sandbox();
    const id = await bench.create(sandbox, 'main', exitCommand(3));
    const created = await run(runtime.containerStatus(id));
    assert.deepEqual(
      {
        state: created.state,
        name: created.name,
        attempt: created.attempt,
        sandbox: created.sandboxId,
        startedAtMs: created.startedAtMs,
      },
      { state: 'created', name: 'main', attempt: 0, sandbox, startedAtMs: 0 },
    );
    await run(runtime.startContainer(id));
    await eventually('the container exits', async () => (await run(runtime.containerStatus(id))).state === 'exited');
    const exited = await run(runtime.containerStatus(id));
    // The order of the two times is not checked: containerd records the start when its call returns, and a quick
    // process may end before.
    assert.deepEqual(
      { code: exited.exitCode, reason: exited.reason, started: exited.startedAtMs > 0, ended: exited.finishedAtMs > 0 },
      { code: 3, reason: 'Error', started: true, ended: true },
    );
    assert.deepEqual(await run(runtime.containerStatus(id)), exited);
    assert.notEqual(await kindOf(run(runtime.startContainer(id))), 'ok');
  },
  'an exit code of 0 is Completed': async (bench, { runtime, run, exitCommand, eventually }) => {
    const id = await bench.started(await bench.sandbox(), 'main', exitCommand(0));
    await eventually('the container exits', async () => (await run(runtime.containerStatus(id))).state === 'exited');
    assert.equal((await run(runtime.containerStatus(id))).reason, 'Completed');
  },
  'a container name is reserved until the container is removed': async (bench, { runtime, run, sleepCommand }) => {
    const sandbox = await bench.sandbox();
    const id = await bench.create(sandbox, 'main', sleepCommand);
    const error = await bench.create(sandbox, 'main', sleepCommand).then(
      () => undefined,
      (failure: unknown) => failure,
    );
    assert.equal(errorKind(error), 'AlreadyExists');
    assert.match(errorMessage(error), /is reserved for/);
    await bench.create(sandbox, 'main', sleepCommand, 1);
    await run(runtime.removeContainer(id));
    await bench.create(sandbox, 'main', sleepCommand);
  },
  'stopping is idempotent, honours the grace and ends in exited': async (bench, { runtime, run, sleepCommand }) => {
    const id = await bench.started(await bench.sandbox(), 'main', sleepCommand);
    await run(runtime.stopContainer(id, 1000));
    const status = await run(runtime.containerStatus(id));
    assert.deepEqual({ state: status.state, failed: status.exitCode > 0 }, { state: 'exited', failed: true });
    await run(runtime.stopContainer(id, 0));
  },
  'a removed container is NotFound for status and start, and success for remove': async (
    bench,
    { runtime, run, sleepCommand },
  ) => {
    const id = await bench.create(await bench.sandbox(), 'main', sleepCommand);
    await run(runtime.removeContainer(id));
    await run(runtime.removeContainer(id));
    assert.deepEqual(
      [await kindOf(run(runtime.containerStatus(id))), await kindOf(run(runtime.startContainer(id)))],
      ['NotFound', 'NotFound'],
    );
    assert.ok(['ok', 'NotFound'].includes(await kindOf(run(runtime.stopContainer(id, 0)))));
  },
  'stopping a sandbox kills its containers, removing it removes them': async (
    bench,
    { runtime, run, sleepCommand },
  ) => {
    const sandbox = await bench.sandbox();
    const id = await bench.started(sandbox, 'main', sleepCommand);
    await run(runtime.stopSandbox(sandbox));
    assert.equal((await run(runtime.containerStatus(id))).state, 'exited');
    await run(runtime.removeSandbox(sandbox));
    assert.deepEqual(await run(runtime.listContainers({ podUid: podUid(bench.pod.uid) })), []);
  },
  'containers are listed by pod uid only': async (bench, { runtime, run, sleepCommand }) => {
    const id = await bench.create(await bench.sandbox(), 'main', sleepCommand);
    const listed = await run(runtime.listContainers({ podUid: podUid(bench.pod.uid) }));
    assert.deepEqual(
      listed.map((item) => [item.id, item.podUid, item.podName, item.name, item.state]),
      [[id, bench.pod.uid, bench.pod.name, 'main', 'created']],
    );
    assert.deepEqual(await run(runtime.listContainers({ podUid: podUid('another-pod') })), []);
    assert.ok((await run(runtime.listContainers())).some((item) => item.id === id));
  },
  'a command runs in a container and its exit code is a result, not an error': async (
    bench,
    { runtime, run, sleepCommand, exitCommand },
  ) => {
    const id = await bench.started(await bench.sandbox(), 'main', sleepCommand);
    assert.equal((await run(runtime.execSync(id, exitCommand(0), 5000))).exitCode, 0);
    assert.equal((await run(runtime.execSync(id, exitCommand(4), 5000))).exitCode, 4);
  },
  'an exec over its limit is a Timeout': async (bench, { runtime, run, sleepCommand }) => {
    const id = await bench.started(await bench.sandbox(), 'main', sleepCommand);
    assert.equal(await kindOf(run(runtime.execSync(id, sleepCommand, 1000))), 'Timeout');
  },
  'a running container accepts new resources and keeps running; its sandbox accepts them or is Unimplemented': async (
    bench,
    { runtime, run, sleepCommand },
  ) => {
    const sandbox = await bench.sandbox();
    const id = await bench.started(sandbox, 'main', sleepCommand);
    const resources = { cpuShares: 512, cpuPeriod: 100_000, cpuQuota: 50_000, memoryLimitBytes: 64 * 2 ** 20 };
    await run(runtime.updateContainerResources(id, resources));
    const { state, resources: shown } = await run(runtime.containerStatus(id));
    // containerd 1.6 reports none.
    assert.deepEqual([state, shown ?? resources], ['running', resources]);
    assert.ok(
      ['ok', 'Unimplemented'].includes(
        await kindOf(run(runtime.updateSandboxResources(sandbox, { resources, overhead: {} }))),
      ),
    );
    const usage = await run(runtime.containerMemoryBytes(id));
    assert.ok(usage === undefined || (usage >= 0 && usage < resources.memoryLimitBytes), String(usage));
    assert.notEqual(
      await kindOf(run(runtime.updateContainerResources('0'.repeat(64) as ContainerId, resources))),
      'ok',
    );
  },
  'an aborted call rejects with Aborted': async (_bench, { runtime, run }) => {
    const controller = new AbortController();
    controller.abort();
    assert.equal(await kindOf(run(runtime.listContainers({}, { signal: controller.signal }))), 'Aborted');
  },
  'a missing image is undefined, a present one has an id': async (_bench, { runtime, run, image }) => {
    assert.equal(await run(runtime.imageStatus('example.invalid/never/there:1', '')), undefined);
    const present = await run(runtime.imageStatus(image, ''));
    assert.match(present?.id ?? '', /^sha256:/);
  },
  'a container of a missing image is not created': async (bench, { runtime, run, sleepCommand }) => {
    const sandbox = await bench.sandbox();
    const config = {
      ...bench.config('main', sleepCommand),
      image: { image: 'example.invalid/never/there:1', userSpecifiedImage: 'x', runtimeHandler: '' },
    };
    assert.notEqual(await kindOf(run(runtime.createContainer(sandbox, config, bench.sandboxConfig()))), 'ok');
    assert.deepEqual(await run(runtime.listContainers({ podUid: podUid(bench.pod.uid) })), []);
  },
  'events announce start, exit and removal of a container and end with the signal': async (
    bench,
    { runtime, run, events, sleepCommand, eventually },
  ) => {
    const controller = new AbortController();
    const seen: RuntimeEvent[] = [];
    let open = false;
    const stream = events.subscribe(
      { onOpen: () => void (open = true), onEvent: (event) => void seen.push(event) },
      controller.signal,
    );
    await eventually('the stream opens', () => open);
    const id = await bench.started(await bench.sandbox(), 'main', sleepCommand);
    const has = (kind: RuntimeEvent['kind']) => (): boolean =>
      seen.some((event) => event.id === id && event.kind === kind);
    await eventually('the start is announced', has('started'));
    await run(runtime.stopContainer(id, 0));
    await eventually('the exit is announced', has('stopped'));
    await run(runtime.removeContainer(id));
    await eventually('the removal is announced', has('deleted'));
    controller.abort();
    await run(stream);
  },
};

/**
 * Declares one test per behaviour. They run here with the fake and, in the integration tests, with a real runtime, so
 * that the fake matches the runtime.
 */
export function runtimeContract(label: string, factory: () => Promise<RuntimeUnderTest>): void {
  for (const [index, [title, behaviour]] of Object.entries(cases).entries()) {
    test(`${label}: ${title}`, async () => {
      const subject = await factory();
      const bench = new Bench(subject, String(index));
      try {
        await behaviour(bench, subject);
      } finally {
        await bench.cleanUp();
        await subject.close();
      }
    });
  }
}
