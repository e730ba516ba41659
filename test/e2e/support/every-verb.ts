// Every way to ask for something of a kind, and the verbs that each one needs.
import type { OutgoingHttpHeaders } from 'node:http2';
import type { ResourceDefinition } from '../../../src/control-plane/model/resource-definition.ts';
import type { KindManifest } from './every-kind.ts';

export type Verb = 'get' | 'list' | 'watch' | 'create' | 'update' | 'patch' | 'delete' | 'deletecollection';

export const verbs: readonly Verb[] = [
  'get',
  'list',
  'watch',
  'create',
  'update',
  'patch',
  'delete',
  'deletecollection',
];

export interface Attempt {
  readonly what: string;
  readonly method: string;
  readonly path: string;
  /** All of them are required. */
  readonly needs: readonly Verb[];
  readonly headers?: OutgoingHttpHeaders;
  readonly body?: string;
  /** The expected statuses if nothing is forbidden. */
  readonly answers: readonly number[];
  readonly writes: boolean;
}

export interface KindUnderTest {
  readonly definition: ResourceDefinition;
  readonly kind: KindManifest;
  /** The path of the collection. */
  readonly path: string;
}

/** A name that no object of the kind has. */
export function missingName({ type }: ResourceDefinition): string {
  if (type.kind === 'IPAddress') return '192.0.2.77';
  if (type.kind === 'APIService') return 'v2.every-api.example.com';
  return type.kind === 'CustomResourceDefinition' ? 'missing.every-kind.example.com' : 'missing-one';
}

const patchTypes = ['json-patch', 'merge-patch', 'strategic-merge-patch'] as const;
const json = { 'content-type': 'application/json' };
const applied = { 'content-type': 'application/apply-patch+yaml' };
const applying = 'fieldManager=verbs&force=true';

export function collectionPath(
  { type: { group, version, plural, namespaced } }: ResourceDefinition,
  namespace: string,
): string {
  return `${group === '' ? '/api' : `/apis/${group}`}/${version}${namespaced ? `/namespaces/${namespace}` : ''}/${plural}`;
}

/** Object fields that must match its name: the kind that a definition defines, the version that is served. */
function contentFor({ kind, spec }: KindManifest['manifest'], name = ''): object {
  if (kind === 'APIService') return { spec: { ...(spec as object), version: name.split('.')[0] } };
  if (kind !== 'CustomResourceDefinition') return {};
  const [plural] = name.split('.');
  return { spec: { ...(spec as object), names: { ...(spec as { readonly names: object }).names, plural } } };
}

/** All requests about objects themselves. */
export function attemptsOn({ definition, kind: { name, manifest }, path }: KindUnderTest): readonly Attempt[] {
  const named = (as: { readonly name?: string; readonly generateName?: string }): string =>
    JSON.stringify({
      ...manifest,
      ...contentFor(manifest, as.name),
      metadata: { ...(manifest['metadata'] as object), name: undefined, ...as },
    });
  const read = (what: string, where: string, needs: Verb): Attempt => ({
    what,
    method: 'GET',
    path: where,
    needs: [needs],
    answers: [200],
    writes: false,
  });
  const write = (
    what: string,
    method: string,
    rest: Pick<Attempt, 'path' | 'needs' | 'answers'> & Partial<Attempt>,
  ): Attempt => ({ what, method, headers: json, writes: true, ...rest });
  const missing = missingName(definition);
  const one = `${path}/${name}`;
  const absent = `${path}/${missing}`;
  const putCreates = definition.rules.allowCreateOnUpdate === true;
  return [
    read('get', one, 'get'),
    read('list', path, 'list'),
    read('list of one name', `${path}?fieldSelector=metadata.name%3D${name}`, 'list'),
    read('watch', `${path}?watch=1`, 'watch'),
    write('post', 'POST', { path, needs: ['create'], body: named({ name: missing }), answers: [201] }),
    // Names of nodes, drivers and roles are generated like all others; some kinds may require a different format.
    write('post with a generated name', 'POST', {
      path,
      needs: ['create'],
      body: named({ generateName: `${missing}-` }),
      answers: [201, 422],
    }),
    write('put', 'PUT', { path: one, needs: ['update'], body: named({ name }), answers: [200, 422] }),
    write('put of what is missing', 'PUT', {
      path: absent,
      needs: putCreates ? ['update', 'create'] : ['update'],
      body: named({ name: missing }),
      answers: [putCreates ? 201 : 404],
    }),
    ...patchTypes.flatMap((type) => {
      const headers = { 'content-type': `application/${type}+json` };
      const body = type === 'json-patch' ? '[]' : '{}';
      // Events have no fields to merge by.
      return [
        write(type, 'PATCH', { path: one, needs: ['patch'], headers, body, answers: [200, 422] }),
        write(`${type} of what is missing`, 'PATCH', { path: absent, needs: ['patch'], headers, body, answers: [404] }),
      ];
    }),
    write('apply', 'PATCH', {
      path: `${one}?${applying}`,
      needs: ['patch'],
      headers: applied,
      body: named({ name }),
      answers: [200, 422],
    }),
    write('apply of what is missing', 'PATCH', {
      path: `${absent}?${applying}`,
      needs: ['patch', 'create'],
      headers: applied,
      body: named({ name: missing }),
      answers: [201],
    }),
    write('delete', 'DELETE', { path: one, needs: ['delete'], answers: [200, 202] }),
    ...(definition.verbs?.includes('deletecollection') === false
      ? []
      : [write('delete all', 'DELETE', { path, needs: ['deletecollection'], answers: [200] })]),
  ];
}

/**
 * Requests for subresources, and for missing objects: rights to the object must not allow any of them, and none of them
 * creates an object.
 */
export function attemptsOnParts({ definition, kind: { name, manifest }, path }: KindUnderTest): readonly Attempt[] {
  const missing = missingName(definition);
  const parts = [
    ...(definition.hasStatus === true ? ['status'] : []),
    ...(definition.views ?? []).map((view) => view.name),
    ...(definition.actions ?? []).map((action) => action.name),
    ...(definition.connects ?? []).map((connect) => connect.name),
  ];
  return parts.flatMap((part) => {
    const view = definition.views?.find((each) => each.name === part);
    const action = definition.actions?.find((each) => each.name === part);
    const kind = view?.kind ?? action?.kind ?? definition.type;
    const own = kind === definition.type ? manifest : {};
    return [name, missing].flatMap((of) => {
      const at = `${path}/${of}/${part}`;
      const body = JSON.stringify({
        ...own,
        apiVersion: kind.group === '' ? kind.version : `${kind.group}/${kind.version}`,
        kind: kind.kind,
        metadata: { name: of },
      });
      const attempt = (what: string, method: string, verb: Verb, rest: Partial<Attempt> = {}): Attempt => ({
        what: `${what} ${part} of ${of}`,
        method,
        path: at,
        needs: [verb],
        headers: json,
        body,
        answers: [301, 400, 404, 405, 415, 422],
        writes: true,
        ...rest,
      });
      return [
        attempt('get', 'GET', 'get', { body: '', headers: {}, writes: false }),
        attempt('post', 'POST', 'create'),
        attempt('put', 'PUT', 'update'),
        attempt('apply', 'PATCH', 'patch', { path: `${at}?${applying}`, headers: applied }),
        ...patchTypes.map((type) =>
          attempt(type, 'PATCH', 'patch', {
            headers: { 'content-type': `application/${type}+json` },
            body: type === 'json-patch' ? '[]' : '{}',
          }),
        ),
        attempt('delete', 'DELETE', 'delete'),
      ];
    });
  });
}
