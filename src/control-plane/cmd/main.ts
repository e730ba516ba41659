/** The control plane as a program: its commands, which do not load the control plane, and its start. */
import { exitAfter } from '../../base/run-main.ts';
import { describeFlags } from './flags/control-plane-flags.ts';
import { versionInfo } from './version-info.ts';

async function main(args: readonly string[]): Promise<number | undefined> {
  if (args[0] === 'token') {
    const { tokenCommand } = await import('./token/token-command.ts');
    return tokenCommand(args.slice(1), {
      write: (text) => void process.stdout.write(text),
      defaultDataDir: defaultDataDir(),
      nowMs: Date.now(),
    });
  }
  if (args[0] === 'snapshot') {
    const { snapshotCommand } = await import('./snapshot/snapshot-command.ts');
    return snapshotCommand(args.slice(1), {
      write: (text) => void process.stdout.write(text),
      defaultDataDir: defaultDataDir(),
      nowMs: Date.now(),
      version: versionInfo().gitVersion,
    });
  }
  if (args[0] === 'explain') {
    const { explainCommand } = await import('./explain/explain-command.ts');
    return explainCommand(args.slice(1), {
      out: (text) => void process.stdout.write(text),
      error: (text) => void process.stderr.write(text),
      nowMs: Date.now(),
      env: process.env,
    });
  }
  const { runControlPlane } = await import('./run-control-plane.ts');
  return runControlPlane(args);
}

/** The default location of the files of a running control plane, for the commands. */
function defaultDataDir(): string {
  return describeFlags().find(({ name }) => name === 'data-dir')?.default ?? '.';
}

void exitAfter(process, () => main(process.argv.slice(2)));
