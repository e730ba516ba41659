import assert from 'node:assert/strict';
import test from 'node:test';
import type { ApiObject } from '../../../api/client/resource-type.ts';
import { ApiStatusError } from '../../../api/status/api-status-error.ts';
import type { ReviewAccess } from '../../model/resource-definition.ts';
import type { AuthorizationAttributes } from '../../model/user-info.ts';
import { nowMs, RulesFixture } from '../testing/rules-fixture.ts';

/** Allows `ann` and the group `ops` to read, denies `evil`, and has no opinion on others. */
class FakeReviewAccess implements ReviewAccess {
  readonly user = { name: 'ann', groups: ['system:authenticated'], extra: { why: ['because'] } };
  readonly asked: AuthorizationAttributes[] = [];

  authorize(attributes: AuthorizationAttributes): ReturnType<ReviewAccess['authorize']> {
    this.asked.push(attributes);
    const { user, verb } = attributes;
    if (user.name === 'evil') return Promise.resolve({ decision: 'deny', reason: 'never' });
    const known = user.name === 'ann' || user.groups.includes('ops');
    return Promise.resolve(
      known && verb === 'get'
        ? { decision: 'allow', reason: 'RBAC: allowed' }
        : { decision: 'noOpinion', reason: '', evaluationError: 'role "x" not found' },
    );
  }

  rulesFor(): ReturnType<ReviewAccess['rulesFor']> {
    return Promise.resolve({
      resourceRules: [{ verbs: ['get'], apiGroups: [''], resources: ['pods'], resourceNames: [] }],
      nonResourceRules: [{ verbs: ['get'], nonResourceURLs: ['/healthz'] }],
      incomplete: false,
    });
  }

  act(): ReturnType<ReviewAccess['act']> {
    return Promise.reject(new Error('reviews only answer'));
  }

  authenticateToken(token: string, audiences: readonly string[]): ReturnType<ReviewAccess['authenticateToken']> {
    if (token === 'good')
      return Promise.resolve({ outcome: 'user', user: { name: 'ann', uid: '7', groups: ['ops'] }, audiences });
    return Promise.resolve(token === 'bad' ? { outcome: 'failed', error: 'expired' } : { outcome: 'none' });
  }
}

const authorization = 'authorization.k8s.io/v1';
const pods = { resourceAttributes: { verb: 'get', resource: 'pods', namespace: 'default' } };

/** Returns the status of the answer, or the refusal. */
async function ask(
  apiVersion: string,
  kind: string,
  spec: object | undefined,
  { access = new FakeReviewAccess(), metadata = {} }: { access?: FakeReviewAccess; metadata?: object } = {},
): Promise<unknown> {
  const fixture = new RulesFixture(apiVersion, kind, { metadata, ...(spec !== undefined && { spec }) });
  try {
    const answer = (await fixture.definition.review?.(fixture.given(), access, {
      user: access.user,
      nowMs,
    })) as ApiObject & { status?: unknown };
    return answer.status;
  } catch (error) {
    assert.ok(error instanceof ApiStatusError);
    return `${error.code} ${error.message}`;
  }
}

test('a token review returns the user of a token, or why it is invalid', async () => {
  const review = (spec: object): Promise<unknown> => ask('authentication.k8s.io/v1', 'TokenReview', spec);
  assert.deepEqual(await review({ token: 'good', audiences: ['api'] }), {
    authenticated: true,
    user: { username: 'ann', uid: '7', groups: ['ops'] },
    audiences: ['api'],
  });
  assert.deepEqual(await review({ token: 'bad' }), { user: {}, error: 'expired' });
  assert.deepEqual(await review({ token: 'unknown' }), { user: {}, error: 'invalid bearer token' });
  assert.equal(await review({}), '400 token is required for TokenReview in authentication');
});

test('a self subject review returns the user', async () => {
  assert.deepEqual(await ask('authentication.k8s.io/v1', 'SelfSubjectReview', undefined), {
    userInfo: { username: 'ann', groups: ['system:authenticated'], extra: { why: ['because'] } },
  });
  const { definition } = new RulesFixture('authentication.k8s.io/v1', 'SelfSubjectReview', {});
  const access = new FakeReviewAccess();
  const answer = (await definition.review?.({ metadata: { name: '', namespace: '', uid: '' } }, access, {
    user: access.user,
    nowMs,
  })) as ApiObject | undefined;
  assert.equal(answer?.metadata.creationTimestamp, '2026-01-01T12:00:00Z');
});

