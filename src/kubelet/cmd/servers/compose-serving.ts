import path from 'node:path';
import type { Clock } from '../../../base/clock.ts';
import { errorMessage, KubeletError } from '../../../base/errors.ts';
import type { Logger } from '../../../base/log.ts';
import { createLoop } from '../../../base/loop.ts';
import type { Random } from '../../../base/random.ts';
import type { KeyPair } from '../../../pki/key-pair.ts';
import { certificatesOf } from '../../../pki/pem.ts';
import { readIfThere, writePublicFile, writeSecretFile } from '../../../pki/pki-files.ts';
import { LateFile } from '../../adapters/tls/late-file.ts';
import { PemStore } from '../../adapters/tls/pem-store.ts';
import { watchPair } from '../../adapters/tls/watched-pair.ts';
import { CertificateManager } from '../../features/certificates/certificate-manager.ts';
import { certificateProblem } from '../../features/certificates/certificate-problem.ts';
import type { CertificateProblem } from '../../features/certificates/certificate-problem.ts';
import { makeSelfSigned } from '../../../pki/self-signed.ts';
import { decideSelfSigned } from '../../features/certificates/self-signed.ts';
import { issueServingCertificate, servingNames } from '../../features/certificates/serving-certificate.ts';
import type { NodeAddress } from '../../features/certificates/serving-certificate.ts';
import type { FeatureGates } from '../../model/config/feature-gates.ts';
import type { SecurityConfig } from '../../model/config/kubelet-config.ts';
import type { ClusterApi } from '../../ports/cluster-api.ts';
import type { CertificateFigures } from '../../features/metrics/certificate-figures.ts';

/** The interval in which a self-signed certificate is checked. */
const CHECK_MS = 3_600_000;

export interface ServingOptions {
  readonly security: SecurityConfig;
  readonly gates: FeatureGates;
  readonly certDir: string;
  readonly nodeName: string;
  readonly hostname: string;
  readonly addresses: () => readonly NodeAddress[];
  /** Called when the node's addresses may have changed. */
  readonly onAddresses: (listener: () => void) => () => void;
  readonly cluster: ClusterApi | undefined;
  readonly figures: CertificateFigures;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
}

/** The certificate of the secure server, and the client certificates that it trusts. */
export interface Serving {
  readonly identity: () => Pick<KeyPair, 'certificate' | 'key'> | undefined;
  /** Returns the client CA in PEM; undefined if none is configured. */
  readonly clientAuthorities: (() => string | undefined) | undefined;
  /** Calls the listener when the certificate or the CA changed. */
  onChange(listener: () => void): () => void;
  /** Starts the certificate. Each server that needs it calls this; only the first call has an effect. */
  start(): Promise<void>;
  stop(): Promise<void>;
  problems(): readonly CertificateProblem[];
}

type Identity = Omit<Serving, 'clientAuthorities'>;

/**
 * Creates the serving certificate: by request to the API server, from files, or self-signed (upstream: cmd/kubelet/app
 * InitializeTLS, certificate.NewKubeletServerCertificateManager). Files are followed.
 */
export function composeServing(options: ServingOptions): Serving {
  const { security, cluster, clock, log } = options;
  const source =
    security.requestServingCertificate && cluster !== undefined
      ? requestedIdentity(options, cluster)
      : fileIdentity(options);
  let started: Promise<void> | undefined;
  const identity: Identity = { ...source, start: () => (started ??= source.start()) };
  if (security.clientCaFile === '') return { ...identity, clientAuthorities: undefined };
  const follows = options.gates.enabled('ReloadKubeletClientCAFile');
  const authorities = new LateFile({ file: security.clientCaFile, parse: checkedBundle, follows, clock, log });
  return {
    ...identity,
    clientAuthorities: () => authorities.value,
    onChange: (listener) => {
      const ends = [identity.onChange(listener), authorities.onChange(listener)];
      return () => ends.forEach((end) => end());
    },
    start: () => {
      if (started === undefined) authorities.start();
      return identity.start();
    },
    stop: async () => {
      authorities.stop();
      await identity.stop();
    },
    problems: () => [...identity.problems(), ...problemOf(authorities.problem())],
  };
}

function checkedBundle(content: string): string {
  if (certificatesOf(content).length === 0) throw new KubeletError('Invalid', 'there is no certificate in it');
  return content;
}

