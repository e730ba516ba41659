import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isKind, KubeletError } from '../../../base/errors.ts';
import { recordingLog } from '../../../base/testing/recording-log.ts';
import { setUpTunables, wantedTunables } from './kernel-tunables.ts';

function world(given: Record<string, number> = {}) {
  const values = new Map([...wantedTunables, ...Object.entries(given)]);
  const writes: string[] = [];
  const refused = new Set<string>();
  const missing = new Set<string>();
  const log = recordingLog();
  const tunables = {
    read: async (name: string) => {
      if (missing.has(name)) throw new KubeletError('NotFound', `read ${name}: not there`);
      return values.get(name) ?? 0;
    },
    write: async (name: string, value: number) => {
      if (refused.has(name)) throw new KubeletError('Unavailable', `write ${name}: read only`);
      writes.push(`${name}=${value}`);
    },
  };
  const setUp = (isProtected: boolean): Promise<void> => setUpTunables({ tunables, isProtected, log });
  return { writes, refused, missing, log, setUp };
}

describe('kernel settings', () => {
  it('that differ are set, and only those', async () => {
    const { writes, setUp } = world({ 'vm/overcommit_memory': 0, 'kernel/panic': 1 });
    await setUp(false);
    assert.deepEqual(writes, ['vm/overcommit_memory=1', 'kernel/panic=10']);
  });

  it('that differ keep an agent with protectKernelDefaults from starting, in upstream words', async () => {
    const one = world({ 'vm/panic_on_oom': 1 });
    const text = 'invalid kernel flag: vm/panic_on_oom, expected value: 0, actual value: 1';
    await assert.rejects(one.setUp(true), (error: Error) => isKind(error, 'Invalid') && error.message === text);
    const two = world({ 'vm/panic_on_oom': 1, 'kernel/panic': 0 });
    await assert.rejects(
      two.setUp(true),
      /^KubeletError: \[invalid kernel flag: .*, invalid kernel flag: kernel\/panic, expected value: 10, actual value: 0\]$/,
    );
    assert.deepEqual([one.writes, two.writes], [[], []]);
  });

  it('that are right already let a protected node start', async () => {
    const { writes, log, setUp } = world();
    await setUp(true);
    assert.deepEqual([writes, log.lines], [[], []]);
  });

  it('that cannot be changed stop the start, with all of them and what to set by hand; the others are set', async () => {
    const { refused, writes, setUp } = world({
      'vm/overcommit_memory': 0,
      'kernel/panic': 0,
      'kernel/panic_on_oops': 0,
    });
    refused.add('kernel/panic').add('vm/overcommit_memory');
    await assert.rejects(setUp(false), (error: Error) => {
      assert.ok(isKind(error, 'Invalid'));
      assert.equal(
        error.message,
        '[write vm/overcommit_memory: read only (set vm.overcommit_memory=1 on the machine, it is 0), ' +
          'write kernel/panic: read only (set kernel.panic=10 on the machine, it is 0)]',
      );
      return true;
    });
    assert.deepEqual(writes, ['kernel/panic_on_oops=1']);
  });

  it('that cannot be written but are right let the agent start', async () => {
    const { refused, setUp } = world();
    for (const name of wantedTunables.keys()) refused.add(name);
    await setUp(false);
  });

  it('that cannot be read stop the start, protected or not', async () => {
    for (const isProtected of [false, true]) {
      const { missing, setUp } = world();
      missing.add('kernel/keys/root_maxkeys');
      await assert.rejects(
        setUp(isProtected),
        (error: Error) => isKind(error, 'Invalid') && error.message === 'read kernel/keys/root_maxkeys: not there',
      );
    }
  });
});
