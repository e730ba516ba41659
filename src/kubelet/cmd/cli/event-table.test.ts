import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Event } from '../../../api/core/event.ts';
import { eventTable } from './event-table.ts';

const NOW = Date.parse('2026-01-01T01:00:00Z');

test('events are listed as kubectl does, with how often and over how long', () => {
  const common = {
    metadata: { name: 'e', namespace: 'default', uid: '' },
    reportingComponent: 'kubelet',
    reportingInstance: 'n',
  };
  const events: Event[] = [
    {
      ...common,
      involvedObject: { kind: 'Pod', name: 'web-n', namespace: 'default' },
      type: 'Normal',
      reason: 'Started',
      message: 'Container started',
      count: 1,
      firstTimestamp: '2026-01-01T00:55:00Z',
      lastTimestamp: '2026-01-01T00:55:00Z',
    },
    {
      ...common,
      involvedObject: { kind: 'Node', name: 'n' },
      type: 'Warning',
      reason: 'ImageGCFailed',
      message: 'two\nlines\n',
      count: 3,
      firstTimestamp: '2026-01-01T00:50:00Z',
      lastTimestamp: '2026-01-01T00:59:50Z',
    },
  ];
  assert.equal(
    eventTable(events, NOW),
    [
      'LAST SEEN           TYPE      REASON          OBJECT      MESSAGE',
      '5m                  Normal    Started         pod/web-n   Container started',
      '10s (x3 over 10m)   Warning   ImageGCFailed   node/n      two | lines',
      '',
    ].join('\n'),
  );
});
