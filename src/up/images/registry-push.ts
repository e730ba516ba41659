/** Pushes an image to a registry with the distribution API, over plain HTTP or TLS. */
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { KubeletError } from '../../base/errors.ts';
import { MANIFEST_MEDIA_TYPE, type OciImage } from './oci-image.ts';

export interface Registry {
  /** `http://127.0.0.1:5000` or `https://...`. */
  url: string;
  username?: string;
  password?: string;
  /** PEM of the authority that signed the registry's certificate. */
  ca?: string;
}

interface Answer {
  status: number;
  location: string | undefined;
  body: string;
}

/** Uploads what is missing, then the manifest. Returns the manifest's digest. Throws `Unavailable` with the registry's words. */
export async function pushImage(
  registry: Registry,
  image: OciImage,
  target: { repository: string; tag: string },
): Promise<string> {
  const base = `/v2/${target.repository}`;
  for (const blob of [...image.layers, image.config]) {
    const head = await send(registry, 'HEAD', `${base}/blobs/${blob.digest}`);
    if (head.status === 200) continue;
    const start = expectStatus(await send(registry, 'POST', `${base}/blobs/uploads/`), 202, 'start upload');
    if (start.location === undefined)
      throw new KubeletError('Unavailable', 'registry named no upload location', { op: 'push' });
    const location = new URL(start.location, registry.url);
    location.searchParams.set('digest', blob.digest);
    const put = await send(registry, 'PUT', location.pathname + location.search, {
      content: blob.content,
      type: 'application/octet-stream',
    });
    expectStatus(put, 201, 'upload blob');
  }
  const manifest = { content: image.manifest.content, type: MANIFEST_MEDIA_TYPE };
  expectStatus(await send(registry, 'PUT', `${base}/manifests/${target.tag}`, manifest), 201, 'put manifest');
  return image.manifest.digest;
}

function expectStatus(answer: Answer, status: number, op: string): Answer {
  if (answer.status !== status)
    throw new KubeletError('Unavailable', `registry answered ${answer.status}: ${answer.body.slice(0, 300)}`, { op });
  return answer;
}

function send(
  registry: Registry,
  method: string,
  path: string,
  body?: { content: Buffer; type: string },
): Promise<Answer> {
  const url = new URL(path, registry.url);
  const headers: Record<string, string> = { 'content-length': String(body?.content.length ?? 0) };
  if (body !== undefined) headers['content-type'] = body.type;
  if (registry.username !== undefined) {
    headers['authorization'] =
      `Basic ${Buffer.from(`${registry.username}:${registry.password ?? ''}`).toString('base64')}`;
  }
  return new Promise((resolve, reject) => {
    const onAnswer = (message: IncomingMessage): void => {
      const chunks: Buffer[] = [];
      message.on('data', (chunk: Buffer) => chunks.push(chunk));
      message.on('error', reject);
      message.on('end', () =>
        resolve({
          status: message.statusCode ?? 0,
          location: message.headers.location,
          body: Buffer.concat(chunks).toString(),
        }),
      );
    };
    const call =
      url.protocol === 'https:'
        ? httpsRequest(url, { method, headers, ca: registry.ca }, onAnswer)
        : httpRequest(url, { method, headers }, onAnswer);
    call.on('error', reject);
    call.end(body?.content);
  });
}
