import type { Buffer } from 'node:buffer';
import { createHash, timingSafeEqual } from 'node:crypto';
import type { Context } from 'hono';
import { Hono } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { errorKind, errorMessage, KubeletError } from '../../../base/errors.ts';
import type { Logger } from '../../../base/log.ts';
import type { Pod } from '../../../api/core/pod.ts';
import type { HostFiles } from '../../ports/host-files.ts';
import type { AcceptedManifests } from './accepted-manifests.ts';
import type { ManifestProblem } from './manifest-reader.ts';
import { MANIFEST_LIMIT_BYTES } from './manifest-reader.ts';

/** A DNS-1123 subdomain, so that a name can be neither a path nor a hidden file. */
const namePattern = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const TOKEN_LIMIT_BYTES = 4096;
const TOKEN_SHORTEST = 16;

/**
 * Reads the bearer token of a server; `what` names the server in messages. Throws `Invalid` unless only root can read
 * the file (mode 0600 or stricter) and its token is long enough.
 */
export async function readManifestToken(files: HostFiles, path: string, what = 'manifest server'): Promise<string> {
  const info = await files.lstat(path);
  if (info === undefined) throw new KubeletError('NotFound', `${what}: token file ${path} does not exist`);
  if (info.type !== 'file') throw new KubeletError('Invalid', `${what}: token file ${path} is not a regular file`);
  if (info.uid !== 0 || (info.mode & 0o077) !== 0)
    throw new KubeletError(
      'Invalid',
      `${what}: token file ${path} must be owned by root and not readable by others (mode 0600)`,
    );
  const token = (await files.readText(path, TOKEN_LIMIT_BYTES)).trim();
  if (token.length < TOKEN_SHORTEST)
    throw new KubeletError('Invalid', `${what}: the token in ${path} has fewer than ${TOKEN_SHORTEST} characters`);
  return token;
}

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();

export interface ManifestServerOptions {
  readonly manifests: AcceptedManifests;
  /** Returns the token. It is called for each request, so that a changed token takes effect. */
  readonly token: () => string;
  readonly log: Logger;
}

/**
 * Creates the HTTP API of the accepted manifests: GET /manifests, and GET, PUT, POST, DELETE /manifests/{name}. It
 * requires the bearer token. It opens no port: the caller serves it with TLS or on loopback.
 */
export function createManifestServer(options: ManifestServerOptions): Hono {
  const { manifests, log } = options;
  const app = new Hono();
  app.use('*', async (context, next) => {
    if (isBearer(context.req.header('authorization'), options.token())) return next();
    return context.json({ error: 'a bearer token is required' }, 401, { 'www-authenticate': 'Bearer' });
  });
  app.use('/manifests/:name', async (context, next) => {
    const { name } = context.req.param();
    if (name.length <= 200 && namePattern.test(name)) return next();
    return context.json({ error: 'a manifest name is at most 200 lower-case letters, digits, hyphens and dots' }, 400);
  });
  const capped = bodyLimit({
    maxSize: MANIFEST_LIMIT_BYTES,
    onError: (context) => context.json({ error: `a manifest has at most ${MANIFEST_LIMIT_BYTES} bytes` }, 413),
  });
  app.get('/manifests', (context) =>
    context.json({ items: manifests.list().map(({ name, pods }) => ({ name, pods: pods.map(podName) })) }),
  );
  app.get('/manifests/:name', (context) => {
    const text = manifests.text(context.req.param('name'));
    return text === undefined
      ? notFound(context)
      : context.body(text, 200, { 'content-type': 'application/yaml; charset=utf-8' });
  });
  app.put('/manifests/:name', capped, (context) => put(context, manifests, 'replace'));
  app.post('/manifests/:name', capped, (context) => put(context, manifests, 'create'));
  app.delete('/manifests/:name', async (context) =>
    (await manifests.remove(context.req.param('name')))
      ? context.json({ deleted: context.req.param('name') })
      : notFound(context),
  );
  app.notFound(notFound);
  app.onError((error, context) => {
    log.error('manifest server failed', { error: errorMessage(error) });
    return context.json({ error: errorMessage(error) }, errorKind(error) === 'Unavailable' ? 503 : 500);
  });
  return app;
}

function isBearer(header: string | undefined, token: string): boolean {
  const given = /^Bearer (.+)$/i.exec(header ?? '')?.[1];
  // Digests have the same length, so the comparison reveals nothing of the token's length.
  return given !== undefined && token !== '' && timingSafeEqual(digest(given), digest(token));
}

const notFound = (context: Context): Response => context.json({ error: 'not found' }, 404);

async function put(context: Context, manifests: AcceptedManifests, mode: 'create' | 'replace'): Promise<Response> {
  const name = context.req.param('name') ?? '';
  const outcome = await manifests.put(name, await context.req.text(), mode);
  switch (outcome.kind) {
    case 'exists':
      return context.json({ error: `manifest ${name} already exists` }, 409);
    case 'refused':
      return context.json({ error: 'the manifest was rejected', problems: outcome.problems.map(publicProblem) }, 422);
    case 'created':
    case 'replaced':
      return context.json(
        { name, pods: outcome.pods.map(podName), warnings: outcome.warnings.map(publicProblem) },
        outcome.kind === 'created' ? 201 : 200,
      );
  }
}

const podName = (pod: Pod): { namespace: string; name: string; uid: string } => ({
  namespace: pod.metadata.namespace,
  name: pod.metadata.name,
  uid: pod.metadata.uid,
});

const publicProblem = ({ file, line, column, path, message }: ManifestProblem): ManifestProblem => ({
  file,
  line,
  column,
  path,
  message,
});
