import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { silentLogger } from '../../../base/log.ts';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import type { AuthorizationAttributes, AuthorizationDecision } from '../../model/user-info.ts';
import { compileMatchCondition } from '../configuration/match-conditions.ts';
import { createWebhookAuthorizer } from './webhook-authorizer.ts';
import type { WebhookAuthorizerOptions } from './webhook-authorizer.ts';

const ask = (changes: Partial<AuthorizationAttributes> = {}): AuthorizationAttributes => ({
  user: { name: 'jane', uid: '7', groups: ['devs'], extra: { scopes: ['a'] } },
  verb: 'list',
  resourceRequest: true,
  apiGroup: 'apps',
  apiVersion: 'v1',
  resource: 'deployments',
  subresource: '',
  namespace: 'web',
  name: '',
  path: '',
  ...changes,
});

function setUp(
  failurePolicy?: 'NoOpinion' | 'Deny',
  more: Partial<WebhookAuthorizerOptions> & { readonly when?: readonly string[] } = {},
) {
  const { when = [], ...options } = more;
  const conditions = when.map((source) => {
    const program = compileMatchCondition(source);
    assert.ok(typeof program !== 'string', String(program));
    return program;
  });
  const clock = new FakeClock();
  const service = { status: { allowed: true, reason: 'ok' } as object, code: 200, up: true, reviews: [] as unknown[] };
  const post = (review: object) => {
    service.reviews.push(review);
    return service.up
      ? Promise.resolve({ status: service.code, body: { status: service.status } })
      : Promise.reject(new Error('down'));
  };
  const authorizer = createWebhookAuthorizer({ post, clock, log: silentLogger, failurePolicy, conditions, ...options });
  const decide = async (changes?: Partial<AuthorizationAttributes>): Promise<AuthorizationDecision> => {
    let done: AuthorizationDecision | undefined;
    void Promise.resolve(authorizer.authorize(ask(changes))).then((decision) => (done = decision));
    await clock.advanceUntil(() => done !== undefined, 60_000);
    assert.ok(done !== undefined);
    return done;
  };
  return { clock, service, decide, authorizer };
}

