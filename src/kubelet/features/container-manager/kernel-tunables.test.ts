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

describe('settings of the kernel', () => {
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

  it('that cannot be read or changed are logged, and stop only a protected node', async () => {
    const { refused, missing, log, writes, setUp } = world({ 'kernel/panic': 0, 'kernel/panic_on_oops': 0 });
    refused.add('kernel/panic');
    missing.add('kernel/keys/root_maxkeys');
    await setUp(false);
    assert.deepEqual(writes, ['kernel/panic_on_oops=1']);
    assert.deepEqual(
      log.lines.filter(({ level }) => level === 'warn').map(({ fields }) => fields['name'] ?? fields['errors']),
      [['read kernel/keys/root_maxkeys: not there'], 'kernel/panic'],
    );
    await assert.rejects(setUp(true), /not there/);
  });
});
