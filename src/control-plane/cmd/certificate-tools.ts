import { Buffer } from 'node:buffer';
import { X509Certificate } from 'node:crypto';
import type { CertificateSigningRequest } from '../../api/certificates/certificate-signing-request.ts';
import { errorMessage, KubeletError } from '../../base/errors.ts';
import type { Logger } from '../../base/log.ts';
import type { ServingNames } from '../controllers/certificate-requests/serving-approver.ts';
import type { Signed } from '../controllers/certificate-requests/certificate-signer.ts';
import type { ClusterPki } from '../pki/cluster-pki.ts';
import { refuseRequest, signerNames } from '../pki/request-policy.ts';
import { createRequestSigner } from '../pki/request-signer.ts';

/** What the controllers of certificate requests need of certificates. */
export interface CertificateTools {
  kubeletClientName(request: CertificateSigningRequest): Promise<string | undefined>;
  /** Whom a kubelet's serving certificate is asked for; undefined for any other request, and for one its signer would refuse. */
  kubeletServingNames(request: CertificateSigningRequest): Promise<ServingNames | undefined>;
  sign(request: CertificateSigningRequest): Promise<Signed>;
  expiresAtMs(request: CertificateSigningRequest): number | undefined;
}

export interface CertificateToolsOptions {
  readonly pki: ClusterPki;
  /** The longest that what is signed lives. */
  readonly longestMs: number;
  readonly nowMs: () => number;
  readonly log: Logger;
}

export function createCertificateTools({ pki, longestMs, nowMs, log }: CertificateToolsOptions): CertificateTools {
  const signer = createRequestSigner({
    authority: () => {
      if (pki.authorityKeyPem === undefined)
        throw new KubeletError('Unavailable', 'ca.key is not here, so no certificates can be signed');
      return { certificate: pki.authority.certificatePem, key: pki.authorityKeyPem };
    },
    nowMs,
    longestMs,
  });
  const pemOf = ({ spec }: CertificateSigningRequest): string => Buffer.from(spec.request, 'base64').toString('utf8');
  return {
    kubeletClientName: async (request) => {
      const { signerName, usages = [] } = request.spec;
      if (signerName !== signerNames.apiServerClientKubelet) return undefined;
      const { readCertificateRequest } = await import('../../pki/request-reader.ts');
      const read = readCertificateRequest(pemOf(request));
      return refuseRequest(signerNames.apiServerClientKubelet, read, usages) === undefined
        ? read.commonName
        : undefined;
    },
    kubeletServingNames: async (request) => {
      const { signerName, usages = [] } = request.spec;
      if (signerName !== signerNames.kubeletServing) return undefined;
      const { readCertificateRequest } = await import('../../pki/request-reader.ts');
      const read = readCertificateRequest(pemOf(request));
      return refuseRequest(signerNames.kubeletServing, read, usages) === undefined ? read : undefined;
    },
    sign: async (request) => {
      const { signerName, usages = [], expirationSeconds } = request.spec;
      const outcome = await signer({
        signerName,
        request: pemOf(request),
        usages,
        ...(expirationSeconds !== undefined && { expirationSeconds }),
      });
      return outcome.kind === 'signed'
        ? { kind: 'signed', certificate: Buffer.from(outcome.certificate).toString('base64') }
        : outcome;
    },
    expiresAtMs: ({ metadata, status }) => {
      if ((status?.certificate ?? '') === '') return undefined;
      try {
        return new X509Certificate(Buffer.from(status?.certificate ?? '', 'base64')).validToDate.getTime();
      } catch (error) {
        log.debug(2, 'the certificate of a request cannot be read', {
          name: metadata.name,
          error: errorMessage(error),
        });
        return undefined;
      }
    },
  };
}
