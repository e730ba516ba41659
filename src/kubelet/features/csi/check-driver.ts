import { FieldErrors } from '../../../api/validation/field-error.ts';
import { checkLabelValue } from '../../../api/validation/names.ts';
import { validateCsiDriverName } from '../../../api/validation/pod/volumes-remote.ts';
import { validateCsiNode } from '../../../api/validation/volumes/validate-storage.ts';
import { KubeletError } from '../../../base/errors.ts';

/** The maximum length of a path of a unix socket. */
const MAX_SOCKET_PATH_BYTES = 107;
const MAX_VERSIONS = 64;
const MAX_VERSION_LENGTH = 64;
/** The maximum number of topology keys. Each becomes a label of the node. */
const MAX_TOPOLOGY_KEYS = 32;

/** What the node publishes about a driver (CSINode). */
export interface NodeDriver {
  readonly name: string;
  readonly nodeId: string;
  readonly topology: Readonly<Record<string, string>>;
  /** The maximum number of volumes; undefined for no limit. */
  readonly maxVolumes: number | undefined;
}

/**
 * Checks what a plugin reports when it registers, because it becomes names of folders and metrics and appears in logs.
 * Throws `Invalid`.
 */
export function checkRegistering({
  name,
  endpoint,
  versions,
}: {
  readonly name: string;
  readonly endpoint: string;
  readonly versions: readonly string[];
}): void {
  const errors = new FieldErrors();
  validateCsiDriverName(errors, 'name', name);
  if (errors.list.length > 0) throw new KubeletError('Invalid', 'the name is not a valid name of a CSI driver');
  if (
    !endpoint.startsWith('/') ||
    Buffer.byteLength(endpoint) > MAX_SOCKET_PATH_BYTES ||
    /[\u0000-\u001f\u007f]/.test(endpoint)
  )
    throw new KubeletError('Invalid', 'the endpoint is not a path of a unix socket');
  if (versions.length > MAX_VERSIONS || versions.some((version) => version.length > MAX_VERSION_LENGTH))
    throw new KubeletError(
      'Invalid',
      `more than ${MAX_VERSIONS} supported versions, or one of more than ${MAX_VERSION_LENGTH} characters`,
    );
}

/**
 * Checks what a driver reports about the node, because a value that the API refuses would prevent all other drivers
 * from being published. Throws `Invalid`.
 */
export function checkNodeDriver({ name, nodeId, topology }: NodeDriver): void {
  const keys = Object.keys(topology);
  const wrong = validateCsiNode({
    metadata: { name: 'node', namespace: '', uid: '' },
    spec: { drivers: [{ name, nodeID: nodeId, topologyKeys: keys }] },
  });
  const isWrong =
    wrong.length > 0 ||
    keys.length > MAX_TOPOLOGY_KEYS ||
    Object.values(topology).some((value) => checkLabelValue(value).length > 0);
  if (isWrong)
    throw new KubeletError('Invalid', 'error adding CSI driver node info: the node id or the topology is not valid');
}
