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

export const pretty = query('pretty', 'string', 'Whether the answer is written for people, over several lines.');
const dryRun = query('dryRun', 'string', 'With `All`, everything happens but nothing is stored.');
const fieldManager = query(
  'fieldManager',
  'string',
  'Who is written down as the owner of the fields that this request sets. Needed for server-side apply.',
);
const fieldValidation = query(
  'fieldValidation',
  'string',
  'What becomes of unknown and repeated fields: `Ignore`, `Warn` (the default) or `Strict`, which refuses them.',
);
const force = query('force', 'boolean', 'Takes fields over from their owners; for server-side apply only.');

export const createParameters: readonly Parameter[] = [dryRun, fieldManager, fieldValidation];
export const updateParameters = createParameters;
/** A parameter of kinds that may have initializers. */
export const uninitializedParameter = query(
  'includeUninitialized',
  'boolean',
  'Also objects that initializers have yet to act on; a creation does not wait for them.',
);
export const patchParameters: readonly Parameter[] = [...createParameters, force];

export const deleteParameters: readonly Parameter[] = [
  dryRun,
  query('gracePeriodSeconds', 'integer', 'How many seconds the object has to end in order; 0 means at once.'),
  query(
    'ignoreStoreReadErrorWithClusterBreakingPotential',
    'boolean',
    'Deletes an object that cannot be read any more, without finalizers or preconditions.',
  ),
  query('orphanDependents', 'boolean', 'Out of date: use propagationPolicy.'),
  query('propagationPolicy', 'string', 'What becomes of dependents: `Orphan`, `Background` or `Foreground`.'),
];

export const listParameters: readonly Parameter[] = [
  query('allowWatchBookmarks', 'boolean', 'The watch may send BOOKMARK events.'),
  query('continue', 'string', 'Where to go on: what the page before gave.'),
  query('fieldSelector', 'string', 'Only objects whose fields are so.'),
  query('labelSelector', 'string', 'Only objects whose labels are so.'),
  query('limit', 'integer', 'How many objects one page has at most.'),
  query('resourceVersion', 'string', 'How new the answer must be, or where the watch begins.'),
  query('resourceVersionMatch', 'string', 'How resourceVersion is meant: `Exact` or `NotOlderThan`.'),
  query(
    'sendInitialEvents',
    'boolean',
    'The watch begins with an ADDED event for each object there is, and a bookmark after them.',
  ),
  query('timeoutSeconds', 'integer', 'When the call ends at the latest.'),
  query('watch', 'boolean', 'Sends changes as they happen rather than a list.'),
];

const path = (name: string, description: string): Parameter => ({ name, in: 'path', type: 'string', description });
export const namespaceParameter = path('namespace', 'The namespace of the object.');
export const pathParameter = path('path', 'The path at what is connected to.');
export const nameParameter = (kind: string): Parameter => path('name', `The name of the ${kind}.`);
