// A program that says who one is, and is against us, broken, or can be replaced by others.
import assert from 'node:assert/strict';
import {
  chmodSync,
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, describe, it } from 'node:test';
import { FakeClock } from '../base/testing/fake-clock.ts';
import { ExecCredentials, parseExecCredential, runPlugin } from './exec-credential.ts';
import type { ExecPlugin } from './exec-plugin-config.ts';
import { requestHeaders } from './request-headers.ts';

const apiVersion = 'client.authentication.k8s.io/v1';
const plugin: ExecPlugin = { apiVersion, command: 'sign-in', args: [], env: {}, installHint: '', cluster: undefined };
const says = (status: object): string => JSON.stringify({ kind: 'ExecCredential', apiVersion, status });
const folder = mkdtempSync(path.join(tmpdir(), 'kts-exec-'));
after(() => rmSync(folder, { recursive: true, force: true }));
const node = (script: string, more: Partial<ExecPlugin> = {}): Promise<string> =>
  runPlugin({ ...plugin, command: process.execPath, args: ['-e', script], ...more }, '');
const shell = (script: string, more: Partial<ExecPlugin> = {}): Promise<string> =>
  runPlugin({ ...plugin, command: '/bin/sh', args: ['-c', script], ...more }, '');
const messageOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'no error',
    (error: unknown) => (error as Error).message,
  );

describe('what a plugin says', () => {
  it('is no token with line breaks, controls or letters that become line breaks', () => {
    for (const token of ['a\r\nimpersonate-user: admin', 'a\nb', 'a\0', 'a\t', '\u010a\u010d', 'ü', '\u2028']) {
      assert.throws(
        () => parseExecCredential(says({ token }), apiVersion),
        (error) =>
          (error as Error).message === 'exec plugin returned a token with characters that no request can carry',
        JSON.stringify(token),
      );
      assert.throws(
        () =>
          requestHeaders(
            { server: 's', insecureSkipTlsVerify: false, namespace: 'n', token },
            { userAgent: 'u', contentType: undefined, body: undefined },
          ),
        /the token has characters/,
      );
    }
  });

  it('is quoted shortly, whatever its kind, size or depth', () => {
    const deep = (inner: string): string => `${'['.repeat(100_000)}${inner}${']'.repeat(100_000)}`;
    const texts = [
      `{"kind": ${deep('')}}`,
      `{"kind": "ExecCredential", "apiVersion": ${deep('')}}`,
      '{"kind": "ExecCredential", "apiVersion": {"toString": 1, "valueOf": 1}}',
      JSON.stringify({ kind: 'x'.repeat(500_000) }),
      JSON.stringify({ kind: 'ExecCredential', apiVersion: 'x'.repeat(500_000) }),
      `{"kind": "ExecCredential", "apiVersion": "${apiVersion}", "status": ${deep('')}}`,
      `{"kind": "ExecCredential", "apiVersion": "${apiVersion}", "status": {"token": ${deep('')}}}`,
      '{"__proto__": {"kind": "ExecCredential"}}',
      deep(''),
      '['.repeat(1_000_000),
    ];
    for (const text of texts)
      assert.throws(
        () => parseExecCredential(text, apiVersion),
        (error) => /^(decoding|exec plugin)/.test((error as Error).message) && (error as Error).message.length < 300,
        text.slice(0, 60),
      );
  });

  it('is no credential without end because its time cannot be read', () => {
    for (const expirationTimestamp of ['tomorrow', '1', '2026-01-01', '2026-13-01T00:00:00Z', 5, {}, ''])
      assert.throws(
        () => parseExecCredential(says({ token: 't', expirationTimestamp }), apiVersion),
        /expirationTimestamp is not an RFC 3339 time/,
        JSON.stringify(expirationTimestamp),
      );
    assert.equal(parseExecCredential(says({ token: 't', expirationTimestamp: null }), apiVersion).expiresMs, undefined);
    assert.equal(
      parseExecCredential(says({ token: 't', expirationTimestamp: '9999-12-31T23:59:59Z' }), apiVersion).expiresMs,
      Date.UTC(9999, 11, 31, 23, 59, 59),
    );
  });
});

describe('how often a plugin runs', () => {
  it('is not once for each request when what it says has expired already', async () => {
    const clock = new FakeClock(Date.UTC(2026, 0, 1));
    let runs = 0;
    const credentials = new ExecCredentials(plugin, {
      clock,
      run: () => Promise.resolve(says({ token: `t${++runs}`, expirationTimestamp: '2020-01-01T00:00:00Z' })),
    });
    for (let request = 0; request < 1000; request += 1) await credentials.current();
    assert.equal(runs, 1);
    await clock.advance(2_000);
    assert.deepEqual([await credentials.current(), runs], [{ token: 't2', expiresMs: Date.UTC(2020, 0, 1) }, 2]);
  });

  it('is not once for each request when all of it is refused', async () => {
    const clock = new FakeClock();
    let runs = 0;
    const credentials = new ExecCredentials(plugin, {
      clock,
      run: () => Promise.resolve(says({ token: `t${++runs}` })),
    });
    for (let request = 0; request < 1000; request += 1) credentials.forget(await credentials.current());
    assert.equal(runs, 4);
    await clock.advance(2_000);
    credentials.forget(await credentials.current());
    await credentials.current();
    assert.equal(runs, 5);
  });
});

