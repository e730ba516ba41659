// A signer of pod certificates in its own process: follows the requests for its name and answers each. It denies
// requests with an annotation.
import { readFileSync } from 'node:fs';
import { createPrivateKey } from 'node:crypto';
import { createInformer } from '../../../src/api/client/informer.ts';
import { podCertificateRequests } from '../../../src/api/client/resource-types.ts';
import type {
  PodCertificateRequest,
  PodCertificateRequestStatus,
} from '../../../src/api/certificates/pod-certificate-request.ts';
import { formatTime } from '../../../src/api/time.ts';
import { systemClock } from '../../../src/base/clock.ts';
import { silentLogger } from '../../../src/base/log.ts';
import { systemRandom } from '../../../src/base/random.ts';
import { HttpApiClient } from '../../../src/client/http-api-client.ts';
import { HttpTransport } from '../../../src/client/http-transport.ts';
import { readKubeconfig } from '../../../src/client/kubeconfig.ts';
import { readRequestKey } from '../../../src/pki/request-reader.ts';
import { writeCertificate } from '../../../src/pki/x509-writer.ts';
import { noNames } from '../../../src/pki/certificate-template.ts';

export interface PodSignerSetting {
  readonly kubeconfig: string;
  readonly signerName: string;
  /** Files of the authority. */
  readonly certificate: string;
  readonly key: string;
}

const HOUR_MS = 3_600_000;
const { kubeconfig, signerName, certificate, key } = JSON.parse(process.argv[2] ?? '') as PodSignerSetting;
const authority = { certificate: readFileSync(certificate, 'utf8'), key: createPrivateKey(readFileSync(key)) };
const client = new HttpApiClient(new HttpTransport(readKubeconfig(kubeconfig), { userAgent: 'pod-signer' }));

function answer({ spec }: PodCertificateRequest): PodCertificateRequestStatus {
  const nowMs = Math.floor(Date.now() / 1000) * 1000;
  const condition = {
    status: 'True',
    reason: 'Test',
    message: 'by the test',
    lastTransitionTime: formatTime(nowMs),
  } as const;
  if (spec.unverifiedUserAnnotations?.['example.com/deny'] !== undefined)
    return { conditions: [{ ...condition, type: 'Denied' }] };
  const notAfterMs = nowMs + (spec.maxExpirationSeconds ?? 0) * 1000;
  const leaf = writeCertificate(
    {
      subject: { commonName: `${spec.serviceAccountName}/${spec.podName}` },
      publicKey: readRequestKey(Buffer.from(spec.stubPKCS10Request ?? '', 'base64')),
      notBeforeMs: nowMs,
      notAfterMs,
      keyUsages: ['digitalSignature'],
      extendedKeyUsages: [],
      altNames: noNames,
    },
    authority,
  );
  return {
    conditions: [{ ...condition, type: 'Issued' }],
    certificateChain: leaf,
    notBefore: formatTime(nowMs),
    beginRefreshAt: formatTime(notAfterMs - HOUR_MS / 2),
    notAfter: formatTime(notAfterMs),
  };
}

const informer = createInformer({
  client,
  type: podCertificateRequests,
  namespace: '',
  fieldSelector: `spec.signerName=${signerName}`,
  clock: systemClock,
  random: systemRandom,
  log: silentLogger,
});
informer.addHandlers({
  onAdd: (request) => {
    if ((request.status?.conditions ?? []).length > 0) return;
    client
      .update(podCertificateRequests, { ...request, status: answer(request) }, { subresource: 'status' })
      .catch((error: unknown) => process.stderr.write(`${String(error)}\n`));
  },
});
informer.start();
