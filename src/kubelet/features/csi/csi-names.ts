import { folderPrefix } from '../../../base/folder-path.ts';
import { createHash } from 'node:crypto';
import { KubeletError } from '../../../base/errors.ts';

export const CSI_PLUGIN = 'kubernetes.io/csi';
export const VOLUME_DATA_FILE = 'vol_data.json';

/** Adds the prefix of the CSI plugin to a message, as upstream's log helper does. */
export const said = (message: string): string => `${CSI_PLUGIN}: ${message}`;

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

function pathPart(value: string, what: string): string {
  if (value === '' || value === '.' || value === '..' || value.includes('/') || value.includes('\0'))
    throw new KubeletError('Invalid', said(`${what} ${JSON.stringify(value)} cannot be used as a file name`));
  return value;
}

/** Returns the handle of an inline volume, which the agent chooses. */
export const inlineHandle = (podUid: string, volume: string): string => `csi-${sha256(`${podUid}${volume}`)}`;

/** The paths below the agent's root, as in upstream (csi_attacher.go, csi_block.go). */
export class CsiPaths {
  readonly base: string;
  readonly devices: string;

  constructor(rootDir: string) {
    this.base = `${folderPrefix(rootDir)}/plugins/${CSI_PLUGIN}`;
    this.devices = `${this.base}/volumeDevices`;
  }

  /** Returns the folder where a file system is staged. Its data file is in the parent folder. */
  globalMount(driver: string, handle: string): string {
    return `${this.base}/${pathPart(driver, 'driver')}/${sha256(handle)}/globalmount`;
  }

  deviceStaging(specName: string): string {
    return `${this.devices}/staging/${pathPart(specName, 'volume')}`;
  }

  devicePublishFolder(specName: string): string {
    return `${this.devices}/publish/${pathPart(specName, 'volume')}`;
  }

  devicePublish(specName: string, podUid: string): string {
    return `${this.devicePublishFolder(specName)}/${pathPart(podUid, 'pod uid')}`;
  }

  deviceFolder(specName: string): string {
    return `${this.devices}/${pathPart(specName, 'volume')}`;
  }

  deviceData(specName: string): string {
    return `${this.deviceFolder(specName)}/data`;
  }

  /** Returns the link to the device of one pod, below the volume's name. */
  deviceMap(specName: string, podUid: string): string {
    return `${this.deviceFolder(specName)}/dev/${pathPart(podUid, 'pod uid')}`;
  }
}
