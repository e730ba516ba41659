// The agent that the tests run: bundled once per test process from the sources as they are, so that it is neither slow to start nor stale.
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runCommand } from '../../../src/up/commands.ts';

const repository = join(import.meta.dirname, '..', '..', '..');
let built: Promise<string> | undefined;

/** The path of `bin/kubelet` in a folder of its own, which goes when this process ends. */
export function agentProgram(): Promise<string> {
  return (built ??= build());
}

async function build(): Promise<string> {
  const home = mkdtempSync(join(tmpdir(), 'kts-program-'));
  process.on('exit', () => rmSync(home, { recursive: true, force: true }));
  mkdirSync(join(home, 'bin'));
  copyFileSync(join(repository, 'bin', 'kubelet'), join(home, 'bin', 'kubelet'));
  for (const name of ['node_modules', 'package.json']) symlinkSync(join(repository, name), join(home, name));
  await runCommand([process.execPath, join(repository, 'scripts', 'build.ts'), join(home, 'dist')]);
  return join(home, 'bin', 'kubelet');
}
