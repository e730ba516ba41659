import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

/**
 * Creates a self-signed certificate for these names. openssl makes it, because this folder may not import the code that
 * creates certificates.
 */
export function makeWebhookCertificate(names: readonly string[]): { readonly key: string; readonly cert: string } {
  const folder = mkdtempSync(path.join(tmpdir(), 'webhook-'));
  try {
    const at = (name: string): string => path.join(folder, name);
    const subject = ['-subj', '/CN=webhook', '-addext', `subjectAltName=${names.join(',')}`];
    execFileSync(
      'openssl',
      [
        'req',
        '-x509',
        '-newkey',
        'ec',
        '-pkeyopt',
        'ec_paramgen_curve:P-256',
        '-nodes',
        '-days',
        '2',
        '-keyout',
        at('key'),
        '-out',
        at('cert'),
        ...subject,
      ],
      { stdio: 'ignore' },
    );
    return { key: readFileSync(at('key'), 'utf8'), cert: readFileSync(at('cert'), 'utf8') };
  } finally {
    rmSync(folder, { recursive: true });
  }
}
