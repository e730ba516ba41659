import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { KubeletError } from '../../../../base/errors.ts';
import { seededRandom } from '../../../../base/random.ts';
import { FakeClock } from '../../../../base/testing/fake-clock.ts';
import { recordingLog } from '../../../../base/testing/recording-log.ts';
import type { HostFiles } from '../../../ports/host-files.ts';
import { FakeHostFiles } from '../../../ports/testing/fake-host-files.ts';
import { AtomicWriter } from './atomic-writer.ts';
import type { Payload } from './payload.ts';

const V = '/v';
const names = fc.constantFrom('a', 'b', 'dir/a', 'dir/b', 'dir/deep/c', 'other');
const contents = fc.dictionary(names, fc.constantFrom('', '1', '2', 'longer'), { maxKeys: 5, noNullPrototype: true });
type Contents = Record<string, string>;

const payloadOf = (content: Contents): Payload =>
  new Map(
    Object.entries(content).map(([name, text]) => [name, { content: new TextEncoder().encode(text), mode: 0o644 }]),
  );

/** Simulates that the agent is killed after `calls` calls: every later call fails. */
function dyingAfter(files: FakeHostFiles, calls: number): HostFiles {
  let left = calls;
  return new Proxy<HostFiles>(files, {
    get(target, property) {
      const value: unknown = Reflect.get(target, property);
      if (typeof value !== 'function') return value;
      return (...args: unknown[]): unknown =>
        left-- > 0 ? Reflect.apply(value, target, args) : Promise.reject(new KubeletError('Aborted', 'killed'));
    },
  });
}

/** Returns what a reader in the pod sees: all files reachable by visible names. */
async function visible(files: FakeHostFiles): Promise<Contents> {
  const found: Contents = {};
  const walk = async (folder: string, prefix: string): Promise<void> => {
    for (const name of await files.list(folder)) {
      if (prefix === '' && name.startsWith('..')) continue;
      const info = await files.stat(`${folder}/${name}`);
      if (info?.type === 'directory') await walk(`${folder}/${name}`, `${prefix}${name}/`);
      else if (info?.type === 'file') found[`${prefix}${name}`] = files.peek(`${folder}/${name}`) ?? '';
    }
  };
  await walk(V, '');
  return found;
}

test('killed at any call, readers see complete old or complete new files, and the next write repairs everything', async () => {
  const clock = new FakeClock();
  await fc.assert(
    fc.asyncProperty(contents, contents, fc.nat(40), fc.integer(), async (before, after, killedAt, seed) => {
      const files = new FakeHostFiles(clock);
      files.seed({ '/etc/passwd': 'root' });
      await files.makeDirectory(V, 0o777);
      const writer = (host: HostFiles): AtomicWriter =>
        new AtomicWriter({ files: host, clock, random: seededRandom(seed), log: recordingLog() });
      await writer(files).write(V, payloadOf(before));
      assert.deepEqual(await visible(files), before);
      await writer(dyingAfter(files, killedAt))
        .write(V, payloadOf(after))
        .catch(() => undefined);
      const between = await visible(files);
      const swapped = Object.entries(between).every(([name, text]) => after[name] === text);
      const untouched = Object.entries(between).every(([name, text]) => before[name] === text);
      assert.ok(swapped || untouched, JSON.stringify({ before, after, between }));
      await new AtomicWriter({ files, clock, random: seededRandom(seed + 1), log: recordingLog() }).write(
        V,
        payloadOf(after),
      );
      assert.deepEqual(await visible(files), after);
      assert.equal((await files.list(V)).filter((name) => name.startsWith('..2') || name === '..data_tmp').length, 1);
      assert.equal(files.peek('/etc/passwd'), 'root');
    }),
    { numRuns: 200 },
  );
});
