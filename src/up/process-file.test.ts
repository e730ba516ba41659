// How many processes take over the lock file of a dead holder concurrently, while some of them die.
import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import type { LockFiles } from './process-file.ts';
import { takeProcessFile } from './process-file.ts';
import { acquireProcessFile, findByOption, readProcessFile } from './processes.ts';

const root = mkdtempSync(join(tmpdir(), 'kts-lock-'));
after(() => rmSync(root, { recursive: true, force: true }));

/** mulberry32. */
function generator(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

function memory(): LockFiles & { readonly names: () => string[] } {
  const files = new Map<string, string>();
  return {
    read: (path) => files.get(path),
    create: (path, content) => !files.has(path) && files.set(path, content) === files,
    replace: (path, content) => void files.set(path, content),
    remove: (path) => void files.delete(path),
    names: () => [...files.keys()],
  };
}

test('in any order of their steps, and when some die, at most one holds the file, and a single starter gets it', () => {
  const most = { deaths: 0, taken: 0 };
  for (let seed = 1; seed <= 3000; seed += 1) {
    const random = generator(seed);
    const files = memory();
    const alive = new Set<string>();
    const isAlive = (content: string): boolean => alive.has(content);
    files.create('/lock', seed % 3 === 0 ? '' : 'dead');
    const holders = new Set<string>();
    const running = new Map<string, Generator<void, boolean>>();
    let born = 0;
    for (let step = 0; step < 250; step += 1) {
      if (running.size < 5 && random() < 0.3) {
        const self = `p${++born}`;
        alive.add(self);
        running.set(self, takeProcessFile('/lock', self, { files, isAlive }));
      }
      const names = [...running.keys(), ...holders];
      const chosen = names[Math.floor(random() * names.length)];
      if (chosen === undefined) continue;
      if (random() < 0.06) {
        // kill -9, of a contender or of the holder.
        alive.delete(chosen);
        running.delete(chosen);
        holders.delete(chosen);
        most.deaths += 1;
      } else if (holders.has(chosen)) {
        if (random() < 0.1) {
          files.remove('/lock');
          holders.delete(chosen);
          alive.delete(chosen);
        }
      } else {
        const end = running.get(chosen)?.next();
        if (end?.done !== true) continue;
        running.delete(chosen);
        if (!end.value) continue;
        holders.add(chosen);
        most.taken += 1;
        assert.deepEqual([[...holders], files.read('/lock')], [[chosen], chosen], `seed ${seed}`);
      }
    }
    alive.clear();
    alive.add('last');
    const last = takeProcessFile('/lock', 'last', { files, isAlive });
    let end = last.next();
    while (end.done !== true) end = last.next();
    assert.deepEqual([end.value, files.read('/lock')], [true, 'last'], `seed ${seed}`);
  }
  assert.ok(most.deaths > 1000 && most.taken > 1000, JSON.stringify(most));
});

test('real processes: after a crash one of many starters holds the file, and no other files are left', {
  timeout: 120_000,
}, async () => {
  const module = join(import.meta.dirname, 'processes.ts');
  const script = `const { acquireProcessFile } = await import(${JSON.stringify(module)}); process.stdin.once('data', () => { console.log(acquireProcessFile(process.argv[1])); }); console.log('ready');`;
  const starters = Array.from({ length: 6 }, () =>
    spawn(
      process.execPath,
      ['--disable-warning=ExperimentalWarning', '--input-type=module', '-e', script, join(root, 'real')],
      { stdio: ['pipe', 'pipe', 'inherit'] },
    ),
  );
  const line = async (child: ChildProcess): Promise<string> =>
    String(((await once(child.stdout as NonNullable<typeof child.stdout>, 'data')) as [Buffer])[0]).trim();
  try {
    await Promise.all(starters.map(line));
    const stale = { pid: process.pid, startTicks: '1', bootId: 'another' };
    writeFileSync(join(root, 'real'), JSON.stringify(stale));
    const said = starters.map(line);
    for (const child of starters) child.stdin?.write('go\n');
    const held = await Promise.all(said);
    assert.deepEqual(held.filter((each) => each === 'true').length, 1, held.join(' '));
    assert.equal(readProcessFile(join(root, 'real'))?.pid, starters[held.indexOf('true')]?.pid);
    assert.deepEqual(readdirSync(root), ['real']);
  } finally {
    for (const child of starters) child.kill('SIGKILL');
  }
});

test('the next taking removes files of dead contenders and keeps those of living ones', () => {
  const file = join(root, 'swept');
  for (const left of ['swept.4194303', 'swept.after-0123456789abcdef']) writeFileSync(join(root, left), '');
  writeFileSync(join(root, `swept.${process.ppid}`), '');
  writeFileSync(join(root, 'swept.json'), '');
  assert.equal(acquireProcessFile(file), true);
  assert.equal(acquireProcessFile(file), true, 'by the same process');
  assert.deepEqual(
    readdirSync(root)
      .filter((name) => name.startsWith('swept'))
      .sort(),
    ['swept', `swept.${process.ppid}`, 'swept.json'].sort(),
  );
  assert.ok(existsSync(file));
});

test('a program without a record is found by its unique option, and processes with other options are not', async () => {
  const config = join(root, 'kubelet.yaml');
  const start = async (...args: string[]): Promise<ChildProcess> => {
    const child = spawn(process.execPath, ['-e', 'console.log("ready"); setInterval(() => {}, 1e6)', '--', ...args], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    await once(child.stdout, 'data');
    return child;
  };
  const children = [await start(config), await start('--config', `${config}.old`)];
  try {
    assert.equal(findByOption('--config', config), undefined);
    children.push(await start('--config', config));
    assert.equal(findByOption('--config', config)?.pid, children[2]?.pid);
    children[2]?.kill('SIGKILL');
    if (process.geteuid?.() === 0) {
      const elsewhere = spawn(
        'unshare',
        [
          '--mount',
          process.execPath,
          '-e',
          'console.log("ready"); setInterval(() => {}, 1e6)',
          '--',
          '--config',
          config,
        ],
        { stdio: ['ignore', 'pipe', 'inherit'] },
      );
      children.push(elsewhere);
      await once(elsewhere.stdout, 'data');
      assert.equal(findByOption('--config', config), undefined, 'with other files');
    }
    children.push(await start(`--config=${config}`));
    assert.equal(findByOption('--config', config)?.pid, children.at(-1)?.pid);
  } finally {
    for (const child of children) child.kill('SIGKILL');
  }
});
