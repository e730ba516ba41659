// What docs/seeds.md needs beside the cluster, in one small server on loopback: the manifest of --manifest-url, the
// webhooks of authentication and authorization, an extender of the scheduler, and an OpenID Connect issuer on a port of
// its own. For trying out: it knows one token and one user.
// usage: node scripts/seeds-server.ts PORT MANIFEST [ISSUER_PORT CERTIFICATE KEY]
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import { startIssuer } from './seeds-issuer.ts';

interface Review {
  readonly kind: 'TokenReview' | 'SubjectAccessReview';
  readonly spec: { readonly token?: string; readonly user?: string; readonly resourceAttributes?: { verb?: string } };
}

interface ExtenderArgs {
  readonly NodeNames: readonly string[] | null;
  readonly Nodes: { readonly items: readonly { readonly metadata: { readonly name: string } }[] } | null;
}

/** Carol is who shows this token, and may read. */
function judge({ kind, spec }: Review): object {
  if (kind === 'SubjectAccessReview') {
    const isRead = ['get', 'list', 'watch'].includes(spec.resourceAttributes?.verb ?? '');
    return { allowed: spec.user === 'carol' && isRead };
  }
  if (spec.token !== 'token-of-carol') return { authenticated: false };
  return { authenticated: true, user: { username: 'carol', groups: ['readers'] } };
}

/** No node has the licence that pods ask for. */
function refuseAll({ NodeNames, Nodes }: ExtenderArgs): object {
  const names = NodeNames ?? Nodes?.items.map(({ metadata }) => metadata.name) ?? [];
  return { nodenames: [], failedNodes: Object.fromEntries(names.map((name) => [name, 'no licence is left'])) };
}

function respond(path: string | undefined, body: string): object {
  if (path === '/scheduler/filter') return refuseAll(JSON.parse(body) as ExtenderArgs);
  const review = JSON.parse(body) as Review & { readonly apiVersion: string };
  return { apiVersion: review.apiVersion, kind: review.kind, status: judge(review) };
}

const [port = '8410', manifest = '', issuerPort, certificate = '', key = ''] = process.argv.slice(2);
if (issuerPort !== undefined)
  await startIssuer(Number(issuerPort), { cert: readFileSync(certificate), key: readFileSync(key) });
const server = createServer((request, response) => {
  const answer = (status: number, body: string): void => void response.writeHead(status).end(body);
  if (request.method !== 'POST') return answer(200, readFileSync(manifest, 'utf8'));
  text(request).then(
    (body) => answer(200, JSON.stringify(respond(request.url, body))),
    () => response.destroy(),
  );
});
server.listen(Number(port), '127.0.0.1');
