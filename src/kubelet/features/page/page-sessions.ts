import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Buffer } from 'node:buffer';

/** The credential of a session: the token of the page, or a bearer token that is checked again with every request. */
export type SessionCredential = { readonly kind: 'page' } | { readonly kind: 'bearer'; readonly authorization: string };

interface Session {
  readonly credential: SessionCredential;
  readonly endsAtMs: number;
}

/** The name of the cookie. With `__Host-`, the browser sends it only to this address over TLS. */
const COOKIE = '__Host-kubelet-page';
const MOST_SESSIONS = 64;
export const SESSION_MS = 12 * 3_600_000;
const ID_BYTES = 32;
/** The maximum length of a Cookie header that is searched. A browser's cookies have at most 4 KiB each. */
const COOKIES_LIMIT = 16_384;

/**
 * Stores the sessions of browsers, in memory only. The keys are digests, so that the time of a lookup reveals nothing
 * about a session's id.
 */
export class PageSessions {
  readonly #nowMs: () => number;
  readonly #sessions = new Map<string, Session>();

  /** `nowMs` is monotonic. */
  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  /**
   * Opens a session, and returns the value of the `Set-Cookie` header. If there are too many sessions, the oldest one
   * ends.
   */
  open(credential: SessionCredential): string {
    const id = randomBytes(ID_BYTES).toString('base64url');
    for (const oldest of this.#sessions.keys()) {
      if (this.#sessions.size < MOST_SESSIONS) break;
      this.#sessions.delete(oldest);
    }
    this.#sessions.set(keyOf(id), { credential, endsAtMs: this.#nowMs() + SESSION_MS });
    return cookie(id, SESSION_MS / 1000);
  }

  find(cookies: string | undefined): SessionCredential | undefined {
    const key = sessionKey(cookies);
    const session = key === undefined ? undefined : this.#sessions.get(key);
    if (key === undefined || session === undefined) return undefined;
    if (this.#nowMs() < session.endsAtMs) return session.credential;
    this.#sessions.delete(key);
    return undefined;
  }

  /** Closes a session, and returns the value of the `Set-Cookie` header that removes the cookie. */
  close(cookies: string | undefined): string {
    const key = sessionKey(cookies);
    if (key !== undefined) this.#sessions.delete(key);
    return cookie('', 0);
  }
}

const cookie = (value: string, maxAgeSeconds: number): string =>
  `${COOKIE}=${value}; Path=/; Max-Age=${maxAgeSeconds}; Secure; HttpOnly; SameSite=Strict`;

const keyOf = (id: string): string => createHash('sha256').update(id).digest('base64');

function sessionKey(cookies = ''): string | undefined {
  if (cookies.length > COOKIES_LIMIT) return undefined;
  const prefix = `${COOKIE}=`;
  const found = cookies
    .split(';')
    .map((each) => each.trim())
    .find((each) => each.startsWith(prefix));
  return found === undefined || found === prefix ? undefined : keyOf(found.slice(prefix.length));
}

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();

/** Compares tokens in constant time. An empty token of the page equals no token. */
export function isSameToken(given: string, token: string): boolean {
  return timingSafeEqual(digest(given), digest(token)) && token !== '';
}
