import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { createLogind } from '../../../src/kubelet/adapters/logind/logind.ts';
import { PrivateLogind } from '../../../src/kubelet/adapters/logind/testing/private-logind.ts';
import { loginManagerContract } from '../../../src/kubelet/ports/testing/login-manager-contract.ts';

const LIMIT_MS = 20_000;

async function until(condition: () => boolean): Promise<void> {
  for (const endMs = Date.now() + LIMIT_MS; !condition(); ) {
    assert.ok(Date.now() < endMs, 'it did not come to that in time');
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

async function withLogind(body: (logind: PrivateLogind) => Promise<void>): Promise<void> {
  const logind = new PrivateLogind();
  await logind.start();
  try {
    await body(logind);
  } finally {
    await logind.end();
  }
}

const managerOf = ({ socket, dropInDir }: PrivateLogind) => createLogind({ bus: socket, dropInDir });

loginManagerContract('systemd-logind on a bus of its own', async () => {
  const logind = new PrivateLogind();
  await logind.start();
  return {
    manager: managerOf(logind),
    shutDown: () => logind.shutDown(),
    cancel: async () => logind.cancel(),
    isDown: () => logind.started.includes('poweroff.target'),
    until,
    end: () => logind.end(),
  };
});

describe('systemd-logind', () => {
  it('takes its delay from the drop-in file of the agent, under the name that upstream uses', () =>
    withLogind(async (logind) => {
      const connection = await managerOf(logind).connect();
      await connection.overrideInhibitDelayMax(29_500);
      const text = readFileSync(join(logind.dropInDir, '99-kubelet.conf'), 'utf8');
      assert.match(text, /^\[Login\]\nInhibitDelayMaxSec=30$/m);
      connection.close();
    }));

  it('is followed only in its own words: a signal of another client of the bus announces no shutdown', () =>
    withLogind(async (logind) => {
      const connection = await managerOf(logind).connect();
      const seen: boolean[] = [];
      connection.onPrepareForShutdown((isStarting) => seen.push(isStarting));
      const forger = logind.client();
      const [path, manager] = ['/org/freedesktop/login1', 'org.freedesktop.login1.Manager'];
      forger.sendSignal(path, manager, 'PrepareForShutdown', 'b', [true]);
      const lock = await connection.inhibitShutdown({ who: 'kubelet', why: 'a test' });
      await logind.shutDown();
      await until(() => seen.length > 0);
      assert.deepEqual(seen, [true], 'only the one of logind');
      lock.release();
      connection.close();
      await forger.close();
    }));

  it('when it is restarted, the connection ends, so that the agent connects to the new one', () =>
    withLogind(async (logind) => {
      const connection = await managerOf(logind).connect();
      let isClosed = false;
      connection.onClose(() => (isClosed = true));
      await logind.stopLogind();
      await until(() => isClosed);
      await logind.startLogind();
      const next = await managerOf(logind).connect();
      assert.equal(await next.isPreparingForShutdown(), false);
      next.close();
    }));

  it('that ends takes no lock, and says why', () =>
    withLogind(async (logind) => {
      const connection = await managerOf(logind).connect();
      await logind.stopLogind();
      await assert.rejects(connection.inhibitShutdown({ who: 'kubelet', why: 'a test' }), /systemd-inhibit: /);
    }));
});
