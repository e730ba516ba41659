import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';
import { FakeClock } from '../base/testing/fake-clock.ts';
import { ExecCredentials, execInfo, parseExecCredential, runPlugin } from './exec-credential.ts';
import type { ExecPlugin } from './exec-plugin-config.ts';

const apiVersion = 'client.authentication.k8s.io/v1';
const plugin: ExecPlugin = { apiVersion, command: 'sign-in', args: [], env: {}, installHint: '', cluster: undefined };
const says = (status: object): string => JSON.stringify({ kind: 'ExecCredential', apiVersion, status });

test('what a plugin says is a token, a certificate with its key, or both, and until when', () => {
  const text = says({
    token: 't',
    clientCertificateData: 'C',
    clientKeyData: 'K',
    expirationTimestamp: '2026-01-01T00:00:10Z',
  });
  assert.deepEqual(parseExecCredential(text, apiVersion), {
    token: 't',
    certificate: 'C',
    key: 'K',
    expiresMs: Date.UTC(2026, 0, 1, 0, 0, 10),
  });
  assert.deepEqual(parseExecCredential(says({ token: 't' }), apiVersion), { token: 't' });
});

const wrong: readonly [text: string, said: RegExp][] = [
  ['rubbish', /^decoding stdout: /],
  ['{}', /^decoding stdout: expected kind ExecCredential, got ""/],
  [
    JSON.stringify({ kind: 'ExecCredential', apiVersion: 'v2', status: { token: 't' } }),
    /^exec plugin is configured to use API version client.authentication.k8s.io\/v1, plugin returned version v2$/,
  ],
  [JSON.stringify({ kind: 'ExecCredential', apiVersion }), /^exec plugin didn't return a status field$/],
  [says({}), /^exec plugin didn't return a token or cert\/key pair$/],
  [says({ clientCertificateData: 'C' }), /^exec plugin returned only certificate or key, not both$/],
];
for (const [text, said] of wrong) {
  test(`a plugin's answer is refused: ${text.slice(0, 60)}`, () => {
    assert.throws(
      () => parseExecCredential(text, apiVersion),
      (error) => said.test((error as Error).message),
    );
  });
}

test('a plugin receives the cluster if configured, and that there is no terminal', () => {
  assert.deepEqual(JSON.parse(execInfo({ ...plugin, cluster: { server: 's' } })), {
    kind: 'ExecCredential',
    apiVersion,
    spec: { cluster: { server: 's' }, interactive: false },
  });
});

test('it runs once however many ask, and again when what it said has expired or was refused', async () => {
  const clock = new FakeClock(Date.UTC(2026, 0, 1));
  let runs = 0;
  const run = (): Promise<string> =>
    Promise.resolve(
      says({ token: `t${++runs}`, ...(runs < 3 && { expirationTimestamp: `2026-01-01T00:0${runs}:00Z` }) }),
    );
  const credentials = new ExecCredentials(plugin, { clock, run });
  const tokens = async (): Promise<(string | undefined)[]> =>
    (await Promise.all([credentials.current(), credentials.current()])).map(({ token }) => token);
  assert.deepEqual(await tokens(), ['t1', 't1']);
  await clock.advance(59_000);
  assert.deepEqual(await tokens(), ['t1', 't1']);
  await clock.advance(2_000);
  assert.deepEqual(await tokens(), ['t2', 't2']);
  credentials.forget({ token: 't1' });
  assert.deepEqual(await tokens(), ['t2', 't2']);
  credentials.forget({ token: 't2' });
  assert.deepEqual(await tokens(), ['t3', 't3']);
  await clock.advance(1_000_000);
  assert.deepEqual(await tokens(), ['t3', 't3']);
});

test('a plugin that fails is run again, but not by every request', async () => {
  const clock = new FakeClock();
  let runs = 0;
  const run = (): Promise<string> =>
    ++runs < 3 ? Promise.reject(new Error('no network')) : Promise.resolve(says({ token: 't' }));
  const credentials = new ExecCredentials(plugin, { clock, run });
  for (let each = 0; each < 5; each += 1)
    await assert.rejects(credentials.current(), /getting credentials: no network/);
  assert.equal(runs, 1);
  await clock.advance(2_000);
  await assert.rejects(credentials.current());
  await clock.advance(2_000);
  assert.deepEqual([await credentials.current(), runs], [{ token: 't' }, 3]);
});

test('a program gets its words, its environment and no input; it is no shell', async () => {
  const script =
    'process.stdin.on("data", () => {}).on("end", () => console.log(JSON.stringify([process.argv.slice(1), process.env.REGION, process.env.KUBERNETES_EXEC_INFO])))';
  const out = await runPlugin(
    { ...plugin, command: process.execPath, args: ['-e', script, '$HOME; exit 1'], env: { REGION: 'eu' } },
    'INFO',
  );
  assert.deepEqual(JSON.parse(out), [['$HOME; exit 1'], 'eu', 'INFO']);
});

test('a missing or failing program is reported with its install hint', async () => {
  const absent = path.join(import.meta.dirname, 'sign-in-nowhere');
  await assert.rejects(
    runPlugin({ ...plugin, command: absent, installHint: 'get it' }, ''),
    (error) => (error as Error).message === `exec: executable ${absent} not found\n\nget it`,
  );
  await assert.rejects(
    runPlugin({ ...plugin, command: process.execPath, args: ['-e', 'console.error("why"); process.exit(3)'] }, ''),
    /failed with exit code 3: why$/,
  );
});
