import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { errorMessage, KubeletError } from '../../../base/errors.ts';
import { readPemBlocks } from '../../../base/pem-blocks.ts';

/**
 * Returns the CAs of accepted client certificates in PEM: the cluster's own, which issues those of controllers, nodes
 * and administrators, and those of `--client-ca-file`. Throws `Invalid` for a file without certificates.
 */
export function clientAuthorities(clusterAuthority: string, file: string | undefined): string {
  return file === undefined ? clusterAuthority : `${clusterAuthority.trimEnd()}\n${readAuthorities(file)}\n`;
}

function readAuthorities(file: string): string {
  const refused = (why: string): KubeletError => new KubeletError('Invalid', `--client-ca-file ${file}: ${why}`);
  const text = readFileSync(file, 'utf8');
  const certificates = readPemBlocks(text).filter(({ type }) => type === 'CERTIFICATE');
  if (certificates.length === 0) throw refused('it has no certificate in PEM form');
  return certificates
    .map(({ der }) => {
      try {
        return new X509Certificate(der).toString().trimEnd();
      } catch (error) {
        throw refused(`it has a certificate that cannot be read: ${errorMessage(error)}`);
      }
    })
    .join('\n');
}
