/** Pushes an image to a registry with the distribution API, over plain HTTP or TLS. */
import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { KubeletError } from '../../base/errors.ts';
import { answerTo } from '../../base/node-answer.ts';
import { readText } from '../../base/read-text.ts';
import type { OciImage } from './oci-image.ts';
import { MANIFEST_MEDIA_TYPE } from './oci-image.ts';

export interface Registry {
  /** `http://127.0.0.1:5000` or `https://...`. */
  readonly url: string;
  readonly username?: string;
  readonly password?: string;
  /** PEM of the authority that signed the registry's certificate. */
  readonly ca?: string;
  /** The client's certificate and key in PEM. */
  readonly client?: { readonly certificate: string; readonly key: string };
  /** For one request, its body included. Default ten minutes. */
  readonly answerLimitMs?: number;
}

const ANSWER_LIMIT_MS = 600_000;
/** Answers are empty or contain an error message. */
const LONGEST_ANSWER = 64 * 1024;

interface Answer {
  readonly status: number;
  readonly location: string | undefined;
  readonly body: string;
}

/**
 * Uploads missing blobs, then the manifest. Returns the manifest's digest. Throws `Unavailable` with the registry's
 * message.
 */
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
      throw new KubeletError('Unavailable', 'the registry returned no upload location', { op: 'push' });
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

async function send(
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
  const limitMs = registry.answerLimitMs ?? ANSWER_LIMIT_MS;
  const signal = AbortSignal.timeout(limitMs);
  const call =
    url.protocol === 'https:'
      ? httpsRequest(url, {
          method,
          headers,
          signal,
          ca: registry.ca,
          cert: registry.client?.certificate,
          key: registry.client?.key,
        })
      : httpRequest(url, { method, headers, signal });
  call.end(body?.content);
  try {
    const message = await answerTo(call);
    const text = await readText(message as AsyncIterable<Buffer>, LONGEST_ANSWER, signal);
    if (text === undefined) throw new Error(`the answer is longer than ${LONGEST_ANSWER} bytes`);
    return { status: message.statusCode ?? 0, location: message.headers.location, body: text };
  } catch (error) {
    throw signal.aborted
      ? new Error(`the registry did not answer within ${limitMs / 1000} s`, { cause: error })
      : error;
  }
}