describe('the authorization webhook', () => {
  it('sends a SubjectAccessReview with selectors, and returns the result', async () => {
    const { service, decide } = setUp();
    assert.deepEqual(await decide({ fieldSelector: 'metadata.name=a,x!=b', labelSelector: 'app in (a,b),!c' }), {
      decision: 'allow',
      reason: 'ok',
    });
    assert.deepEqual(service.reviews[0], {
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SubjectAccessReview',
      metadata: {},
      spec: {
        resourceAttributes: {
          namespace: 'web',
          verb: 'list',
          group: 'apps',
          version: 'v1',
          resource: 'deployments',
          fieldSelector: {
            requirements: [
              { key: 'metadata.name', operator: 'In', values: ['a'] },
              { key: 'x', operator: 'NotIn', values: ['b'] },
            ],
          },
          labelSelector: {
            requirements: [
              { key: 'app', operator: 'In', values: ['a', 'b'] },
              { key: 'c', operator: 'DoesNotExist' },
            ],
          },
        },
        user: 'jane',
        groups: ['devs'],
        uid: '7',
        extra: { scopes: ['a'] },
      },
    });
    service.status = { allowed: false, denied: true, reason: 'no' };
    assert.deepEqual(await decide({ resourceRequest: false, path: '/metrics', verb: 'get' }), {
      decision: 'deny',
      reason: 'no',
    });
    assert.deepEqual((service.reviews[1] as { spec: object }).spec, {
      nonResourceAttributes: { path: '/metrics', verb: 'get' },
      user: 'jane',
      groups: ['devs'],
      uid: '7',
      extra: { scopes: ['a'] },
    });
    service.status = { allowed: false };
    assert.deepEqual(await decide({ name: 'x' }), { decision: 'noOpinion', reason: '' });
    service.status = { allowed: true, denied: true };
    assert.equal((await decide({ name: 'y' })).decision, 'deny');
  });

  it('caches an allowed request for five minutes and a denied one for 30 seconds', async () => {
    const { clock, service, decide } = setUp();
    await decide();
    service.status = { allowed: false };
    await decide({ name: 'x' });
    await clock.advance(29_999);
    await Promise.all([decide(), decide({ name: 'x' })]);
    assert.equal(service.reviews.length, 2);
    await clock.advance(1);
    await decide({ name: 'x' });
    assert.equal(service.reviews.length, 3);
    await clock.advance(269_999);
    assert.equal((await decide()).decision, 'allow');
    await clock.advance(1);
    assert.equal((await decide()).decision, 'noOpinion');
  });

  it('does not cache very long requests', async () => {
    const { service, decide } = setUp();
    for (let i = 0; i < 2; i++) await decide({ name: 'x'.repeat(10_000) });
    assert.equal(service.reviews.length, 2);
  });

  it('retries while there is no answer, and then follows its failure policy', async () => {
    const { service, decide } = setUp();
    service.up = false;
    assert.deepEqual(await decide(), { decision: 'noOpinion', reason: '', evaluationError: 'down' });
    assert.equal(service.reviews.length, 5);
    const strict = setUp('Deny');
    strict.service.code = 503;
    assert.equal((await strict.decide()).decision, 'deny');
    strict.service.code = 403;
    assert.equal((await strict.decide()).decision, 'deny');
    assert.equal(strict.service.reviews.length, 6, 'a refusal is not repeated');
    strict.service.code = 200;
    assert.equal((await strict.decide()).decision, 'allow', 'failures are not remembered');
  });

  it('is called only when all its conditions are true', async () => {
    const { service, decide } = setUp('Deny', {
      when: ['has(request.resourceAttributes)', "request.resourceAttributes.namespace == 'web'"],
    });
    assert.equal((await decide()).decision, 'allow');
    assert.deepEqual(await decide({ namespace: 'other' }), { decision: 'noOpinion', reason: '' });
    assert.deepEqual(await decide({ resourceRequest: false, path: '/x' }), { decision: 'noOpinion', reason: '' });
    assert.equal(service.reviews.length, 1);
  });

  it('can use every attribute in its conditions, including empty ones and selectors', async () => {
    const { decide } = setUp('Deny', {
      when: [
        "request.user == 'jane' && request.uid == '7' && 'devs' in request.groups && request.extra.scopes == ['a']",
        "request.resourceAttributes.name == '' && request.resourceAttributes.group == 'apps'",
        "request.resourceAttributes.labelSelector.requirements.exists(r, r.key == 'app' && r.operator == 'In')",
        '!has(request.resourceAttributes.fieldSelector)',
      ],
    });
    assert.equal((await decide({ labelSelector: 'app=a' })).decision, 'allow');
  });

  it('handles a failed condition by the failure policy, unless another condition is false', async () => {
    const when = ["request.resourceAttributes.namespace == 'web'"];
    const path = { resourceRequest: false, path: '/x' };
    const error =
      "cel evaluation error: expression 'request.resourceAttributes.namespace == 'web'' resulted in error: no such key: resourceAttributes";
    for (const [policy, decision] of [
      ['Deny', 'deny'],
      ['NoOpinion', 'noOpinion'],
    ] as const)
      assert.deepEqual(await setUp(policy, { when }).decide(path), { decision, reason: '', evaluationError: error });
    const { decide } = setUp('Deny', { when: [...when, "request.user != 'jane'"] });
    assert.deepEqual(await decide(path), { decision: 'noOpinion', reason: '' });
  });

  it('writes groups in v1beta1 in the form of that version', async () => {
    const { service, decide } = setUp('Deny', { version: 'v1beta1' });
    await decide();
    const [{ apiVersion, spec }] = service.reviews as [{ apiVersion: string; spec: Record<string, unknown> }];
    assert.deepEqual(
      [apiVersion, spec['group'], spec['groups']],
      ['authorization.k8s.io/v1beta1', ['devs'], undefined],
    );
  });

  it('caches nothing when the cache times are 0', async () => {
    const { service, decide } = setUp('Deny', { authorizedMs: 0 });
    await decide();
    await decide();
    assert.equal(service.reviews.length, 2);
    service.status = { allowed: false };
    await decide();
    await decide();
    assert.equal(service.reviews.length, 3, 'those that allow nothing are kept');
  });

  it('reports its requests, skipped calls, and decisions of others', async () => {
    const seen: unknown[] = [];
    const observer: WebhookAuthorizerOptions['observer'] = {
      webhookAsked: (name, result) => seen.push([name, result]),
      webhookFailedOpen: (name, result) => seen.push([name, 'open', result]),
      conditionsJudged: (name, result) => seen.push([name, result]),
    };
    const { service, decide } = setUp('NoOpinion', { name: 'hook', observer, when: ["request.user == 'jane'"] });
    await decide();
    await decide({ user: { name: 'joe', groups: [] } });
    service.up = false;
    await decide({ verb: 'get' });
    assert.deepEqual(seen, [
      ['hook', 'match'],
      ['hook', 'success'],
      ['hook', 'excluded'],
      ['hook', 'match'],
      ...Array.from({ length: 5 }, () => ['hook', 'error']),
      ['hook', 'open', 'error'],
    ]);
  });
});
