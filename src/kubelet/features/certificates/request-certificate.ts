import { fieldEquals } from '../../../api/selectors.ts';
import { createHash, createPrivateKey, createPublicKey } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { Buffer } from 'node:buffer';
import type { CertificateSigningRequest } from '../../../api/certificates/certificate-signing-request.ts';
import type { ApiClient } from '../../../api/client/api-client.ts';
import { reflect } from '../../../api/client/reflector.ts';
import { certificateSigningRequests } from '../../../api/client/resource-types.ts';
import { isApiError } from '../../../api/status/api-status-error.ts';
import { sleep } from '../../../base/clock.ts';
import type { Clock } from '../../../base/clock.ts';
import type { Logger } from '../../../base/log.ts';
import type { Random } from '../../../base/random.ts';
import { noNames } from '../../../pki/certificate-template.ts';
import type { CertificateNamesWanted } from './decide-rotation.ts';
import { keyPair } from '../../../pki/key-pair.ts';
import { tryCertificateRequest } from '../../../pki/request-reader.ts';

export type SignerName = 'kubernetes.io/kube-apiserver-client-kubelet' | 'kubernetes.io/kubelet-serving';

export interface CertificateTemplate {
  readonly signerName: SignerName;
  readonly names: CertificateNamesWanted;
  /** A PEM text. */
  readonly key: string;
  /**
   * Whether the name of the request is derived from its content, so that a repeated request with the same key finds the
   * first one (upstream: bootstrap).
   */
  readonly isNamed: boolean;
}

export type RequestOutcome =
  /** `certificate` is PEM. */
  | { readonly kind: 'issued'; readonly certificate: string }
  /** An approver denied the request. A new request with the same key is possible. */
  | { readonly kind: 'denied'; readonly message: string }
  /** This request can no longer succeed. A request with another key may. */
  | { readonly kind: 'spent'; readonly message: string }
  /** There was no decision within the time limit. */
  | { readonly kind: 'undecided' };

export interface RequestContext {
  readonly client: ApiClient;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly patienceMs: number;
  readonly signal: AbortSignal;
}

/**
 * Requests a certificate and waits until the request is decided. Rejects with `ApiStatusError` if the request cannot be
 * created.
 */
export async function requestCertificate(
  template: CertificateTemplate,
  context: RequestContext,
): Promise<RequestOutcome> {
  const made = await submit(template, context);
  if ('kind' in made) return made;
  context.log.debug(2, 'Waiting for certificate to be issued', { csr: made.name, signer: template.signerName });
  return awaitDecision(made, context);
}

interface Submitted {
  readonly name: string;
  readonly uid: string;
}

async function submit(
  template: CertificateTemplate,
  { client, clock, log }: RequestContext,
): Promise<Submitted | RequestOutcome> {
  const { writeCertificateRequest } = await import('../../../pki/request-writer.ts');
  const { signerName, names, isNamed } = template;
  const key = createPrivateKey(template.key);
  const usages = usagesOf(signerName, key);
  const { commonName, organizations, dnsNames, ipAddresses } = names;
  const request = writeCertificateRequest({
    subject: { commonName, organizations },
    key,
    altNames: { ...noNames, dnsNames, ipAddresses },
  });
  const name = isNamed ? requestName(key, names, usages) : '';
  const object: CertificateSigningRequest = {
    apiVersion: 'certificates.k8s.io/v1',
    kind: 'CertificateSigningRequest',
    metadata: { name, namespace: '', uid: '', ...(isNamed ? {} : { generateName: 'csr-' }) },
    spec: { request: Buffer.from(request).toString('base64'), signerName, usages: [...usages] },
  };
  try {
    const { metadata } = await client.create(certificateSigningRequests, object);
    log.debug(2, 'Certificate signing request created', { csr: metadata.name });
    return { name: metadata.name, uid: metadata.uid };
  } catch (error) {
    if (!isNamed || !isApiError(error, 'AlreadyExists')) throw error;
  }
  log.info('csr for this node already exists, reusing', { csr: name });
  const found = await client.get(certificateSigningRequests, { namespace: '', name });
  const problem = incompatible(found, template, key, clock.nowMs());
  return problem === undefined
    ? { name, uid: found.metadata.uid }
    : { kind: 'spent', message: `retrieved csr is not compatible: ${problem}` };
}

/** Returns the key usages. `key encipherment` is requested for RSA keys only. */
function usagesOf(signerName: SignerName, key: KeyObject): readonly string[] {
  const purpose = signerName === 'kubernetes.io/kubelet-serving' ? 'server auth' : 'client auth';
  return key.asymmetricKeyType === 'rsa'
    ? ['digital signature', purpose, 'key encipherment']
    : ['digital signature', purpose];
}