test('an access review decides for the named user, a self review for the caller', async () => {
  assert.deepEqual(await ask(authorization, 'SelfSubjectAccessReview', pods), {
    allowed: true,
    reason: 'RBAC: allowed',
  });
  assert.deepEqual(await ask(authorization, 'SubjectAccessReview', { ...pods, groups: ['ops'] }), {
    allowed: true,
    reason: 'RBAC: allowed',
  });
  assert.deepEqual(await ask(authorization, 'SubjectAccessReview', { ...pods, user: 'bob' }), {
    allowed: false,
    evaluationError: 'role "x" not found',
  });
  assert.deepEqual(await ask(authorization, 'SubjectAccessReview', { ...pods, user: 'evil' }), {
    allowed: false,
    denied: true,
    reason: 'never',
  });
});

test('the authorizer gets all attributes of the review', async () => {
  const access = new FakeReviewAccess();
  const resourceAttributes = {
    verb: 'list',
    group: 'apps',
    resource: 'deployments',
    subresource: 'scale',
    name: 'web',
    namespace: 'a',
    fieldSelector: {
      requirements: [
        { key: 'spec.nodeName', operator: 'In', values: ['n,1'] },
        { key: 'x', operator: 'Exists' },
      ],
    },
    labelSelector: {
      requirements: [
        { key: 'app', operator: 'In', values: ['web'] },
        { key: 'old', operator: 'DoesNotExist' },
      ],
    },
  };
  const status = await ask(authorization, 'SelfSubjectAccessReview', { resourceAttributes }, { access });
  assert.deepEqual(access.asked, [
    {
      user: access.user,
      verb: 'list',
      resourceRequest: true,
      apiGroup: 'apps',
      apiVersion: '*',
      resource: 'deployments',
      subresource: 'scale',
      namespace: 'a',
      name: 'web',
      path: '',
      fieldSelector: 'spec.nodeName=n\\,1',
      labelSelector: 'app in (web),!old',
    },
  ]);
  assert.deepEqual(status, {
    allowed: false,
    evaluationError: 'role "x" not found; spec.resourceAttributes.fieldSelector partially ignored due to parse error',
  });
  await ask(
    authorization,
    'SelfSubjectAccessReview',
    { nonResourceAttributes: { path: '/healthz', verb: 'get' } },
    { access },
  );
  assert.deepEqual(
    [access.asked[1]?.path, access.asked[1]?.resourceRequest, access.asked[1]?.verb],
    ['/healthz', false, 'get'],
  );
});

test('a question that is none is refused in the words of the API', async () => {
  const of = (kind: string, why: string): string => `422 ${kind}.authorization.k8s.io "" is invalid: ${why}`;
  const both = { ...pods, nonResourceAttributes: { path: '/', verb: 'get' } };
  assert.equal(
    await ask(authorization, 'SelfSubjectAccessReview', {}),
    of(
      'SelfSubjectAccessReview',
      'spec.resourceAttributes: Invalid value: null: exactly one of nonResourceAttributes or resourceAttributes must be specified',
    ),
  );
  assert.equal(
    await ask(authorization, 'SelfSubjectAccessReview', both),
    of(
      'SelfSubjectAccessReview',
      'spec.nonResourceAttributes: Invalid value: {"path":"/","verb":"get"}: cannot be specified in combination with resourceAttributes',
    ),
  );
  assert.equal(
    await ask(authorization, 'SubjectAccessReview', pods),
    of('SubjectAccessReview', 'spec.user: Invalid value: "": at least one of user or group must be specified'),
  );
  const local = { namespace: 'other' };
  assert.equal(
    await ask(authorization, 'LocalSubjectAccessReview', { ...pods, user: 'ann' }, { metadata: local }),
    of(
      'LocalSubjectAccessReview',
      'spec.resourceAttributes.namespace: Invalid value: "default": must match metadata.namespace',
    ),
  );
  assert.deepEqual(
    await ask(
      authorization,
      'LocalSubjectAccessReview',
      { ...pods, user: 'ann' },
      { metadata: { namespace: 'default' } },
    ),
    { allowed: true, reason: 'RBAC: allowed' },
  );
  assert.match(
    String(await ask(authorization, 'SelfSubjectAccessReview', pods, { metadata: { name: 'x' } })),
    /metadata: Invalid value: .*: must be empty$/,
  );
  assert.equal(await ask(authorization, 'SelfSubjectRulesReview', {}), '400 no namespace on request');
});

test('a rules review returns the rules of the user', async () => {
  assert.deepEqual(await ask(authorization, 'SelfSubjectRulesReview', { namespace: 'default' }), {
    resourceRules: [{ verbs: ['get'], apiGroups: [''], resources: ['pods'] }],
    nonResourceRules: [{ verbs: ['get'], nonResourceURLs: ['/healthz'] }],
    incomplete: false,
  });
});