describe('the program of a plugin', () => {
  it('may not write without end', async () => {
    for (const number of [1, 2])
      assert.match(
        await messageOf(node(`for (;;) require("fs").writeSync(${number}, "x".repeat(10000))`)),
        /failed: \S+ wrote more than 1048576 bytes to its std(out|err)$/,
      );
  });

  it('counts as ended when it has ended, whatever its children hold; they are killed, and leave no descriptor', async () => {
    const open = (): number => readdirSync('/proc/self/fd').length;
    const before = open();
    // One stays in the group of the plugin, the other leaves it.
    const out = await shell('sleep 600 & echo $!; setsid sleep 3 & echo done');
    const [inGroup = '', ...rest] = out.trim().split('\n');
    assert.deepEqual(rest, ['done']);
    assert.equal(open(), before);
    const fate = (): string => {
      try {
        return /\) (\S)/.exec(readFileSync(`/proc/${inGroup}/stat`, 'utf8'))?.[1] ?? 'gone';
      } catch {
        return 'gone';
      }
    };
    while (!['gone', 'Z'].includes(fate())) await new Promise((resolve) => setImmediate(resolve));
  });

  it('is not looked for in the working directory or in what depends on it, nor by the PATH that the kubeconfig sets', async () => {
    const at = process.cwd();
    const path_ = process.env['PATH'];
    program(folder, 'sign-in-here');
    try {
      process.chdir(folder);
      for (const searched of [
        '.',
        '',
        `:${path_ ?? ''}`,
        `${path_ ?? ''}:`,
        './',
        '../'.concat(path.basename(folder)),
      ]) {
        process.env['PATH'] = searched;
        assert.match(
          await messageOf(runPlugin({ ...plugin, command: 'sign-in-here' }, '')),
          /^exec: executable sign-in-here not found$/,
          searched,
        );
      }
      process.env['PATH'] = path_;
      assert.match(
        await messageOf(runPlugin({ ...plugin, command: 'sign-in-here', env: { PATH: folder } }, '')),
        /not found$/,
      );
      process.env['PATH'] = folder;
      assert.equal(await runPlugin({ ...plugin, command: 'sign-in-here' }, ''), 'ran\n');
    } finally {
      process.chdir(at);
      process.env['PATH'] = path_;
    }
  });

  it('is not run as root when any user may change it, its folder or one above', {
    skip: process.geteuid?.() !== 0 && 'needs root',
  }, async () => {
    const own = path.join(folder, 'own', 'bin');
    mkdirSync(own, { recursive: true });
    const command = program(own, 'p');
    assert.equal(await runPlugin({ ...plugin, command }, ''), 'ran\n');
    for (const [weak, mode, sound] of [
      [command, 0o757, 0o755],
      [own, 0o777, 0o755],
      [path.dirname(own), 0o757, 0o755],
    ] as const) {
      chmodSync(weak, mode);
      assert.equal(
        await messageOf(runPlugin({ ...plugin, command }, '')),
        `exec: executable ${command} is not run: any user may change ${weak}`,
      );
      chmodSync(weak, sound);
    }
  });

  it('gets nothing that is meant for this process or says which code it is to load', async () => {
    const given = {
      NOTIFY_SOCKET: '/s',
      LISTEN_FDS: '1',
      NODE_OPTIONS: '--no-deprecation',
      LD_BIND_NOW: '1',
      BASH_ENV: '/x',
      npm_config_x: 'secret',
      ENV: '/x',
    };
    const before = Object.fromEntries(Object.keys(given).map((name) => [name, process.env[name]]));
    Object.assign(process.env, given);
    try {
      const env = JSON.parse(
        await node('console.log(JSON.stringify(process.env))', {
          env: { REGION: 'eu', NODE_OPTIONS: '--no-warnings' },
        }),
      ) as Record<string, string>;
      assert.deepEqual(
        Object.keys(given).filter((name) => Object.hasOwn(env, name)),
        ['NODE_OPTIONS'],
      );
      assert.deepEqual([env['REGION'], env['NODE_OPTIONS'], env['HOME']], ['eu', '--no-warnings', process.env['HOME']]);
    } finally {
      for (const [name, value] of Object.entries(before))
        if (value === undefined) delete process.env[name];
        else process.env[name] = value;
    }
  });

  it('inherits no file that this process has open', async () => {
    const file = path.join(folder, 'key.pem');
    writeFileSync(file, 'secret');
    const open = openSync(file, 'r');
    try {
      assert.doesNotMatch(await shell('exec ls -l /proc/self/fd'), /key\.pem/);
    } finally {
      closeSync(open);
    }
  });

  it('cannot be given words with NUL, and its secrets are not quoted for it', async () => {
    const message = await messageOf(node('', { env: { TOKEN: 'secret\0' } }));
    assert.match(message, /failed: .* could not be started: ERR_INVALID_ARG_VALUE$/);
    assert.doesNotMatch(message, /secret/);
  });
});

function program(below: string, name: string): string {
  const file = path.join(below, name);
  writeFileSync(file, '#!/bin/sh\necho ran\n', { mode: 0o755 });
  return file;
}
