import type { HostFiles } from '../../../ports/host-files.ts';

const HOSTS = '/sys/class/scsi_host';
const ISCSI_HOSTS = '/sys/class/iscsi_host';

/** The part of sysfs with SCSI disks. */
export class ScsiBus {
  readonly #files: HostFiles;

  constructor(files: HostFiles) {
    this.#files = files;
  }

  /** Scans every host for new disks. */
  async rescanAll(): Promise<void> {
    for (const host of await this.#files.list(HOSTS)) await this.#files.appendFile(`${HOSTS}/${host}/scan`, '- - -');
  }

  /** Scans for one LUN only. Other LUNs of the target do not concern this node. */
  async scanLun(host: string, lun: number): Promise<void> {
    await this.#files.appendFile(`${HOSTS}/${host}/scan`, `0 0 ${lun}`);
  }

  /** Removes a disk (`/dev/sdx`) from the bus. */
  async removeDisk(device: string): Promise<void> {
    const path = `/sys/block/${device.slice(device.lastIndexOf('/') + 1)}/device/delete`;
    if ((await this.#files.lstat(path)) !== undefined) await this.#files.appendFile(path, '1');
  }

  /** Returns `/dev/dm-0` if multipath uses the disk. */
  async multipathOf(device: string): Promise<string | undefined> {
    const disk = device.slice(device.lastIndexOf('/') + 1);
    if (disk.startsWith('dm-')) return device;
    for (const name of await this.#files.list('/sys/block')) {
      if (name.startsWith('dm-') && (await this.#files.list(`/sys/block/${name}/slaves`)).includes(disk))
        return `/dev/${name}`;
    }
    return undefined;
  }

  /** The disks below a multipath device. */
  async slavesOf(multipath: string): Promise<string[]> {
    const names = await this.#files.list(`/sys/block/${multipath.slice(multipath.lastIndexOf('/') + 1)}/slaves`);
    return names.map((name) => `/dev/${name}`);
  }

  /** The SCSI host (`host3`) of each portal of a target that is logged in. */
  async iscsiHosts(iqn: string): Promise<Map<string, string>> {
    const hosts = new Map<string, string>();
    for (const host of await this.#files.list(ISCSI_HOSTS)) {
      for (const session of (await this.#files.list(`${ISCSI_HOSTS}/${host}/device`)).filter((name) =>
        name.startsWith('session'),
      )) {
        const base = `${ISCSI_HOSTS}/${host}/device/${session}`;
        if ((await this.#text(`${base}/iscsi_session/${session}/targetname`)) !== iqn) continue;
        for (const connection of (await this.#files.list(base)).filter((name) => name.startsWith('connection'))) {
          const at = `${base}/${connection}/iscsi_connection/${connection}`;
          for (const prefix of ['', 'persistent_'])
            hosts.set(
              portalOf(await this.#text(`${at}/${prefix}address`), await this.#text(`${at}/${prefix}port`)),
              host,
            );
        }
      }
    }
    return hosts;
  }

  async #text(path: string): Promise<string> {
    return (await this.#files.lstat(path)) === undefined ? '' : (await this.#files.readText(path, 4096)).trim();
  }
}

const portalOf = (address: string, port: string): string =>
  address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`;
