import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { parseCommandLine } from './options.ts';
import { needsRunscAdapter, renderRunscAdapter } from './runsc-adapter.ts';
import { checkRuntimeHandlers, parseRuntimeHandlers, writeRuntimeClasses } from './runtime-handlers.ts';

function inFolder(use: (folder: string) => void): void {
  const folder = mkdtempSync(join(tmpdir(), 'kts-handlers-'));
  try {
    use(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

describe('runtime handlers', () => {
  it('are names with the paths of programs', () => {
    assert.deepEqual(parseRuntimeHandlers(['gvisor=/usr/bin/runsc', 'small=/opt/a=b/crun']), {
      gvisor: '/usr/bin/runsc',
      small: '/opt/a=b/crun',
    });
    assert.deepEqual(parseRuntimeHandlers([]), {});
  });

  for (const [values, words] of [
    [['gvisor'], /write NAME=PROGRAM/],
    [['=/usr/bin/runsc'], /write NAME=PROGRAM/],
    [['gvisor='], /write NAME=PROGRAM/],
    [['gvisor=runsc'], /"runsc" is not an absolute path/],
    [['G_visor=/r'], /cannot be the name of a handler/],
    [['runc=/r'], /there is a handler "runc" already/],
    [['a=/r', 'a=/s'], /there is a handler "a" already/],
    [['__proto__=/r'], /cannot be the name of a handler/],
  ] as const)
    it(`${values.join(' ')} is refused`, () => {
      assert.match(String(parseRuntimeHandlers(values)), words);
      assert.throws(() => parseCommandLine(['up', ...values.map((each) => `--runtime-handler=${each}`)], {}), words);
    });

  it('require the containerd that up starts', () => {
    const args = ['up', '--runtime-handler=a=/r', '--container-runtime-endpoint=unix:///x'];
    assert.throws(() => parseCommandLine(args, {}), /is for the containerd that up starts/);
    assert.deepEqual(parseCommandLine(args.slice(0, 2), {}).runtimeHandlers, { a: '/r' });
  });

  it('require a program that can be started', () =>
    inFolder((folder) => {
      const file = join(folder, 'runsc');
      const check = (): void => checkRuntimeHandlers({ gvisor: file });
      assert.throws(check, { kind: 'Invalid', message: /runsc does not exist: .*apt-get install runsc/ });
      assert.throws(() => checkRuntimeHandlers({ gvisor: folder }), /is not a file/);
      writeFileSync(file, '#!/bin/sh\n');
      assert.throws(check, /is not executable/);
      chmodSync(file, 0o755);
      check();
    }));

  it('have one class each, which is written once', () =>
    inFolder((manifestsDir) => {
      writeRuntimeClasses({ manifestsDir }, { gvisor: '/r' });
      const [name = ''] = readdirSync(manifestsDir);
      const file = join(manifestsDir, name);
      assert.match(readFileSync(file, 'utf8'), /kind: RuntimeClass\nmetadata:\n {2}name: gvisor\nhandler: gvisor\n/);
      writeFileSync(file, 'mine');
      writeRuntimeClasses({ manifestsDir }, { gvisor: '/r' });
      assert.equal(readFileSync(file, 'utf8'), 'mine');
    }));
});

/** Records its calls, and answers as runsc does. */
const FAKE_RUNSC = `#!/bin/sh
echo "$@" >>"$CALLS"
case "$*" in
  *' start '*) cat >"$CALLS.input"; echo output ;;
  *' kill gone '*) echo 'sandbox is not running' >&2; exit 128 ;;
  *' wait '*) echo waited >"$CALLS.waited"; echo '{"id":"c","exitStatus":7}' ;;
esac
`;

describe('the script between the runc shim and runsc', () => {
  it('is used for programs with that name', () => {
    assert.deepEqual(['/usr/bin/runsc', '/opt/runsc-2', '/usr/bin/crun', '/usr/bin/runscope'].map(needsRunscAdapter), [
      true,
      true,
      false,
      false,
    ]);
  });

  const withScript = (type: string, use: (run: (...args: string[]) => number | null, folder: string) => void): void =>
    inFolder((folder) => {
      const at = (name: string): string => join(folder, name);
      mkdirSync(at("it's a bundle"));
      writeFileSync(at("it's a runsc"), FAKE_RUNSC, { mode: 0o755 });
      writeFileSync(at('script'), renderRunscAdapter(at("it's a runsc")), { mode: 0o755 });
      writeFileSync(
        at("it's a bundle/config.json"),
        JSON.stringify({ annotations: { 'io.kubernetes.cri.container-type': type } }),
      );
      const env = { ...process.env, CALLS: at('calls') };
      use((...args) => {
        const globals = ['--root', at('root'), '--log', at('log'), '--log-format', 'json'];
        const { status } = spawnSync('sh', [at('script'), ...globals, ...args], {
          env,
          input: 'typed',
          timeout: 10_000,
          stdio: ['pipe', 'ignore', 'ignore'],
        });
        return status;
      }, folder);
    });

  it('passes all calls for a sandbox on without changes', () =>
    withScript('sandbox', (run, folder) => {
      const bundle = join(folder, "it's a bundle");
      assert.equal(run('create', '--bundle', bundle, '--pid-file', join(folder, 'pid'), 'c'), 0);
      assert.equal(run('start', 'c'), 0);
      assert.match(
        readFileSync(join(folder, 'calls'), 'utf8'),
        /create --bundle .*it's a bundle --pid-file \S+pid c\n/,
      );
    }));

  it('keeps the streams of a further container until its start, and waits for its end', () =>
    withScript('container', (run, folder) => {
      const calls = join(folder, 'calls');
      const words = (): string[] =>
        readFileSync(calls, 'utf8')
          .split('\n')
          .map((line) => line.replace(/.*--log-format json\s+/, '').replace(/ .*/, ''));
      const pidFile = join(folder, 'pid');
      assert.equal(run('create', '--bundle', join(folder, "it's a bundle"), '--pid-file', pidFile, 'c'), 0);
      assert.deepEqual(words(), ['create', '']);
      assert.match(readFileSync(pidFile, 'utf8'), /^\d+$/);
      spawnSync('mkfifo', [`${calls}.waited`]);
      assert.equal(run('start', 'c'), 0);
      spawnSync('cat', [`${calls}.waited`], { timeout: 10_000 });
      assert.deepEqual(words(), ['create', 'start', 'wait', '']);
      assert.equal(readFileSync(`${calls}.input`, 'utf8'), 'typed');
      assert.equal(run('kill', 'c', '15'), 0);
      assert.equal(run('delete', '--force', 'c'), 0);
      assert.deepEqual(words().slice(3), ['kill', 'delete', '']);
      assert.deepEqual(readdirSync(join(folder, 'root')), []);
    }));

  it('ends the keeper of a container that never started', () =>
    withScript('container', (run, folder) => {
      assert.equal(run('create', '--bundle', join(folder, "it's a bundle"), 'c'), 0);
      assert.equal(run('kill', 'c', '9'), 0);
      assert.equal(run('delete', 'c'), 0);
      assert.deepEqual(readdirSync(join(folder, 'root')), []);
      assert.doesNotMatch(readFileSync(join(folder, 'calls'), 'utf8'), / (start|kill) /);
    }));

  it('reports a missing container with the text that the shim expects', () =>
    withScript('sandbox', (run, folder) => {
      assert.equal(run('kill', 'gone', '9'), 128);
      const env = { ...process.env, CALLS: join(folder, 'calls') };
      const { stderr } = spawnSync('sh', [join(folder, 'script'), '--root', folder, 'kill', 'gone', '9'], { env });
      assert.match(stderr.toString(), /^container not running: sandbox is not running$/m);
    }));
});
