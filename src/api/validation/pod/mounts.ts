import type { Container, VolumeDevice, VolumeMount } from '../../core/container.ts';
import type { Volume } from '../../core/volume.ts';
import type { FieldErrors } from '../field-error.ts';
import { validateDescendingPath } from './paths.ts';

export type VolumesByName = ReadonlyMap<string, Volume>;
type MountingContainer = Pick<Container, 'securityContext' | 'volumeMounts' | 'volumeDevices'>;

/**
 * Validates the mounts of one container. As in upstream, some errors have the path of the list instead of the element.
 */
export function validateVolumeMounts(
  errors: FieldErrors,
  path: string,
  container: MountingContainer,
  volumes: VolumesByName,
): void {
  const devices = container.volumeDevices ?? [];
  const [deviceNames, devicePaths] = [
    new Set(devices.map(({ name }) => name)),
    new Set(devices.map(({ devicePath }) => devicePath)),
  ];
  const seen = new Set<string>();
  for (const [index, mount] of (container.volumeMounts ?? []).entries()) {
    const at = `${path}[${index}]`;
    if (mount.name === '') errors.required(`${at}.name`);
    if (!volumes.has(mount.name)) errors.notFound(`${at}.name`, mount.name);
    if (mount.mountPath === '') errors.required(`${at}.mountPath`);
    if (seen.has(mount.mountPath)) errors.invalid(`${at}.mountPath`, mount.mountPath, 'must be unique');
    seen.add(mount.mountPath);
    if (deviceNames.has(mount.name))
      errors.invalid(`${at}.name`, mount.name, 'must not already exist in volumeDevices');
    if (devicePaths.has(mount.mountPath))
      errors.invalid(`${at}.mountPath`, mount.mountPath, 'must not already exist as a path in volumeDevices');
    validateSubPath(errors, path, { mount, at });
    validatePropagation(errors, `${path}.mountPropagation`, mount, container.securityContext?.privileged === true);
    validateRecursiveReadOnly(errors, `${path}.recursiveReadOnly`, mount);
  }
}

function validateSubPath(errors: FieldErrors, path: string, { mount, at }: { mount: VolumeMount; at: string }): void {
  if (mount.subPath) validateDescendingPath(errors, `${path}.subPath`, mount.subPath);
  if (!mount.subPathExpr) return;
  if (mount.subPath)
    errors.invalid(`${at}.subPathExpr`, mount.subPathExpr, 'subPathExpr and subPath are mutually exclusive');
  validateDescendingPath(errors, `${path}.subPathExpr`, mount.subPathExpr);
}

function validatePropagation(errors: FieldErrors, field: string, mount: VolumeMount, privileged: boolean): void {
  if (mount.mountPropagation === undefined) return;
  errors.oneOf(field, mount.mountPropagation, ['Bidirectional', 'HostToContainer', 'None']);
  if (mount.mountPropagation === 'Bidirectional' && !privileged)
    errors.forbidden(field, 'Bidirectional mount propagation is available only to privileged containers');
}

function validateRecursiveReadOnly(errors: FieldErrors, field: string, mount: VolumeMount): void {
  const mode = mount.recursiveReadOnly;
  if (mode === undefined || mode === 'Disabled') return;
  if (mode !== 'Enabled' && mode !== 'IfPossible')
    return errors.notSupported(field, mode, ['Disabled', 'Enabled', 'IfPossible']);
  if (mount.readOnly !== true) errors.forbidden(field, 'may only be specified when readOnly is true');
  if (mount.mountPropagation !== undefined && mount.mountPropagation !== 'None')
    errors.forbidden(field, 'may only be specified when mountPropagation is None or not specified');
}

/** Validates the block devices of one container. */
export function validateVolumeDevices(
  errors: FieldErrors,
  path: string,
  container: MountingContainer,
  volumes: VolumesByName,
): void {
  const mounts = container.volumeMounts ?? [];
  const [mountNames, mountPaths] = [
    new Set(mounts.map(({ name }) => name)),
    new Set(mounts.map(({ mountPath }) => mountPath)),
  ];
  const names = new Set<string>();
  const paths = new Set<string>();
  for (const [index, device] of (container.volumeDevices ?? []).entries()) {
    const at = `${path}[${index}]`;
    validateDeviceName(errors, `${at}.name`, device, { names, volume: volumes.get(device.name) });
    validateDevicePath(errors, `${at}.devicePath`, device, paths);
    if (mountNames.has(device.name))
      errors.invalid(`${at}.name`, device.name, 'must not already exist in volumeMounts');
    if (mountPaths.has(device.devicePath))
      errors.invalid(`${at}.devicePath`, device.devicePath, 'must not already exist as a path in volumeMounts');
    if (device.name !== '') names.add(device.name);
  }
}

function validateDeviceName(
  errors: FieldErrors,
  field: string,
  device: VolumeDevice,
  { names, volume }: { names: ReadonlySet<string>; volume: Volume | undefined },
): void {
  if (device.name === '') errors.required(field);
  if (names.has(device.name)) errors.invalid(field, device.name, 'must be unique');
  if (volume === undefined) errors.notFound(field, device.name);
  else if (volume.persistentVolumeClaim === undefined && volume.ephemeral === undefined) {
    errors.invalid(
      field,
      device.name,
      'can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode',
    );
  }
}

function validateDevicePath(
  errors: FieldErrors,
  field: string,
  { devicePath }: VolumeDevice,
  paths: Set<string>,
): void {
  if (devicePath === '') errors.required(field);
  if (paths.has(devicePath)) errors.invalid(field, devicePath, 'must be unique');
  if (devicePath.split('/').includes('..')) errors.invalid(field, devicePath, "can not contain backsteps ('..')");
  else paths.add(devicePath);
}
