import { initializersOf } from '../../../api/core/initializers.ts';
import type { AdmissionAttributes, AdmissionPlugin } from '../../model/admission.ts';

/**
 * The plugins that upstream called repeatedly (IsUpdatingUninitializedObject), and RuntimeClass, which was added later.
 */
const asked: ReadonlySet<string> = new Set([
  'LimitRanger',
  'ServiceAccount',
  'AlwaysPullImages',
  'Priority',
  'DefaultTolerationSeconds',
  'ExtendedResourceToleration',
  'RuntimeClass',
]);

/**
 * Makes a plugin that checks objects at their creation check them again while they are pending, because an initializer
 * may change every field.
 */
export function againWhilePending(plugin: AdmissionPlugin): AdmissionPlugin {
  if (!asked.has(plugin.name)) return plugin;
  const seen = (attributes: AdmissionAttributes): AdmissionAttributes =>
    isOfPending(attributes) ? { ...attributes, operation: 'CREATE', oldObject: undefined } : attributes;
  const { mutate, validate } = plugin;
  return {
    name: plugin.name,
    handles: (attributes) => plugin.handles(seen(attributes)),
    ...(mutate !== undefined && { mutate: (attributes) => mutate.call(plugin, seen(attributes)) }),
    ...(validate !== undefined && { validate: (attributes) => validate.call(plugin, seen(attributes)) }),
  };
}

function isOfPending({ operation, subresource, definition, oldObject }: AdmissionAttributes): boolean {
  return (
    operation === 'UPDATE' &&
    subresource === '' &&
    definition.isInitialized === true &&
    oldObject !== undefined &&
    initializersOf(oldObject.metadata) !== undefined
  );
}
