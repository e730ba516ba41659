// The programs that the tests run: bundled once per test process from the sources as they are, so that they are neither slow to start nor stale.
import { cpSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
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

async function build(): Promise<string> {
  const home = mkdtempSync(join(tmpdir(), 'kts-program-'));
  process.on('exit', () => rmSync(home, { recursive: true, force: true }));
  cpSync(join(repository, 'bin'), join(home, 'bin'), { recursive: true });
  for (const name of ['node_modules', 'package.json']) symlinkSync(join(repository, name), join(home, name));
  await runCommand([process.execPath, join(repository, 'scripts', 'build.ts'), join(home, 'dist')]);
  return home;
}
