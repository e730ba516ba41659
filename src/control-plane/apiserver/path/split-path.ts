import { badRequest } from '../../../api/status/api-status-error.ts';
import { decodePart } from '../../../base/request-head.ts';

/** A path that is split before it is percent-decoded, so that an encoded slash does not separate parts. */
export interface SplitPath {
  /** The path as sent. */
  readonly raw: string;
  /** The percent-decoded path, for authorizers, endpoints and logs. */
  readonly text: string;
  /** The percent-decoded parts, without the empty part after a trailing slash. */
  readonly parts: readonly string[];
}

/** Splits a path. Throws BadRequest for invalid escapes. */
export function splitPath(raw: string): SplitPath {
  const all = raw
    .split('/')
    .slice(1)
    .map((part) => decodePart(part) ?? refuseEscape(raw));
  return { raw, text: `/${all.join('/')}`, parts: all.at(-1) === '' ? all.slice(0, -1) : all };
}

/**
 * Splits the path as sent before the part with that index: the path to the proxy, and the forwarded rest including its
 * slash.
 */
export function cutPath({ raw }: SplitPath, at: number): { readonly base: string; readonly rest: string } {
  const base = raw
    .split('/')
    .slice(0, at + 1)
    .join('/');
  return { base, rest: raw.slice(base.length) };
}

/**
 * Throws BadRequest if one of the first `count` parts is ambiguous: empty, only dots, or with a slash or a control
 * character.
 */
export function requirePlainParts({ raw, parts }: SplitPath, count: number): void {
  if (parts.slice(0, count).some((part) => part === '' || part === '.' || part === '..' || /[/\p{Cc}]/u.test(part)))
    throw badRequest(`the path can be read in two ways: ${JSON.stringify(raw.slice(0, 256))}`);
}

function refuseEscape(raw: string): never {
  throw badRequest(`invalid URL escape in ${JSON.stringify(raw.slice(0, 256))}`);
}
