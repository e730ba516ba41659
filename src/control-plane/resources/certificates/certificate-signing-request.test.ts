import assert from 'node:assert/strict';
import { Buffer } from 'node:buffer';
import test from 'node:test';
import type {
  CertificateSigningRequest,
  CertificateSigningRequestStatus,
} from '../../../api/certificates/certificate-signing-request.ts';
import type { Changes } from '../../../api/testing/pod-builder.ts';
import { permissivePolicy } from '../../../api/validation/cluster-policy.ts';
import { makeWebhookCertificate } from '../../admission/testing/webhook-certificate.ts';
import { nowMs, RulesFixture } from '../testing/rules-fixture.ts';

const pem = (type: string, der: readonly number[]): string =>
  Buffer.from(`-----BEGIN ${type}-----\n${Buffer.from(der).toString('base64')}\n-----END ${type}-----\n`).toString(
    'base64',
  );
const spec = {
  request: pem('CERTIFICATE REQUEST', [0x30, 0x03, 0x02, 0x01, 0x00]),
  signerName: 'kubernetes.io/kube-apiserver-client',
  usages: ['client auth'],
};
const requests = new RulesFixture<CertificateSigningRequest>('certificates.k8s.io/v1', 'CertificateSigningRequest', {
  spec,
});
const facts = { user: { name: 'ann', uid: '7', groups: ['ops'], extra: { a: ['b'] } }, nowMs };
const approved = { type: 'Approved', status: 'True' as const, reason: 'ok' };
const times = { lastUpdateTime: '2026-01-01T12:00:00Z', lastTransitionTime: '2026-01-01T12:00:00Z' };
const base64 = (text: string): string => Buffer.from(text).toString('base64');
const { cert } = makeWebhookCertificate(['DNS:a']);
const certificate = base64(cert);

const withStatus = (status: CertificateSigningRequestStatus): CertificateSigningRequest => ({
  ...requests.created(),
  status,
});
const texts = (errors: readonly { field: string; message: string }[] | undefined): string[] =>
  (errors ?? []).map(({ field, message }) => `${field}: ${message}`);

test('a request has its authenticated user, whatever the client sets, and is not approved yet', () => {
  const draft = requests.given({
    'spec.username': 'admin',
    'spec.groups': ['system:masters'],
    status: { conditions: [approved] },
  });
  const created = requests.definition.rules.prepareForCreate?.(draft, facts) as CertificateSigningRequest;
  assert.deepEqual(
    [created.spec, created.status],
    [{ ...spec, username: 'ann', uid: '7', groups: ['ops'], extra: { a: ['b'] } }, {}],
  );
  assert.deepEqual([requests.refusals(), requests.refusals({ 'metadata.name': 'node-csr:X y' })], [[], []]);
  for (const [name, why] of [
    ['a/b', "may not contain '/'"],
    ['..', "may not be '..'"],
    ['.', "may not be '.'"],
    ['a%2fb', "may not contain '%'"],
    ['a\nb', 'may not contain control characters'],
  ] as const) {
    assert.deepEqual(
      [...new Set(requests.refusals({ 'metadata.name': name }))],
      [`metadata.name: Invalid value: ${JSON.stringify(name)}: ${why}`],
    );
  }
});

test('an update keeps faults of the stored request, and cannot add others', () => {
  const faults: readonly (readonly [Changes, RegExp])[] = [
    [{ 'spec.usages': ['client auth', 'client auth'] }, /spec\.usages\[1\]: Duplicate value/],
    [{ 'spec.usages': ['fun'] }, /spec\.usages\[0\]: Unsupported value: "fun"/],
    [{ 'spec.signerName': 'kubernetes.io/legacy-unknown' }, /the legacy signerName is not allowed/],
    [
      { 'spec.request': base64(`${' '.repeat(65_537)}${Buffer.from(spec.request, 'base64').toString('latin1')}`) },
      /spec\.request: Too long/,
    ],
  ];
  for (const [fault, refusal] of faults) {
    assert.match(requests.refusals(fault).join(), refusal);
    assert.deepEqual(requests.updateRefusals({ 'metadata.labels': { touched: 'yes' } }, fault), []);
  }
  const denied = { ...approved, type: 'Denied' };
  const conditions: readonly (readonly [CertificateSigningRequestStatus['conditions'], RegExp])[] = [
    [[approved, denied], /Approved and Denied conditions are mutually exclusive/],
    [
      [
        { ...approved, type: 'Odd' },
        { ...approved, type: 'Odd' },
      ],
      /status\.conditions\[1\]\.type: Duplicate value: "Odd"/,
    ],
    [[{ ...approved, type: '' }], /status\.conditions\[0\]\.type: Required value/],
  ];
  const { rules, views } = requests.definition;
  for (const [given, refusal] of conditions) {
    const old = withStatus(given === undefined ? {} : { conditions: given });
    assert.deepEqual(rules.validateUpdate(old, old, permissivePolicy), []);
    assert.match(texts(views?.[0]?.validate(old, withStatus({}), permissivePolicy)).join(), refusal);
  }
});

