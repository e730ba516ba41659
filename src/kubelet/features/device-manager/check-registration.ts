import { isExtendedResource } from '../../../api/resources.ts';
import { byteLength, checkLabelKey } from '../../../api/validation/names.ts';
import { KubeletError } from '../../../base/errors.ts';
import type { DeviceAllocation, DevicePluginRegistration } from '../../ports/device-plugins.ts';

/** The version of the device plugin API. */
const VERSION = 'v1beta1';
/** The kernel's maximum length of a socket's path, without its final zero. */
const MAX_SOCKET_PATH_BYTES = 107;
const MAX_ENTRIES = 1000;

/** Whether the name can be an extended resource of a device plugin (upstream: helper.IsExtendedResourceName). */
function isDeviceResourceName(name: string): boolean {
  return isExtendedResource(name) && [...checkLabelKey(`requests.${name}`)].length === 0;
}

/**
 * Returns the path of the socket that the plugin named. Throws `Invalid` with upstream's message
 * (plugin/v1beta1/server.go Register). A name that leads out of the folder is refused; upstream follows it.
 */
export function checkRegistration(registration: DevicePluginRegistration, folder: string): string {
  const { version, resource, endpoint } = registration;
  if (version !== VERSION)
    throw invalid(
      `requested API version ${JSON.stringify(version)} is not supported by kubelet. Supported version is ["${VERSION}"]`,
    );
  checkResourceName(resource);
  const path = `${folder}/${endpoint}`;
  if (!/^[^/\0]+$/.test(endpoint) || endpoint === '.' || endpoint === '..')
    throw invalid(`the endpoint ${JSON.stringify(endpoint)} is not a file name in ${folder}`);
  if (byteLength(path) > MAX_SOCKET_PATH_BYTES)
    throw invalid(`the path ${path} is longer than ${MAX_SOCKET_PATH_BYTES} bytes and cannot be a socket`);
  return path;
}

export function checkResourceName(resource: string): void {
  if (!isDeviceResourceName(resource)) throw invalid(`the ResourceName ${JSON.stringify(resource)} is invalid`);
}

/** Checks the versions of a plugin (upstream: plugin/v1beta1/handler.go ValidatePlugin). */
export function checkVersions(versions: readonly string[]): void {
  if (!versions.includes(VERSION))
    throw invalid(`manager version, ${VERSION}, is not among plugin supported versions [${versions.join(' ')}]`);
}

/**
 * Returns why a plugin's response to Allocate cannot be used, or undefined if it can. It refuses values that the
 * runtime would refuse or misinterpret at each start of the container.
 */
export function allocationProblem(allocation: DeviceAllocation): string | undefined {
  const { envs, mounts, devices, annotations, cdiDevices } = allocation;
  const names = [...Object.keys(envs), ...Object.keys(annotations)];
  const counts = [names.length, mounts.length, devices.length, cdiDevices.length];
  if (counts.some((count) => count > MAX_ENTRIES)) return `it has more than ${MAX_ENTRIES} entries of one kind`;
  const texts = [...names, ...Object.values(envs), ...Object.values(annotations), ...cdiDevices];
  if (texts.some((text) => text.includes('\0'))) return 'it contains a zero byte';
  const env = Object.keys(envs).find((name) => name === '' || name.includes('='));
  if (env !== undefined) return `${JSON.stringify(env)} is not the name of an environment variable`;
  const paths = [...mounts, ...devices].flatMap(({ containerPath, hostPath }) => [containerPath, hostPath]);
  const path = paths.find((one) => !one.startsWith('/') || one.includes('\0') || one.split('/').includes('..'));
  if (path !== undefined) return `${JSON.stringify(path)} is not an absolute path`;
  const rights = devices.find(({ permissions }) => !/^[rwm]{1,3}$/.test(permissions))?.permissions;
  if (rights !== undefined) return `the permissions ${JSON.stringify(rights)} of a device are not some of r, w and m`;
  if (cdiDevices.includes('')) return 'it has a CDI device without a name';
  return undefined;
}

function invalid(message: string): KubeletError {
  return new KubeletError('Invalid', message, { op: 'register device plugin' });
}
