import { createHash } from 'node:crypto';
import { ApiStatusError } from '../../api/status/api-status-error.ts';
import type { ResourceDefinition } from '../model/resource-definition.ts';
import { Kinds } from './definitions.ts';
import { encodeV2 } from './encode-v2-protobuf.ts';
import { renderV2, renderV3 } from './render-document.ts';
import type { OpenApiDocument, OpenApiDocuments } from './served-document.ts';

const JSON_TYPE = 'application/json';
/** What is sent; the first form of the name, with its `@`, is no valid media type, but what older clients ask with. */
const PROTOBUF_TYPE = 'application/com.github.proto-openapi.spec.v2.v1.0+protobuf';
const protobufNames: readonly string[] = ['application/com.github.proto-openapi.spec.v2@v1.0+protobuf', PROTOBUF_TYPE];

/** Everything here is made at the first request for it. */
export function documentStore(
  definitions: readonly ResourceDefinition[],
  version: string,
  versions: readonly string[],
): OpenApiDocuments['get'] {
  const kinds = new Kinds(definitions);
  const made = new Map<string, OpenApiDocument>();
  const once = (key: string, contentType: string, make: () => string | Uint8Array): OpenApiDocument => {
    let document = made.get(key);
    if (document === undefined) {
      const body = make();
      document = { contentType, body, etag: `"${hashOf(body)}"` };
      made.set(key, document);
    }
    return document;
  };
  const groupVersion = (name: string): OpenApiDocument =>
    once(`3/${name}`, JSON_TYPE, () => {
      const [, group = '', of = ''] = name.startsWith('api/') ? ['', '', name.slice('api/'.length)] : name.split('/');
      return JSON.stringify(renderV3(definitions, kinds, { group, version: of }, version));
    });
  const root = (): OpenApiDocument =>
    once('3', JSON_TYPE, () =>
      JSON.stringify({
        paths: Object.fromEntries(
          versions.map((name) => [
            name,
            { serverRelativeURL: `/openapi/v3/${name}?hash=${groupVersion(name).etag.slice(1, -1)}` },
          ]),
        ),
      }),
    );
  return async ({ path, accept, query }) => {
    if (path === '/openapi/v2') {
      const form = acceptedForm(accept, [JSON_TYPE, ...protobufNames]);
      if (form === JSON_TYPE) return once('2', JSON_TYPE, () => JSON.stringify(renderV2(definitions, kinds, version)));
      return once('2+protobuf', PROTOBUF_TYPE, () => encodeV2(renderV2(definitions, kinds, version)));
    }
    if (path !== '/openapi/v3' && path !== '/openapi/v3/' && !versions.some((name) => path === `/openapi/v3/${name}`))
      return undefined;
    acceptedForm(accept, [JSON_TYPE]);
    if (path === '/openapi/v3' || path === '/openapi/v3/') return root();
    const document = groupVersion(path.slice('/openapi/v3/'.length));
    // Who names the very content may keep it; another hash gets what is there now, unkept.
    return query?.get('hash') === document.etag.slice(1, -1)
      ? { ...document, cacheControl: 'public, immutable' }
      : document;
  };
}

function hashOf(body: string | Uint8Array): string {
  return createHash('sha512').update(body).digest('hex').toUpperCase();
}

/** The first form that the client takes, by its own order of preference. */
function acceptedForm(accept: string | undefined, forms: readonly string[]): string {
  const first = forms[0] ?? JSON_TYPE;
  if (accept === undefined || accept.trim() === '') return first;
  const clauses = accept.split(',').map((clause, place) => {
    const [type = '', ...parameters] = clause.split(';').map((part) => part.trim());
    const weight = Number(parameters.find((parameter) => parameter.startsWith('q='))?.slice(2) ?? 1);
    return { type: type.toLowerCase(), weight: Number.isNaN(weight) ? 1 : weight, place };
  });
  for (const { type, weight } of clauses.sort((a, b) => b.weight - a.weight || a.place - b.place)) {
    if (weight === 0) continue;
    const form = type === '*/*' || type === 'application/*' ? first : forms.find((known) => known === type);
    if (form !== undefined) return form;
  }
  throw new ApiStatusError('NotAcceptable', `only the following media types are accepted: ${forms.join(', ')}`);
}
