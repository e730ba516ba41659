import { isRecord } from '../../base/json-record.ts';
import type { ApiObject } from '../../api/client/resource-type.ts';
import { goAggregate } from '../../api/go-aggregate.ts';
import { goQuote } from '../../api/go-quote.ts';
import type { JsonObject } from '../../api/structural/prune.ts';
import { formatFieldError } from '../../api/validation/field-error.ts';
import { FieldErrors } from '../../api/validation/field-error.ts';
import { validateAnnotations, validateLabels } from '../../api/validation/metadata.ts';

/** The versions of ConversionReview that this server supports. A webhook lists those that it supports. */
const spoken = ['v1', 'v1beta1'];
const GROUP = 'apiextensions.k8s.io';

export interface ConversionQuestion {
  readonly objects: readonly ApiObject[];
  readonly apiVersion: string;
  readonly uid: string;
  readonly reviewVersions: readonly string[];
}

/** Builds the review, in the first version of the webhook that this server supports. */
export function conversionReview({ objects, apiVersion, uid, reviewVersions }: ConversionQuestion): object {
  const version = reviewVersionOf(reviewVersions);
  return {
    kind: 'ConversionReview',
    apiVersion: `${GROUP}/${version}`,
    request: { uid, desiredAPIVersion: apiVersion, objects: objects.map(wireForm) },
  };
}

function reviewVersionOf(versions: readonly string[]): string {
  const version = versions.find((each) => spoken.includes(each));
  if (version === undefined) throw new Error('no supported conversion review versions');
  return version;
}

/** Converts an object to the form that clients see, in which '' is absent. */
function wireForm({ metadata, ...rest }: ApiObject): object {
  const { name, namespace, uid, ...more } = metadata;
  return {
    ...rest,
    metadata: { name, ...(namespace !== '' && { namespace }), ...(uid !== '' && { uid }), ...more },
  };
}

/**
 * Returns the objects of a response, validated as in upstream: the response must belong to the request, and metadata
 * except labels and annotations must be unchanged (upstream: conversion/webhook_converter.go). Throws an error with the
 * problem.
 */
export function convertedObjects(answer: unknown, question: ConversionQuestion, kind: string): readonly ApiObject[] {
  const found = objectsOf(answer, question, kind);
  const expected = question.objects.length;
  if (found.length !== expected)
    throw new Error(`conversion webhook for ${kind} returned ${found.length} objects, expected ${expected}`);
  return question.objects.map((original, index) => {
    try {
      return checked(found[index], original, question.apiVersion);
    } catch (error) {
      const what = error instanceof MetadataError ? 'invalid metadata in object' : 'invalid converted object';
      throw new Error(
        `conversion webhook for ${kind} returned ${what} at index ${index}: ${error instanceof Error ? error.message : String(error)}`,
      );
    }
  });
}

function objectsOf(answer: unknown, question: ConversionQuestion, kind: string): readonly unknown[] {
  const fail = (why: string): never => {
    throw new Error(`conversion webhook for ${kind} failed: ${why}`);
  };
  const version = reviewVersionOf(question.reviewVersions);
  const review = isRecord(answer) ? answer : {};
  const given = `${textOf(review['apiVersion'])}, Kind=${textOf(review['kind'])}`;
  const wanted = `${GROUP}/${version}, Kind=ConversionReview`;
  if (given !== wanted) fail(`expected webhook response of ${wanted}, got ${given}`);
  const { response } = review as { readonly response?: unknown };
  if (!isRecord(response)) return fail('no response provided');
  // Upstream does not check the uid of v1beta1.
  if (version === 'v1' && response['uid'] !== question.uid)
    fail(`expected response.uid=${goQuote(question.uid)}, got ${goQuote(textOf(response['uid']))}`);
  const result = isRecord(response['result']) ? response['result'] : {};
  if (result['status'] !== 'Success') {
    const message = textOf(result['message']);
    fail(message === '' ? `response.result.status was '${textOf(result['status'])}', not 'Success'` : message);
  }
  const { convertedObjects: list } = response as { readonly convertedObjects?: unknown };
  return Array.isArray(list) ? list : [];
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

class MetadataError extends Error {}

function checked(value: unknown, original: ApiObject, apiVersion: string): ApiObject {
  if (!isRecord(value)) throw new Error(`expected an object, got ${JSON.stringify(value) ?? 'nothing'}`);
  if (value['apiVersion'] !== apiVersion)
    throw new Error(`invalid groupVersion (expected ${apiVersion}, received ${textOf(value['apiVersion'])})`);
  if (value['kind'] !== original.kind)
    throw new Error(`invalid kind (expected ${original.kind ?? ''}, received ${textOf(value['kind'])})`);
  const { metadata } = value as { readonly metadata?: unknown };
  const given = isRecord(metadata) ? metadata : {};
  for (const [field, word] of [
    ['name', 'name'],
    ['namespace', 'namespace'],
    ['uid', 'UID'],
  ] as const)
    if (textOf(given[field]) !== original.metadata[field])
      throw new Error(`must have the same ${word}: ${original.metadata[field]} != ${textOf(given[field])}`);
  if (metadata === undefined) throw new MetadataError('missing metadata in converted object');
  return { ...value, apiVersion, metadata: restored(original.metadata, given) };
}

/** Returns the metadata, of which only labels and annotations may change. */
function restored(original: ApiObject['metadata'], given: JsonObject): ApiObject['metadata'] {
  const { labels: _, annotations: __, ...kept } = original;
  const labels = textsOf(given['labels'], 'labels');
  const annotations = textsOf(given['annotations'], 'annotations');
  const errors = new FieldErrors();
  if (labels !== undefined) validateLabels(errors, 'metadata.labels', labels);
  if (annotations !== undefined) validateAnnotations(errors, 'metadata.annotation', annotations);
  if (errors.list.length > 0) throw new MetadataError(goAggregate(errors.list.map(formatFieldError)));
  return { ...kept, ...(labels !== undefined && { labels }), ...(annotations !== undefined && { annotations }) };
}

function textsOf(value: unknown, field: string): Record<string, string> | undefined {
  if (value === undefined || value === null) return undefined;
  if (!isRecord(value))
    throw new MetadataError(`invalid metadata.${field} of type ${goType(value)} in converted object`);
  for (const [key, each] of Object.entries(value))
    if (typeof each !== 'string')
      throw new MetadataError(`metadata.${field}[${key}] must be a string, but is ${goType(each)} in converted object`);
  return value as Record<string, string>;
}

/** Returns the type of a JSON value as Go's `%T` prints it. */
function goType(value: unknown): string {
  if (value === null || value === undefined) return '<nil>';
  if (Array.isArray(value)) return '[]interface {}';
  switch (typeof value) {
    case 'object':
      return 'map[string]interface {}';
    case 'boolean':
      return 'bool';
    case 'string':
      return 'string';
    default:
      return typeof value === 'bigint' || Number.isInteger(value) ? 'int64' : 'float64';
  }
}
