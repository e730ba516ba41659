// The programs that the tests run: bundled once per test process from the sources as they are, so that they are neither slow to start nor stale.
import { cpSync, existsSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runCommand } from '../../../src/up/commands.ts';

const repository = join(import.meta.dirname, '..', '..', '..');
let built: Promise<string> | undefined;

export type Program = 'kubelet' | 'kubelet-control-plane' | 'kubelet-node-network' | 'fake-nodes';

/** The path of a program in a folder of its own, which goes when this process ends. */
export async function builtProgram(name: Program): Promise<string> {
  return join(await (built ??= build()), 'bin', name);
}

/** `up` as `npm run up` runs it; arguments for node. */
export async function builtUp(): Promise<readonly string[]> {
  return [
    '--optimize-for-size',
    '--disable-warning=ExperimentalWarning',
    join(await (built ??= build()), 'dist', 'up.js'),
  ];
}

async function build(): Promise<string> {
  const home = mkdtempSync(join(tmpdir(), 'kts-program-'));
  process.on('exit', () => rmSync(home, { recursive: true, force: true }));
  cpSync(join(repository, 'bin'), join(home, 'bin'), { recursive: true });
  // Beside what is built, `up` reads the example and what images are made of.
  for (const name of ['node_modules', 'package.json', 'src', '.data'].filter((each) =>
    existsSync(join(repository, each)),
  ))
    symlinkSync(join(repository, name), join(home, name));
  await runCommand([process.execPath, join(repository, 'scripts', 'build.ts'), join(home, 'dist')]);
  return home;
}
