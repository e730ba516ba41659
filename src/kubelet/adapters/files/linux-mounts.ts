import { access, realpath } from 'node:fs/promises';
import { release } from 'node:os';
import nodePath from 'node:path/posix';
import type { ErrorKind } from '../../../base/errors.ts';
import { KubeletError } from '../../../base/errors.ts';
import type { BindBeneathResult, MountOrder, MountPoint, Mounts, SubPathMount } from '../../ports/mounts.ts';
import { bindBeneath } from './linux-bind-beneath.ts';
import { fromErrno } from '../linux-errors.ts';
import { pooledFdOps } from './linux-fd-ops.ts';
import { FileWork } from './linux-file-work.ts';
import { runKillable, StuckChildren } from '../process/linux-killable.ts';
import { ShellRunner } from '../process/linux-shell-runner.ts';
import { isAtOrBelow, mountOf } from '../../../base/mount-info.ts';
import { readMountInfo } from './linux-mountinfo.ts';
import { realPlace, walkLocal } from './linux-remote-mounts.ts';

export interface LinuxMountsOptions {
  /** The time limit of mount(8) or umount(8). */
  readonly timeoutMs?: number;
  readonly run?: typeof runKillable;
  /** Decides which paths may hang. */
  readonly walk?: typeof walkLocal;
}

/** The maximum number of processes that open and mount on file systems that may hang. */
const WORKERS = 8;
/** The first kernel version whose tmpfs supports `noswap` (upstream: pkg/kubelet/util/swap). */
const noswapSince = [6, 4] as const;

/**
 * Mounts with mount(8) and umount(8), each in a child that can be killed. With `-n` and `-i` they do not use /etc/mtab
 * and helper programs. With `-c`, umount does not resolve the path, which would access the dead file system that it
 * should remove.
 */
export class LinuxMounts implements Mounts {
  readonly #timeoutMs: number;
  /** Runs mounts that may take long, and those with a helper program. */
  readonly #runChild: typeof runKillable;
  /** Runs mounts that every pod needs and that the kernel makes immediately. */
  readonly #runQuick: typeof runKillable;
  readonly #walk: typeof walkLocal;
  readonly #work = new FileWork(WORKERS);
  /** The stuck children by operation and path. */
  readonly #stuck = new StuckChildren();
  #noswap = isAtLeast(release(), noswapSince);

  constructor(options: LinuxMountsOptions = {}) {
    this.#timeoutMs = options.timeoutMs ?? 30_000;
    this.#runChild = options.run ?? runKillable;
    this.#runQuick = options.run ?? new ShellRunner().run;
    this.#walk = options.walk ?? walkLocal;
  }

  async mountTmpfs(path: string, options: { sizeBytes?: number; mode?: number; noswap?: boolean }): Promise<void> {
    const words = [
      ...(options.sizeBytes === undefined ? [] : [`size=${Math.floor(options.sizeBytes)}`]),
      ...(options.mode === undefined ? [] : [`mode=${options.mode.toString(8)}`]),
    ];
    const mount = (extra: readonly string[]): Promise<void> => {
      const all = [...words, ...extra];
      return this.#run(
        'mount',
        ['-n', '-i', '-t', 'tmpfs', ...(all.length === 0 ? [] : ['-o', all.join(',')]), '--', 'tmpfs', path],
        `mount tmpfs ${path}`,
      );
    };
    if (options.noswap !== true || !this.#noswap) return mount([]);
    try {
      await mount(['noswap']);
    } catch (error) {
      if (error instanceof KubeletError && error.kind !== 'Invalid') throw error;
      this.#noswap = false;
      await mount([]);
    }
  }

  async bind(source: string, target: string, options: { readOnly: boolean }): Promise<void> {
    await this.#run('mount', ['-n', '-i', '--bind', '--', source, target], `bind ${source} to ${target}`);
    if (!options.readOnly) return;
    try {
      await this.#run('mount', ['-n', '-i', '-o', 'remount,bind,ro', '--', target], `make ${target} read-only`);
    } catch (error) {
      await this.unmount(target);
      throw error;
    }
  }

