import type { Parameter } from './open-api-types.ts';

/**
 * The query parameters of the API; which verb takes which follows upstream. Clients check whether `fieldValidation` and
 * `dryRun` exist before they use them.
 */
const query = (name: string, type: Parameter['type'], description: string): Parameter => ({
  name,
  in: 'query',
  type,
  description,
});

export const pretty = query('pretty', 'string', 'Whether the response is indented, over several lines.');
const dryRun = query('dryRun', 'string', 'With `All`, the request is processed but its result is not stored.');
const fieldManager = query(
  'fieldManager',
  'string',
  'The name of the manager that owns the fields which this request sets. Required for server-side apply.',
);
const fieldValidation = query(
  'fieldValidation',
  'string',
  'How unknown and repeated fields are handled: `Ignore`, `Warn` (the default) or `Strict`, which refuses them.',
);
const force = query(
  'force',
  'boolean',
  'Takes ownership of fields that other managers own. For server-side apply only.',
);

export const createParameters: readonly Parameter[] = [dryRun, fieldManager, fieldValidation];
export const updateParameters = createParameters;
/** A parameter of kinds that may have initializers. */
export const uninitializedParameter = query(
  'includeUninitialized',
  'boolean',
  'Includes objects that initializers have not processed yet. A create request does not wait for initializers.',
);
export const patchParameters: readonly Parameter[] = [...createParameters, force];

export const deleteParameters: readonly Parameter[] = [
  dryRun,
  query(
    'gracePeriodSeconds',
    'integer',
    'The grace period in seconds; 0 means that the object is deleted immediately.',
  ),
  query(
    'ignoreStoreReadErrorWithClusterBreakingPotential',
    'boolean',
    'Deletes an object that cannot be decoded, without finalizers or preconditions.',
  ),
  query('orphanDependents', 'boolean', 'Deprecated: use propagationPolicy.'),
  query('propagationPolicy', 'string', 'How dependents are handled: `Orphan`, `Background` or `Foreground`.'),
];

export const listParameters: readonly Parameter[] = [
  query('allowWatchBookmarks', 'boolean', 'The watch may send BOOKMARK events.'),
  query('continue', 'string', 'The continue token of the previous page.'),
  query('fieldSelector', 'string', 'Restricts the list to objects whose fields match this selector.'),
  query('labelSelector', 'string', 'Restricts the list to objects whose labels match this selector.'),
  query('limit', 'integer', 'The largest number of objects in one page.'),
  query('resourceVersion', 'string', 'The resource version that a list must reach, or after which a watch begins.'),
  query('resourceVersionMatch', 'string', 'How resourceVersion is applied: `Exact` or `NotOlderThan`.'),
  query(
    'sendInitialEvents',
    'boolean',
    'The watch begins with an ADDED event for each existing object, followed by a bookmark.',
  ),
  query('timeoutSeconds', 'integer', 'The time limit of the call.'),
  query('watch', 'boolean', 'Streams changes instead of returning a list.'),
];

const path = (name: string, description: string): Parameter => ({ name, in: 'path', type: 'string', description });
export const namespaceParameter = path('namespace', 'The namespace of the object.');
export const pathParameter = path('path', 'The path of the request to the pod, service or node.');
export const nameParameter = (kind: string): Parameter => path('name', `The name of the ${kind}.`);
