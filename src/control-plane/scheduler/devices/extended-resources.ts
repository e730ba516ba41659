import { isExtendedResource } from '../../../api/resources.ts';
import { DEVICE_CLASS_RESOURCE_PREFIX } from '../../../api/resource/device-config.ts';
import type { DeviceClass } from '../../../api/resource/device-class.ts';

/** Finds the device class for an extended resource without a device plugin. */
export interface ExtendedResourceClasses {
  /** Returns the class that serves the resource, or undefined. */
  classOf(resource: string): DeviceClass | undefined;
}

/** Whether a device class can serve the resource. */
export const isClassResource = (resource: string): boolean =>
  isExtendedResource(resource) || resource.startsWith(DEVICE_CLASS_RESOURCE_PREFIX);

/**
 * The device classes by resource name: the name in `spec.extendedResourceName`, and the implicit name of each class. If
 * several classes have the same name, the newest one is used, then the first in alphabetical order (upstream:
 * extendedresourcecache).
 */
export class ExtendedResourceIndex implements ExtendedResourceClasses {
  readonly #byResource = new Map<string, Map<string, DeviceClass>>();

  set(before: DeviceClass | undefined, after: DeviceClass | undefined): void {
    for (const resource of resourcesOf(before)) {
      const classes = this.#byResource.get(resource);
      classes?.delete(before?.metadata.name ?? '');
      if (classes?.size === 0) this.#byResource.delete(resource);
    }
    if (after === undefined) return;
    for (const resource of resourcesOf(after)) {
      const classes = this.#byResource.get(resource) ?? new Map<string, DeviceClass>();
      this.#byResource.set(resource, classes.set(after.metadata.name, after));
    }
  }

  classOf(resource: string): DeviceClass | undefined {
    return [...(this.#byResource.get(resource)?.values() ?? [])].sort(byPreference)[0];
  }
}

/** Returns the resource names that the class serves. */
export function resourcesOf(deviceClass: DeviceClass | undefined): readonly string[] {
  if (deviceClass === undefined) return [];
  const own = deviceClass.spec.extendedResourceName;
  const implicit = `${DEVICE_CLASS_RESOURCE_PREFIX}${deviceClass.metadata.name}`;
  return own === undefined ? [implicit] : [implicit, own];
}

function byPreference({ metadata: left }: DeviceClass, { metadata: right }: DeviceClass): number {
  const [older, newer] = [left.creationTimestamp ?? '', right.creationTimestamp ?? ''];
  if (older !== newer) return older > newer ? -1 : 1;
  return left.name < right.name ? -1 : 1;
}

/** Indexes an immutable set of classes. */
export function extendedResourcesOf(classes: Iterable<DeviceClass>): ExtendedResourceClasses {
  const index = new ExtendedResourceIndex();
  for (const each of classes) index.set(undefined, each);
  return index;
}
