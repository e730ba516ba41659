import { createPublicKey, generateKeyPairSync } from 'node:crypto';
import { Buffer } from 'node:buffer';
import type { CertificateSigningRequest } from '../../../../api/certificates/certificate-signing-request.ts';
import { certificateSigningRequests } from '../../../../api/client/resource-types.ts';
import type { FakeApiClient } from '../../../../api/client/testing/fake-api-client.ts';
import type { Clock } from '../../../../base/clock.ts';
import { extendedUsages, noNames } from '../../../../pki/certificate-template.ts';
import { keyPair } from '../../../../pki/key-pair.ts';
import type { KeyPair } from '../../../../pki/key-pair.ts';
import { readCertificateRequest } from '../../../../pki/request-reader.ts';
import { writeCertificate } from '../../../../pki/x509-writer.ts';

const authorityKey = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;
const YEAR_MS = 365 * 86_400_000;

/** Decides on certificate requests in a fake API, like the approver and the signer of a cluster. */
export class FakeSigner {
  readonly #api: FakeApiClient;
  readonly #clock: Clock;
  readonly #authority: string;
  lifeMs = 100 * 86_400_000;

  constructor(api: FakeApiClient, clock: Clock) {
    this.#api = api;
    this.#clock = clock;
    const subject = { commonName: 'ca' };
    const template = {
      subject,
      publicKey: createPublicKey(authorityKey),
      notBeforeMs: clock.nowMs() - YEAR_MS,
      notAfterMs: clock.nowMs() + 10 * YEAR_MS,
      isAuthority: true,
      keyUsages: ['certSign'] as const,
      extendedKeyUsages: [],
      altNames: noNames,
    };
    this.#authority = writeCertificate(template, { selfSignedBy: authorityKey });
  }

  async requests(): Promise<readonly CertificateSigningRequest[]> {
    return (await this.#api.list(certificateSigningRequests, '')).items;
  }

  /** Approves and signs all pending requests, and returns how many. */
  async signAll(): Promise<number> {
    const open = (await this.requests()).filter(
      ({ status }) => status?.certificate === undefined && (status?.conditions ?? []).length === 0,
    );
    for (const request of open)
      await this.#decide(request, {
        conditions: [{ type: 'Approved', status: 'True' }],
        certificate: Buffer.from(this.#sign(request)).toString('base64'),
      });
    return open.length;
  }

  async approve(name: string): Promise<void> {
    await this.#decide(await this.#find(name), { conditions: [{ type: 'Approved', status: 'True' }] });
  }

  async refuse(name: string, type: 'Denied' | 'Failed'): Promise<void> {
    await this.#decide(await this.#find(name), {
      conditions: [{ type, status: 'True', reason: 'Because', message: 'no' }],
    });
  }

  #find(name: string): Promise<CertificateSigningRequest> {
    return this.#api.get(certificateSigningRequests, { namespace: '', name });
  }

  async #decide(request: CertificateSigningRequest, status: CertificateSigningRequest['status']): Promise<void> {
    await this.#api.update(certificateSigningRequests, { ...request, status }, { subresource: 'status' });
  }

  #sign(request: CertificateSigningRequest): string {
    const asked = readCertificateRequest(Buffer.from(request.spec.request, 'base64').toString());
    return this.certificate({ ...asked, publicKey: asked.publicKey });
  }

  certificate({
    commonName,
    organizations,
    dnsNames,
    publicKey,
  }: {
    commonName: string;
    organizations: readonly string[];
    dnsNames: readonly string[];
    publicKey: ReturnType<typeof createPublicKey>;
  }): string {
    const template = {
      subject: { commonName, organizations },
      publicKey,
      notBeforeMs: this.#clock.nowMs(),
      notAfterMs: this.#clock.nowMs() + this.lifeMs,
      keyUsages: ['digitalSignature'] as const,
      extendedKeyUsages: [extendedUsages.clientAuth],
    };
    return writeCertificate(
      { ...template, altNames: { ...noNames, dnsNames } },
      { certificate: this.#authority, key: authorityKey },
    );
  }

  /** Returns a pair that was issued earlier. */
  pair(commonName: string, lifeMs = this.lifeMs): KeyPair {
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const before = this.lifeMs;
    this.lifeMs = lifeMs;
    const certificate = this.certificate({
      commonName,
      organizations: ['system:nodes'],
      dnsNames: [],
      publicKey: createPublicKey(privateKey),
    });
    this.lifeMs = before;
    return keyPair(certificate, privateKey.export({ type: 'sec1', format: 'pem' }).toString());
  }
}
