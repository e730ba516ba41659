import { createPublicKey, generateKeyPairSync } from 'node:crypto';
import { extendedUsages, noNames } from './certificate-template.ts';
import { privateKeyPem } from './pem.ts';

const HOUR_MS = 3_600_000;
const LIFE_MS = 365 * 24 * HOUR_MS;

/**
 * A self-signed certificate in PEM, valid for a year. It is valid from an hour ago, for clients whose clocks are slow.
 */
export async function makeSelfSigned(
  hostname: string,
  nowMs: number,
): Promise<{ readonly certificate: string; readonly key: string }> {
  const { writeCertificate } = await import('./x509-writer.ts');
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const isIp = hostname.includes(':') || /^[\d.]+$/.test(hostname);
  const template = {
    subject: { commonName: `${hostname}@${Math.floor(nowMs / 1000)}` },
    publicKey: createPublicKey(privateKey),
    notBeforeMs: nowMs - HOUR_MS,
    notAfterMs: nowMs + LIFE_MS,
    keyUsages: ['digitalSignature', 'keyEncipherment'] as const,
    extendedKeyUsages: [extendedUsages.serverAuth],
    altNames: { ...noNames, dnsNames: isIp ? [] : [hostname], ipAddresses: isIp ? [hostname] : [] },
  };
  return { certificate: writeCertificate(template, { selfSignedBy: privateKey }), key: privateKeyPem(privateKey) };
}
