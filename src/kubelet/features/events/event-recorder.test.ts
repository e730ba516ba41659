import assert from 'node:assert/strict';
import { it } from 'node:test';
import { buildPod } from '../../../api/testing/pod-builder.ts';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import type { RecordingLog } from '../../../base/testing/recording-log.ts';
import { recordingLog } from '../../../base/testing/recording-log.ts';
import { EventLog } from './event-recorder.ts';

function setUp(): { events: EventLog; clock: FakeClock; log: RecordingLog; lines: unknown[] } {
  const clock = new FakeClock();
  const log = recordingLog();
  const lines: unknown[] = [];
  const events = new EventLog({
    clock,
    log,
    nodeName: 'node-1',
    timeline: { record: (uid, entry) => lines.push([uid, entry]) },
  });
  return { events, clock, log, lines };
}

it("an event is a line of the pod's timeline and of the log, a warning louder than the rest", () => {
  const { events, log, lines } = setUp();
  events.event(buildPod(), 'Warning', 'BackOff', 'restarting', 'main');
  events.event(buildPod(), 'Normal', 'Started', 'started');
  assert.deepEqual(lines, [
    ['uid-1', { kind: 'event', type: 'Warning', reason: 'BackOff', message: 'restarting' }],
    ['uid-1', { kind: 'event', type: 'Normal', reason: 'Started', message: 'started' }],
  ]);
  assert.deepEqual(
    log.lines.map(({ level, fields }) => [level, fields['pod'], fields['container'], fields['reason']]),
    [
      ['warn', 'default/web', 'main', 'BackOff'],
      ['debug', 'default/web', undefined, 'Started'],
    ],
  );
});

it('it is kept in core/v1 form, with its container as a path, and counted when it is repeated', async () => {
  const { events, clock } = setUp();
  const pod = buildPod({ spec: { containers: [{ name: 'main' }], initContainers: [{ name: 'first' }] } });
  events.event(pod, 'Warning', 'BackOff', 'restarting', 'main');
  await clock.advance(5_000);
  events.event(pod, 'Warning', 'BackOff', 'restarting', 'main');
  events.event(pod, 'Normal', 'Started', 'Container started', 'first');
  const [backOff, started] = events.list();
  const second = (ms: number): string => new Date(Math.floor(ms / 1000) * 1000).toISOString().replace('.000Z', 'Z');
  const { name, ...metadata } = backOff?.metadata ?? {};
  assert.match(name ?? '', /^web\.[0-9a-f]+$/);
  assert.deepEqual(
    { ...backOff, metadata },
    {
      metadata: { namespace: 'default' },
      involvedObject: {
        kind: 'Pod',
        namespace: 'default',
        name: 'web',
        uid: 'uid-1',
        apiVersion: 'v1',
        fieldPath: 'spec.containers{main}',
      },
      reason: 'BackOff',
      message: 'restarting',
      source: { component: 'kubelet', host: 'node-1' },
      firstTimestamp: second(clock.nowMs() - 5_000),
      lastTimestamp: second(clock.nowMs()),
      count: 2,
      type: 'Warning',
      reportingComponent: 'kubelet',
      reportingInstance: 'node-1',
    },
  );
  assert.equal(started?.involvedObject.fieldPath, 'spec.initContainers{first}');
});

it('events over the budget of their pod are in neither record; events of the node are kept beside those of pods', () => {
  const { events, lines, log } = setUp();
  for (let index = 0; index < 30; index++) events.event(buildPod(), 'Warning', `Reason${index}`, 'x');
  events.nodeEvent('Normal', 'Starting', 'Starting kubelet.');
  assert.deepEqual(
    [lines.length, events.list().length, log.lines.filter(({ level }) => level === 'warn').length],
    [25, 26, 25],
  );
  assert.deepEqual(events.list().at(-1)?.involvedObject, { kind: 'Node', name: 'node-1', uid: 'node-1' });
  assert.equal(events.list().at(-1)?.metadata.namespace, 'default');
});

it('after an hour an event is dropped', async () => {
  const { events, clock } = setUp();
  events.event(buildPod(), 'Warning', 'BackOff', 'restarting');
  await clock.advance(3_500_000);
  events.event(buildPod(), 'Normal', 'Started', 'started');
  await clock.advance(200_000);
  assert.deepEqual(
    events.list().map(({ reason }) => reason),
    ['Started'],
  );
});

it('an event can have annotations, which tools read', () => {
  const { events } = setUp();
  events.annotatedEvent(buildPod(), {
    type: 'Warning',
    reason: 'Evicted',
    message: 'why',
    annotations: { starved_resource: 'memory' },
  });
  assert.deepEqual(
    events.list().map(({ reason, metadata }) => [reason, metadata.annotations]),
    [['Evicted', { starved_resource: 'memory' }]],
  );
});
