import type { ResourceDefinition } from '../../model/resource-definition.ts';
import type { Served } from '../../registry/registry.ts';
import { apiVersionOf } from '../../../api/client/resource-type.ts';
import type { ApiObject } from '../../../api/client/resource-type.ts';
import { frameWatchEvent } from '../../../api/protobuf/message-parts.ts';
import type { Status } from '../../../api/status/status.ts';
import { kindOf, partialMessage, sealedMessage, statusMessage } from '../output/messages.ts';
import type { ObjectMessages } from '../output/messages.ts';
import type { OutputForm } from '../output/negotiate.ts';
import { columnDefinitionsJson, partialJson, rowJson } from '../output/table.ts';
import type { IncludeObject } from '../output/table.ts';

export type WatchEventType = 'ADDED' | 'MODIFIED' | 'DELETED';

/** The encoding of the events of a watch. Watches with the same encoding share frames. */
export interface FrameForm {
  readonly definition: ResourceDefinition;
  readonly form: OutputForm;
  readonly include: IncludeObject;
  /** Set when events are messages rather than lines of JSON. A Table is never one. */
  readonly messages: ObjectMessages | undefined;
  /** Tells forms apart. */
  readonly key: string;
}

export function frameForm(
  definition: ResourceDefinition,
  { form, include, messages }: Pick<FrameForm, 'form' | 'include' | 'messages'>,
): FrameForm {
  const shown =
    form.as === 'object'
      ? 'object'
      : form.as === 'partial'
        ? `partial/${form.version}`
        : `table/${form.version}/${include}`;
  return { definition, form, include, messages, key: messages === undefined ? shown : `message/${shown}` };
}

/** One event as a frame of a watch. Tables contain column definitions only in the first event. */
export function eventFrame(
  form: FrameForm,
  type: WatchEventType,
  served: Served,
  options: { readonly nowMs: number; readonly withColumns: boolean },
): Buffer {
  return form.messages === undefined
    ? Buffer.from(`{"type":"${type}","object":${objectJson(form, served, options)}}\n`)
    : frameWatchEvent(type, objectMessage(form, served.object, form.messages));
}

const objectMessage = ({ form, definition }: FrameForm, object: ApiObject, messages: ObjectMessages): Buffer =>
  form.as === 'partial' ? partialMessage(object, form.version) : messages.sealed(object, kindOf(definition));

function objectJson(
  { definition, form, include }: FrameForm,
  served: Served,
  { nowMs, withColumns }: { readonly nowMs: number; readonly withColumns: boolean },
): string {
  const { object } = served;
  if (form.as === 'object') return served.json;
  if (form.as === 'partial') return partialJson(object, form.version);
  const row = rowJson({ definition, version: form.version, include }, served, nowMs);
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

/** An empty object of the kind that carries only the resourceVersion. */
export function bookmarkFrame(
  frame: FrameForm,
  resourceVersion: string,
  options: { readonly initialEventsEnd: boolean; readonly withColumns: boolean },
): Buffer {
  return frame.messages === undefined
    ? Buffer.from(`{"type":"BOOKMARK","object":${bookmarkJson(frame, resourceVersion, options)}}\n`)
    : frameWatchEvent('BOOKMARK', bookmarkMessage(frame, bookmarkObject(resourceVersion, options)));
}

const bookmarkMessage = ({ form, definition }: FrameForm, object: ApiObject): Buffer =>
  form.as === 'partial' ? partialMessage(object, form.version) : sealedMessage(object, kindOf(definition));

/** It has neither a name nor a kind of its own. */
function bookmarkObject(resourceVersion: string, options: { readonly initialEventsEnd: boolean }): ApiObject {
  return {
    metadata: {
      name: '',
      namespace: '',
      uid: '',
      resourceVersion,
      ...(options.initialEventsEnd && { annotations: { 'k8s.io/initial-events-end': 'true' } }),
    },
  };
}

function bookmarkJson(
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
  if (form.as === 'object') return object;
  const partial = `{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/${form.version}","metadata":${metadata}}`;
  if (form.as === 'partial') return partial;
  const shown = options.initialEventsEnd || include === 'Metadata' ? partial : include === 'None' ? 'null' : object;
  const cells = JSON.stringify(bookmarkCells(definition));
  const row = `{"cells":${cells},"object":${shown}}`;
  return tableJson(form.version, definition, { resourceVersion, row, withColumns: options.withColumns });
}

/** The cells of a bookmark are never shown; they exist so that a row has as many cells as columns. */
const bookmarkCells = (definition: ResourceDefinition): readonly string[] =>
  (definition.columns ?? [{}, {}]).map(() => '');

export const errorFrame = ({ messages }: FrameForm, status: Status): Buffer =>
  messages === undefined
    ? Buffer.from(`{"type":"ERROR","object":${JSON.stringify(status)}}\n`)
    : frameWatchEvent('ERROR', statusMessage(status));
