import { Buffer } from 'node:buffer';
import { certificateSigningRequests } from '../../api/client/resource-types.ts';
import { errorMessage } from '../../base/errors.ts';
import { semanticEqual } from '../../api/semantic-equal.ts';
import { invalid } from '../../api/status/api-status-error.ts';
import { FieldErrors } from '../../api/validation/field-error.ts';
import type { AdmissionAttributes, AdmissionPlugin } from '../model/admission.ts';
import type { Authorizer } from '../model/user-info.ts';
import { isAbout, objectOf, oldObjectOf, refusal } from './attributes.ts';
import { mayForSigner } from './signer-rights.ts';

const OWN_DOMAIN = 'kubernetes.io/';
const CLIENT_SIGNER = 'kubernetes.io/kube-apiserver-client';

const isWrite = (attributes: AdmissionAttributes, operation: 'CREATE' | 'UPDATE', subresource: string): boolean =>
  attributes.operation === operation && isAbout(attributes, certificateSigningRequests, subresource);

/**
 * Requires the verb `approve` on the signer for an approval, in addition to the right to write the subresource.
 * Upstream: CertificateApproval.
 */
export function createCertificateApproval(authorizer: Authorizer): AdmissionPlugin {
  return {
    name: 'CertificateApproval',
    handles: (attributes) => isWrite(attributes, 'UPDATE', 'approval'),
    validate: async (attributes) => {
      const { signerName } = oldObjectOf(attributes, certificateSigningRequests).spec;
      if (!(await mayForSigner(authorizer, attributes.context.user, 'approve', signerName)))
        throw refusal(
          attributes,
          `user not permitted to approve requests with signerName ${JSON.stringify(signerName)}`,
        );
    },
  };
}

/** Requires the verb `sign` on the signer for a signature. Upstream: CertificateSigning. */
export function createCertificateSigning(authorizer: Authorizer): AdmissionPlugin {
  return {
    name: 'CertificateSigning',
    handles: (attributes) => isWrite(attributes, 'UPDATE', 'status'),
    validate: async (attributes) => {
      const old = oldObjectOf(attributes, certificateSigningRequests);
      const { status } = objectOf(attributes, certificateSigningRequests);
      if (semanticEqual(status, old.status)) return;
      const { signerName } = old.spec;
      if (!(await mayForSigner(authorizer, attributes.context.user, 'sign', signerName)))
        throw refusal(attributes, `user not permitted to sign requests with signerName ${JSON.stringify(signerName)}`);
    },
  };
}

/** Parses a request (PEM) for these plugins. Throws if the cluster's signers would reject it. */
export type ReadRequest = (pem: string) => { readonly organizations: readonly string[] };

/**
 * Parsers of requests. `signature` also serves foreign signers: it throws if the PEM is not a request, or is not signed
 * by its own key.
 */
export interface RequestReaders {
  readonly read: ReadRequest;
  readonly signature: (pem: string) => void;
}

/** Refuses client certificates for the unrestricted group. Upstream: CertificateSubjectRestriction. */
export function createCertificateSubjectRestriction(read: ReadRequest): AdmissionPlugin {
  return {
    name: 'CertificateSubjectRestriction',
    handles: (attributes) => isWrite(attributes, 'CREATE', ''),
    validate: (attributes) => {
      const { spec } = objectOf(attributes, certificateSigningRequests);
      if (spec.signerName !== CLIENT_SIGNER) return;
      const { organizations } = readOr(read, spec.request, (why) => refusal(attributes, `failed to parse CSR: ${why}`));
      if (organizations.includes('system:masters'))
        throw refusal(attributes, `use of ${CLIENT_SIGNER} signer with system:masters group is not allowed`);
    },
  };
}

/**
 * Requires that a request is well-formed and signed by its own key. For a signer of the cluster it must also have only
 * one interpretation. Upstream checks this in validation; here validation knows nothing about certificates, so it is a
 * plugin without a counterpart in upstream.
 */
export function createCertificateRequestSignature({ read, signature }: RequestReaders): AdmissionPlugin {
  return {
    name: 'CertificateRequestSignature',
    handles: (attributes) => isWrite(attributes, 'CREATE', ''),
    validate: (attributes) => {
      const { metadata, spec } = objectOf(attributes, certificateSigningRequests);
      const refuse = (why: string): Error => {
        const errors = new FieldErrors();
        errors.invalid('spec.request', spec.request, why);
        return invalid({ group: 'certificates.k8s.io', kind: 'CertificateSigningRequest' }, metadata.name, errors.list);
      };
      readOr<unknown>(spec.signerName.startsWith(OWN_DOMAIN) ? read : signature, spec.request, refuse);
    },
  };
}

function readOr<T>(read: (pem: string) => T, base64: string, refuse: (why: string) => Error): T {
  try {
    return read(Buffer.from(base64, 'base64').toString());
  } catch (error) {
    throw refuse(errorMessage(error));
  }
}
