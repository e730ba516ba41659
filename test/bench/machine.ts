/** A description of the machine on which the values were measured. */
import { existsSync, readFileSync } from 'node:fs';
import { cpus, loadavg, release, totalmem } from 'node:os';
import { join } from 'node:path';
import { findHierarchies } from '../../src/up/cgroups.ts';
import { tryCommand } from '../../src/up/commands.ts';
import { pause } from '../../src/up/processes.ts';

export interface Machine {
  readonly processors: string;
  readonly memory: string;
  readonly system: string;
  readonly kernel: string;
  readonly cgroups: string;
  readonly containerd: string;
  readonly runc: string;
  readonly node: string;
  readonly commit: string;
  /** Load averages over 1, 5 and 15 minutes before the run. */
  readonly load: string;
}

export async function describeMachine(): Promise<Machine> {
  const firstLine = async (argv: string[]): Promise<string> =>
    (await tryCommand(argv).catch(() => undefined))?.stdout.split('\n')[0]?.trim() ?? '';
  const repository = join(import.meta.dirname, '..', '..');
  const { v1, v2 } = findHierarchies();
  const dirty = await firstLine(['git', '-C', repository, 'status', '--porcelain', '--untracked-files=no']);
  return {
    processors: `${cpus().length} x ${cpus()[0]?.model.trim() ?? 'unknown'}`,
    memory: `${(totalmem() / 2 ** 30).toFixed(1)} GiB`,
    system: existsSync('/etc/os-release')
      ? (/^PRETTY_NAME="(.*)"/m.exec(readFileSync('/etc/os-release', 'utf8'))?.[1] ?? '')
      : '',
    kernel: release(),
    cgroups: v1.length === 0 ? 'v2' : v2.length === 0 ? 'v1' : 'v1 and v2 (hybrid)',
    containerd: /\d+\.\d+\.\d+\S*/.exec(await firstLine(['containerd', '--version']))?.[0] ?? '',
    runc: (await firstLine(['runc', '--version'])).replace('runc version ', ''),
    node: process.version,
    commit: `${await firstLine(['git', '-C', repository, 'rev-parse', '--short', 'HEAD'])}${dirty === '' ? '' : ' and changes'}`,
    load: loadavg()
      .map((value) => value.toFixed(2))
      .join(' '),
  };
}

const BUSY_WINDOW_MS = 2000;

/** Above this share, other work on the machine affects the results. */
export const QUIET_SHARE = 0.1;

/** The share of the processors' time, 0 to 1, that other processes use at present. */
export async function measureBusyShare(): Promise<number> {
  const begin = processorTicks();
  await pause(BUSY_WINDOW_MS);
  const end = processorTicks();
  return 1 - (end.idle - begin.idle) / Math.max(1, end.total - begin.total);
}

function processorTicks(): { idle: number; total: number } {
  const [, ...fields] = (readFileSync('/proc/stat', 'utf8').split('\n')[0] ?? '').split(/\s+/);
  const ticks = fields.slice(0, 8).map(Number);
  return { idle: (ticks[3] ?? 0) + (ticks[4] ?? 0), total: ticks.reduce((sum, value) => sum + value, 0) };
}

export function renderMachine(machine: Machine): string[] {
  const { processors, memory, system, kernel, cgroups, containerd, runc, node, commit, load } = machine;
  return [
    `${processors}, ${memory}, ${system}, Linux ${kernel}, cgroups ${cgroups}`,
    `containerd ${containerd}, runc ${runc}, Node ${node}, commit ${commit}, load before the run ${load}`,
  ];
}
