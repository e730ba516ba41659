/** Upstream's checks of ClusterTrustBundles and PodCertificateRequests in addition to the validation of their kinds. */
import { Buffer } from 'node:buffer';
import type { KeyObject } from 'node:crypto';
import { X509Certificate } from 'node:crypto';
import { readPemBlocks } from '../../base/pem-blocks.ts';
import { errorMessage } from '../../base/errors.ts';
import type { PodCertificateRequest } from '../../api/certificates/pod-certificate-request.ts';
import { clusterTrustBundles, podCertificateRequests } from '../../api/client/resource-types.ts';
import { semanticEqual } from '../../api/semantic-equal.ts';
import { invalid } from '../../api/status/api-status-error.ts';
import { podKeyProblem, readPkixKey } from '../../api/validation/access/validate-pod-certificate-request.ts';
import { verdictOf } from '../../api/validation/access/validate-pod-certificate-status.ts';
import { FieldErrors } from '../../api/validation/field-error.ts';
import type { AdmissionAttributes, AdmissionPlugin } from '../model/admission.ts';
import type { Authorizer } from '../model/user-info.ts';
import { isAbout, objectOf, oldObjectOf, refusal } from './attributes.ts';
import { mayForSigner } from './signer-rights.ts';

/** How much the start of a certificate's validity may differ from now. */
const SKEW_MS = 5 * 60_000;
const STUB = 'spec.stubPKCS10Request';
const CHAIN = 'status.certificateChain';

/** Requires the verb `attest` on a signer to write certificates for it. Upstream: ClusterTrustBundleAttest. */
export function createClusterTrustBundleAttest(authorizer: Authorizer): AdmissionPlugin {
  return {
    name: 'ClusterTrustBundleAttest',
    handles: (attributes) =>
      (attributes.operation === 'CREATE' || attributes.operation === 'UPDATE') &&
      isAbout(attributes, clusterTrustBundles),
    validate: async (attributes) => {
      const { spec } = objectOf(attributes, clusterTrustBundles);
      const { signerName = '' } = spec;
      if (signerName === '' || changesOnlyOwnership(attributes)) return;
      if (!(await mayForSigner(authorizer, attributes.context.user, 'attest', signerName)))
        throw refusal(attributes, `user not permitted to attest for signerName ${JSON.stringify(signerName)}`);
    },
  };
}

/**
 * Whether the garbage collector writes, which needs no permission for the signer (upstream:
 * rbac.IsOnlyMutatingGCFields).
 */
function changesOnlyOwnership(attributes: AdmissionAttributes): boolean {
  if (attributes.operation !== 'UPDATE') return false;
  const [now, old] = [objectOf(attributes, clusterTrustBundles), oldObjectOf(attributes, clusterTrustBundles)];
  const bare = {
    ownerReferences: undefined,
    finalizers: undefined,
    managedFields: undefined,
    resourceVersion: undefined,
  };
  return semanticEqual(
    { ...now, metadata: { ...now.metadata, ...bare } },
    { ...old, metadata: { ...old.metadata, ...bare } },
  );
}

export interface PodCertificateOptions {
  readonly authorizer: Authorizer;
  /** Returns the key of a request (PKCS #10 in DER). Throws if it is not a request, or is not signed by its own key. */
  readonly readStubKey: (der: Uint8Array) => KeyObject;
  /** Milliseconds since 1970. */
  readonly nowMs: () => number;
}

/**
 * Checks that a request has its own key, that the issued certificate is for that key and valid from now, and that the
 * user may sign for the signer. Upstream checks this in validation, which here knows neither requests nor permissions.
 */
export function createPodCertificateContents(options: PodCertificateOptions): AdmissionPlugin {
  return {
    name: 'PodCertificateContents',
    handles: (attributes) =>
      (attributes.operation === 'CREATE' && isAbout(attributes, podCertificateRequests)) ||
      (attributes.operation === 'UPDATE' && isAbout(attributes, podCertificateRequests, 'status')),
    validate: async (attributes) => {
      const request = objectOf(attributes, podCertificateRequests);
      const errors = new FieldErrors();
      if (attributes.operation === 'CREATE') checkStub(errors, request, options);
      else await checkAnswer(errors, attributes, options);
      if (errors.list.length === 0) return;
      throw invalid(
        { group: 'certificates.k8s.io', kind: 'PodCertificateRequest' },
        request.metadata.name,
        errors.list,
      );
    },
  };
}

const decoded = (base64: string): Uint8Array => Buffer.from(base64, 'base64');

function checkStub(
  errors: FieldErrors,
  { spec }: PodCertificateRequest,
  { readStubKey }: Pick<PodCertificateOptions, 'readStubKey'>,
): void {
  const stub = spec.stubPKCS10Request ?? '';
  if (stub === '') return;
  try {
    const problem = podKeyProblem(readStubKey(decoded(stub)));
    if (problem !== undefined) errors.invalid(STUB, problem.value, problem.why);
  } catch (error) {
    errors.invalidHidden(STUB, `must be a valid PKCS#10 CSR: ${errorMessage(error)}`);
  }
}

async function checkAnswer(
  errors: FieldErrors,
  attributes: AdmissionAttributes,
  options: PodCertificateOptions,
): Promise<void> {
  const [request, old] = [
    objectOf(attributes, podCertificateRequests),
    oldObjectOf(attributes, podCertificateRequests),
  ];
  if (semanticEqual(request.status ?? {}, old.status ?? {})) return;
  if (verdictOf(request.status ?? {}) === 'Issued') checkIssued(errors, request, options);
  if (errors.list.length > 0) return;
  const { user } = attributes.context;
  const { signerName } = old.spec;
  if (!(await mayForSigner(options.authorizer, user, 'sign', signerName)))
    errors.forbidden(
      'spec.signerName',
      `User ${JSON.stringify(user.name)} is not permitted to "sign" for signer ${JSON.stringify(signerName)}`,
    );
}

/** Validation has read the chain before, and the key when the request was created. */
function checkIssued(
  errors: FieldErrors,
  { spec, status = {} }: PodCertificateRequest,
  { readStubKey, nowMs }: PodCertificateOptions,
): void {
  const { certificateChain = '', notBefore = '' } = status;
  const leaf = new X509Certificate(readPemBlocks(certificateChain)[0]?.der ?? new Uint8Array());
  const stub = spec.stubPKCS10Request ?? '';
  const wanted = stub === '' ? readPkixKey(decoded(spec.pkixPublicKey ?? '')) : readStubKey(decoded(stub));
  if (wanted === undefined || !leaf.publicKey.equals(wanted))
    errors.invalid(CHAIN, certificateChain, 'leaf certificate was not issued to the requested public key');
  else if (!(Math.abs(Date.parse(notBefore) - nowMs()) < SKEW_MS))
    errors.invalid('status.notBefore', notBefore, "must be set to within 5 minutes of kube-apiserver's current time");
}
