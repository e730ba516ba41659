import type { ResourceDefinition } from '../../model/resource-definition.ts';
import type { Served } from '../../registry/registry.ts';
import { apiVersionOf } from '../../../api/client/resource-type.ts';
import type { OutputForm } from '../output/negotiate.ts';
import { columnDefinitionsJson, partialJson, rowJson } from '../output/table.ts';
import type { IncludeObject } from '../output/table.ts';

export type WatchEventType = 'ADDED' | 'MODIFIED' | 'DELETED';

/** How the events of a watch are written. Watches of the same form share their frames. */
export interface FrameForm {
  readonly definition: ResourceDefinition;
  readonly form: OutputForm;
  readonly include: IncludeObject;
  /** Tells forms apart. */
  readonly key: string;
}

export function frameForm(definition: ResourceDefinition, form: OutputForm, include: IncludeObject): FrameForm {
  const key =
    form.as === 'object'
      ? 'object'
      : form.as === 'partial'
        ? `partial/${form.version}`
        : `table/${form.version}/${include}`;
  return { definition, form, include, key };
}

/** One event as a line of a watch. Tables say their columns in the first event only. */
export function eventFrame(
  form: FrameForm,
  type: WatchEventType,
  served: Served,
  options: { readonly nowMs: number; readonly withColumns: boolean },
): string {
  return `{"type":"${type}","object":${objectJson(form, served, options)}}\n`;
}

function objectJson(
  { definition, form, include }: FrameForm,
  { object, json }: Served,
  { nowMs, withColumns }: { readonly nowMs: number; readonly withColumns: boolean },
): string {
  if (form.as === 'object') return json;
  if (form.as === 'partial') return partialJson(object, form.version);
  const row = rowJson({ definition, version: form.version, include }, object, json, nowMs);
  return tableJson(form.version, definition, {
    resourceVersion: object.metadata.resourceVersion ?? '',
    row,
    withColumns,
  });
}

function tableJson(
  version: string,
  definition: ResourceDefinition,
  {
    resourceVersion,
    row,
    withColumns,
  }: { readonly resourceVersion: string; readonly row: string; readonly withColumns: boolean },
): string {
  const columns = withColumns ? columnDefinitionsJson(definition) : 'null';
  return `{"kind":"Table","apiVersion":"meta.k8s.io/${version}","metadata":{"resourceVersion":${JSON.stringify(resourceVersion)}},"columnDefinitions":${columns},"rows":[${row}]}`;
}

/** An empty object of the kind that only says how far the watch is. */
export function bookmarkFrame(
  { definition, form, include }: FrameForm,
  resourceVersion: string,
  options: { readonly initialEventsEnd: boolean; readonly withColumns: boolean },
): string {
  const metadata = JSON.stringify({
    resourceVersion,
    creationTimestamp: null,
    ...(options.initialEventsEnd && { annotations: { 'k8s.io/initial-events-end': 'true' } }),
  });
  const object = `{"kind":"${definition.type.kind}","apiVersion":"${apiVersionOf(definition.type)}","metadata":${metadata}}`;
  if (form.as === 'object') return `{"type":"BOOKMARK","object":${object}}\n`;
  const partial = `{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/${form.version}","metadata":${metadata}}`;
  if (form.as === 'partial') return `{"type":"BOOKMARK","object":${partial}}\n`;
  const shown = options.initialEventsEnd || include === 'Metadata' ? partial : include === 'None' ? 'null' : object;
  const cells = JSON.stringify(bookmarkCells(definition));
  const row = `{"cells":${cells},"object":${shown}}`;
  return `{"type":"BOOKMARK","object":${tableJson(form.version, definition, { resourceVersion, row, withColumns: options.withColumns })}}\n`;
}

/** The cells of a bookmark are never shown; they exist so that a row has as many cells as columns. */
const bookmarkCells = (definition: ResourceDefinition): readonly string[] =>
  (definition.columns ?? [{}, {}]).map(() => '');

export const errorFrame = (status: object): string => `{"type":"ERROR","object":${JSON.stringify(status)}}\n`;
