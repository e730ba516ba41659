import type { FCVolumeSource } from '../../../../api/core/volume-source-remote.ts';
import { KubeletError } from '../../../../base/errors.ts';
import type { HostFiles } from '../../../ports/host-files.ts';
import type { Processes } from '../../../ports/processes.ts';
import type { VolumeSpec } from '../../../ports/volume-plugin.ts';
import { ScsiBus } from './scsi-bus.ts';
import type { DiskSource } from './staged-disk.ts';

const CALL_LIMIT_MS = 60_000;
const OUTPUT_LIMIT_BYTES = 64 * 1024;
const BY_PATH = '/dev/disk/by-path';
const BY_ID = '/dev/disk/by-id';

function sourceOf(spec: VolumeSpec): FCVolumeSource | undefined {
  return spec.kind === 'inline' ? spec.volume.fc : spec.persistentVolume.spec.fc;
}

/**
 * Attaches disks of a Fibre Channel network, by WWN and LUN or by WWID (upstream: fc_util.go). A multipath device is
 * preferred.
 */
export class FibreChannelDisks implements DiskSource {
  readonly name = 'kubernetes.io/fc';
  readonly sourceOf = sourceOf;
  readonly #files: HostFiles;
  readonly #processes: Processes;
  readonly #bus: ScsiBus;

  constructor(parts: { files: HostFiles; processes: Processes }) {
    this.#files = parts.files;
    this.#processes = parts.processes;
    this.#bus = new ScsiBus(parts.files);
  }

  describe(spec: VolumeSpec): { id: string; folder: string; context: Record<string, string> } {
    const { targetWWNs = [], wwids = [], lun = 0 } = sourceOf(spec) ?? {};
    const byWwn = targetWWNs.length > 0;
    if ([...targetWWNs, ...wwids].some((name) => name.includes('/')))
      throw new KubeletError('Invalid', `fc: ${JSON.stringify([...targetWWNs, ...wwids].join(' '))} names no disk`);
    return {
      id: byWwn ? `[${targetWWNs.join(' ')}]:${lun}` : `[${wwids.join(' ')}]`,
      folder: byWwn ? `${targetWWNs.join('-')}-lun-${lun}` : wwids.join('-'),
      context: {},
    };
  }

  /**
   * Attaches the disk. A disk that exists already causes no scan. If multipath has only one path, it gets time to find
   * more.
   */
  async attach(spec: VolumeSpec): Promise<string> {
    const found = await this.#find(spec);
    if (found?.multipath === true) return found.device;
    await this.#bus.rescanAll();
    const after = await this.#find(spec);
    if (after === undefined) throw new KubeletError('Unavailable', 'no fc disk found');
    return after.device;
  }

  async detach({ device = '' }: Readonly<Record<string, string>>): Promise<void> {
    if (device === '' || (await this.#files.lstat(device)) === undefined) return;
    const multipath = await this.#bus.multipathOf(device);
    const disks = multipath === undefined ? [device] : await this.#bus.slavesOf(multipath);
    if (multipath !== undefined) await this.#run('multipath', ['-f', multipath]);
    for (const disk of disks) {
      await this.#run('blockdev', ['--flushbufs', disk]).catch(() => undefined);
      await this.#bus.removeDisk(disk);
    }
  }

  async #find(spec: VolumeSpec): Promise<{ device: string; multipath: boolean } | undefined> {
    const { targetWWNs = [], wwids = [], lun = 0 } = sourceOf(spec) ?? {};
    const byWwn = targetWWNs.length > 0;
    const folder = byWwn ? BY_PATH : BY_ID;
    const patterns = byWwn
      ? targetWWNs.map((wwn) => new RegExp(`^(pci-.*-fc|fc)-0x${escaped(wwn)}-lun-${lun}$`))
      : wwids.map((wwid) => new RegExp(`^scsi-${escaped(wwid.replaceAll(' ', '_'))}$`));
    let single: string | undefined;
    for (const name of await this.#files.list(folder)) {
      if (!patterns.some((pattern) => pattern.test(name))) continue;
      const device = `/dev/${(await this.#files.readLink(`${folder}/${name}`)).split('/').at(-1)}`;
      const multipath = await this.#bus.multipathOf(device);
      if (multipath !== undefined) return { device: multipath, multipath: true };
      single ??= device;
    }
    return single === undefined ? undefined : { device: single, multipath: false };
  }

  async #run(program: string, args: readonly string[]): Promise<void> {
    const { exitCode, stderr } = await this.#processes.run(program, args, {
      timeoutMs: CALL_LIMIT_MS,
      outputLimitBytes: OUTPUT_LIMIT_BYTES,
    });
    if (exitCode !== 0)
      throw new KubeletError('Unavailable', `${program} ${args.join(' ')}: exit status ${exitCode}: ${stderr.trim()}`);
  }
}

const escaped = (text: string): string => text.replaceAll(/[^A-Za-z0-9_]/g, '\\$&');
