import assert from 'node:assert/strict';
import { subdomain } from '../../../api/validation/testing/pod-refusals.ts';
import test from 'node:test';
import type { MutatingWebhookConfiguration } from '../../../api/admissionregistration/mutating-webhook-configuration.ts';
import type { ValidatingWebhookConfiguration } from '../../../api/admissionregistration/validating-webhook-configuration.ts';
import type { Changes } from '../../../api/testing/pod-builder.ts';
import { RulesFixture } from '../testing/rules-fixture.ts';

const webhook = {
  name: 'check.example.com',
  sideEffects: 'None',
  admissionReviewVersions: ['v1'],
  clientConfig: { service: { namespace: 'a', name: 'b' } },
  rules: [{ operations: ['CREATE'], apiGroups: [''], apiVersions: ['v1'], resources: ['pods'] }],
};
const group = 'admissionregistration.k8s.io/v1';
const mutating = new RulesFixture<MutatingWebhookConfiguration>(group, 'MutatingWebhookConfiguration', {
  webhooks: [webhook],
});
const validating = new RulesFixture<ValidatingWebhookConfiguration>(group, 'ValidatingWebhookConfiguration', {
  webhooks: [webhook],
});

test('webhooks get the defaults of the API', () => {
  const defaults = {
    ...webhook,
    clientConfig: { service: { namespace: 'a', name: 'b', port: 443 } },
    rules: [{ ...webhook.rules[0], scope: '*' }],
    failurePolicy: 'Fail',
    matchPolicy: 'Equivalent',
    namespaceSelector: {},
    objectSelector: {},
    timeoutSeconds: 10,
  };
  assert.deepEqual(
    [validating.created().webhooks, mutating.created().webhooks],
    [[defaults], [{ ...defaults, reinvocationPolicy: 'Never' }]],
  );
  assert.deepEqual(
    [validating.refusals(), mutating.refusals(), mutating.updateRefusals({ 'webhooks[0].timeoutSeconds': 3 })],
    [[], [], []],
  );
  assert.deepEqual([mutating.cells(), validating.cells({ webhooks: undefined })], [{ Webhooks: 1 }, { Webhooks: 0 }]);
});

test('a webhook that cannot be called or asked is refused', () => {
  const at = (field: string, value: unknown): Changes => ({ [`webhooks[0].${field}`]: value });
  const url = (text: string): Changes => at('clientConfig', { url: text });
  const form = '; desired format: https://host[/path]';
  const cases: readonly [Changes, string[]][] = [
    [
      at('name', 'short.name'),
      ['name: Invalid value: "short.name": should be a domain with at least three segments separated by dots'],
    ],
    [at('sideEffects', undefined), ['sideEffects: Required value: must specify one of None, NoneOnDryRun']],
    [at('sideEffects', 'Some'), ['sideEffects: Unsupported value: "Some": supported values: "None", "NoneOnDryRun"']],
    [
      at('timeoutSeconds', 31),
      ['timeoutSeconds: Invalid value: 31: the timeout value must be between 1 and 30 seconds'],
    ],
    [at('failurePolicy', 'Retry'), ['failurePolicy: Unsupported value: "Retry": supported values: "Fail", "Ignore"']],
    [at('clientConfig', {}), ['clientConfig: Required value: exactly one of url or service is required']],
    [url('https://hooks.example/x'), []],
    [
      url('http://hooks.example/x?y=1#z'),
      [
        `clientConfig.url: Invalid value: "http": 'https' is the only allowed URL scheme${form}`,
        'clientConfig.url: Invalid value: "z": fragments are not permitted in the URL',
        'clientConfig.url: Invalid value: "y=1": query parameters are not permitted in the URL',
      ],
    ],
    [
      at('clientConfig.service.port', 0),
      ['clientConfig.service.port: Invalid value: 0: port is not valid: must be between 1 and 65535, inclusive'],
    ],
    [
      at('clientConfig.service.path', '/a//b'),
      ['clientConfig.service.path: Invalid value: "/a//b": segment[1] may not be empty'],
    ],
    [at('clientConfig.service.path', '/a/b.c/'), []],
    [at('clientConfig.service.path', '/'), []],
    [
      at('clientConfig.service.path', '//'),
      ['clientConfig.service.path: Invalid value: "//": segment[0] may not be empty'],
    ],
    [
      at('clientConfig.service.path', 'a'),
      [
        `clientConfig.service.path: Invalid value: "a": must start with a '/'`,
        `clientConfig.service.path: Invalid value: "a": segment[0] may not be empty`,
      ],
    ],
    [
      at('clientConfig.service.path', '/a/B'),
      [`clientConfig.service.path: Invalid value: "/a/B": segment[1]: ${subdomain}`],
    ],
    [at('admissionReviewVersions', []), ['admissionReviewVersions: Required value: must specify one of v1, v1beta1']],
    [
      at('admissionReviewVersions', ['v2']),
      ['admissionReviewVersions: Invalid value: ["v2"]: must include at least one of v1, v1beta1'],
    ],
    [
      at('admissionReviewVersions', ['v1', 'v1']),
      ['admissionReviewVersions[1]: Invalid value: "v1": duplicate version'],
    ],
    [
      at('matchConditions', [
        { name: 'a', expression: "request.operation == 'CREATE'" },
        { name: 'a', expression: '1' },
      ]),
      [
        'matchConditions[1].expression: Invalid value: "1": must evaluate to bool but got int',
        'matchConditions[1].name: Duplicate value: "a"',
      ],
    ],
    [
      at('rules[0].operations', ['*', 'CREATE']),
      [`rules[0].operations: Invalid value: ["*","CREATE"]: if '*' is present, must not specify other operations`],
    ],
    [
      at('rules[0].operations', ['READ']),
      [
        'rules[0].operations[0]: Unsupported value: "READ": supported values: "*", "CONNECT", "CREATE", "DELETE", "UPDATE"',
      ],
    ],
    [at('rules[0].apiGroups', undefined), ['rules[0].apiGroups: Required value']],
    [
      at('rules[0].resources', ['*/*', 'pods']),
      [`rules[0].resources: Invalid value: ["*/*","pods"]: if '*/*' is present, must not specify other resources`],
    ],
    [
      at('rules[0].resources', ['pods/*', 'pods/status']),
      [`rules[0].resources[1]: Invalid value: "pods/status": if 'pods/*' is present, must not specify pods/status`],
    ],
    [
      at('rules[0].scope', 'Some'),
      ['rules[0].scope: Unsupported value: "Some": supported values: "*", "Cluster", "Namespaced"'],
    ],
  ];
  for (const fixture of [mutating, validating])
    for (const [changes, expected] of cases)
      assert.deepEqual(
        fixture.refusals(changes),
        expected.map((text) => `webhooks[0].${text}`),
      );
  assert.deepEqual(mutating.refusals({ 'webhooks[1]': webhook }), [
    'webhooks[1].name: Duplicate value: "check.example.com"',
  ]);
  assert.deepEqual(mutating.refusals(at('reinvocationPolicy', 'Twice')), [
    'webhooks[0].reinvocationPolicy: Unsupported value: "Twice": supported values: "IfNeeded", "Never"',
  ]);
});
