import { headerOf } from '../http/http-request.ts';
import { jsonReply } from '../http/reply.ts';
import type { DocumentSource, VersionInfo } from '../options.ts';
import type { Endpoint } from '../path/dispatch.ts';
import { unsupportedMethod } from '../path/dispatch.ts';

/** Serves `/version` with upstream's fields. Those about Go and its compiler have no meaning here. */
export function versionEndpoint(version: VersionInfo): Endpoint {
  const minor = Number.parseInt(version.minor, 10);
  const body = JSON.stringify(
    {
      major: version.major,
      minor: version.minor,
      emulationMajor: version.major,
      emulationMinor: version.minor,
      minCompatibilityMajor: version.major,
      minCompatibilityMinor: String(minor - 1),
      gitVersion: version.gitVersion,
      gitCommit: version.gitCommit,
      gitTreeState: version.gitTreeState,
      buildDate: version.buildDate,
      goVersion: '',
      compiler: '',
      platform: version.platform,
    },
    undefined,
    2,
  );
  return async ({ path, http }) => {
    if (path !== '/version' && path !== '/version/') return Promise.resolve(undefined);
    if (http.method !== 'GET' && http.method !== 'HEAD') throw unsupportedMethod();
    return Promise.resolve(jsonReply(200, body));
  };
}

/** Serves `/`: the list of paths. */
export function indexEndpoint(paths: () => readonly string[]): Endpoint {
  return ({ path }) => {
    const isIndex = path === '/' || path === '/index.html' || path === '/index';
    const body = (): string => JSON.stringify({ paths: [...new Set(paths())].sort() }, undefined, 2);
    return Promise.resolve(isIndex ? jsonReply(200, body()) : undefined);
  };
}

/** Serves documents of other parts: OpenAPI and the keys of service account tokens. */
export function documentEndpoint(source: DocumentSource): Endpoint {
  return async ({ path, query, http }) => {
    const document = await source({ path, query, accept: headerOf(http.headers, 'accept') });
    if (document === undefined) return undefined;
    if (http.method !== 'GET' && http.method !== 'HEAD') throw unsupportedMethod();
    const { contentType, body, etag, cacheControl } = document;
    const headers = {
      'content-type': contentType,
      vary: 'Accept',
      ...(etag !== undefined && { etag }),
      ...(cacheControl !== undefined && { 'cache-control': cacheControl }),
    };
    if (etag !== undefined && etagMatches(headerOf(http.headers, 'if-none-match'), etag))
      return { kind: 'body', status: 304, headers, body: '' };
    return { kind: 'body', status: 200, headers, body };
  };
}

function etagMatches(asked: string | undefined, etag: string): boolean {
  return asked !== undefined && asked.split(',').some((each) => each.trim().replace(/^W\//, '') === etag);
}
