import assert from 'node:assert/strict';
import { describe } from 'node:test';
import { errorKind } from '../../../base/errors.ts';
import type { Cgroups } from '../cgroups.ts';
import { contractOn } from './contract-test.ts';

export interface CgroupsUnderTest {
  readonly cgroups: Cgroups;
  /** A name below which the test may create and remove cgroups. */
  readonly base: string;
  /** Starts an idle process in the group. Resolves to its PID. */
  readonly addProcess: (name: string) => Promise<number>;
  /** Resolves when killed processes have exited. */
  readonly settle: () => Promise<void>;
  readonly end: () => Promise<void>;
}

/** The contract of Cgroups (cgroupfs driver). It runs with the fake, with a model of v2, and with the kernel. */
export function cgroupsContract(name: string, make: () => Promise<CgroupsUnderTest>): void {
  const contract = contractOn(make);
  describe(`Cgroups contract: ${name}`, () => {
    contract(
      'a group is created with its parents, found, listed, and removed with its children',
      async ({ cgroups, base }) => {
        assert.equal(await cgroups.exists(`${base}/a/b`), false);
        await cgroups.ensure(`${base}/a/b`, { cpuShares: 512, pidsMax: 100 });
        await cgroups.ensure(`${base}/a/b`, { cpuShares: 256 });
        await cgroups.ensure(`${base}/c`, {});
        assert.deepEqual(
          [await cgroups.exists(`${base}/a/b`), await cgroups.children(base), await cgroups.children(`${base}/none`)],
          [true, ['a', 'c'], []],
        );
        await cgroups.remove(`${base}/a`);
        await cgroups.remove(`${base}/a`);
        assert.deepEqual([await cgroups.exists(`${base}/a/b`), await cgroups.children(base)], [false, ['c']]);
      },
    );
    contract(
      'limits of a missing group are NotFound, those of an existing one are applied',
      async ({ cgroups, base }) => {
        await assert.rejects(
          cgroups.update(`${base}/none`, { cpuShares: 2 }),
          (error) => errorKind(error) === 'NotFound',
        );
        await cgroups.ensure(`${base}/a`, {
          cpuShares: 1024,
          cpuPeriodUs: 100_000,
          cpuQuotaUs: 50_000,
          memoryBytes: 64 * 2 ** 20,
          pidsMax: 50,
        });
        await cgroups.update(`${base}/a`, {
          cpuShares: 2,
          cpuPeriodUs: 10_000,
          cpuQuotaUs: -1,
          memoryBytes: -1,
          pidsMax: -1,
        });
      },
    );
    contract('written limits are read back, and missing limits read as no limit', async ({ cgroups, base }) => {
      await assert.rejects(cgroups.read(`${base}/none`), (error) => errorKind(error) === 'NotFound');
      await cgroups.ensure(`${base}/a`, {
        cpuShares: 262_144,
        cpuPeriodUs: 50_000,
        cpuQuotaUs: 25_000,
        memoryBytes: 64 * 2 ** 20,
      });
      const { memoryUsageBytes, ...limits } = await cgroups.read(`${base}/a`);
      assert.deepEqual(
        [limits, memoryUsageBytes >= 0],
        [{ cpuShares: 262_144, cpuPeriodUs: 50_000, cpuQuotaUs: 25_000, memoryBytes: 64 * 2 ** 20 }, true],
      );
      await cgroups.update(`${base}/a`, { cpuShares: 2, cpuPeriodUs: 50_000, cpuQuotaUs: -1, memoryBytes: -1 });
      const { cpuShares, cpuQuotaUs, memoryBytes } = await cgroups.read(`${base}/a`);
      assert.deepEqual([cpuShares, cpuQuotaUs, memoryBytes], [2, -1, -1]);
    });
    contract(
      'processes below a group are found and killed; only an empty group is removed',
      async ({ cgroups, base, addProcess, settle }) => {
        await cgroups.ensure(`${base}/a/b`, {});
        const pid = await addProcess(`${base}/a/b`);
        assert.deepEqual([await cgroups.processes(`${base}/a`), await cgroups.processes(`${base}/none`)], [[pid], []]);
        await assert.rejects(cgroups.remove(`${base}/a`), (error) => errorKind(error) === 'Conflict');
        await cgroups.kill(`${base}/a`);
        await settle();
        assert.deepEqual(await cgroups.processes(`${base}/a`), []);
        await cgroups.remove(`${base}/a`);
        await cgroups.kill(`${base}/a`);
      },
    );
  });
}
