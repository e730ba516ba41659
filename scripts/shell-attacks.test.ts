// The scripts that run as root, started by another shell than they expect: in a clone of their own, with a Node that only tells how it was called.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';

const root = mkdtempSync(join(tmpdir(), 'kts-shell-'));
after(() => rmSync(root, { recursive: true, force: true }));
const SYSTEM = '/usr/sbin:/usr/bin:/sbin:/bin';
const asRoot = { skip: process.geteuid?.() !== 0 && 'needs root' };

/** A clone in which `node` says who it is, where it stands, and with which umask and PATH. */
function clone(name: string): string {
  const folder = join(root, name);
  for (const part of ['node_modules/.bin', 'src', 'bin']) mkdirSync(join(folder, part), { recursive: true });
  cpSync(import.meta.dirname, join(folder, 'scripts'), { recursive: true, filter: (file) => !file.endsWith('.ts') });
  writeFileSync(
    join(folder, 'node_modules/.bin/node'),
    `#!/bin/sh\nprintf '%s\\n' '${name}' "$PWD" "$(umask)" "$PATH" "\${NODE_OPTIONS:-none}" "$*"\n`,
    { mode: 0o755 },
  );
  return folder;
}

function run(
  cwd: string,
  script: string,
  {
    env = {},
    umask = '022',
    args = [],
  }: { readonly env?: Record<string, string>; readonly umask?: string; readonly args?: readonly string[] } = {},
): { status: number | null; lines: string[]; stderr: string } {
  const { status, stdout, stderr } = spawnSync(
    '/bin/sh',
    ['-c', `umask ${umask}; exec /bin/sh "$@"`, 'sh', script, ...args],
    { cwd, env: { PATH: SYSTEM, HOME: '/root', ...env }, encoding: 'utf8' },
  );
  return { status, lines: stdout.trim().split('\n'), stderr };
}

test('CDPATH leads to no other clone', asRoot, () => {
  const [own, other] = [clone('own'), clone('other')];
  for (const [cwd, script] of [
    [own, 'scripts/down.sh'],
    [join(own, 'scripts'), 'down.sh'],
    [root, join(own, 'scripts/down.sh')],
  ] as const) {
    const { lines } = run(cwd, script, { env: { CDPATH: other } });
    assert.deepEqual(lines.slice(0, 2), ['own', own], script);
  }
});

test('no program is run from the working directory or a folder relative to it, however PATH says so', asRoot, () => {
  const own = clone('searched');
  mkdirSync(join(own, 'evil'));
  for (const name of ['id', 'dirname', 'find', 'uname', 'npm', 'apt-get']) {
    for (const folder of [own, join(own, 'evil'), join(own, 'scripts')])
      writeFileSync(join(folder, name), '#!/bin/sh\necho HIJACKED >&2\n', { mode: 0o755 });
  }
  for (const before of ['.', '', 'evil', './evil']) {
    const { lines, stderr } = run(own, 'scripts/down.sh', { env: { PATH: `${before}:${SYSTEM}:${before}` } });
    assert.deepEqual([lines[0], lines[3], stderr], ['searched', SYSTEM, ''], before);
  }
});

test('what is made is not for others to write, and Node gets no options of the caller', asRoot, () => {
  const own = clone('open');
  const given = run(own, 'scripts/down.sh', { umask: '000', env: { NODE_OPTIONS: '--require=/tmp/x.js' } });
  assert.deepEqual([given.lines[2], given.lines[4]], ['0022', 'none']);
  assert.equal(run(own, 'scripts/down.sh', { umask: '077' }).lines[2], '0077');
});

test('a clone that any user can write is not run as root; the message names the folder and the command', asRoot, () => {
  const own = clone('writable');
  for (const part of ['', 'src', 'scripts', 'bin', 'node_modules']) {
    const folder = join(own, part).replace(/\/$/, '');
    chmodSync(folder, 0o757);
    for (const script of ['up', 'down', 'test', 'bench']) {
      const { status, stderr, lines } = run(own, `scripts/${script}.sh`);
      assert.deepEqual(
        [status, stderr.trim(), lines],
        [1, `any user of this machine can change what is run from here as root: chmod o-w ${folder}`, ['']],
        script,
      );
    }
    chmodSync(folder, 0o755);
  }
  chmodSync(root, 0o1777);
  assert.equal(run(own, 'scripts/down.sh').lines[0], 'writable');
});

test('a clone with blanks, quotes and a leading dash in its name is one word', asRoot, () => {
  const own = clone('-a  b"c$(id)');
  assert.deepEqual(
    run(own, 'scripts/down.sh', { args: ['--data', '/x y', '$(id)'] }).lines.filter((_, at) => at !== 2 && at !== 3),
    ['-a  b"c$(id)', own, 'none', '--no-concurrent-sparkplug src/up/main.ts down --data /x y $(id)'],
  );
});

test('each script that may run as root begins with these rules, and none makes a file of a name that others can guess in /tmp', () => {
  const scripts = readdirSync(import.meta.dirname).filter((name) =>
    /^(up|down|test|bench|setup-machine)\.sh$/.test(name),
  );
  assert.equal(scripts.length, 5);
  for (const name of scripts)
    assert.match(
      readFileSync(join(import.meta.dirname, name), 'utf8'),
      /set -eu\ncase \$0 in .*\n\. "\$here\/safe-shell\.sh"\ncd "\$here\/\.\."\ncheck_clone\n/,
      name,
    );
  const bin = join(import.meta.dirname, '../bin');
  const all = [
    ...readdirSync(import.meta.dirname)
      .filter((name) => name.endsWith('.sh'))
      .map((name) => join(import.meta.dirname, name)),
    ...readdirSync(bin).map((name) => join(bin, name)),
  ];
  for (const file of all) assert.doesNotMatch(readFileSync(file, 'utf8'), /\/tmp\b|\$TMPDIR|\beval\b/, file);
});
