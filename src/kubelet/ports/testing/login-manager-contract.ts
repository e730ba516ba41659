import assert from 'node:assert/strict';
import { describe } from 'node:test';
import { errorKind } from '../../../base/errors.ts';
import type { LoginConnection, LoginManager } from '../login-manager.ts';
import { contractOn } from './contract-test.ts';

export interface LoginManagerUnderTest {
  readonly manager: LoginManager;
  /** Requests a shutdown of the machine. Resolves when it was announced. */
  readonly shutDown: () => Promise<void>;
  /** Cancels the shutdown after the machine began to shut down. */
  readonly cancel: () => Promise<void>;
  /** Whether the machine has begun to shut down. */
  readonly isDown: () => boolean;
  /** Resolves when `condition` is true. */
  readonly until: (condition: () => boolean) => Promise<void>;
  readonly end: () => Promise<void>;
}

const LOCK = { who: 'kubelet', why: 'a test' };

function signalsOf(connection: LoginConnection): boolean[] {
  const seen: boolean[] = [];
  connection.onPrepareForShutdown((isStarting) => seen.push(isStarting));
  return seen;
}

/** The contract of LoginManager. It runs with the fake and with systemd-logind. */
export function loginManagerContract(name: string, make: () => Promise<LoginManagerUnderTest>): void {
  const contract = contractOn(make);
  describe(`LoginManager contract: ${name}`, () => {
    contract('a shutdown is announced, and waits for the lock', async ({ manager, shutDown, isDown, until }) => {
      const connection = await manager.connect();
      const seen = signalsOf(connection);
      const lock = await connection.inhibitShutdown(LOCK);
      assert.equal(await connection.isPreparingForShutdown(), false);
      await shutDown();
      await until(() => seen.length > 0);
      assert.deepEqual([seen, await connection.isPreparingForShutdown(), isDown()], [[true], true, false]);
      lock.release();
      await until(isDown);
      connection.close();
    });
    contract('a cancelled shutdown is announced, and the next lock holds', async (subject) => {
      const { manager, shutDown, cancel, isDown, until } = subject;
      const connection = await manager.connect();
      const seen = signalsOf(connection);
      const lock = await connection.inhibitShutdown(LOCK);
      await shutDown();
      await until(() => seen.length > 0);
      lock.release();
      await until(isDown);
      await cancel();
      await until(() => seen.length > 1);
      assert.deepEqual([seen, await connection.isPreparingForShutdown()], [[true, false], false]);
      const next = await connection.inhibitShutdown(LOCK);
      next.release();
      connection.close();
    });
    contract('no lock is to be had during a shutdown', async ({ manager, shutDown, until }) => {
      const connection = await manager.connect();
      const seen = signalsOf(connection);
      const lock = await connection.inhibitShutdown(LOCK);
      await shutDown();
      await until(() => seen.length > 0);
      await assert.rejects(connection.inhibitShutdown(LOCK), (error) => errorKind(error) === 'Unavailable');
      lock.release();
      connection.close();
    });
    contract('the time that a shutdown waits can be raised', async ({ manager }) => {
      const connection = await manager.connect();
      assert.equal(await connection.inhibitDelayMaxMs(), 5000);
      await connection.overrideInhibitDelayMax(31_000);
      let delayMs = 0;
      for (let tries = 100; delayMs !== 31_000 && tries > 0; tries--) delayMs = await connection.inhibitDelayMaxMs();
      assert.equal(delayMs, 31_000);
      connection.close();
    });
    contract('a closed connection answers no more, and its locks stay', async (subject) => {
      const { manager, shutDown, isDown, until } = subject;
      const [first, second] = [await manager.connect(), await manager.connect()];
      let isClosed = false;
      first.onClose(() => (isClosed = true));
      const lock = await first.inhibitShutdown(LOCK);
      first.close();
      await until(() => isClosed);
      await assert.rejects(first.inhibitDelayMaxMs(), (error) => errorKind(error) === 'Unavailable');
      const seen = signalsOf(second);
      await shutDown();
      await until(() => seen.length > 0);
      assert.equal(isDown(), false);
      lock.release();
      await until(isDown);
      second.close();
    });
  });
}