test('invalid requests are rejected', () => {
  const signer = 'spec.signerName: Invalid value: ';
  const cases: readonly [Changes, string[]][] = [
    [{ 'spec.request': 'MQ==' }, ['spec.request: Invalid value: "MQ==": PEM block type must be CERTIFICATE REQUEST']],
    [
      { 'spec.request': certificate },
      [`spec.request: Invalid value: "${certificate}": PEM block type must be CERTIFICATE REQUEST`],
    ],
    [{ 'spec.request': base64(' '.repeat(65_537)) }, ['spec.request: Too long: may not be more than 65536 bytes']],
    [{ 'spec.usages': undefined }, ['spec.usages: Required value']],
    [{ 'spec.usages': ['client auth', 'client auth'] }, ['spec.usages[1]: Duplicate value: "client auth"']],
    [{ 'spec.signerName': '' }, ['spec.signerName: Required value']],
    [
      { 'spec.signerName': 'kubernetes.io/legacy-unknown' },
      [`${signer}"kubernetes.io/legacy-unknown": the legacy signerName is not allowed via this API version`],
    ],
    [
      { 'spec.signerName': 'signer' },
      [`${signer}"signer": must be a fully qualified domain and path of the form 'example.com/signer-name'`],
    ],
    [
      { 'spec.signerName': 'example/signer' },
      [`${signer}"example": should be a domain with at least two segments separated by dots`],
    ],
    [
      { 'spec.expirationSeconds': 599 },
      ['spec.expirationSeconds: Invalid value: 599: may not specify a duration less than 600 seconds (10 minutes)'],
    ],
  ];
  for (const [changes, expected] of cases) assert.deepEqual(requests.refusals(changes), expected);
  assert.match(
    requests.refusals({ 'spec.usages': ['fly'] })[0] ?? '',
    /^spec\.usages\[0\]: Unsupported value: "fly": supported values: "any", "cert sign", "client auth"/,
  );
  const broken = pem('CERTIFICATE REQUEST', [0x30, 0x05, 0x02]);
  assert.match(requests.refusals({ 'spec.request': broken })[0] ?? '', /asn1/);
});

test('a user may change neither spec nor status', () => {
  const old = withStatus({ conditions: [{ ...approved, ...times }] });
  const next = requests.definition.rules.prepareForUpdate?.(
    { ...requests.defaulted({ 'spec.signerName': 'a.b/c' }), status: old.status } as CertificateSigningRequest,
    old,
    facts,
  ) as CertificateSigningRequest;
  assert.deepEqual(next.spec, old.spec);
  assert.deepEqual(texts(requests.definition.rules.validateUpdate(withStatus({}), old, permissivePolicy)), [
    'status.conditions: Forbidden: updates may not remove a condition of type "Approved"',
  ]);
  assert.deepEqual(
    texts(requests.definition.rules.validateUpdate(withStatus({ certificate }), withStatus({}), permissivePolicy)),
    ['status.certificate: Forbidden: updates may not set certificate content'],
  );
});

test('approval is given once, by its own subresource, with the time', () => {
  const view = requests.definition.views?.find(({ name }) => name === 'approval');
  const decide = (old: CertificateSigningRequest, status: CertificateSigningRequestStatus): CertificateSigningRequest =>
    view?.write(
      old,
      { ...requests.given({ 'spec.signerName': 'a.b/c' }), status } as CertificateSigningRequest,
      facts,
    ) as CertificateSigningRequest;
  const old = withStatus({});
  const done = decide(old, { conditions: [approved], certificate });
  assert.deepEqual([done.spec, done.status], [old.spec, { conditions: [{ ...approved, ...times }] }]);
  const noted = view?.write(old, requests.given({ 'metadata.annotations': { by: 'me' } }), facts);
  assert.deepEqual(noted?.metadata.annotations, { by: 'me' });
  assert.deepEqual(view?.validate(done, old, permissivePolicy), []);
  const field = 'status.conditions';
  const denied = decide(done, { conditions: [...(done.status?.conditions ?? []), { type: 'Denied', status: 'True' }] });
  assert.deepEqual(texts(view?.validate(denied, done, permissivePolicy)), [
    `${field}: Invalid value: "Denied": Approved and Denied conditions are mutually exclusive`,
  ]);
  assert.deepEqual(texts(view?.validate(decide(done, {}), done, permissivePolicy)), [
    `${field}: Forbidden: updates may not remove a condition of type "Approved"`,
  ]);
  assert.deepEqual(
    texts(view?.validate(decide(old, { conditions: [{ type: 'Approved', status: 'False' }] }), old, permissivePolicy)),
    [`${field}[0].status: Unsupported value: "False": supported values: "True"`],
  );
});