  async mount(target: string, { fsType, source, options, helper = false }: MountOrder): Promise<void> {
    const flags = [...(helper ? [] : ['-i']), '-t', fsType, ...(options.length === 0 ? [] : ['-o', options.join(',')])];
    try {
      await this.#run(
        'mount',
        ['-n', ...flags, '--', source, target],
        `mount ${fsType} ${source} at ${target}`,
        this.#runChild,
      );
    } catch (error) {
      const missing =
        helper &&
        error instanceof KubeletError &&
        error.kind !== 'Timeout' &&
        /might need a \/sbin\/mount\.<type> helper program|unknown filesystem type/i.test(error.message);
      if (missing && !(await hasProgram(`mount.${fsType}`)))
        throw new KubeletError('NotFound', `mount.${fsType} is not installed on this node`, {
          op: 'mount',
          cause: error,
        });
      throw error;
    }
  }

  async bindBeneath(mount: SubPathMount): Promise<BindBeneathResult> {
    const op = `mount a part of ${mount.root} at ${mount.target}`;
    if (this.#stuck.has(op))
      throw new KubeletError('Unavailable', `${op}: an earlier attempt still does not respond`, { op: 'bindBeneath' });
    const mounts = await readMountInfo();
    const volume = await this.#walk(`${mount.root}/${mount.subPath}`, { followLast: true, mounts });
    const place = await this.#walk(mount.target, { followLast: false, mounts });
    const request = { ...mount, target: place.real };
    if (volume.remote !== undefined || place.remote !== undefined) return this.#bindBeneathInChild(request, op);
    try {
      return await bindBeneath(request, {
        ops: pooledFdOps,
        bindDescriptor: (source, target) =>
          this.#run('mount', ['-n', '-i', '--no-canonicalize', '-o', 'bind', '--', source, target], op),
        unmount: (target) => this.unmount(target),
      });
    } catch (error) {
      throw fromErrno(error, 'bindBeneath', mount.target);
    }
  }

  async #bindBeneathInChild(mount: SubPathMount, op: string): Promise<BindBeneathResult> {
    const answer = await this.#stuck.watch(op, (onExit) =>
      this.#work.run({ op: 'bindBeneath', mount }, { silenceMs: this.#timeoutMs, onExit }),
    );
    return answer.result;
  }

  async unmount(path: string, options: { force?: boolean } = {}): Promise<void> {
    const mounts = await readMountInfo();
    const target = await realPlace(path, mounts);
    if (!mounts.some((mount) => mount.path === target)) return;
    try {
      await this.#run(
        'umount',
        ['-n', '-i', '-c', ...(options.force === true ? ['-f'] : []), '--', target],
        `unmount ${target}${options.force === true ? ' by force' : ''}`,
      );
    } catch (error) {
      // Another process may have unmounted it between check and call.
      if (error instanceof KubeletError && error.kind === 'Timeout') throw error;
      if ((await readMountInfo()).some((mount) => mount.path === target)) throw error;
    }
  }

  async listBelow(path: string): Promise<MountPoint[]> {
    const given = nodePath.join('/', path, '.');
    const mounts = await readMountInfo();
    const { real } = await walkLocal(given, { followLast: true, mounts });
    return mounts
      .filter((mount) => isAtOrBelow(mount.path, real))
      .map(({ path: at, fsType, source }) => ({
        path: nodePath.join(given, nodePath.relative(real, at)),
        fsType,
        source,
      }));
  }

  async makeRshared(path: string): Promise<void> {
    const real = await realpath(path).catch((error: unknown) => {
      throw fromErrno(error, 'make rshared', path);
    });
    if (mountOf(await readMountInfo(), real)?.shared === true) return;
    await this.#run('mount', ['-n', '-i', '--bind', '--', real, real], `bind ${real} to itself`);
    await this.#run('mount', ['-n', '-i', '--make-rshared', '--', real], `make ${real} rshared`);
  }

  async supportsTmpfsNoswap(): Promise<boolean> {
    return this.#noswap;
  }

  async #run(program: string, args: readonly string[], op: string, run = this.#runQuick): Promise<void> {
    if (this.#stuck.has(op))
      throw new KubeletError('Unavailable', `${op}: an earlier attempt still does not respond`, { op });
    const { exitCode, stderr } = await this.#stuck.watch(op, (onExit) =>
      run(program, args, { timeoutMs: this.#timeoutMs, op, onExit }),
    );
    if (exitCode !== 0)
      throw new KubeletError(kindOfMessage(stderr), `${op}: ${stderr.trim() || `exit status ${exitCode}`}`, { op });
  }
}

/**
 * Returns the kind for a message of util-linux, which has one exit status for most failures. With LC_ALL=C its messages
 * are stable. They are interpreted only here.
 */
function kindOfMessage(stderr: string): ErrorKind {
  if (/busy/i.test(stderr)) return 'Conflict';
  if (/does not exist|no such file/i.test(stderr)) return 'NotFound';
  if (/bad option|wrong fs type|invalid argument|unknown parameter|bad usage/i.test(stderr)) return 'Invalid';
  if (/no space|cannot allocate|input\/output|read-only/i.test(stderr)) return 'Unavailable';
  return 'Internal';
}

function isAtLeast(kernel: string, [major, minor]: readonly [number, number]): boolean {
  const [ownMajor = 0, ownMinor = 0] = kernel.split('.').map((part) => Number.parseInt(part, 10));
  return ownMajor > major || (ownMajor === major && ownMinor >= minor);
}

async function hasProgram(name: string): Promise<boolean> {
  for (const folder of ['/sbin', '/usr/sbin', '/bin', '/usr/bin']) {
    const found = await access(`${folder}/${name}`).then(
      () => true,
      () => false,
    );
    if (found) return true;
  }
  return false;
}
