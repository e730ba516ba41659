import { badRequest } from '../../../api/status/api-status-error.ts';
import { decodePart } from '../../../base/request-head.ts';

/** A path, split before it is percent-decoded: an encoded slash separates nothing. */
export interface SplitPath {
  /** As sent. */
  readonly raw: string;
  /** Percent-decoded, as authorizers, endpoints and logs see it. */
  readonly text: string;
  /** Percent-decoded, without the empty one that a slash at the end leaves. */
  readonly parts: readonly string[];
}

/** Throws BadRequest for escapes that are none. */
export function splitPath(raw: string): SplitPath {
  const all = raw
    .split('/')
    .slice(1)
    .map((part) => decodePart(part) ?? refuseEscape(raw));
  return { raw, text: `/${all.join('/')}`, parts: all.at(-1) === '' ? all.slice(0, -1) : all };
}

/**
 * What stands before the part with that number, and what comes from the slash before it on: the way to a proxy, and
 * what is passed on, as the client wrote them.
 */
export function cutPath({ raw }: SplitPath, at: number): { readonly base: string; readonly rest: string } {
  const base = raw
    .split('/')
    .slice(0, at + 1)
    .join('/');
  return { base, rest: raw.slice(base.length) };
}

/**
 * Throws BadRequest when one of the first `count` parts could be read in two ways: it is empty, it is dots, or it has a
 * slash or a control character in it.
 */
export function requirePlainParts({ raw, parts }: SplitPath, count: number): void {
  if (parts.slice(0, count).some((part) => part === '' || part === '.' || part === '..' || /[/\p{Cc}]/u.test(part)))
    throw badRequest(`the path can be read in two ways: ${JSON.stringify(raw.slice(0, 256))}`);
}

function refuseEscape(raw: string): never {
  throw badRequest(`invalid URL escape in ${JSON.stringify(raw.slice(0, 256))}`);
}
