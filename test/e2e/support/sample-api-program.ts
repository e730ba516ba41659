// An aggregated API server in its own process: `flavours` of samples.example.com, stored in memory. It trusts the user
// headers only of a client whose certificate the front proxy's authority signed. Its parent controls its behaviour over
// IPC.
import { createServer } from 'node:https';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { TLSSocket } from 'node:tls';
import type { SampleApiMode, SampleApiReport, SampleApiStart } from './sample-api.ts';

const GROUP_VERSION = 'samples.example.com/v1';
const ROOT = `/apis/${GROUP_VERSION}`;
const collection = /^(?:\/namespaces\/([^/]+))?\/flavours(?:\/([^/]+))?$/;

interface Flavour {
  readonly kind: string;
  readonly apiVersion: string;
  readonly metadata: Readonly<Record<string, unknown>> & { readonly name: string; readonly namespace: string };
  readonly spec?: object;
}
interface Event {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly object: Flavour;
  readonly revision: number;
}

let mode: SampleApiMode = 'good';
let revision = 1;
const flavours = new Map<string, Flavour>();
const events: Event[] = [];
const watchers = new Set<(event: Event) => void>();
const report = (said: SampleApiReport): void => void process.send?.(said);

function change(type: Event['type'], given: Flavour): Flavour {
  const object = { ...given, metadata: { ...given.metadata, resourceVersion: String(++revision) } };
  const key = `${object.metadata.namespace}/${object.metadata.name}`;
  if (type === 'DELETED') flavours.delete(key);
  else flavours.set(key, object);
  const event = { type, object, revision };
  events.push(event);
  for (const tell of watchers) tell(event);
  return object;
}

const status = (code: number, reason: string, message: string): object => ({
  ...{ kind: 'Status', apiVersion: 'v1', status: code < 300 ? 'Success' : 'Failure', code, reason, message },
});

const resource = {
  name: 'flavours',
  singularName: 'flavour',
  namespaced: true,
  kind: 'Flavour',
  shortNames: ['fl'],
  verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
};
const flavourSchema = {
  type: 'object',
  description: 'A flavour of ice cream.',
  properties: {
    apiVersion: { type: 'string' },
    kind: { type: 'string' },
    metadata: { type: 'object' },
    spec: { type: 'object', description: 'What it tastes of.', properties: { taste: { type: 'string' } } },
  },
  'x-kubernetes-group-version-kind': [{ group: 'samples.example.com', version: 'v1', kind: 'Flavour' }],
};
const verb = {
  responses: { 200: { description: 'OK' } },
  operationId: 'readFlavour',
  'x-kubernetes-action': 'get',
  'x-kubernetes-group-version-kind': { group: 'samples.example.com', version: 'v1', kind: 'Flavour' },
};
const paths = { [`${ROOT}/namespaces/{namespace}/flavours/{name}`]: { get: verb } };

/** Wrong or hostile responses of a server. */
function documentsOf(): Readonly<Record<string, unknown>> {
  const good = {
    [ROOT]: { kind: 'APIResourceList', apiVersion: 'v1', groupVersion: GROUP_VERSION, resources: [resource] },
    '/openapi/v2': {
      swagger: '2.0',
      info: {},
      paths,
      definitions: { 'com.example.samples.v1.Flavour': flavourSchema },
    },
    '/openapi/v3': { paths: { [ROOT.slice(1)]: { serverRelativeURL: `/openapi/v3${ROOT}?hash=ABC` } } },
    [`/openapi/v3${ROOT}`]: {
      openapi: '3.0.0',
      info: {},
      paths,
      components: { schemas: { 'com.example.samples.v1.Flavour': flavourSchema } },
    },
  };
  switch (mode) {
    case 'other-group':
      return {
        ...good,
        [ROOT]: {
          kind: 'APIResourceList',
          groupVersion: 'apps/v1',
          resources: [
            resource,
            { ...resource, name: 'deployments', kind: 'Deployment', group: 'apps', version: 'v1' },
            { ...resource, name: '../../../api/v1/secrets', kind: 'Secret' },
          ],
        },
        '/openapi/v2': {
          paths: { ...paths, '/api/v1/namespaces/{namespace}/pods': { get: { description: 'stolen' } } },
          definitions: {
            'io.k8s.api.core.v1.Pod': { type: 'string', description: 'stolen' },
            'com.example.samples.v1.Flavour': flavourSchema,
          },
        },
      };
    case 'cyclic': {
      let deep: object = { type: 'string' };
      for (let depth = 0; depth < 20_000; depth++) deep = { type: 'array', items: deep };
      const $ref = '#/definitions/com.example.samples.v1.Flavour';
      return {
        ...good,
        '/openapi/v2': {
          paths,
          definitions: {
            'com.example.samples.v1.Flavour': { properties: { self: { $ref } }, allOf: [{ $ref }] },
            deep,
          },
        },
      };
    }
    case 'huge':
      return { ...good, '/openapi/v2': { paths, definitions: { huge: { description: 'x'.repeat(64 << 20) } } } };
    default:
      return good;
  }
}

