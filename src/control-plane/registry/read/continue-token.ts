import { Buffer } from 'node:buffer';
import { badRequest } from '../../../api/status/api-status-error.ts';

/**
 * The start of the next page of a list, and the version of the list. -1 means the newest version, for lists whose
 * version was compacted.
 */
export interface ContinueToken {
  readonly revision: number;
  /** The key of the previous page's last object, below the kind's place in the store. */
  readonly afterKey: string;
}

const VERSION = 'meta.k8s.io/v1';

/** Formats a token like upstream's. It is opaque to clients. */
export function formatContinueToken({ revision, afterKey }: ContinueToken): string {
  return Buffer.from(JSON.stringify({ v: VERSION, rv: revision, start: `${afterKey}\0` })).toString('base64url');
}

/** Parses a token. Throws BadRequest for an invalid one. */
export function parseContinueToken(text: string): ContinueToken {
  let token: unknown;
  try {
    token = JSON.parse(Buffer.from(text, 'base64url').toString('utf8'));
  } catch {
    throw badRequest('invalid continue token: continue key is not valid: illegal base64 data or JSON');
  }
  const { v, rv, start } = (typeof token === 'object' && token !== null ? token : {}) as {
    readonly v?: unknown;
    readonly rv?: unknown;
    readonly start?: unknown;
  };
  if (v !== VERSION)
    throw badRequest(
      'invalid continue token: continue key is not valid: server does not recognize this encoded version',
    );
  if (typeof rv !== 'number' || !Number.isSafeInteger(rv) || rv === 0)
    throw badRequest(
      'invalid continue token: continue key is not valid: incorrect encoded start resourceVersion (version meta.k8s.io/v1)',
    );
  if (typeof start !== 'string' || !start.endsWith('\0') || start.length < 2)
    throw badRequest(
      'invalid continue token: continue key is not valid: encoded start key empty (version meta.k8s.io/v1)',
    );
  return { revision: rv, afterKey: start.slice(0, -1) };
}
