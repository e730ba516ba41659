import assert from 'node:assert/strict';
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { errorMessage } from '../base/errors.ts';
import { FakeClock } from '../base/testing/fake-clock.ts';
import { KubeconfigSource } from './kubeconfig-source.ts';
import type { KubeconfigSourceOptions } from './kubeconfig-source.ts';

interface Fixture {
  readonly clock: FakeClock;
  readonly said: string[];
  write(name: string, text: string): void;
  open(user: object, options?: KubeconfigSourceOptions): KubeconfigSource;
  file(user: object, server?: string): string;
}

function groundOf(t: TestContext): Fixture {
  const folder = mkdtempSync(path.join(tmpdir(), 'kubeconfig-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const clock = new FakeClock();
  const said: string[] = [];
  const write = (name: string, text: string): void => {
    writeFileSync(path.join(folder, `${name}.new`), text);
    renameSync(path.join(folder, `${name}.new`), path.join(folder, name));
  };
  const file: Fixture['file'] = (user, server = 'https://192.0.2.1') =>
    JSON.stringify({
      'current-context': 'c',
      contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
      clusters: [{ name: 'c', cluster: { server } }],
      users: [{ name: 'u', user }],
    });
  return {
    clock,
    said,
    write,
    file,
    open: (user, options = {}) => {
      write('config', file(user));
      return new KubeconfigSource(path.join(folder, 'config'), {
        clock,
        env: {},
        onUnusable: (error) => said.push(errorMessage(error)),
        ...options,
      });
    },
  };
}

test('what is replaced on disk counts at most a second later: tokens, certificates, the kubeconfig itself', async (t) => {
  const { clock, write, open, file } = groundOf(t);
  write('token', 'one\n');
  const source = open({ tokenFile: 'token' });
  const first = await source.current();
  await clock.advance(5_000);
  assert.equal(await source.current(), first);
  write('token', 'two\n');
  await clock.advance(1_000);
  assert.equal((await source.current()).token, 'two');
  write('tls.crt', 'CERT');
  write('tls.key', 'KEY');
  write('config', file({ 'client-certificate': 'tls.crt', 'client-key': 'tls.key' }, 'https://192.0.2.2'));
  await clock.advance(1_000);
  const { server, token, certificate, key } = await source.current();
  assert.deepEqual([server, token, certificate, key], ['https://192.0.2.2', undefined, 'CERT', 'KEY']);
  write('tls.crt', 'CERT 2');
  await clock.advance(1_000);
  assert.equal((await source.current()).certificate, 'CERT 2');
});

test('a proxy of the environment counts, for servers it is not excepted for', async (t) => {
  const { open } = groundOf(t);
  const [through, past] = [
    open({}, { env: { https_proxy: 'proxy:3128' } }),
    open({}, { env: { HTTPS_PROXY: 'proxy:3128', NO_PROXY: '192.0.2.0/24' } }),
  ];
  assert.deepEqual(
    [(await through.current()).proxyUrl, (await past.current()).proxyUrl],
    ['http://proxy:3128', undefined],
  );
});

test('what was refused is read again without waiting', async (t) => {
  const { write, open } = groundOf(t);
  write('token', 'one');
  const source = open({ tokenFile: 'token' });
  const first = await source.current();
  assert.equal(await source.renew(first), first);
  write('token', 'two');
  assert.equal((await source.renew(first)).token, 'two');
});

test('files that cannot be used leave in force what stood there, and are read again', async (t) => {
  const { clock, said, write, open, file } = groundOf(t);
  write('token', 'one');
  const source = open({ tokenFile: 'token' });
  for (const [name, text] of [
    ['token', ''],
    ['config', '{"current-con'],
    ['config', file({ tokenFile: 'elsewhere' })],
  ] as const) {
    write(name, text);
    await clock.advance(1_000);
    assert.equal((await source.current()).token, 'one');
  }
  write('elsewhere', 'three');
  await clock.advance(1_000);
  assert.equal((await source.current()).token, 'three');
  assert.deepEqual(
    said.map((each) => /tokenFile|kubeconfig/.test(each)),
    [true, true, true],
  );
});

test('credentials come from a plugin, and are fetched again when refused', async (t) => {
  const { clock, open } = groundOf(t);
  let runs = 0;
  const run = (): Promise<string> =>
    Promise.resolve(
      JSON.stringify({
        kind: 'ExecCredential',
        apiVersion: 'client.authentication.k8s.io/v1',
        status: { token: `t${++runs}`, clientCertificateData: 'C', clientKeyData: 'K' },
      }),
    );
  const source = open(
    { exec: { apiVersion: 'client.authentication.k8s.io/v1', command: 'sign-in', interactiveMode: 'Never' } },
    { clock, run },
  );
  const first = await source.current();
  assert.deepEqual([first.token, first.certificate, first.key], ['t1', 'C', 'K']);
  assert.equal(await source.current(), first);
  const [one, two] = await Promise.all([source.renew(first), source.renew(first)]);
  assert.deepEqual([one.token, one === two, runs], ['t2', true, 2]);
});
