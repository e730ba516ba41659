import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { readAuthorizationConfiguration } from './authorization-configuration.ts';
import type { AuthorizationConfiguration } from './authorization-configuration.ts';
import type { Program } from '../../../cel/compile.ts';
import { runThrough } from '../../../base/steps.ts';
import { compileMatchCondition, judgeConditions } from './match-conditions.ts';
import { validateAuthorizationConfiguration } from './validate-authorization-configuration.ts';
import type { AuthorizationChecks } from './validate-authorization-configuration.ts';

const head = { apiVersion: 'apiserver.config.k8s.io/v1', kind: 'AuthorizationConfiguration' };
const webhook = {
  timeout: '3s',
  subjectAccessReviewVersion: 'v1',
  matchConditionSubjectAccessReviewVersion: 'v1',
  failurePolicy: 'Deny',
  connectionInfo: { type: 'KubeConfigFile', kubeConfigFile: '/hook.conf' },
};
const read = (authorizers: readonly object[]): AuthorizationConfiguration => {
  const configuration = readAuthorizationConfiguration({ ...head, authorizers });
  assert.ok(typeof configuration !== 'string', String(configuration));
  return configuration;
};
const validate = (
  authorizers: readonly object[],
  checks: Partial<AuthorizationChecks> = {},
): ReturnType<typeof validateAuthorizationConfiguration> =>
  validateAuthorizationConfiguration(read(authorizers), { fileProblem: () => undefined, ...checks });
const ofWebhook = (changes: object): unknown =>
  validate([{ type: 'Webhook', name: 'hook', webhook: { ...webhook, ...changes } }]);

