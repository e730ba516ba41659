import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { silentLogger } from '../../../base/log.ts';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import type { DeviceHealthReport } from '../../ports/dra-drivers.ts';
import { FakeDraDriver } from '../../ports/testing/fake-dra-driver.ts';
import { FakeHostFiles } from '../../ports/testing/fake-host-files.ts';
import { computeClaimHealth } from './claim-health.ts';
import { DeviceHealthCache, HEALTH_TIMEOUT_MS, MAX_DEVICES } from './device-health.ts';
import { decodeHealth } from './health-checkpoint.ts';
import { HealthWatcher } from './health-watcher.ts';

const path = '/root/dra_health_state';
const d = 'd.example.com';
const sick: DeviceHealthReport = {
  poolName: 'p',
  deviceName: 'g0',
  health: 'Unhealthy',
  timeoutMs: undefined,
  message: 'too hot',
};

class Fixture {
  readonly clock = new FakeClock();
  readonly files = new FakeHostFiles(this.clock);
  readonly driver = new FakeDraDriver([], { watches: true });
  readonly changes: string[] = [];
  watcher = this.restarted();

  restarted(): HealthWatcher {
    const { clock, files } = this;
    return new HealthWatcher({
      clock,
      files,
      path,
      log: silentLogger,
      onChange: (driver, keys) => void this.changes.push(`${driver}: ${[...keys].join()}`),
    });
  }

  health(): string | undefined {
    return this.watcher.health(d, 'p', 'g0')?.health;
  }

  async connected(): Promise<this> {
    await this.files.makeDirectory('/root', 0o750);
    this.watcher.connection(d, this.driver, true);
    await this.clock.settle();
    return this;
  }
}

test('reports of a driver hold until their timeout, and each change is reported once', async () => {
  const world = await new Fixture().connected();
  for (let round = 0; round < 2; round++) {
    world.driver.report(sick);
    await world.clock.advance(HEALTH_TIMEOUT_MS - 1000);
    assert.equal(world.health(), 'Unhealthy');
  }
  assert.deepEqual(world.changes, [`${d}: p/g0`]);
  await world.clock.advance(2000);
  assert.equal(world.health(), undefined);
  assert.equal(world.changes.length, 2);
  world.driver.report({ ...sick, health: 'Healthy', timeoutMs: 100_000 });
  await world.clock.advance(99_000);
  assert.equal(world.health(), 'Healthy');
});

test('the health is unknown while the driver is disconnected, and is watched again afterwards', async () => {
  const world = await new Fixture().connected();
  world.driver.report(sick);
  await world.clock.settle();
  world.watcher.connection(d, world.driver, false);
  await world.clock.settle();
  assert.equal(world.health(), undefined);
  world.watcher.connection(d, world.driver, true);
  await world.clock.settle();
  assert.deepEqual(world.driver.calls, ['watch', 'watch']);
});

test('a driver without health watch is called once per connection', async () => {
  const world = new Fixture();
  const driver = new FakeDraDriver([]);
  world.watcher.connection(d, driver, true);
  await world.clock.advance(60_000);
  assert.deepEqual(driver.calls, ['watch']);
});

test('a restart of the agent does not change the health, unless the time of the report is over', async () => {
  const world = await new Fixture().connected();
  world.driver.report(sick);
  await world.clock.settle();
  await world.watcher.stop();
  await world.clock.advance(10_000);
  world.watcher = world.restarted();
  await world.watcher.start();
  assert.equal(world.health(), 'Unhealthy');
  await world.clock.advance(HEALTH_TIMEOUT_MS - 9000);
  assert.equal(world.health(), undefined);
  for (const broken of ['', '[]', '{"d":{"Devices":{"a":1}}}', '{"d":{"Devices":{"a":{"PoolName":1}}}}']) {
    await world.files.writeFileAtomic(path, broken, 0o600);
    await world.restarted().start();
  }
});

