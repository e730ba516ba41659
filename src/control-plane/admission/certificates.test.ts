import assert from 'node:assert/strict';
import { Buffer } from 'node:buffer';
import test from 'node:test';
import type { CertificateSigningRequest } from '../../api/certificates/certificate-signing-request.ts';
import { certificateSigningRequests } from '../../api/client/resource-types.ts';
import { ApiStatusError } from '../../api/status/api-status-error.ts';
import type { AdmissionAttributes, AdmissionPlugin } from '../model/admission.ts';
import type { ResourceDefinition } from '../model/resource-definition.ts';
import type { Authorizer } from '../model/user-info.ts';
import {
  createCertificateApproval,
  createCertificateRequestSignature,
  createCertificateSigning,
  createCertificateSubjectRestriction,
} from './certificates.ts';
import type { ReadRequest } from './certificates.ts';

const client = 'kubernetes.io/kube-apiserver-client';

/** The requests of this test are texts that list their properties, separated by commas. */
const signature = (pem: string): void => {
  if (pem === 'rubbish' || pem === 'forged') throw new Error(pem);
};
const read: ReadRequest = (pem) => {
  signature(pem);
  if (pem === 'odd') throw new Error('odd subject');
  return { organizations: pem.split(',') };
};

const allowing = (...names: string[]): Authorizer => ({
  name: 'fake',
  authorize: ({ verb, resource, apiGroup, name }) => ({
    decision: names.includes(`${verb} ${resource}.${apiGroup} ${name}`) ? 'allow' : 'noOpinion',
    reason: '',
  }),
});

function request(
  text: string,
  { signerName = client, status }: { signerName?: string; status?: CertificateSigningRequest['status'] } = {},
): CertificateSigningRequest {
  const spec = { request: Buffer.from(text).toString('base64'), signerName, usages: ['client auth'] };
  return { metadata: { name: 'bob', namespace: '', uid: '' }, spec, ...(status !== undefined && { status }) };
}

async function admit(
  plugin: AdmissionPlugin,
  {
    object,
    old,
    subresource = '',
  }: { object: CertificateSigningRequest; old?: CertificateSigningRequest; subresource?: string },
): Promise<string> {
  const context = {
    user: { name: 'ann', groups: [] },
    dryRun: false,
    fieldManager: '',
    fieldValidation: 'Strict',
    warn: () => {},
    annotate: () => {},
  } as const;
  const definition = { type: certificateSigningRequests } as unknown as ResourceDefinition;
  const attributes: AdmissionAttributes = {
    operation: old === undefined ? 'CREATE' : 'UPDATE',
    definition,
    subresource,
    namespace: '',
    name: 'bob',
    object,
    oldObject: old,
    options: {},
    context,
  };
  if (!plugin.handles(attributes)) return 'not asked';
  try {
    await plugin.validate?.(attributes);
    return 'allowed';
  } catch (error) {
    assert.ok(error instanceof ApiStatusError);
    return `${error.code} ${error.message}`;
  }
}

const prefix = '403 certificatesigningrequests.certificates.k8s.io "bob" is forbidden: ';

test('approving requires the right to approve for the signer or its domain, whatever the approver writes', async () => {
  const approve = (authorizer: Authorizer): Promise<string> =>
    admit(createCertificateApproval(authorizer), {
      object: request('x', { signerName: 'example.com/mine' }),
      old: request('x'),
      subresource: 'approval',
    });
  assert.equal(await approve(allowing(`approve signers.certificates.k8s.io ${client}`)), 'allowed');
  assert.equal(await approve(allowing('approve signers.certificates.k8s.io kubernetes.io/*')), 'allowed');
  assert.equal(
    await approve(
      allowing('approve signers.certificates.k8s.io example.com/mine', `sign signers.certificates.k8s.io ${client}`),
    ),
    `${prefix}user not permitted to approve requests with signerName "${client}"`,
  );
  assert.equal(
    await admit(createCertificateApproval(allowing()), { object: request('x'), old: request('x') }),
    'not asked',
  );
});

test('signing requires the right to sign, as soon as a part of the status changes', async () => {
  const sign = (authorizer: Authorizer, status: object): Promise<string> =>
    admit(createCertificateSigning(authorizer), {
      object: request('x', { status }),
      old: request('x', { status: {} }),
      subresource: 'status',
    });
  assert.equal(await sign(allowing(`sign signers.certificates.k8s.io ${client}`), { certificate: 'MQ==' }), 'allowed');
  assert.equal(
    await sign(allowing(), { certificate: 'MQ==' }),
    `${prefix}user not permitted to sign requests with signerName "${client}"`,
  );
  assert.equal(await sign(allowing(), { conditions: [] }), 'allowed');
});

test('requests for a client certificate of system:masters are rejected', async () => {
  const plugin = createCertificateSubjectRestriction(read);
  assert.equal(await admit(plugin, { object: request('dev,ops') }), 'allowed');
  assert.equal(
    await admit(plugin, { object: request('dev,system:masters') }),
    `${prefix}use of ${client} signer with system:masters group is not allowed`,
  );
  assert.equal(
    await admit(plugin, { object: request('system:masters', { signerName: 'example.com/mine' }) }),
    'allowed',
  );
  assert.equal(await admit(plugin, { object: request('rubbish') }), `${prefix}failed to parse CSR: rubbish`);
});

test('a request that was not signed by its own key is invalid; one that cannot be parsed may belong to a foreign signer', async () => {
  const plugin = createCertificateRequestSignature({ read, signature });
  const invalid = (text: string, why: string): string =>
    `422 CertificateSigningRequest.certificates.k8s.io "bob" is invalid: spec.request: Invalid value: "${Buffer.from(text).toString('base64')}": ${why}`;
  assert.equal(await admit(plugin, { object: request('dev') }), 'allowed');
  assert.equal(await admit(plugin, { object: request('forged') }), invalid('forged', 'forged'));
  assert.equal(await admit(plugin, { object: request('rubbish') }), invalid('rubbish', 'rubbish'));
  assert.equal(await admit(plugin, { object: request('odd') }), invalid('odd', 'odd subject'));
  const signerName = 'example.com/mine';
  assert.equal(await admit(plugin, { object: request('odd', { signerName }) }), 'allowed');
  assert.equal(await admit(plugin, { object: request('forged', { signerName }) }), invalid('forged', 'forged'));
});
