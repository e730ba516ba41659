import { errorMessage, isKind, KubeletError } from '../../../../base/errors.ts';
import type { Logger } from '../../../../base/log.ts';
import type { Mounts } from '../../../ports/mounts.ts';
import type { Processes } from '../../../ports/processes.ts';

export const DEFAULT_FS_TYPE = 'ext4';
const LOOK_LIMIT_MS = 30_000;
const REPAIR_LIMIT_MS = 600_000;
const FORMAT_LIMIT_MS = 600_000;
const OUTPUT_LIMIT_BYTES = 256 * 1024;
/** fsck(8). */
const CORRECTED = 1;
const UNCORRECTED = 4;
/** The exit code of blkid(8) when it finds nothing. */
const NOTHING_FOUND = 2;
/** The packages of the mkfs programs. They have the same names in Debian, Fedora, SUSE and Alpine. */
const packagesOfFsTypes: ReadonlyMap<string, string> = new Map([
  ['ext2', 'e2fsprogs'],
  ['ext3', 'e2fsprogs'],
  ['ext4', 'e2fsprogs'],
  ['xfs', 'xfsprogs'],
  ['btrfs', 'btrfs-progs'],
  ['vfat', 'dosfstools'],
]);
const UNKNOWN_DATA = 'unknown data, probably partitions';

export interface DiskMount {
  readonly fsType: string;
  readonly options: readonly string[];
}

/**
 * Mounts disks that pods get as file systems: an empty one is formatted, any other is checked and repaired first
 * (upstream: mount-utils SafeFormatAndMount). A disk with anything on it is never formatted. Each program runs in a
 * child with a deadline.
 */
export class DiskMounter {
  readonly #processes: Processes;
  readonly #mounts: Mounts;
  readonly #log: Logger;

  constructor(parts: { processes: Processes; mounts: Mounts; log: Logger }) {
    this.#processes = parts.processes;
    this.#mounts = parts.mounts;
    this.#log = parts.log;
  }

  /** Mounts the disk at an existing directory. */
  async mount(device: string, target: string, { fsType, options }: DiskMount): Promise<void> {
    // The type becomes part of a program's name.
    if (!/^[A-Za-z0-9][A-Za-z0-9_.-]*$/.test(fsType))
      throw new KubeletError('Invalid', `fsType ${JSON.stringify(fsType)} is not a file system name`);
    const readOnly = options.includes('ro');
    const found = await this.#formatOf(device);
    if (found === '') {
      if (readOnly)
        throw new KubeletError(
          'Invalid',
          `cannot mount unformatted disk ${device} as we are manipulating it in read-only mode`,
        );
      await this.#format(device, fsType);
    } else if (!readOnly && found !== UNKNOWN_DATA) {
      await this.#repair(device);
    }
    try {
      await this.#mounts.mount(target, { fsType, source: device, options: [...options, 'defaults'] });
    } catch (error) {
      if (isKind(error, 'Invalid') && found !== '' && found !== fsType)
        throw new KubeletError(
          'Invalid',
          `failed to mount the volume as "${fsType}", it already contains ${found}. Mount error: ${errorMessage(error)}`,
          { cause: error },
        );
      throw error;
    }
  }

  /** Returns the format of the disk, or '' for an empty one. */
  async #formatOf(device: string): Promise<string> {
    const { exitCode, stdout, stderr } = await this.#run(
      'blkid',
      ['-p', '-s', 'TYPE', '-s', 'PTTYPE', '-o', 'export', device],
      LOOK_LIMIT_MS,
    );
    if (exitCode === NOTHING_FOUND) return '';
    if (exitCode !== 0)
      throw new KubeletError(
        'Unavailable',
        `failed to get disk format of disk ${device}: exit status ${exitCode}: ${stderr.trim()}`,
      );
    const valueOf = (key: string): string => new RegExp(`^${key}=(.*)$`, 'm').exec(stdout)?.[1] ?? '';
    return valueOf('PTTYPE') === '' ? valueOf('TYPE') : UNKNOWN_DATA;
  }

  async #repair(device: string): Promise<void> {
    try {
      const { exitCode, stdout, stderr } = await this.#run('fsck', ['-a', device], REPAIR_LIMIT_MS);
      if (exitCode === UNCORRECTED)
        throw new KubeletError(
          'Unavailable',
          `'fsck' found errors on device ${device} but could not correct them: ${`${stdout}${stderr}`.trim()}`,
        );
      if (exitCode === CORRECTED) this.#log.info('a disk had errors, which fsck corrected', { device });
      else if (exitCode !== 0)
        this.#log.warn('fsck could not check a disk; it is mounted without a check', {
          device,
          exitCode,
          output: stderr.trim(),
        });
    } catch (error) {
      if (!isKind(error, 'NotFound')) throw error;
      this.#log.warn('fsck is not installed on this node; disks are mounted unchecked', { device });
    }
  }

  async #format(device: string, fsType: string): Promise<void> {
    const program = `mkfs.${fsType}`;
    const forced = fsType === 'ext4' || fsType === 'ext3' ? ['-F', '-m0'] : fsType === 'xfs' ? ['-f'] : [];
    this.#log.info('an empty disk is formatted', { device, fsType });
    const failed = (why: string, cause?: unknown): KubeletError =>
      new KubeletError('Unavailable', `format of disk "${device}" failed: type:("${fsType}") ${why}`, { cause });
    const { exitCode, stdout, stderr } = await this.#run(program, [...forced, device], FORMAT_LIMIT_MS).catch(
      (error: unknown) => {
        if (!isKind(error, 'NotFound')) throw error;
        const where = packagesOfFsTypes.get(fsType);
        throw failed(
          `errcode:(executable file not found in $PATH): ${program} is not installed on this node${where === undefined ? '' : `: it is in the package ${where}`}`,
          error,
        );
      },
    );
    if (exitCode !== 0) throw failed(`errcode:(exit status ${exitCode}) output:(${`${stdout}${stderr}`.trim()})`);
  }

  async #run(
    program: string,
    args: readonly string[],
    timeoutMs: number,
  ): Promise<{ exitCode: number; stdout: string; stderr: string }> {
    return this.#processes.run(program, args, {
      timeoutMs,
      outputLimitBytes: OUTPUT_LIMIT_BYTES,
      env: { LC_ALL: 'C' },
    });
  }
}
