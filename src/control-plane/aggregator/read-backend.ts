import { isRecord } from '../../base/json-record.ts';
import type { BackendOpenApi, BackendResource } from '../model/api-backends.ts';

/** The discovery documents of the server behind an APIService. */
export interface BackendFacts {
  readonly resources?: readonly BackendResource[];
  readonly openApiHash?: string;
  readonly openApi2?: BackendOpenApi;
}

const withoutOpenApi2 = ({ openApi2: _, ...facts }: BackendFacts): string => JSON.stringify(facts);

export const isSameFacts = (one: BackendFacts, other: BackendFacts): boolean =>
  one.openApi2 === other.openApi2 && withoutOpenApi2(one) === withoutOpenApi2(other);

/** The maximum number of resources. Further ones are ignored. */
const MOST_RESOURCES = 1000;

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');
const textsOf = (value: unknown): readonly string[] =>
  Array.isArray(value) ? value.filter((each) => typeof each === 'string') : [];

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/**
 * Reads the resources of an APIResourceList. Invalid entries are skipped. It is undefined if the document is not such a
 * list.
 */
export function readResources(text: string): readonly BackendResource[] | undefined {
  const list = parse(text);
  if (!isRecord(list) || list.kind !== 'APIResourceList' || !Array.isArray(list.resources)) return undefined;
  return list.resources
    .slice(0, MOST_RESOURCES)
    .filter(isRecord)
    .filter(({ name, kind }) => textOf(name) !== '' && textOf(kind) !== '')
    .map((each) => ({
      name: textOf(each.name),
      singularName: textOf(each.singularName),
      namespaced: each.namespaced === true,
      ...(textOf(each.group) !== '' && { group: textOf(each.group) }),
      ...(textOf(each.version) !== '' && { version: textOf(each.version) }),
      kind: textOf(each.kind),
      verbs: textsOf(each.verbs),
      ...(Array.isArray(each.shortNames) && { shortNames: textsOf(each.shortNames) }),
      ...(Array.isArray(each.categories) && { categories: textsOf(each.categories) }),
    }));
}

/** The hash of a document in the list at `/openapi/v3`; undefined if it is missing. */
export function readOpenApiHash(text: string, path: string): string | undefined {
  const root = parse(text);
  const paths = isRecord(root) && isRecord(root.paths) ? root.paths : {};
  const found = Object.hasOwn(paths, path) ? paths[path] : undefined;
  const url = isRecord(found) ? textOf(found.serverRelativeURL) : '';
  return /[?&]hash=([0-9A-Za-z]{1,256})(?:&|$)/.exec(url)?.[1];
}

/** The part of an OpenAPI 2 document below a path; undefined if the document is invalid. */
export function readOpenApi2(text: string, path: string): BackendOpenApi | undefined {
  const document = parse(text);
  if (!isRecord(document) || !isRecord(document.paths) || !isRecord(document.definitions)) return undefined;
  const below = Object.entries(document.paths).filter(
    ([each, value]) => (each === `${path}/` || each.startsWith(`${path}/`)) && isRecord(value),
  );
  const definitions = Object.entries(document.definitions).filter(([, value]) => isRecord(value));
  return { paths: Object.fromEntries(below), definitions: Object.fromEntries(definitions) };
}