describe('AuthorizationConfiguration', () => {
  it('returns an ordered list, with defaults for webhooks', () => {
    assert.deepEqual(
      validate([
        { type: 'Webhook', name: 'hook', webhook },
        { type: 'RBAC', name: 'rbac' },
        {
          type: 'Webhook',
          name: 'second',
          webhook: { ...webhook, cacheAuthorizedRequests: false, unauthorizedTTL: '1m' },
        },
      ]),
      [
        {
          type: 'Webhook',
          name: 'hook',
          webhook: {
            kubeConfigFile: '/hook.conf',
            timeoutMs: 3000,
            authorizedMs: 300_000,
            unauthorizedMs: 30_000,
            version: 'v1',
            failurePolicy: 'Deny',
            conditions: [],
          },
        },
        { type: 'RBAC', name: 'rbac' },
        {
          type: 'Webhook',
          name: 'second',
          webhook: {
            kubeConfigFile: '/hook.conf',
            timeoutMs: 3000,
            authorizedMs: 0,
            unauthorizedMs: 60_000,
            version: 'v1',
            failurePolicy: 'Deny',
            conditions: [],
          },
        },
      ],
    );
  });

  it('is read strictly', () => {
    assert.match(String(readAuthorizationConfiguration({ ...head, kind: 'Pod' })), /no kind "Pod"/);
    assert.match(String(readAuthorizationConfiguration({ ...head, modes: [] })), /unknown field "modes"/);
    const wrong = { type: 'Webhook', name: 'x', webhook: { ...webhook, timeout: '3 s' } };
    assert.match(String(readAuthorizationConfiguration({ ...head, authorizers: [wrong] })), /timeout/);
  });

  it('allows only known types, each once except for webhooks, with names', () => {
    assert.equal(validate([]), 'authorizers: Required value: at least one authorization mode must be defined');
    assert.equal(
      validate([
        { name: 'a' },
        { type: 'Moon', name: 'b' },
        { type: 'RBAC', name: 'rbac' },
        { type: 'RBAC', name: 'c' },
        { type: 'Node' },
        { type: 'Webhook', name: 'rbac', webhook },
        { type: 'Webhook', name: 'A b' },
        { type: 'AlwaysAllow', name: 'alwaysallow', webhook },
      ]),
      '[authorizers[0].type: Required value, ' +
        'authorizers[1].type: Unsupported value: "Moon": supported values: "ABAC", "AlwaysAllow", "AlwaysDeny", "Node", "RBAC", "Webhook", ' +
        'authorizers[3].type: Duplicate value: "RBAC", ' +
        'authorizers[4].name: Required value, ' +
        'authorizers[5].name: Duplicate value: "rbac", ' +
        "authorizers[6].name: Invalid value: \"A b\": authorizer name is invalid: a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*'), " +
        'authorizers[6].webhook: Required value: required when type=Webhook, ' +
        'authorizers[7].webhook: Invalid value: "non-null": may only be specified when type=Webhook]',
    );
    assert.equal(validate([{ type: 'Node', name: 'n' }]), 'expected name node for authorizer Node instead of n');
  });

  it('must keep the types of the start', () => {
    const requiredTypes = new Set(['RBAC', 'Node'] as const);
    assert.equal(
      validate([{ type: 'AlwaysAllow', name: 'alwaysallow' }], { requiredTypes }),
      'missing required types: [Node RBAC]',
    );
  });

  it('requires all fields of webhooks that have no default', () => {
    assert.equal(
      validate([{ type: 'Webhook', name: 'hook', webhook: { connectionInfo: {} } }]),
      '[authorizers[0].timeout: Required value, ' +
        'authorizers[0].subjectAccessReviewVersion: Required value, ' +
        'authorizers[0].failurePolicy: Required value, ' +
        'authorizers[0].connectionInfo.type: Required value]',
    );
    assert.equal(
      ofWebhook({
        timeout: '31s',
        authorizedTTL: '-1s',
        subjectAccessReviewVersion: 'v2',
        matchConditionSubjectAccessReviewVersion: 'v2',
        failurePolicy: 'Ignore',
        connectionInfo: { type: 'KubeConfigFile', kubeConfigFile: 'hook.conf' },
      }),
      '[authorizers[0].timeout: Invalid value: "31s": must be > 0s and <= 30s, ' +
        'authorizers[0].authorizedTTL: Invalid value: "-1s": must be > 0s, ' +
        'authorizers[0].subjectAccessReviewVersion: Unsupported value: "v2": supported values: "v1", "v1beta1", ' +
        'authorizers[0].matchConditionSubjectAccessReviewVersion: Unsupported value: "v2": supported values: "v1", ' +
        'authorizers[0].failurePolicy: Unsupported value: "Ignore": supported values: "NoOpinion", "Deny", ' +
        'authorizers[0].connectionInfo.kubeConfigFile: Invalid value: "hook.conf": must be an absolute path]',
    );
    assert.match(
      String(validate([{ type: 'Webhook', name: 'hook', webhook }], { fileProblem: () => 'error loading file: none' })),
      /kubeConfigFile: Invalid value: "\/hook\.conf": error loading file: none/,
    );
    assert.match(
      String(ofWebhook({ connectionInfo: { type: 'InClusterConfig' } })),
      /this server does not run in a pod/,
    );
  });

  it('requires conditions that return true or false', () => {
    const path = 'authorizers[0].matchConditions';
    assert.equal(
      ofWebhook({
        matchConditionSubjectAccessReviewVersion: '',
        matchConditions: [
          { expression: ' ' },
          { expression: "request.user == 'a'" },
          { expression: "request.user == 'a'" },
          { expression: 'request.user' },
          { expression: 'request.none' },
        ],
      }),
      '[authorizers[0].matchConditionSubjectAccessReviewVersion: Required value: required if match conditions are specified, ' +
        `${path}[0].expression: Required value, ` +
        `${path}[2].expression: Duplicate value: "request.user == 'a'", ` +
        `${path}[3].expression: Invalid value: "request.user": must evaluate to bool but got string, ` +
        `${path}[4].expression: Invalid value: "request.none": compilation failed: ERROR: <input>:1:8: undefined field 'none'\n | request.none\n | .......^]`,
    );
    const hostile = (expression: string): string => String(ofWebhook({ matchConditions: [{ expression }] }));
    assert.match(hostile(`request.user == '${'x'.repeat(20_000)}'`), /expression code point size exceeds limit/);
    assert.match(hostile(`${'('.repeat(9_000)}true${')'.repeat(9_000)}`), /expression recursion limit exceeded/);
    const many = Array.from({ length: 65 }, (_, index) => ({ expression: `request.user == '${index}'` }));
    assert.equal(ofWebhook({ matchConditions: many }), `${path}: Too many: 65: must have at most 64 items`);
  });

  it('a condition that costs too much for a request is an error, as long as none is false', () => {
    const programs = (...sources: string[]): Program[] =>
      sources.map((source) => {
        const program = compileMatchCondition(source);
        assert.ok(typeof program !== 'string', String(program));
        return program;
      });
    const groups = Array.from({ length: 10_000 }, (_, index) => `group-${index}`);
    const request = { user: 'u', uid: '', groups, extra: { 'a.b/c': ['x'.repeat(1_000_000)] } };
    const costly = 'request.groups.all(a, request.groups.all(b, a != b || a == b))';
    const tooMuch = `cel evaluation error: expression '${costly}' resulted in error: operation cancelled: actual cost limit exceeded`;
    const judge = (...sources: string[]): unknown => runThrough(judgeConditions(programs(...sources), request));
    assert.deepEqual(judge(costly), { error: tooMuch });
    assert.equal(judge(costly, "request.user == 'other'"), false);
    // The pattern has no backtracking.
    assert.equal(judge("request.extra['a.b/c'].all(a, a.matches('^(x+x+)+y$'))", costly), false);
  });
});