test('the state file is that of upstream', () => {
  const device = {
    PoolName: 'p',
    DeviceName: 'g0',
    Health: 'Healthy',
    LastUpdated: '2026-01-01T00:00:00.5Z',
    HealthCheckTimeout: 60_000_000_000,
    Message: '',
  };
  const nowMs = Date.UTC(2026, 0, 1, 0, 0, 10, 500);
  const kept = decodeHealth(JSON.stringify({ d: { Devices: { 'p/g0': device } } }), nowMs).get('d');
  assert.deepEqual(kept, [
    { poolName: 'p', deviceName: 'g0', health: 'Healthy', message: '', timeoutMs: 60_000, ageMs: 10_000 },
  ]);
});

test('names that a driver makes up do not fill the memory', () => {
  const cache = new DeviceHealthCache();
  for (let round = 0; round < 3; round++) {
    const reports = Array.from({ length: MAX_DEVICES }, (_, index) => ({ ...sick, deviceName: `${round}-${index}` }));
    cache.update(d, reports, 0);
  }
  assert.equal([...cache.all()].length, MAX_DEVICES);
  cache.update('other', [{ ...sick, message: 'x'.repeat(5000) }], 0);
  assert.equal(cache.get('other', 'p/g0', 0)?.message.length, 1024);
});

test('for any reports, a device has what was reported last within its timeout', () => {
  const report = fc.record({
    poolName: fc.constant('p'),
    deviceName: fc.constantFrom('a', 'b'),
    health: fc.constantFrom('Healthy' as const, 'Unhealthy' as const),
    timeoutMs: fc.constantFrom(undefined, 1000, 50_000),
    message: fc.constant(''),
  });
  const step = fc.record({ waitMs: fc.constantFrom(0, 900, 20_000), reports: fc.array(report, { maxLength: 2 }) });
  fc.assert(
    fc.property(fc.array(step), (steps) => {
      const cache = new DeviceHealthCache();
      const last = new Map<string, { atMs: number; report: DeviceHealthReport }>();
      let nowMs = 0;
      for (const { waitMs, reports } of steps) {
        nowMs += waitMs;
        cache.update(d, reports, nowMs);
        for (const each of reports) last.set(`p/${each.deviceName}`, { atMs: nowMs, report: each });
        for (const [key, { atMs, report: known }] of last) {
          const holds = nowMs - atMs <= (known.timeoutMs ?? HEALTH_TIMEOUT_MS);
          assert.equal(cache.get(d, key, nowMs)?.health, holds ? known.health : undefined);
        }
      }
    }),
  );
});

test('a status names claims, requests and devices as upstream does', () => {
  const device = { driver: d, poolName: 'p', deviceName: 'g0', requestNames: [], shareId: undefined };
  const uses = [
    { name: 'one', request: undefined, devices: [{ ...device, cdiDeviceIds: ['v/c=0', 'v/c=all'] }] },
    { name: 'two', request: 'r', devices: [{ ...device, cdiDeviceIds: [] }] },
    { name: 'none', request: undefined, devices: [] },
  ];
  const healthOf = ({ cdiDeviceIds }: { cdiDeviceIds: readonly string[] }) =>
    cdiDeviceIds.length === 0 ? undefined : { ...sick, timeoutMs: 1, updatedMs: 0 };
  assert.deepEqual(computeClaimHealth(uses, healthOf, { withMessages: true }), [
    { name: 'claim:one', resources: [{ resourceID: 'v/c=0', health: 'Unhealthy', message: 'too hot' }] },
    { name: 'claim:two/r', resources: [{ resourceID: `${d}/p/g0`, health: 'Unknown' }] },
  ]);
  assert.equal(
    computeClaimHealth(uses, healthOf, { withMessages: false })?.some(({ resources }) =>
      resources?.some((each) => 'message' in each),
    ),
    false,
    'no message with the gate ResourceHealthStatusMessage off',
  );
  assert.equal(computeClaimHealth([], healthOf, { withMessages: false }), undefined);
});
