import { createClientCertificateJudge } from '../../pki/client-certificates.ts';
import type { ClientCertificateOptions } from '../../pki/client-certificates.ts';
import type { Authenticator } from '../model/user-info.ts';

/** Authenticates client certificates; see `createClientCertificateJudge`. */
export function createX509Authenticator(options: ClientCertificateOptions): Authenticator {
  const judge = createClientCertificateJudge(options);
  return {
    name: 'x509',
    authenticate: ({ clientCertificate }) =>
      Promise.resolve(clientCertificate === undefined ? { outcome: 'none' } : judge(clientCertificate.der)),
  };
}
