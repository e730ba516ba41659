import { Buffer } from 'node:buffer';
import { X509Certificate } from 'node:crypto';
import type { CertificateSigningRequest } from '../../../api/certificates/certificate-signing-request.ts';
import { errorMessage, KubeletError } from '../../../base/errors.ts';
import type { Logger } from '../../../base/log.ts';
import type { ServingNames } from '../../controllers/certificate-requests/serving-approver.ts';
import type { Signed } from '../../controllers/certificate-requests/certificate-signer.ts';
import type { ClusterPki } from '../../pki/cluster-pki.ts';
import { tryCertificateRequest } from '../../../pki/request-reader.ts';
import type { CertificateRequest } from '../../../pki/request-reader.ts';
import { refuseRequest, signerNames } from '../../pki/request-policy.ts';
import type { SignerName } from '../../pki/request-policy.ts';
import { createRequestSigner } from '../../pki/request-signer.ts';

/** Certificate functions for the controllers of certificate requests. */
export interface CertificateTools {
  /**
   * The node name in a request for a kubelet's client certificate; undefined for other requests, and for those that the
   * signer would refuse.
   */
  kubeletClientName(request: CertificateSigningRequest): string | undefined;
  /**
   * The node name in a request for a kubelet's serving certificate; undefined for other requests, and for those that
   * the signer would refuse.
   */
  kubeletServingNames(request: CertificateSigningRequest): ServingNames | undefined;
  sign(request: CertificateSigningRequest): Promise<Signed>;
  expiresAtMs(request: CertificateSigningRequest): number | undefined;
}

export interface CertificateToolsOptions {
  readonly pki: ClusterPki;
  /** The maximum lifetime of signed certificates. */
  readonly longestMs: number;
  readonly nowMs: () => number;
  readonly log: Logger;
}

const pemOf = ({ spec }: CertificateSigningRequest): string => Buffer.from(spec.request, 'base64').toString('utf8');

export function createCertificateTools({ pki, longestMs, nowMs, log }: CertificateToolsOptions): CertificateTools {
  const signer = createRequestSigner({
    authority: () => {
      if (pki.authorityKeyPem === undefined)
        throw new KubeletError('Unavailable', 'ca.key is missing, so no certificates can be signed');
      return { certificate: pki.authority.certificatePem, key: pki.authorityKeyPem };
    },
    nowMs,
    longestMs,
  });
  /** The parsed request if it is for this signer and acceptable. */
  const accepted = (request: CertificateSigningRequest, wanted: SignerName): CertificateRequest | undefined => {
    const { signerName, usages = [] } = request.spec;
    if (signerName !== wanted) return undefined;
    const read = tryCertificateRequest(pemOf(request));
    const refusal = typeof read === 'string' ? read : refuseRequest(wanted, read, usages);
    if (typeof read !== 'string' && refusal === undefined) return read;
    log.debug(2, 'a certificate request is not one that its signer signs', {
      name: request.metadata.name,
      why: refusal,
    });
    return undefined;
  };
  return {
    kubeletClientName: (request) => accepted(request, signerNames.apiServerClientKubelet)?.commonName,
    kubeletServingNames: (request) => accepted(request, signerNames.kubeletServing),
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
