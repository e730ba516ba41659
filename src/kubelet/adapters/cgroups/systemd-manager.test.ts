import assert from 'node:assert/strict';
import { test } from 'node:test';
import { errorKind } from '../../../base/errors.ts';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import { BusSystemdManager } from './systemd-manager.ts';
import { FakeSystemd } from '../testing/fake-systemd.ts';

const fixture = (): { systemd: FakeSystemd; clock: FakeClock; manager: BusSystemdManager } => {
  const systemd = new FakeSystemd();
  const clock = new FakeClock();
  return { systemd, clock, manager: new BusSystemdManager(systemd.dial, clock) };
};
const WEIGHT = [{ name: 'CPUWeight', type: 't', value: 39n }] as const;

for (const isEarly of [false, true]) {
  test(`a slice is made, changed and stopped when systemd's job has ended${isEarly ? ', though the signal overtakes the answer' : ''}`, async () => {
    const { systemd, manager } = fixture();
    systemd.isEarly = isEarly;
    assert.equal(await manager.startSlice('a.slice', WEIGHT), 'made');
    await manager.setProperties('a.slice', [{ name: 'MemoryMax', type: 't', value: 7n }]);
    assert.deepEqual(
      [...(systemd.units.get('a.slice')?.properties ?? [])],
      [
        ['CPUWeight', 39n],
        ['MemoryMax', 7n],
      ],
    );
    await manager.stopSlice('a.slice');
    await manager.stopSlice('a.slice');
    assert.deepEqual([systemd.units.size, systemd.dials, await manager.version()], [0, 1, 252]);
  });
}

test('a slice that systemd knows is started if it was stopped, and its properties are not changed', async () => {
  const { systemd, manager } = fixture();
  systemd.units.set('a.slice', { active: false, properties: new Map() });
  assert.equal(await manager.startSlice('a.slice', WEIGHT), 'existed');
  assert.deepEqual(systemd.units.get('a.slice'), { active: true, properties: new Map() });
});

test('properties of a missing unit are NotFound, and an empty list needs no call', async () => {
  const { systemd, manager } = fixture();
  await assert.rejects(manager.setProperties('a.slice', WEIGHT), (error) => errorKind(error) === 'NotFound');
  await manager.setProperties('a.slice', []);
  assert.deepEqual(systemd.calls, ['SetUnitProperties a.slice']);
});

test('a failed job has its result in the error, and the unit is reset for the next attempt', async () => {
  const { systemd, manager } = fixture();
  systemd.result = 'failed';
  await assert.rejects(manager.startSlice('a.slice', WEIGHT), /systemd could not start a\.slice: failed/);
  assert.ok(systemd.calls.includes('ResetFailedUnit a.slice'));
});

test('a job that does not end is a timeout after 30 s', async () => {
  const { systemd, clock, manager } = fixture();
  systemd.result = undefined;
  const made = assert.rejects(manager.startSlice('a.slice', WEIGHT), (error) => errorKind(error) === 'Timeout');
  await new Promise(setImmediate);
  await clock.advance(30_000);
  await made;
});

test('after a restart of dbus or systemd the next call connects again', async () => {
  const { systemd, manager } = fixture();
  await manager.startSlice('a.slice', WEIGHT);
  systemd.cut();
  assert.equal(await manager.startSlice('b.slice', WEIGHT), 'made');
  assert.deepEqual([systemd.dials, [...systemd.units.keys()]], [2, ['a.slice', 'b.slice']]);
});

test('a job whose connection is lost is checked on a new one', async () => {
  const { systemd, manager } = fixture();
  await manager.version();
  systemd.result = undefined;
  const made = manager.startSlice('a.slice', WEIGHT);
  await new Promise(setImmediate);
  systemd.result = 'done';
  systemd.cut();
  assert.equal(await made, 'existed');
});

test('calls fail while systemd is unavailable, and work when it is back', async () => {
  const { systemd, manager } = fixture();
  systemd.away = true;
  await assert.rejects(manager.startSlice('a.slice', WEIGHT), (error) => errorKind(error) === 'Unavailable');
  await assert.rejects(manager.setProperties('a.slice', WEIGHT), (error) => errorKind(error) === 'Unavailable');
  systemd.away = false;
  assert.equal(await manager.startSlice('a.slice', WEIGHT), 'made');
  assert.equal(systemd.dials, 3);
});
