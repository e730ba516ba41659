import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { FakeClock } from '../../../../base/testing/fake-clock.ts';
import { recordingLog } from '../../../../base/testing/recording-log.ts';
import { FakeHostFiles } from '../../../ports/testing/fake-host-files.ts';
import { readNodeCredentials } from './node-credentials.ts';

const places = { rootDir: '/var/lib/kubelet', workingDir: '/', homeDir: '/root' };
const modern = (username: string): string => JSON.stringify({ auths: { 'r.local': { username, password: 'p' } } });
const legacy = (username: string): string => JSON.stringify({ 'r.local': { username, password: 'p' } });

async function found(
  seed: Record<string, string>,
  where = places,
): Promise<{ users: string[]; warnings: number; sources: unknown[] }> {
  const files = new FakeHostFiles(new FakeClock());
  const log = recordingLog();
  files.seed(seed);
  const auths = (await readNodeCredentials(where, files, log)).lookup('r.local/app');
  return {
    users: auths.map(({ username }) => username),
    warnings: log.lines.filter(({ level }) => level === 'warn').length,
    sources: auths.map(({ source }) => source),
  };
}

describe("the node's own credentials", () => {
  it('come from the first existing file: config.json of all folders before any .dockercfg', async () => {
    const all = [
      ['/var/lib/kubelet/config.json', modern],
      ['/config.json', modern],
      ['/root/.docker/config.json', modern],
      ['/.docker/config.json', modern],
      ['/var/lib/kubelet/.dockercfg', legacy],
      ['/.dockercfg', legacy],
      ['/root/.dockercfg', legacy],
    ] as const;
    for (const [index, [path]] of all.entries()) {
      const seed = Object.fromEntries(all.slice(index).map(([each, make]) => [each, make(each)]));
      assert.deepEqual((await found(seed)).users, [path]);
    }
  });

  it('are searched for in the root folder when that is the home', async () => {
    const seed = { '/.docker/config.json': modern('home') };
    assert.deepEqual((await found(seed, { ...places, homeDir: '/' })).users, ['home']);
    assert.deepEqual((await found({ '/.dockercfg': legacy('home') }, { ...places, homeDir: '/' })).users, ['home']);
  });

  it('belong to no Secret, and are none without a file', async () => {
    assert.deepEqual((await found({ '/config.json': modern('me') })).sources, [undefined]);
    assert.deepEqual(await found({}), { users: [], warnings: 0, sources: [] });
  });

  it('are searched for further when a file is invalid, which is logged', async () => {
    const seed = { '/var/lib/kubelet/config.json': 'no JSON', '/config.json': modern('next') };
    assert.deepEqual(await found(seed), { users: ['next'], warnings: 1, sources: [undefined] });
  });

  it('come from a file that is valid in part', async () => {
    const partly = JSON.stringify({ auths: { 'r.local': { username: 'me', password: 'p' }, bad: 'x' } });
    const seed = { '/var/lib/kubelet/config.json': partly, '/config.json': modern('next') };
    assert.deepEqual(await found(seed), { users: ['me'], warnings: 1, sources: [undefined] });
  });

  it('may take at most ten mebibytes', async () => {
    const sized = (bytes: number): string => modern('me').padEnd(bytes);
    const limit = 10 * 1024 * 1024;
    assert.deepEqual((await found({ '/config.json': sized(limit) })).users, ['me']);
    assert.deepEqual(await found({ '/config.json': sized(limit + 1) }), { users: [], warnings: 1, sources: [] });
  });
});
