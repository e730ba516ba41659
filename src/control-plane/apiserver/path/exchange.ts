import type { UserInfo } from '../../model/user-info.ts';
import type { HttpRequest } from '../http/http-request.ts';
import type { RequestInfo } from './request-info.ts';

/** The state of one request: values that every step of the request path reads, and a few that steps add. */
export interface Exchange {
  readonly http: HttpRequest;
  /** The percent-decoded path. */
  readonly path: string;
  /**
   * The path as sent, split into the part that identifies the resource and the part after the `proxy` subresource. For
   * other requests the latter is empty, or a trailing slash.
   */
  readonly proxied: { readonly base: string; readonly rest: string };
  readonly query: URLSearchParams;
  readonly info: RequestInfo;
  readonly auditId: string;
  readonly receivedAtMs: number;
  /** The monotonic start time, for durations. */
  readonly startedAtMs: number;
  /** The user of the request: the authenticated or the impersonated one. */
  user: UserInfo;
  /** The authenticated user, if another one is impersonated. */
  impersonator?: UserInfo;
  /** The headers that steps add to any response. */
  readonly headers: Record<string, string>;
  readonly warnings: string[];
  readonly annotations: Record<string, string>;
  /** The name of the created object, which is not in the path. */
  answeredName?: string;
  /** The bodies for the audit log. They are set only if the policy requires them. */
  audited?: AuditedBodies;
}

export interface AuditedBodies {
  requestObject?: unknown;
  responseObject?: string;
}

export const anonymousUser: UserInfo = { name: 'system:anonymous', groups: ['system:unauthenticated'] };

/** The limit of warnings. More would exceed the 4 KiB for all warnings of a response, as in upstream. */
const MOST_WARNINGS = 200;

/** Adds a warning. Duplicate texts are sent once. */
export function addWarning(exchange: Exchange, text: string): void {
  if (text === '' || exchange.warnings.length >= MOST_WARNINGS || exchange.warnings.includes(text)) return;
  exchange.warnings.push(text);
}
