import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { buildPod } from '../../../api/testing/pod-builder.ts';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import { recordingLog } from '../../../base/testing/recording-log.ts';
import { podUid } from '../../model/ids.ts';
import { FakeKernelLog } from '../../ports/testing/fake-kernel-log.ts';
import { createOomWatcher } from './create-oom-watcher.ts';
import { CONTAINER, linux510Node, linux58Pod, linux68NodeKillsPod, POD } from './testing/kernel-lines.ts';

const uid = podUid(POD);
const pod = buildPod({ 'metadata.uid': POD, 'metadata.name': 'web' });
const ofContainer = linux58Pod.map((line) =>
  line.replace(`oom_memcg=/kubepods/burstable/pod${POD}`, `oom_memcg=/kubepods/burstable/pod${POD}/${CONTAINER}`),
);

function world(options: { refusals?: number } = {}) {
  const containers = [{ id: CONTAINER, name: 'main' }];
  const kernelLog = new FakeKernelLog();
  kernelLog.refusals = options.refusals ?? 0;
  const clock = new FakeClock();
  const log = recordingLog();
  const events: unknown[] = [];
  const kills: string[] = [];
  const watcher = createOomWatcher({
    kernelLog,
    directory: { visible: () => [buildPod({ 'metadata.uid': 'a/b' }), buildPod({ 'metadata.uid': 'other' }), pod] },
    cache: { get: (of) => (of === uid ? { containers } : undefined) },
    podPaths: {
      of: ({ metadata }) => {
        if (metadata.uid === 'a/b') throw new Error('cannot name a cgroup');
        return `/kubepods/burstable/pod${metadata.uid}`;
      },
    },
    recorder: {
      event: (of, type, reason, message, container) =>
        void events.push([of.metadata.name, type, reason, message, container]),
      nodeEvent: (type, reason, message) => void events.push(['node', type, reason, message]),
    },
    onKill: (of) => void kills.push(of),
    clock,
    log,
  });
  watcher.start();
  return { kernelLog, clock, log, events, kills, watcher, containers };
}

describe('the OOM watcher', () => {
  it('reports a kill for lack of memory on the node in upstream words, and no other', () => {
    const { kernelLog, events } = world();
    kernelLog.write(...linux510Node);
    assert.deepEqual(events, [
      ['node', 'Warning', 'SystemOOM', 'System OOM encountered, victim process: cc1plus, pid: 493'],
    ]);
  });

  it('waits a moment for a container that the agent does not know yet', async () => {
    const { kernelLog, clock, events, containers } = world();
    const [main] = containers.splice(0);
    assert.ok(main);
    kernelLog.write(...ofContainer);
    await clock.advance(300);
    assert.deepEqual(events, []);
    containers.push(main);
    await clock.advance(100);
    const used = 'The memory limit of container main was exceeded: 8Gi used of 8Gi';
    assert.deepEqual(events, [
      ['web', 'Warning', 'OOMKilling', `${used}; the kernel killed a process of container main: java`, 'main'],
    ]);
  });

  it('takes one that it never comes to know for a sandbox', async () => {
    const { kernelLog, clock, events, containers } = world();
    containers.splice(0);
    kernelLog.write(...ofContainer);
    await clock.advance(1000);
    assert.equal(events.length, 1);
    assert.match(JSON.stringify(events), /limit of the sandbox was exceeded/);
  });

  it('says of a pod which limit was exceeded by how much, and what was killed where', () => {
    const { kernelLog, events, kills, watcher } = world();
    kernelLog.write(...linux58Pod);
    const used = 'The memory limit of the pod was exceeded: 8Gi used of 8Gi';
    assert.deepEqual(events, [
      ['web', 'Warning', 'OOMKilling', `${used}; the kernel killed a process of container main: java`, 'main'],
    ]);
    assert.deepEqual(kills, [uid]);
    const { condition, containerMessage } = watcher.records.of(uid);
    assert.equal(containerMessage(CONTAINER), `${used}; process java (pid 50624) used 7.9Gi`);
    assert.deepEqual(condition, {
      type: 'OOMKilled',
      status: 'True',
      reason: 'ProcessKilled',
      message: `${used}; the kernel killed a process of container main: java`,
    });
  });

  it('names the limit of the container, of all pods, and one that the container set for itself', () => {
    for (const [limit, owner] of [
      [`/kubepods/burstable/pod${POD}/${CONTAINER}`, 'container main'],
      ['/kubepods', 'all pods of the node'],
      [`/kubepods/burstable/pod${POD}/${CONTAINER}/own`, 'a cgroup inside container main'],
    ]) {
      const { kernelLog, watcher } = world();
      kernelLog.write(
        ...linux58Pod.map((line) => line.replace(`oom_memcg=/kubepods/burstable/pod${POD},`, `oom_memcg=${limit},`)),
      );
      assert.match(watcher.records.containerMessage(CONTAINER) ?? '', new RegExp(`^The memory limit of ${owner} was`));
    }
  });

  it('counts further kills in the condition, which goes with the pod', () => {
    const { kernelLog, watcher } = world();
    kernelLog.write(...ofContainer, ...ofContainer);
    assert.match(watcher.records.condition(uid)?.message ?? '', /main: java \(2 processes so far\)$/);
    watcher.records.forget(uid);
    assert.equal(watcher.records.condition(uid), undefined);
  });

  it('reports a pod that lost a process because the node ran out of memory, besides SystemOOM', () => {
    const { kernelLog, events } = world();
    kernelLog.write(...linux68NodeKillsPod);
    assert.deepEqual(
      events.map((event) => (event as string[]).slice(0, 4)),
      [
        ['node', 'Warning', 'SystemOOM', 'System OOM encountered, victim process: entry, pid: 19227'],
        [
          'web',
          'Warning',
          'OOMKilling',
          'The node ran out of memory; the kernel killed a process of container main: entry',
        ],
      ],
    );
  });

  it('believes only the kernel, not a privileged program that writes to its log', () => {
    const { kernelLog, events } = world();
    for (const line of [...linux58Pod, ...linux510Node]) kernelLog.writeAsProgram(line);
    assert.deepEqual(events, []);
  });

  it('tries again when the log cannot be opened or ends, ever more rarely, and warns once', async () => {
    const { kernelLog, clock, log, events } = world({ refusals: 3 });
    await clock.advance(1000);
    await clock.advance(2000);
    await clock.advance(3999);
    assert.equal(kernelLog.follows, 3);
    await clock.advance(1);
    assert.equal(kernelLog.isFollowed, true);
    assert.equal(log.lines.filter(({ level }) => level === 'warn').length, 1);
    kernelLog.write('anything');
    kernelLog.end('read: EIO');
    await clock.advance(1000);
    kernelLog.write(...linux510Node);
    assert.equal(events.length, 1);
  });

  it('drops an incomplete report when records were lost', () => {
    const { kernelLog, events } = world();
    kernelLog.write(...linux58Pod.slice(0, -2));
    kernelLog.lose();
    kernelLog.write(...linux58Pod.slice(-2));
    assert.deepEqual(events, []);
  });

  it('stops', async () => {
    const { kernelLog, clock, watcher } = world({ refusals: 1 });
    watcher.stop();
    await clock.advance(60_000);
    assert.deepEqual([kernelLog.follows, kernelLog.isFollowed], [1, false]);
  });
});