/** The user that the front proxy names, as extension-apiserver-authentication describes it. */
function userOf(request: IncomingMessage, { allowedNames }: SampleApiStart): string | undefined {
  const socket = request.socket as TLSSocket;
  if (!socket.authorized) return undefined;
  const name = socket.getPeerCertificate().subject.CN;
  const user = request.headers['x-remote-user'];
  return allowedNames.includes(String(name)) && typeof user === 'string' ? user : undefined;
}

async function answer(request: IncomingMessage, response: ServerResponse, start: SampleApiStart): Promise<void> {
  const reply = (code: number, body: object): void => {
    response.writeHead(code, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  };
  if (mode === 'hang') return;
  const user = userOf(request, start);
  const url = new URL(request.url ?? '', 'https://localhost');
  const method = request.method ?? '';
  if (user === undefined) return reply(401, status(401, 'Unauthorized', 'not the front proxy'));
  report({ asked: `${method} ${url.pathname}`, user, isResumed: (request.socket as TLSSocket).isSessionReused() });
  const document = documentsOf()[url.pathname];
  if (document !== undefined) return reply(200, document as object);
  const found = collection.exec(url.pathname.slice(ROOT.length));
  if (found === null) return reply(404, status(404, 'NotFound', 'the server could not find the requested resource'));
  const [, namespace = '', name] = found;
  const isWithin = ({ metadata }: Flavour): boolean => namespace === '' || metadata.namespace === namespace;
  const within = [...flavours.values()].filter(isWithin);
  const chunks: Buffer[] = [];
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
  const text = Buffer.concat(chunks).toString('utf8');
  if (name === undefined) {
    if (method === 'POST') {
      const given = JSON.parse(text) as Flavour;
      const uid = `uid-${revision}`;
      const creationTimestamp = new Date().toISOString().replace(/\.\d+/, '');
      return reply(
        201,
        change('ADDED', { ...given, metadata: { ...given.metadata, namespace, uid, creationTimestamp } }),
      );
    }
    if (method === 'DELETE') {
      for (const each of within) change('DELETED', each);
      return reply(200, status(200, '', ''));
    }
    if (url.searchParams.get('watch') !== null) {
      response.writeHead(200, { 'content-type': 'application/json' }).flushHeaders();
      const since = Number(url.searchParams.get('resourceVersion') ?? 0);
      const tell = ({ type, object }: Event): void =>
        void (isWithin(object) && response.write(`${JSON.stringify({ type, object })}\n`));
      for (const event of events) if (event.revision > since) tell(event);
      watchers.add(tell);
      response.on('close', () => watchers.delete(tell));
      return undefined;
    }
    const metadata = { resourceVersion: String(revision) };
    return reply(200, { kind: 'FlavourList', apiVersion: GROUP_VERSION, metadata, items: within });
  }
  const old = flavours.get(`${namespace}/${name}`);
  if (old === undefined) {
    const missing = status(404, 'NotFound', `flavours.samples.example.com "${name}" not found`);
    return reply(404, { ...missing, details: { name, group: 'samples.example.com', kind: 'flavours' } });
  }
  if (method === 'GET') return reply(200, old);
  if (method === 'DELETE') return reply(200, change('DELETED', old));
  const given = JSON.parse(text) as Partial<Flavour>;
  const metadata = { ...old.metadata, ...given.metadata };
  return reply(200, change('MODIFIED', { ...old, ...given, spec: { ...old.spec, ...given.spec }, metadata }));
}

process.on('disconnect', () => process.exit());
process.on('message', (said: { readonly mode: SampleApiMode } | { readonly start: SampleApiStart }) => {
  if ('mode' in said) {
    mode = said.mode;
    report({ mode });
    return;
  }
  const { start } = said;
  const { key, cert, clientCa } = start;
  const server = createServer(
    { key, cert, ca: clientCa, requestCert: true, rejectUnauthorized: false },
    (...exchange) => {
      answer(...exchange, start).catch((error: unknown) => exchange[1].destroy(error as Error));
    },
  );
  server.keepAliveTimeout = 60_000;
  server.listen(start.port, 'localhost', () => report({ port: (server.address() as { port: number }).port }));
});
