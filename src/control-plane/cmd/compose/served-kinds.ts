import { KubeletError } from '../../../base/errors.ts';
import { initializerConfigurationResource } from '../../resources/admissionregistration/initializer-configuration.ts';
import type { ControlPlaneOptions } from '../flags/control-plane-options.ts';
import type { ResourceDefinition } from '../../model/resource-definition.ts';
import { allResources } from '../../resources/all.ts';
import { computedResources } from '../../resources/computed.ts';
import { initializedKinds } from '../../resources/initialized-kinds.ts';
import { isServed } from '../flags/runtime-config.ts';

/**
 * Whether initializers are enabled, which needs two flags. Throws `Invalid` if the plugin is enabled but its
 * configuration kind is not served.
 */
export function hasInitializers({
  api,
  enabledAdmission,
}: Pick<ControlPlaneOptions, 'api' | 'enabledAdmission'>): boolean {
  if (!enabledAdmission.includes('Initializers')) return false;
  if (!isServed(initializerConfigurationResource, api))
    throw new KubeletError(
      'Invalid',
      'the admission plugin Initializers reads objects that are not served: add --runtime-config=admissionregistration.k8s.io/v1alpha1=true',
    );
  return true;
}

type Flags = Parameters<typeof hasInitializers>[0];

/** Returns all stored built-in kinds, whether served or not. */
export function storedKinds(options: Flags): readonly ResourceDefinition[] {
  return hasInitializers(options) ? initializedKinds(allResources) : allResources;
}

/** Returns the served kinds of these, and kinds that are computed on request. */
export function servedKinds(options: Flags): readonly ResourceDefinition[] {
  return [...storedKinds(options).filter((each) => isServed(each, options.api)), ...computedResources];
}
