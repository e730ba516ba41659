import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import type { Pod } from '../../../api/core/pod.ts';
import type { PodStatus } from '../../../api/core/pod-status.ts';
import { podUid } from '../../model/ids.ts';
import { StatusManager } from './status-manager.ts';
import type { StatusLine } from './status-record.ts';
import { readStatuses } from './status-record.ts';

const uid = podUid('u1');
const pod: Pod = { metadata: { name: 'a', namespace: 'default', uid }, spec: { containers: [] } };
const status = (ready: 'True' | 'False', reason = ''): PodStatus => ({
  phase: 'Running',
  conditions: [{ type: 'Ready', status: ready, reason }],
});

const next = (clock: FakeClock, before: StatusManager): StatusManager =>
  new StatusManager(clock, { restored: readStatuses(before.snapshot()) });

describe('status manager', () => {
  it('notifies listeners of changes only', () => {
    const manager = new StatusManager(new FakeClock());
    const seen: string[] = [];
    manager.onChange((change) => seen.push(change.status.conditions?.[0]?.status ?? ''));
    assert.deepEqual(
      [manager.set(pod, status('False')), manager.set(pod, status('False')), manager.set(pod, status('True'))],
      [true, false, true],
    );
    assert.deepEqual(seen, ['False', 'True']);
    assert.equal(manager.version(uid), 2);
  });

  it('shows clients a status when it is on record, and no status of a pod that was forgotten meanwhile', async () => {
    const waiting: (() => void)[] = [];
    const whenRecorded = (): Promise<void> => new Promise((resolve) => waiting.push(resolve));
    const restored = new Map([[uid as string, status('False', 'earlier run')]]);
    const manager = new StatusManager(new FakeClock(), { restored, whenRecorded });
    const seen: unknown[] = [];
    manager.onRecorded((change) => seen.push(change.status.conditions?.[0]?.reason));
    const shown = (): unknown[] => {
      const { status: latest, version } = manager.recorded(uid) ?? {};
      return [latest?.conditions?.[0]?.reason, version];
    };
    manager.set(pod, status('True', 'first'));
    manager.set(pod, status('True', 'second'));
    assert.deepEqual([shown(), manager.get(uid)?.conditions?.[0]?.reason], [['earlier run', 0], 'second']);
    waiting.shift()?.();
    await Promise.resolve();
    assert.deepEqual(shown(), ['first', 1]);
    manager.forget(uid);
    assert.equal(manager.recorded(uid), undefined);
    manager.set(pod, status('True', 'second life'));
    waiting.shift()?.();
    await Promise.resolve();
    assert.deepEqual(shown(), [undefined, undefined]);
    waiting.shift()?.();
    await Promise.resolve();
    assert.deepEqual(
      [shown(), seen],
      [
        ['second life', 1],
        ['first', 'second life'],
      ],
    );
  });

  it('moves a transition time only when the condition changes, and the start time never', async () => {
    const clock = new FakeClock();
    const manager = new StatusManager(clock);
    manager.set(pod, status('False', 'a'));
    await clock.advance(60_000);
    manager.set(pod, status('False', 'b'));
    assert.equal(manager.get(uid)?.conditions?.[0]?.lastTransitionTime, '2026-01-01T00:00:00Z');
    manager.set(pod, status('True'));
    assert.equal(manager.get(uid)?.conditions?.[0]?.lastTransitionTime, '2026-01-01T00:01:00Z');
    assert.equal(manager.get(uid)?.startTime, '2026-01-01T00:00:00Z');
  });

  it('counts a pod whose record is lost as scheduled since the node accepted it', async () => {
    const clock = new FakeClock();
    const acceptedMs = clock.nowMs();
    await clock.advance(60_000);
    const manager = new StatusManager(clock);
    const conditions = ['PodScheduled', 'Ready'].map((type) => ({ type, status: 'True' as const }));
    manager.set(pod, { ...status('True'), conditions }, acceptedMs);
    assert.deepEqual(
      manager.get(uid)?.conditions?.map(({ lastTransitionTime }) => lastTransitionTime),
      ['2026-01-01T00:00:00Z', '2026-01-01T00:01:00Z'],
    );
  });

  it('keeps the status of an earlier run for pods not seen yet, until they are known to be removed', () => {
    const restored = new Map([
      ['later', status('True')],
      ['gone', status('True')],
    ]);
    const manager = new StatusManager(new FakeClock(), { restored });
    const known = (): string[] => [...readStatuses(manager.snapshot()).keys()].sort();
    manager.set(pod, status('True'));
    assert.deepEqual(known(), ['gone', 'later', 'u1']);
    manager.forgetRestored(new Set([podUid('later'), uid]));
    assert.deepEqual(known(), ['later', 'u1']);
  });

  it('takes the time of the API server when the record of an earlier run is older, and not when it is newer', () => {
    const at = (minute: number): PodStatus => ({
      ...status('False'),
      conditions: [{ type: 'Ready', status: 'False', lastTransitionTime: `2026-01-01T00:0${minute}:00Z` }],
    });
    const timeOf = (manager: StatusManager): string | undefined =>
      manager.get(uid)?.conditions?.[0]?.lastTransitionTime?.slice(14, 16);
    for (const [recorded, published, expected] of [
      [1, 3, '03'],
      [3, 1, '03'],
    ] as const) {
      const manager = new StatusManager(new FakeClock(), { restored: new Map([[uid as string, at(recorded)]]) });
      manager.set({ ...pod, status: at(published) }, status('False'));
      assert.equal(timeOf(manager), expected);
    }
    const late = new StatusManager(new FakeClock(), { restored: new Map([[uid as string, at(1)]]) });
    late.set({ ...pod, status: at(1) }, status('False'));
    late.set({ ...pod, status: at(3) }, status('False', 'again'));
    assert.equal(timeOf(late), '03', 'received late');
    const own = new StatusManager(new FakeClock(), { restored: new Map([[uid as string, at(1)]]) });
    own.set({ ...pod, status: at(1) }, status('True'));
    own.set({ ...pod, status: at(3) }, status('False'));
    own.set({ ...pod, status: at(5) }, status('False', 'again'));
    assert.equal(timeOf(own), '00', 'its own transition stays');
  });

  it('continues from the status of an earlier run', async () => {
    const clock = new FakeClock();
    const before = new StatusManager(clock);
    before.set(pod, status('True'));
    await clock.advance(3_600_000);
    const after = next(clock, before);
    after.set(pod, status('True'));
    assert.deepEqual(after.get(uid), before.get(uid));
  });

  it('uses times known only to the API server when the local record is older', async () => {
    const clock = new FakeClock();
    const published = new StatusManager(clock);
    published.set(pod, status('False'));
    const old = readStatuses(published.snapshot());
    await clock.advance(60_000);
    published.set(pod, status('True'));
    await clock.advance(60_000);
    const after = new StatusManager(clock, { restored: old });
    after.set({ ...pod, status: published.get(uid) }, status('True'));
    assert.deepEqual(after.get(uid), published.get(uid));
  });

  it('uses times of the API server that arrive after the first status, and none of an earlier state', async () => {
    const clock = new FakeClock();
    const published = new StatusManager(clock);
    published.set(pod, status('True'));
    await clock.advance(60_000);
    const away = new StatusManager(clock);
    away.set(pod, status('True'));
    assert.equal(away.get(uid)?.conditions?.[0]?.lastTransitionTime, '2026-01-01T00:01:00Z');
    away.set({ ...pod, status: published.get(uid) }, status('True'));
    assert.equal(away.get(uid)?.conditions?.[0]?.lastTransitionTime, '2026-01-01T00:00:00Z');

    const changed = new StatusManager(clock);
    changed.set(pod, status('False'));
    await clock.advance(60_000);
    changed.set({ ...pod, status: published.get(uid) }, status('True'));
    assert.equal(changed.get(uid)?.conditions?.[0]?.lastTransitionTime, '2026-01-01T00:02:00Z');
    changed.set({ ...pod, status: published.get(uid) }, status('True', 'again'));
    assert.equal(changed.get(uid)?.conditions?.[0]?.lastTransitionTime, '2026-01-01T00:02:00Z');
  });

  it('keeps only the restart counts of a pod that starts again', () => {
    const manager = new StatusManager(new FakeClock());
    const terminated = { exitCode: 137, reason: 'Error' };
    manager.set(pod, {
      ...status('True'),
      containerStatuses: [
        {
          name: 'ran',
          image: 'i',
          imageID: 'id',
          containerID: 'c://1',
          ready: false,
          restartCount: 2,
          state: { terminated },
        },
        {
          name: 'never',
          image: 'i',
          imageID: '',
          ready: false,
          restartCount: 0,
          state: { waiting: { reason: 'ContainerCreating' } },
        },
      ],
    });
    manager.beginAgain(uid);
    assert.equal(manager.get(uid)?.conditions, undefined);
    assert.deepEqual(
      manager.get(uid)?.containerStatuses?.map(({ restartCount, lastState }) => [restartCount, lastState]),
      [
        [3, { terminated }],
        [0, {}],
      ],
    );
    manager.beginAgain(podUid('unknown'));
    assert.equal(manager.get(podUid('unknown')), undefined);
  });

  it('records each change before it is published, so that the record always equals the snapshot', () => {
    const lines: StatusLine[] = [];
    const restored = new Map([['earlier', status('True')]]);
    const manager = new StatusManager(new FakeClock(), { restored, record: (line) => lines.push(line) });
    const recorded = () => readStatuses([{ uid: 'earlier', status: status('True') }, ...lines]);
    const published: boolean[] = [];
    manager.onChange(({ status: now }) => published.push(recorded().get(uid) === now));
    const steps: (() => unknown)[] = [
      () => manager.set(pod, status('False')),
      () => manager.set(pod, status('True')),
      () => manager.set(pod, status('True')),
      () => manager.beginAgain(uid),
      () => manager.set(pod, status('False')),
      () => manager.forgetRestored(new Set()),
      () => manager.forget(uid),
      () => manager.forget(uid),
    ];
    for (const [at, step] of steps.entries()) {
      step();
      assert.deepEqual(recorded(), readStatuses(manager.snapshot()), `step ${at}`);
    }
    assert.deepEqual(published, [true, true, true]);
    assert.deepEqual(
      lines.map((line) => ('gone' in line ? `${line.gone} is gone` : line.status.phase)),
      ['Running', 'Running', 'u1 is gone', 'Pending', 'Running', 'earlier is gone', 'u1 is gone'],
    );
  });
});
