import { initializersOf } from '../../../api/core/initializers.ts';
import type { AdmissionAttributes, AdmissionPlugin } from '../../model/admission.ts';

/** Those that upstream asked again (IsUpdatingUninitializedObject), and RuntimeClass, which came later. */
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
 * A plugin that judges objects when they are created judges them again as long as they pend: until then an initializer
 * may change all of them.
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
