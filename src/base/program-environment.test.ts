// These tests cover the environment of child programs of root, and where those programs are searched.
import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { findProgram, programEnvironment, safeSearchPath, writableByAll } from './program-environment.ts';

const root = mkdtempSync(join(tmpdir(), 'kts-env-'));
after(() => rmSync(root, { recursive: true, force: true }));
const folder = (name: string, mode = 0o755): string => {
  mkdirSync(join(root, name), { recursive: true });
  chmodSync(join(root, name), mode);
  return join(root, name);
};

test('a search path keeps existing absolute folders that are not world-writable', () => {
  const [good, open, sticky] = [folder('good'), folder('open', 0o777), folder('sticky', 0o1777)];
  const below = folder('open/below');
  for (const bad of ['', '.', './bin', 'bin', '..', open, sticky, below, join(root, 'absent'), '~/bin'])
    assert.equal(safeSearchPath(`${bad}:${good}:${bad}`), good, bad);
});

test('an empty search path does not mean the working directory', () => {
  for (const path of ['', ':', '.', 'bin:.']) assert.equal(safeSearchPath(path), '/usr/sbin:/usr/bin:/sbin:/bin', path);
});

test("variables that change a program's code, or are meant for this process alone, are not passed on unless requested", () => {
  const given = {
    HOME: '/root',
    HTTPS_PROXY: 'http://p',
    PATH: `.:/usr/bin`,
    LANG: 'C',
    LD_PRELOAD: '/x.so',
    LD_LIBRARY_PATH: '/x',
    LD_AUDIT: '/x',
    GCONV_PATH: '/x',
    NODE_OPTIONS: '--require=/x',
    NODE_PATH: '/x',
    BASH_ENV: '/x',
    ENV: '/x',
    SHELLOPTS: 'xtrace',
    PS4: '$(id)',
    'BASH_FUNC_ls%%': '() { id; }',
    NOTIFY_SOCKET: '/run/s',
    WATCHDOG_USEC: '1',
    WATCHDOG_PID: '1',
    LISTEN_FDS: '1',
    LISTEN_PID: '1',
    LISTEN_FDNAMES: 'a',
    NODE_CHANNEL_FD: '3',
    npm_config__auth: 'secret',
    npm_lifecycle_script: 'x',
    KUBERNETES_EXEC_INFO: '{}',
  };
  assert.deepEqual(programEnvironment(given), { HOME: '/root', HTTPS_PROXY: 'http://p', PATH: '/usr/bin', LANG: 'C' });
  assert.deepEqual(programEnvironment({ LD_PRELOAD: '/x.so' }, { LD_PRELOAD: '/wanted.so' }), {
    LD_PRELOAD: '/wanted.so',
  });
});

test('a program is found by its folder alone, and only if it is executable', () => {
  const bin = folder('bin');
  writeFileSync(join(bin, 'tool'), '#!/bin/sh\n', { mode: 0o755 });
  writeFileSync(join(bin, 'text'), 'no program', { mode: 0o644 });
  folder('bin/folder');
  assert.deepEqual(
    ['tool', 'text', 'folder', 'absent'].map((name) => findProgram(name, bin)),
    [join(bin, 'tool'), undefined, undefined, undefined],
  );
});

test('a world-writable folder is found on the path to a program and on the path of its links', () => {
  const good = folder('closed/bin');
  const file = join(good, 'p');
  writeFileSync(file, '', { mode: 0o755 });
  assert.equal(writableByAll(file), undefined);
  chmodSync(file, 0o775);
  assert.equal(writableByAll(file), undefined, "a group is the administrator's to choose");
  chmodSync(file, 0o755);
  const open = folder('linked', 0o777);
  symlinkSync(file, join(open, 'l'));
  assert.equal(writableByAll(join(open, 'l')), open);
  writeFileSync(join(open, 'q'), '', { mode: 0o755 });
  symlinkSync(join(open, 'q'), join(good, 'to-open'));
  assert.equal(writableByAll(join(good, 'to-open')), open);
  chmodSync(file, 0o757);
  assert.equal(writableByAll(file), file);
  assert.equal(writableByAll(join(root, 'absent')), undefined);
});
