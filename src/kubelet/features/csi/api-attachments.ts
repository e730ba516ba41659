import { attachmentName } from '../../../api/attachable-volume.ts';
import type { ApiClient } from '../../../api/client/api-client.ts';
import { volumeAttachments } from '../../../api/client/resource-types.ts';
import type { VolumeAttachment } from '../../../api/storage/volume-attachment.ts';
import { errorMessage, KubeletError } from '../../../base/errors.ts';
import type { Attachments } from './csi-lookup.ts';

/** gRPC's RESOURCE_EXHAUSTED: the node cannot attach more volumes of this driver. */
const EXHAUSTED = 8;

export interface ApiAttachmentsOptions {
  readonly client: ApiClient;
  readonly nodeName: string;
  /**
   * Called when the driver could not attach the volume because the node is full, so that its known limit is outdated.
   */
  readonly onExhausted: (driver: string) => void;
}

/**
 * Volumes attached to this node, according to its VolumeAttachments. A node may read its own VolumeAttachments by name
 * but not watch them. Therefore a change of the node's status, which lists attached volumes, triggers the next read.
 */
export class ApiAttachments implements Attachments {
  readonly #options: ApiAttachmentsOptions;

  constructor(options: ApiAttachmentsOptions) {
    this.#options = options;
  }

  /** Rejects, with upstream's messages, if the volume is not attached (upstream: csi_attacher.go WaitForAttach). */
  async check(driver: string, handle: string): Promise<void> {
    const attachment = await this.#read(driver, handle);
    const { name, deletionTimestamp } = attachment.metadata;
    const { attached = false, attachError } = attachment.status ?? {};
    if (deletionTimestamp !== undefined) throw new KubeletError('Unavailable', 'volume attachment is being deleted');
    if (attached) return;
    if (attachError?.errorCode === EXHAUSTED) this.#options.onExhausted(driver);
    throw new KubeletError(
      'Unavailable',
      attachError === undefined
        ? `volume ${handle} is not attached for volume attachment ${name}`
        : (attachError.message ?? ''),
    );
  }

  async publishContext(driver: string, handle: string): Promise<Readonly<Record<string, string>>> {
    return (await this.#read(driver, handle)).status?.attachmentMetadata ?? {};
  }

  async #read(driver: string, handle: string): Promise<VolumeAttachment> {
    const { client, nodeName } = this.#options;
    const name = attachmentName(handle, driver, nodeName);
    try {
      return await client.get(volumeAttachments, { namespace: '', name });
    } catch (error) {
      throw new KubeletError(
        'Unavailable',
        `volume ${handle} has GET error for volume attachment ${name}: ${errorMessage(error)}`,
        { op: 'get volumeattachments', cause: error },
      );
    }
  }
}