const problemOf = (message: string | undefined): readonly CertificateProblem[] =>
  message === undefined ? [] : [{ message, blocking: false }];

function requestedIdentity(options: ServingOptions, cluster: ClusterApi): Identity {
  const { security, certDir, nodeName, addresses, onAddresses, figures, clock, random, log } = options;
  const { tlsCertFile: certificateFile, tlsPrivateKeyFile: keyFile } = security;
  const store = new PemStore({
    folder: certDir,
    prefix: 'kubelet-server',
    nowMs: () => clock.nowMs(),
    log,
    ...(certificateFile !== '' && { fallback: { certificateFile, keyFile } }),
  });
  const issue = issueServingCertificate({ client: cluster.objects, clock, random, log });
  const manager = new CertificateManager({
    name: 'serving',
    store,
    issue,
    clock,
    random,
    log,
    wanted: () => servingNames(nodeName, addresses(), { dnsOnly: options.gates.enabled('AllowDNSOnlyNodeCSR') }),
    renewFailed: () => figures.serverRenewFailed(),
    rotated: (ageSeconds) => figures.serverRotated(ageSeconds),
  });
  figures.watchServer(() => manager.current()?.facts.notAfterMs);
  let end = (): void => undefined;
  return {
    identity: () => manager.current(),
    onChange: (listener) => manager.onChange(listener),
    start: async () => {
      await manager.load();
      manager.start();
      end = onAddresses(() => manager.wake());
    },
    stop: async () => {
      end();
      await manager.stop();
    },
    problems: () =>
      certificateProblem({
        what: 'serving certificate of the node',
        last: manager.last()?.facts,
        failure: manager.problem(),
        nowMs: clock.nowMs(),
      }),
  };
}

function fileIdentity(options: ServingOptions): Identity {
  const { security, certDir, clock, random, log } = options;
  const isOwn = security.tlsCertFile === '' && security.tlsPrivateKeyFile === '';
  const certificateFile = isOwn ? path.join(certDir, 'kubelet.crt') : security.tlsCertFile;
  const keyFile = isOwn ? path.join(certDir, 'kubelet.key') : security.tlsPrivateKeyFile;
  const follows = options.gates.enabled('ReloadKubeletServerCertificateFile');
  const watched = watchPair({ certificateFile, keyFile, follows, clock, log });
  const ensure = (): Promise<void> => ensureSelfSigned(options, certificateFile, keyFile);
  const loop = createLoop({
    name: 'self-signed-certificate',
    clock,
    random,
    log,
    periodMs: CHECK_MS,
    jitterFactor: 0.1,
    pass: ensure,
  });
  return {
    identity: () => watched.value,
    onChange: (listener) => watched.onChange(listener),
    start: async () => {
      if (isOwn) {
        await ensure().catch((error: unknown) =>
          log.error('a certificate to serve with could not be made', {
            file: certificateFile,
            error: errorMessage(error),
          }),
        );
        loop.start();
      }
      watched.start();
    },
    stop: async () => {
      watched.stop();
      await loop.stop();
    },
    problems: () => {
      const facts = watched.value?.facts;
      if (facts === undefined) return problemOf(watched.problem());
      return certificateProblem({
        what: `serving certificate ${certificateFile}`,
        last: facts,
        failure: undefined,
        nowMs: clock.nowMs(),
      });
    },
  };
}

async function ensureSelfSigned(
  { hostname, clock, log }: ServingOptions,
  certificateFile: string,
  keyFile: string,
): Promise<void> {
  const [certificate, key] = await Promise.all([readIfThere(certificateFile), readIfThere(keyFile)]);
  const verdict = decideSelfSigned({ certificate, key }, hostname, clock.nowMs());
  if (verdict.kind === 'keep') return;
  if (verdict.kind === 'warn') {
    log.warn('the serving certificate must be renewed by its owner', { file: certificateFile, why: verdict.why });
    return;
  }
  const made = await makeSelfSigned(hostname, clock.nowMs());
  // The key is written first. A reader in between finds a pair that does not match, and keeps the previous one.
  await writeSecretFile(keyFile, made.key);
  await writePublicFile(certificateFile, made.certificate);
  log.info('Using self-signed cert', { certificateFile, keyFile, why: verdict.why });
}
