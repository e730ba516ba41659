import assert from 'node:assert/strict';
import { it } from 'node:test';
import { buildPod } from '../../../api/testing/pod-builder.ts';
import { recordingLog } from '../../../base/testing/recording-log.ts';
import { createEventRecorder } from './event-recorder.ts';

it('an event is a line of the pod\'s timeline and of the log, a warning louder than the rest', () => {
  const log = recordingLog();
  const lines: unknown[] = [];
  const recorder = createEventRecorder({ record: (uid, entry) => lines.push([uid, entry]) }, log);
  recorder.event(buildPod(), 'Warning', 'BackOff', 'restarting', 'main');
  recorder.event(buildPod(), 'Normal', 'Started', 'started');
  assert.deepEqual(lines, [
    ['uid-1', { kind: 'event', type: 'Warning', reason: 'BackOff', message: 'restarting' }],
    ['uid-1', { kind: 'event', type: 'Normal', reason: 'Started', message: 'started' }],
  ]);
  assert.deepEqual(log.lines.map(({ level, fields }) => [level, fields['pod'], fields['container'], fields['reason']]), [
    ['warn', 'default/web', 'main', 'BackOff'],
    ['debug', 'default/web', undefined, 'Started'],
  ]);
});
