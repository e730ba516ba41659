import { hostname } from 'node:os';
import path from 'node:path';
import { KubeletError } from '../../../base/errors.ts';
import type { CertificatePair } from '../../apiserver/http/server.ts';
import type { ClusterPki } from '../../pki/cluster-pki.ts';
import { ensureClusterPki } from '../../pki/cluster-pki.ts';
import type { Issued } from '../../pki/issued-files.ts';
import { createPkiRenewal } from '../../pki/pki-renewal.ts';
import type { ControlPlaneOptions } from '../flags/control-plane-options.ts';
import { frontProxyTrust } from '../flags/request-header-flags.ts';
import { firstAddress } from '../flags/service-range.ts';
import type { BaseDeps } from './base-deps.ts';
import { clientAuthorities } from './client-authorities.ts';

export interface ComposedCertificates {
  readonly pki: ClusterPki;
  /** The authorities of client certificates, in PEM. */
  readonly clientCa: ReturnType<typeof clientAuthorities>;
  /** The authorities for the TLS handshake and for the front proxy. */
  readonly trust: ReturnType<typeof frontProxyTrust>;
  /** Renews the certificates of the control plane; `replace` receives each new serving certificate. */
  createRenewal(replace: (pair: CertificatePair) => void): ReturnType<typeof createPkiRenewal>;
}

/** Creates missing certificates of the control plane and reads the others. */
export async function composeCertificates(options: ControlPlaneOptions, deps: BaseDeps): Promise<ComposedCertificates> {
  const pki = await preparePki(options, deps);
  const clientCa = clientAuthorities(pki.authority.certificatePem, options.clientCaFile);
  return {
    pki,
    clientCa,
    trust: frontProxyTrust(options.requestHeaders, pki, clientCa),
    createRenewal: (replace) =>
      createPkiRenewal({
        folder: path.resolve(options.dataDir, 'pki'),
        ensure: () => preparePki(options, deps),
        servingChanged: (issued) => replace(pairOf(issued)),
        ...deps,
      }),
  };
}

export const pairOf = ({ certificatePem: cert, keyPem: key }: Issued): { cert: string; key: string } => ({ cert, key });

/** Returns the address for clients on this machine: loopback if the server listens on all addresses. */
function addressOfListener(bindAddress: string): string {
  if (bindAddress === '0.0.0.0' || bindAddress === '::') return '127.0.0.1';
  return bindAddress.includes(':') ? `[${bindAddress}]` : bindAddress;
}

function preparePki(options: ControlPlaneOptions, { clock, log }: BaseDeps): Promise<ClusterPki> {
  const serviceAddresses = options.serviceCidrs.map(firstAddress);
  if (serviceAddresses.length === 0) throw new KubeletError('Invalid', '--service-cluster-ip-range contains no range');
  return ensureClusterPki({
    folder: path.resolve(options.dataDir),
    nowMs: clock.nowMs(),
    log,
    serverUrl: `https://${addressOfListener(options.bindAddress)}:${options.securePort}`,
    hostname: hostname(),
    addresses: [
      options.advertiseAddress,
      ...(['0.0.0.0', '::'].includes(options.bindAddress) ? [] : [options.bindAddress]),
    ],
    extraNames: options.certSans,
    serviceAddresses,
  });
}
