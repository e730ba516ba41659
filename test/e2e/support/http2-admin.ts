// Requests over one HTTP/2 connection, as an administrator who may impersonate a user in each.
import { connect } from 'node:http2';
import type { ClientHttp2Session, OutgoingHttpHeaders } from 'node:http2';
import { readKubeconfig } from '../../../src/client/kubeconfig.ts';
import type { TestCluster } from './cluster.ts';

export interface Http2Reply {
  readonly status: number;
  readonly text: string;
}

export interface Http2Request {
  readonly method: string;
  readonly path: string;
  readonly headers?: OutgoingHttpHeaders;
  readonly body?: string;
  /** The impersonated user; absent: the administrator. */
  readonly as?: string;
}

export interface Http2Admin {
  /** Of a watch that begins, only the head is waited for. */
  send(request: Http2Request): Promise<Http2Reply>;
  close(): void;
}

export function http2Admin({ kubeconfig, port }: Pick<TestCluster, 'kubeconfig' | 'port'>): Http2Admin {
  const { ca, certificate, key } = readKubeconfig(kubeconfig);
  const session = connect(`https://127.0.0.1:${port}`, {
    ...(ca !== undefined && { ca }),
    ...(certificate !== undefined && { cert: certificate }),
    ...(key !== undefined && { key }),
  });
  return { send: (request) => send(session, request), close: () => session.destroy() };
}

function send(
  session: ClientHttp2Session,
  { method, path, headers = {}, body = '', as }: Http2Request,
): Promise<Http2Reply> {
  return new Promise((resolve, reject) => {
    const stream = session.request(
      { ':method': method, ':path': path, ...headers, ...(as !== undefined && { 'impersonate-user': as }) },
      { endStream: body === '' },
    );
    let [status, text] = [0, ''];
    stream.setEncoding('utf8');
    stream.on('response', (head) => {
      status = head[':status'] ?? 0;
      if (!path.includes('watch=1') || status !== 200) return;
      resolve({ status, text });
      stream.close();
    });
    stream.on('data', (chunk: string) => (text += chunk));
    stream.on('end', () => resolve({ status, text }));
    stream.on('error', reject);
    if (body !== '') stream.end(body);
  });
}
