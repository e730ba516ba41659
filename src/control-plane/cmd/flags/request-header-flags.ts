import { readFileSync } from 'node:fs';
import type { RequestHeaderNames } from '../../authn/request-header-authenticator.ts';
import type { ClusterPki } from '../../pki/cluster-pki.ts';
import type { FlagReader } from './flag-reader.ts';

export interface RequestHeaderSettings extends RequestHeaderNames {
  /** The CA of front proxies; absent means the cluster's own, which issues only this server's certificate. */
  readonly clientCaFile?: string;
  readonly allowedNames: readonly string[];
}

/** The common name of this server's client certificate for aggregated servers, as in kubeadm. */
const OWN_NAME = 'front-proxy-client';

export function readRequestHeaders(reader: FlagReader): RequestHeaderSettings {
  const clientCaFile = reader.text('requestheader-client-ca-file');
  const names = reader.list('requestheader-allowed-names');
  return {
    ...(clientCaFile !== undefined && { clientCaFile }),
    // An external CA may issue certificates for any proxy, but the cluster's own only for this server.
    allowedNames: names.length === 0 && clientCaFile === undefined ? [OWN_NAME] : names,
    usernameHeaders: reader.list('requestheader-username-headers'),
    uidHeaders: reader.list('requestheader-uid-headers'),
    groupHeaders: reader.list('requestheader-group-headers'),
    extraHeadersPrefixes: reader.list('requestheader-extra-headers-prefix'),
  };
}

export interface FrontProxyTrust {
  /** PEM of the CAs of front proxies. */
  readonly authorities: string;
  /** PEM of all CAs that the handshake accepts; each authenticator checks its own CAs. */
  readonly handshake: string;
  /** The data of kube-system/extension-apiserver-authentication for aggregated servers. */
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
