import assert from 'node:assert/strict';
import { it } from 'node:test';
import { watchdogPeriodMs } from './systemd-notify.ts';

it('notifies the watchdog at half the time systemd allows, for this process only', () => {
  assert.equal(watchdogPeriodMs({ WATCHDOG_USEC: '30000000' }, 7), 15_000);
  assert.equal(watchdogPeriodMs({ WATCHDOG_USEC: '30000000', WATCHDOG_PID: '8' }, 7), undefined);
  assert.equal(watchdogPeriodMs({ WATCHDOG_USEC: '1000000' }, 7), undefined);
  assert.equal(watchdogPeriodMs({}, 7), undefined);
});
