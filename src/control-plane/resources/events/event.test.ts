import assert from 'node:assert/strict';
import test from 'node:test';
import type { Event } from '../../../api/core/event.ts';
import type { Event as EventsV1Event } from '../../../api/events/event.ts';
import { eventFromStored, eventToStored } from './event-forms.ts';
import { nowMs, RulesFixture } from '../testing/rules-fixture.ts';

const about = { kind: 'Pod', namespace: 'default', name: 'web-1', fieldPath: 'spec.containers{main}' };
const core = new RulesFixture<Event>('v1', 'Event', {
  involvedObject: about,
  reason: 'Started',
  message: ' up ',
  type: 'Normal',
  count: 3,
  firstTimestamp: '2026-01-01T11:00:00Z',
  lastTimestamp: '2026-01-01T11:59:00Z',
  source: { component: 'kubelet', host: 'node-1' },
});
const newer = new RulesFixture<EventsV1Event>('events.k8s.io/v1', 'Event', {
  regarding: about,
  reason: 'Started',
  note: 'up',
  type: 'Normal',
  action: 'Start',
  eventTime: '2026-01-01T11:58:00.000000Z',
  reportingController: 'example.com/agent',
  reportingInstance: 'agent-1',
});

test('events of both groups are accepted', () => {
  assert.deepEqual(
    [
      core.refusals(),
      core.updateRefusals({ reason: 'x' }),
      newer.refusals(),
      newer.updateRefusals({ series: { count: 2, lastObservedTime: '2026-01-01T11:59:00Z' } }),
    ],
    [[], [], [], []],
  );
});

test('an event is in the namespace of what it is about', () => {
  assert.deepEqual(core.refusals({ 'involvedObject.namespace': 'other' }), [
    'involvedObject.namespace: Invalid value: "other": does not match event.namespace',
  ]);
  assert.deepEqual(core.refusals({ 'involvedObject.namespace': undefined }), []);
  assert.deepEqual(core.refusals({ 'involvedObject.namespace': undefined, 'metadata.namespace': 'kube-system' }), [
    'involvedObject.namespace: Invalid value: "": does not match event.namespace',
  ]);
  assert.deepEqual(newer.refusals({ 'regarding.namespace': undefined, 'metadata.namespace': 'kube-system' }), []);
});

test('the newer group asks for who, what and when, and lets only the series change', () => {
  assert.deepEqual(
    newer.refusals({
      eventTime: undefined,
      type: 'Odd',
      deprecatedCount: 1,
      deprecatedSource: { host: 'a' },
      series: { count: 1 },
    }),
    [
      'series.count: Invalid value: "": should be at least 2',
      'series.lastObservedTime: Required value',
      'eventTime: Required value',
      'type: Invalid value: "": has invalid value: Odd',
      'count: Invalid value: "": needs to be unset',
      'source: Invalid value: "": needs to be unset',
    ],
  );
  assert.deepEqual(newer.refusals({ action: undefined, reportingInstance: 'x'.repeat(129) }), [
    'reportingInstance: Invalid value: "": can have at most 128 characters',
    'action: Required value',
  ]);
  assert.deepEqual(newer.updateRefusals({ note: 'other', eventTime: '2026-01-01T11:58:00Z' }), [
    'message: Invalid value: "other": field is immutable',
  ]);
  const [first] = core.refusals({ eventTime: '2026-01-01T11:58:00Z', reportingInstance: 'a', action: 'b' });
  assert.equal(first, 'reportingComponent: Required value');
});

test('stored events are returned unchanged', () => {
  const full = newer.given({
    series: { count: 4, lastObservedTime: '2026-01-01T11:59:00.000000Z' },
    deprecatedCount: 1,
    deprecatedFirstTimestamp: '2026-01-01T11:00:00Z',
    deprecatedSource: { component: 'x' },
    related: { name: 'y' },
  });
  assert.deepEqual(eventFromStored(eventToStored(full)), full);
  const stored = core.given({ reportingComponent: 'a', reportingInstance: 'b' });
  assert.deepEqual(eventToStored(eventFromStored(stored)), stored);
  assert.equal(newer.definition.storedAs?.stored.group, '');
});

test('tables begin with when it happened last', () => {
  const cells = core.cells();
  assert.deepEqual(cells, {
    'Last Seen': '60s',
    Type: 'Normal',
    Reason: 'Started',
    Object: 'pod/web-1',
    Subobject: 'spec.containers{main}',
    Source: 'kubelet, node-1',
    Message: 'up',
    'First Seen': '60m',
    Count: '3',
    Name: 'web',
  });
  assert.deepEqual(Object.keys(newer.cells()), Object.keys(cells));
  const {
    'Last Seen': last,
    'First Seen': first,
    Count: count,
    Source: source,
  } = newer.cells({ series: { count: 7, lastObservedTime: '2026-01-01T11:59:30.5Z' } });
  assert.deepEqual([last, first, count, source], ['29s', '2m', '7', 'example.com/agent, agent-1']);
  assert.equal(nowMs, Date.parse('2026-01-01T12:00:00Z'));
});

test('events are found by what they are about, in the words of each group', () => {
  const fields = core.definition.selectableFields?.(core.given()) ?? {};
  assert.deepEqual(
    [fields['involvedObject.name'], fields['source'], fields['type'], fields['reportingComponent']],
    ['web-1', 'kubelet', 'Normal', ''],
  );
  const others = newer.definition.selectableFields?.(newer.given()) ?? {};
  assert.deepEqual(
    [others['regarding.kind'], others['reportingController'], others['involvedObject.kind']],
    ['Pod', 'example.com/agent', undefined],
  );
});

test('events are kept for an hour', () => {
  assert.deepEqual(
    [core.definition.ttlSeconds, core.definition.unhurried, core.definition.rules.allowCreateOnUpdate],
    [3600, true, true],
  );
});

test('the garbage collector keeps out of events of both groups', () => {
  for (const { definition } of [core, newer]) assert.equal(definition.rules.defaultPropagation, 'Unsupported');
});
