import { formatMicroTime } from '../../../api/time.ts';
import type { Clock } from '../../../base/clock.ts';
import type { UserInfo } from '../../model/user-info.ts';
import { headerOf } from '../http/http-request.ts';
import type { BodyReply, Reply } from '../http/reply.ts';
import type { Exchange } from '../path/exchange.ts';
import { isLongRunning } from '../path/request-info.ts';
import type { RequestObserver } from '../path/request-path.ts';
import { decideAudit } from './audit-policy.ts';
import type { AuditDecision, AuditPolicy, AuditStage } from './audit-policy.ts';

/** The maximum length of bodies in events. Longer ones are omitted. */
const LONGEST_BODY = 1024 * 1024;

/** Writes one JSON line (audit.k8s.io/v1 Event) for each stage of a request, as the policy defines. */
export class AuditLog implements RequestObserver {
  readonly #policy: AuditPolicy;
  readonly #sink: (line: string) => void;
  readonly #clock: Clock;
  readonly #decisions = new WeakMap<Exchange, AuditDecision>();

  constructor(policy: AuditPolicy, { sink, clock }: { readonly sink: (line: string) => void; readonly clock: Clock }) {
    this.#policy = policy;
    this.#sink = sink;
    this.#clock = clock;
  }

  begin(exchange: Exchange): void {
    const decision = decideAudit(this.#policy, exchange.user, exchange.info);
    if (decision.level === 'None') return;
    this.#decisions.set(exchange, decision);
    if (decision.level !== 'Metadata') exchange.audited = {};
    this.#write(exchange, decision, 'RequestReceived');
  }

  started(exchange: Exchange, status: number): void {
    const decision = this.#decisions.get(exchange);
    if (decision !== undefined && isLongRunning(exchange.info))
      this.#write(exchange, decision, 'ResponseStarted', { status });
  }

  done(exchange: Exchange, reply: Reply): void {
    const decision = this.#decisions.get(exchange);
    if (decision !== undefined) this.#write(exchange, decision, 'ResponseComplete', { status: reply.status, reply });
  }

  #write(
    exchange: Exchange,
    decision: AuditDecision,
    stage: AuditStage,
    response?: { readonly status: number; readonly reply?: Reply },
  ): void {
    if (decision.omitStages.includes(stage)) return;
    const { http, info, auditId, receivedAtMs, annotations } = exchange;
    const userAgent = headerOf(http.headers, 'user-agent');
    const isOver = stage === 'ResponseComplete';
    const event = {
      kind: 'Event',
      apiVersion: 'audit.k8s.io/v1',
      level: decision.level,
      auditID: auditId,
      stage,
      requestURI: `${http.target.rawPath}${http.target.search}`,
      verb: info.verb,
      user: auditUser(exchange.impersonator ?? exchange.user),
      ...(exchange.impersonator !== undefined && { impersonatedUser: auditUser(exchange.user) }),
      sourceIPs: sourceIps(exchange),
      ...(userAgent !== undefined && { userAgent: userAgent.slice(0, 1024) }),
      ...(info.resourceRequest && { objectRef: objectRef(exchange) }),
      ...(response !== undefined && { responseStatus: responseStatus(response) }),
      ...(isOver && bodies(exchange, decision, response?.reply)),
      requestReceivedTimestamp: formatMicroTime(receivedAtMs),
      stageTimestamp: formatMicroTime(this.#clock.nowMs()),
      ...(Object.keys(annotations).length > 0 && { annotations }),
    };
    this.#sink(JSON.stringify(event));
  }
}

const auditUser = ({ name, uid, groups, extra }: UserInfo): object => ({
  username: name,
  ...(uid !== undefined && uid !== '' && { uid }),
  groups,
  ...(extra !== undefined && { extra }),
});

function sourceIps({ http }: Exchange): readonly string[] {
  const forwarded = headerOf(http.headers, 'x-forwarded-for') ?? '';
  const listed = forwarded
    .split(',')
    .slice(0, 16)
    .map((each) => each.trim())
    .filter((each) => /^[0-9a-fA-F.:]{2,45}$/.test(each));
  return [...new Set([...listed, http.remoteAddress])];
}

function objectRef({ info, audited, answeredName = '' }: Exchange): object {
  const { resource, namespace, name, group, version, subresource } = info;
  const named = name === '' && info.verb === 'create' ? answeredName || nameIn(audited?.requestObject) : name;
  return {
    resource,
    ...(namespace !== '' && { namespace }),
    ...(named !== '' && { name: named }),
    ...(group !== '' && { apiGroup: group }),
    apiVersion: version,
    ...(subresource !== '' && { subresource }),
  };
}

function nameIn(value: unknown): string {
  const { metadata } = (value ?? {}) as { metadata?: { name?: unknown } };
  return typeof metadata?.name === 'string' ? metadata.name : '';
}

function responseStatus({ status, reply }: { readonly status: number; readonly reply?: Reply }): object {
  const failure =
    status >= 400 && reply?.kind === 'body' && typeof reply.body === 'string' ? parse(reply.body) : undefined;
  const {
    status: word,
    reason,
    message,
  } = (failure ?? {}) as { status?: unknown; reason?: unknown; message?: unknown };
  return {
    metadata: {},
    ...(typeof word === 'string' && { status: word }),
    ...(typeof message === 'string' && { message }),
    ...(typeof reason === 'string' && { reason }),
    code: status,
  };
}

function bodies(exchange: Exchange, { level, omitManagedFields }: AuditDecision, reply: Reply | undefined): object {
  if (level === 'Metadata') return {};
  const { requestObject } = exchange.audited ?? {};
  const request =
    requestObject === undefined
      ? {}
      : { requestObject: omitManagedFields ? withoutManagedFields(requestObject) : requestObject };
  if (level === 'Request') return request;
  const text = exchange.audited?.responseObject ?? (reply?.kind === 'body' ? textOf(reply.body) : undefined);
  if (text === undefined || text.length > LONGEST_BODY) return request;
  const response = parse(text);
  return response === undefined
    ? request
    : { ...request, responseObject: omitManagedFields ? withoutManagedFields(response) : response };
}

function textOf(body: BodyReply['body']): string | undefined {
  if (typeof body === 'string') return body;
  if (body instanceof Uint8Array || body.reduce((sum, { length }) => sum + length, 0) > LONGEST_BODY) return undefined;
  return Buffer.concat(body).toString('utf8');
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function withoutManagedFields(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  const { items, metadata } = value as { items?: unknown; metadata?: unknown };
  if (Array.isArray(items)) return { ...value, items: items.map(withoutManagedFields) };
  if (typeof metadata !== 'object' || metadata === null || !('managedFields' in metadata)) return value;
  const { managedFields: _left, ...rest } = metadata as Record<string, unknown>;
  return { ...value, metadata: rest };
}
