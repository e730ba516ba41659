import { Buffer } from 'node:buffer';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { makeWebhookCertificate } from '../../../src/control-plane/admission/testing/webhook-certificate.ts';

interface Converted {
  readonly apiVersion: string;
  readonly spec?: { readonly host?: string; readonly port?: string; readonly hostPort?: string };
}
interface Review {
  readonly request: { readonly uid: string; readonly desiredAPIVersion: string; readonly objects: Converted[] };
}

export interface ConversionWebhook {
  /** The field `spec.conversion` of a definition. */
  readonly conversion: object;
  /** The number of objects in each review. */
  readonly asked: number[];
  /** The error for all further reviews; undefined: they succeed. */
  refuse(message: string | undefined): void;
  close(): void;
}

/** A webhook that converts `hostPort` of v1 to `host` and `port` of v2. */
export async function startConversionWebhook(): Promise<ConversionWebhook> {
  const { key, cert } = makeWebhookCertificate(['IP:127.0.0.1']);
  const asked: number[] = [];
  let refusal: string | undefined;
  const answer = ({ request: { uid, desiredAPIVersion, objects } }: Review): object => {
    asked.push(objects.length);
    if (refusal !== undefined) return { uid, result: { status: 'Failure', message: refusal } };
    return {
      uid,
      result: { status: 'Success' },
      convertedObjects: objects.map((each) => convert(each, desiredAPIVersion)),
    };
  };
  const server = createServer({ key, cert }, (request, response) => {
    const chunks: Buffer[] = [];
    request
      .on('data', (chunk: Buffer) => chunks.push(chunk))
      .on('end', () => {
        const review = JSON.parse(Buffer.concat(chunks).toString()) as Review;
        const head = { kind: 'ConversionReview', apiVersion: 'apiextensions.k8s.io/v1' };
        response.end(JSON.stringify({ ...head, response: answer(review) }));
      });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const clientConfig = { url: `https://127.0.0.1:${port}/convert`, caBundle: Buffer.from(cert).toString('base64') };
  return {
    conversion: { strategy: 'Webhook', webhook: { clientConfig, conversionReviewVersions: ['v1'] } },
    asked,
    refuse: (message) => (refusal = message),
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

function convert(object: Converted, apiVersion: string): Converted {
  const { hostPort = '', host = '', port = '' } = object.spec ?? {};
  const [first, second] = hostPort.split(':');
  const spec = apiVersion.endsWith('v2') ? { host: first ?? '', port: second ?? '' } : { hostPort: `${host}:${port}` };
  return { ...object, apiVersion, spec };
}
