import assert from 'node:assert/strict';
import { Buffer } from 'node:buffer';
import test from 'node:test';
import type {
  CertificateSigningRequest,
  CertificateSigningRequestStatus,
} from '../../api/certificates/certificate-signing-request.ts';
import type { Changes } from '../../api/testing/pod-builder.ts';
import { nowMs, RulesGround } from './testing/rules-ground.ts';

const pem = (type: string, der: readonly number[]): string =>
  Buffer.from(`-----BEGIN ${type}-----\n${Buffer.from(der).toString('base64')}\n-----END ${type}-----\n`).toString(
    'base64',
  );
const spec = {
  request: pem('CERTIFICATE REQUEST', [0x30, 0x03, 0x02, 0x01, 0x00]),
  signerName: 'kubernetes.io/kube-apiserver-client',
  usages: ['client auth'],
};
const requests = new RulesGround<CertificateSigningRequest>('certificates.k8s.io/v1', 'CertificateSigningRequest', {
  spec,
});
const facts = { user: { name: 'ann', uid: '7', groups: ['ops'], extra: { a: ['b'] } }, nowMs };
const approved = { type: 'Approved', status: 'True' as const, reason: 'ok' };
const times = { lastUpdateTime: '2026-01-01T12:00:00Z', lastTransitionTime: '2026-01-01T12:00:00Z' };
const certificate = pem('CERTIFICATE', [0x30, 0x00]);

const withStatus = (status: CertificateSigningRequestStatus): CertificateSigningRequest => ({
  ...requests.created(),
  status,
});
const texts = (errors: readonly { field: string; message: string }[] | undefined): string[] =>
  (errors ?? []).map(({ field, message }) => `${field}: ${message}`);

test('a request says who made it, whoever they say they were, and is approved by nobody yet', () => {
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
});

test('what cannot be signed is refused', () => {
  const signer = 'spec.signerName: Invalid value: ';
  const cases: readonly [Changes, string[]][] = [
    [{ 'spec.request': 'MQ==' }, ['spec.request: Invalid value: "MQ==": PEM block type must be CERTIFICATE REQUEST']],
    [
      { 'spec.request': certificate },
      [`spec.request: Invalid value: "${certificate}": PEM block type must be CERTIFICATE REQUEST`],
    ],
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
  assert.deepEqual(texts(requests.definition.rules.validateUpdate(withStatus({}), old)), [
    'status.conditions: Forbidden: updates may not remove a condition of type "Approved"',
  ]);
  assert.deepEqual(texts(requests.definition.rules.validateUpdate(withStatus({ certificate }), withStatus({}))), [
    'status.certificate: Forbidden: updates may not set certificate content',
  ]);
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
  assert.deepEqual(view?.validate(done, old), []);
  const field = 'status.conditions';
  const denied = decide(done, { conditions: [...(done.status?.conditions ?? []), { type: 'Denied', status: 'True' }] });
  assert.deepEqual(texts(view?.validate(denied, done)), [
    `${field}: Invalid value: "Denied": Approved and Denied conditions are mutually exclusive`,
  ]);
  assert.deepEqual(texts(view?.validate(decide(done, {}), done)), [
    `${field}: Forbidden: updates may not remove a condition of type "Approved"`,
  ]);
  assert.deepEqual(texts(view?.validate(decide(old, { conditions: [{ type: 'Approved', status: 'False' }] }), old)), [
    `${field}[0].status: Unsupported value: "False": supported values: "True"`,
  ]);
});

test('the signer writes the certificate once, and approves nothing', () => {
  const { rules } = requests.definition;
  const old = withStatus({ conditions: [{ ...approved, ...times }] });
  const sign = (status: CertificateSigningRequestStatus, before = old): CertificateSigningRequest =>
    rules.prepareForStatusUpdate?.(withStatus(status), before, facts) as CertificateSigningRequest;
  const issued = sign({ conditions: [{ type: 'Approved', status: 'True', reason: 'changed' }], certificate });
  assert.deepEqual(issued.status, { conditions: [{ ...approved, ...times }], certificate });
  assert.deepEqual(rules.validateStatusUpdate?.(issued, old), []);
  assert.deepEqual(
    texts(rules.validateStatusUpdate?.(sign({ conditions: [approved], certificate: 'MQ==' }, issued), issued)),
    ['status.certificate: Forbidden: updates may not modify existing certificate content'],
  );
  assert.deepEqual(texts(rules.validateStatusUpdate?.(sign({ conditions: [approved], certificate: 'MQ==' }), old)), [
    'status.certificate: Invalid value: "<certificate data>": must contain at least one CERTIFICATE PEM block',
  ]);
  assert.deepEqual(
    texts(rules.validateStatusUpdate?.(sign({ conditions: [approved] }, withStatus({})), withStatus({}))),
    ['status.conditions: Forbidden: updates may not add a condition of type "Approved"'],
  );
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