/**
 * Returns upstream's digest as the name, so that a node that switches between the two agents continues the same
 * request.
 */
function requestName(
  key: KeyObject,
  { commonName, organizations }: CertificateNamesWanted,
  usages: readonly string[],
): string {
  const hash = createHash('sha512-256');
  const write = (data: Uint8Array | string): void => void hash.update(`${Buffer.from(data).toString('base64url')}|`);
  write(createPublicKey(key).export({ type: 'spki', format: 'der' }));
  for (const word of [commonName, ...organizations, ...usages]) write(word);
  return `node-csr-${hash.digest('base64url')}`;
}

function incompatible(
  found: CertificateSigningRequest,
  template: CertificateTemplate,
  key: KeyObject,
  nowMs: number,
): string | undefined {
  const request = tryCertificateRequest(decode(found.spec.request));
  if (typeof request === 'string') return request;
  const { commonName, organizations } = template.names;
  if (request.commonName !== commonName || request.organizations.join('\n') !== organizations.join('\n'))
    return `csr subjects differ: new: ${request.commonName}, orig: ${commonName}`;
  if (found.spec.signerName !== template.signerName)
    return `csr signerNames differ: new "${found.spec.signerName}", orig: "${template.signerName}"`;
  if (!request.publicKey.equals(createPublicKey(key))) return 'error validating signature new CSR against old key';
  const issued = issuedIn(found);
  return issued !== undefined && keyPair(issued, '').facts.notAfterMs < nowMs
    ? 'one of the certificates for the CSR has expired'
    : undefined;
}

async function awaitDecision({ name, uid }: Submitted, context: RequestContext): Promise<RequestOutcome> {
  const { client, clock, random, log, patienceMs, signal } = context;
  const stop = new AbortController();
  const abort = (): void => stop.abort();
  signal.addEventListener('abort', abort, { once: true });
  if (signal.aborted) abort();
  try {
    const decided = new Promise<RequestOutcome>((resolve) => {
      const look = (request: CertificateSigningRequest): void => {
        const outcome =
          request.metadata.uid === uid
            ? decisionIn(request)
            : { kind: 'spent' as const, message: `csr "${name}" changed UIDs` };
        if (outcome !== undefined) resolve(outcome);
      };
      const gone = (): void => resolve({ kind: 'spent', message: `csr "${name}" was deleted` });
      // A list may be older than the request, so a get decides whether the request was deleted.
      const lookFor = (): void =>
        void client
          .get(certificateSigningRequests, { namespace: '', name })
          .then(look, (error: unknown) => (isApiError(error, 'NotFound') ? gone() : undefined));
      const sink = {
        replace: (requests: readonly CertificateSigningRequest[]) =>
          requests.length === 0 ? lookFor() : requests.forEach(look),
        event: (type: 'ADDED' | 'MODIFIED' | 'DELETED', request: CertificateSigningRequest) =>
          type === 'DELETED' ? gone() : look(request),
      };
      void reflect(
        {
          client,
          type: certificateSigningRequests,
          namespace: '',
          fieldSelector: fieldEquals('metadata.name', name),
          clock,
          random,
          log,
          sink,
        },
        stop.signal,
      ).catch(() => undefined);
    });
    const patience = sleep(clock, patienceMs, stop.signal).then(
      (): RequestOutcome => ({ kind: 'undecided' }),
      (): RequestOutcome => ({ kind: 'undecided' }),
    );
    return await Promise.race([decided, patience]);
  } finally {
    stop.abort();
    signal.removeEventListener('abort', abort);
  }
}

const decode = (base64: string): string => Buffer.from(base64, 'base64').toString('utf8');

function issuedIn({ status }: CertificateSigningRequest): string | undefined {
  return status?.certificate === undefined || status.certificate === '' ? undefined : decode(status.certificate);
}

function decisionIn(request: CertificateSigningRequest): RequestOutcome | undefined {
  const conditions = request.status?.conditions ?? [];
  const denied = conditions.find(({ type }) => type === 'Denied');
  if (denied !== undefined)
    return {
      kind: 'denied',
      message: `certificate signing request is denied, reason: ${denied.reason ?? ''}, message: ${denied.message ?? ''}`,
    };
  const failed = conditions.find(({ type }) => type === 'Failed');
  if (failed !== undefined)
    return {
      kind: 'spent',
      message: `certificate signing request failed, reason: ${failed.reason ?? ''}, message: ${failed.message ?? ''}`,
    };
  const certificate = conditions.some(({ type }) => type === 'Approved') ? issuedIn(request) : undefined;
  return certificate === undefined ? undefined : { kind: 'issued', certificate };
}
