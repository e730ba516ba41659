// What docs/seeds.md needs beside the cluster, in one small server on loopback: the manifest of --manifest-url, and the
// webhooks of authentication and authorization. For trying out: it knows one token and one user.
// usage: node scripts/seeds-server.ts PORT MANIFEST
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';

interface Review {
  readonly kind: 'TokenReview' | 'SubjectAccessReview';
  readonly spec: { readonly token?: string; readonly user?: string; readonly resourceAttributes?: { verb?: string } };
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

const [port = '8410', manifest = ''] = process.argv.slice(2);
const server = createServer((request, response) => {
  const answer = (status: number, body: string): void => void response.writeHead(status).end(body);
  if (request.method !== 'POST') return answer(200, readFileSync(manifest, 'utf8'));
  text(request).then(
    (body) => {
      const review = JSON.parse(body) as Review & { readonly apiVersion: string };
      answer(200, JSON.stringify({ apiVersion: review.apiVersion, kind: review.kind, status: judge(review) }));
    },
    () => response.destroy(),
  );
});
server.listen(Number(port), '127.0.0.1');
