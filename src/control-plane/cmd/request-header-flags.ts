import { readFileSync } from 'node:fs';
import type { RequestHeaderNames } from '../authn/request-header-authenticator.ts';
import type { ClusterPki } from '../pki/cluster-pki.ts';
import type { FlagReader } from './flag-reader.ts';

export interface RequestHeaderSettings extends RequestHeaderNames {
  /** Of front proxies. Absent: the cluster's own, which signs for this server alone. */
  readonly clientCaFile?: string;
  readonly allowedNames: readonly string[];
}

/** The name in the certificate that this server shows to the servers behind it, as kubeadm gives it. */
const OWN_NAME = 'front-proxy-client';

export function readRequestHeaders(reader: FlagReader): RequestHeaderSettings {
  const clientCaFile = reader.text('requestheader-client-ca-file');
  const names = reader.list('requestheader-allowed-names');
  return {
    ...(clientCaFile !== undefined && { clientCaFile }),
    // An authority of others may sign for any proxy; the own one signs for none but this server.
    allowedNames: names.length === 0 && clientCaFile === undefined ? [OWN_NAME] : names,
    usernameHeaders: reader.list('requestheader-username-headers'),
    uidHeaders: reader.list('requestheader-uid-headers'),
    groupHeaders: reader.list('requestheader-group-headers'),
    extraHeadersPrefixes: reader.list('requestheader-extra-headers-prefix'),
  };
}

export interface FrontProxyTrust {
  /** PEM, of those that sign for front proxies. */
  readonly authorities: string;
  /** PEM, of all whom the handshake lets in: each authenticator believes its own. */
  readonly handshake: string;
  /** What servers behind this one read in kube-system/extension-apiserver-authentication. */
  readonly config: Readonly<Record<string, string>>;
}

export function frontProxyTrust(
  settings: RequestHeaderSettings,
  { frontProxy }: ClusterPki,
  clientCa: string,
): FrontProxyTrust {
  const { clientCaFile } = settings;
  const authorities = clientCaFile === undefined ? frontProxy.authorityPem : readFileSync(clientCaFile, 'utf8');
  return {
    authorities,
    handshake: `${clientCa.trimEnd()}\n${authorities}`,
    config: {
      'client-ca-file': clientCa,
      'requestheader-client-ca-file': authorities,
      'requestheader-allowed-names': JSON.stringify(settings.allowedNames),
      'requestheader-username-headers': JSON.stringify(settings.usernameHeaders),
      'requestheader-uid-headers': JSON.stringify(settings.uidHeaders),
      'requestheader-group-headers': JSON.stringify(settings.groupHeaders),
      'requestheader-extra-headers-prefix': JSON.stringify(settings.extraHeadersPrefixes),
    },
  };
}