test('the signer writes the certificate once, and approves nothing', () => {
  const { rules } = requests.definition;
  const old = withStatus({ conditions: [{ ...approved, ...times }] });
  const sign = (status: CertificateSigningRequestStatus, before = old): CertificateSigningRequest =>
    rules.prepareForStatusUpdate?.(withStatus(status), before, facts) as CertificateSigningRequest;
  const issued = sign({ conditions: [{ type: 'Approved', status: 'True', reason: 'changed' }], certificate });
  assert.deepEqual(issued.status, { conditions: [{ ...approved, ...times }], certificate });
  assert.deepEqual(rules.validateStatusUpdate?.(issued, old, permissivePolicy), []);
  assert.deepEqual(
    texts(
      rules.validateStatusUpdate?.(
        sign({ conditions: [approved], certificate: 'MQ==' }, issued),
        issued,
        permissivePolicy,
      ),
    ),
    ['status.certificate: Forbidden: updates may not modify existing certificate content'],
  );
  assert.deepEqual(
    texts(rules.validateStatusUpdate?.(sign({ conditions: [approved], certificate: 'MQ==' }), old, permissivePolicy)),
    ['status.certificate: Invalid value: "<certificate data>": must contain at least one CERTIFICATE PEM block'],
  );
  assert.deepEqual(
    texts(
      rules.validateStatusUpdate?.(sign({ conditions: [approved] }, withStatus({})), withStatus({}), permissivePolicy),
    ),
    ['status.conditions: Forbidden: updates may not add a condition of type "Approved"'],
  );
});

test('only certificates are written as one, as the server reads them', () => {
  const { rules } = requests.definition;
  const old = withStatus({ conditions: [approved] });
  const problem = (text: string): string[] =>
    texts(
      rules.validateStatusUpdate?.(
        withStatus({ conditions: [approved], certificate: base64(text) }),
        old,
        permissivePolicy,
      ),
    ).map((each) => each.replace('status.certificate: Invalid value: "<certificate data>": ', ''));
  assert.deepEqual([problem(cert), problem(`${cert}words\n${cert}`)], [[], []]);
  assert.deepEqual(problem(`${cert}-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n`), [
    'only CERTIFICATE PEM blocks are allowed, found "PRIVATE KEY"',
  ]);
  assert.deepEqual(problem(cert.replace('CERTIFICATE-----\n', 'CERTIFICATE-----\nA: b\n\n')), [
    'no PEM block headers are permitted',
  ]);
  for (const broken of [
    cert.replace('MI', 'AA'),
    '-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----\n',
    `${cert}-----BEGIN CERTIFICATE-----\n`,
  ])
    assert.deepEqual(problem(broken), ['x509: malformed certificate']);
  assert.deepEqual(problem(cert.repeat(101)), ['must contain at most 100 CERTIFICATE PEM blocks']);
});

test('a request is shown with its signer, who asked, and how far it is', () => {
  const condition = (status: CertificateSigningRequestStatus): unknown => requests.cells({ status })['Condition'];
  assert.deepEqual(
    [
      condition({}),
      condition({ conditions: [approved] }),
      condition({ conditions: [approved], certificate }),
      condition({
        conditions: [
          { type: 'Denied', status: 'True' },
          { type: 'Failed', status: 'True' },
        ],
      }),
    ],
    ['Pending', 'Approved', 'Approved,Issued', 'Denied,Failed'],
  );
  assert.deepEqual(Object.keys(requests.cells()), ['Age', 'SignerName', 'Requestor', 'RequestedDuration', 'Condition']);
  assert.equal(requests.cells({ 'spec.expirationSeconds': 3600 })['RequestedDuration'], '60m');
  assert.deepEqual(requests.definition.selectableFields?.(requests.created()), {
    'spec.signerName': 'kubernetes.io/kube-apiserver-client',
  });
});
