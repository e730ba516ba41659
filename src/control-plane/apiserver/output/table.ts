import type { ApiObject } from '../../../api/client/resource-type.ts';
import { badRequest } from '../../../api/status/api-status-error.ts';
import type { ResourceDefinition, TableColumn } from '../../model/resource-definition.ts';
import type { Served } from '../../registry/registry.ts';
import type { MetaVersion } from './negotiate.ts';

export type IncludeObject = 'None' | 'Metadata' | 'Object';

/** A kind, or a subresource with its own kind, that can be shown as a table. */
export type Columned = Pick<ResourceDefinition, 'columns' | 'hasNoAge'>;

export interface TableForm {
  readonly definition: Columned;
  readonly version: MetaVersion;
  readonly include: IncludeObject;
}

export function parseIncludeObject(value: string | null): IncludeObject {
  if (value === null || value === '') return 'Metadata';
  if (value === 'None' || value === 'Metadata' || value === 'Object') return value;
  throw badRequest(
    `Unable to convert to Table as requested: includeObject: Invalid value: ${JSON.stringify(value)}: must be 'Metadata', 'Object', 'None', or empty`,
  );
}

const nameColumn: TableColumn<ApiObject> = {
  name: 'Name',
  type: 'string',
  format: 'name',
  cell: (object) => object.metadata.name,
  description: 'The name of the object; unique among objects of its kind in its namespace.',
};
const AGE_TEXT = 'When the server made the object.';
const ageColumn: TableColumn<ApiObject> = {
  name: 'Age',
  type: 'string',
  description: AGE_TEXT,
  cell: (object, nowMs) => formatAge(object.metadata.creationTimestamp, nowMs),
};
const createdColumn: TableColumn<ApiObject> = {
  name: 'Created At',
  type: 'date',
  description: AGE_TEXT,
  cell: (object) => object.metadata.creationTimestamp ?? '',
};

const columnsOf = new WeakMap<Columned, readonly TableColumn<ApiObject>[]>();

/** Returns the kind's columns between name and age. A kind may define its own name and age columns. */
export function tableColumns(definition: Columned): readonly TableColumn<ApiObject>[] {
  const known = columnsOf.get(definition);
  if (known !== undefined) return known;
  const own = definition.columns;
  const columns = own === undefined ? [nameColumn, createdColumn] : completeColumns(own, definition.hasNoAge ?? false);
  columnsOf.set(definition, columns);
  return columns;
}

function completeColumns(own: readonly TableColumn<ApiObject>[], hasNoAge: boolean): readonly TableColumn<ApiObject>[] {
  const place = own.findIndex((column) => column.name === nameColumn.name);
  // A kind whose name column is not first defines all columns: events begin with the time, and have no age.
  if (place > 0) return own;
  const withName = place === 0 ? own : [nameColumn, ...own];
  if (hasNoAge || own.some((column) => column.name === 'Age')) return withName;
  // Columns for `-o wide` come after the age.
  const firstWide = withName.findIndex((column) => (column.priority ?? 0) > 0);
  return firstWide < 0
    ? [...withName, ageColumn]
    : [...withName.slice(0, firstWide), ageColumn, ...withName.slice(firstWide)];
}

/** Returns the JSON of `columnDefinitions`, which a watch sends once. */
export function columnDefinitionsJson(definition: Columned): string {
  const columns = tableColumns(definition).map(({ name, type, format, description, priority }) => ({
    name,
    type,
    format: format ?? '',
    description,
    priority: priority ?? 0,
  }));
  return JSON.stringify(columns);
}

/** Returns a row's JSON. The JSON of the whole object is created only if it is included. */
export function rowJson({ definition, version, include }: TableForm, served: Served, nowMs: number): string {
  const { object } = served;
  const cells = tableColumns(definition).map((column) => column.cell(object, nowMs));
  if (include === 'None') return `{"cells":${JSON.stringify(cells)},"object":null}`;
  return `{"cells":${JSON.stringify(cells)},"object":${include === 'Object' ? served.json : partialJson(object, version)}}`;
}

/** Returns the metadata's JSON. Missing names are '' internally and absent in responses. */
function metadataJson(metadata: ApiObject['metadata']): string {
  const { name, namespace, uid, ...rest } = metadata;
  if (name !== '' && namespace !== '' && uid !== '') return JSON.stringify(metadata);
  return JSON.stringify({
    ...(name !== '' && { name }),
    ...(namespace !== '' && { namespace }),
    ...(uid !== '' && { uid }),
    ...rest,
  });
}

/** Returns only the metadata, as garbage collectors and similar clients request it. */
export function partialJson(object: ApiObject, version: MetaVersion): string {
  return `{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/${version}","metadata":${metadataJson(object.metadata)}}`;
}

/**
 * Formats an age as kubectl does: the largest unit, and the next one if it is significant (upstream:
 * duration.HumanDuration).
 */
export function formatAge(timestamp: string | undefined, nowMs: number): string {
  const atMs = timestamp === undefined ? Number.NaN : Date.parse(timestamp);
  return Number.isNaN(atMs) ? '<unknown>' : formatDuration(nowMs - atMs);
}

export function formatDuration(ms: number): string {
  const seconds = Math.trunc(ms / 1000);
  if (seconds < -1) return '<invalid>';
  if (seconds < 0) return '0s';
  if (seconds < 120) return `${seconds}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 10) return two(minutes, 'm', seconds % 60, 's');
  if (minutes < 180) return `${minutes}m`;
  const hours = Math.floor(seconds / 3600);
  if (hours < 8) return two(hours, 'h', minutes % 60, 'm');
  if (hours < 48) return `${hours}h`;
  const days = Math.floor(hours / 24);
  if (hours < 192) return two(days, 'd', hours % 24, 'h');
  if (days < 730) return `${days}d`;
  const years = Math.floor(days / 365);
  return days < 2920 ? two(years, 'y', days % 365, 'd') : `${years}y`;
}

const two = (large: number, largeUnit: string, small: number, smallUnit: string): string =>
  small === 0 ? `${large}${largeUnit}` : `${large}${largeUnit}${small}${smallUnit}`;
