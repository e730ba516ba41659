import type { UserInfo } from '../../model/user-info.ts';
import type { HttpRequest } from '../http/http-request.ts';
import type { RequestInfo } from './request-info.ts';

/** One request on its way through the server: what every step of the path reads, and the few things that they add. */
export interface Exchange {
  readonly http: HttpRequest;
  /** Percent-decoded. */
  readonly path: string;
  /**
   * The path as sent: what says what is asked for, and what comes behind the `proxy` of a subresource (empty elsewhere,
   * but for a slash at the end).
   */
  readonly proxied: { readonly base: string; readonly rest: string };
  readonly query: URLSearchParams;
  readonly info: RequestInfo;
  readonly auditId: string;
  readonly receivedAtMs: number;
  /** Monotonic, for durations. */
  readonly startedAtMs: number;
  /** The user of the request: the authenticated or the impersonated one. */
  user: UserInfo;
  /** Who really asks, when that is another. */
  impersonator?: UserInfo;
  /** Headers that steps add to the answer, whatever it is. */
  readonly headers: Record<string, string>;
  readonly warnings: string[];
  readonly annotations: Record<string, string>;
  /** The name of what a create made, which its path does not say. */
  answeredName?: string;
  /** What the audit log may want of the bodies; set only if its policy does. */
  audited?: AuditedBodies;
}

export interface AuditedBodies {
  requestObject?: unknown;
  responseObject?: string;
}

export const anonymousUser: UserInfo = { name: 'system:anonymous', groups: ['system:unauthenticated'] };

/** More do not go into the 4 KiB that all texts together may take of a header block, as upstream's. */
const MOST_WARNINGS = 200;

/** Each text is sent once. */
export function addWarning(exchange: Exchange, text: string): void {
  if (text === '' || exchange.warnings.length >= MOST_WARNINGS || exchange.warnings.includes(text)) return;
  exchange.warnings.push(text);
}
