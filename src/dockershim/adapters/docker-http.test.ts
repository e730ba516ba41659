import assert from 'node:assert/strict';
import { Buffer } from 'node:buffer';
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { chooseVersion, DockerHttp } from './docker-http.ts';
import { createDockerClient } from './docker-client.ts';

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

/** A server that stands in for Docker and answers the request for its version. */
async function withDocker(
  handler: Handler,
  use: (http: DockerHttp, requests: string[]) => Promise<void>,
): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'kts-docker-http-'));
  const requests: string[] = [];
  const server = createServer((request, response) => {
    if (request.url === '/version') return void response.end('{"ApiVersion":"1.43","MinAPIVersion":"1.12"}');
    requests.push(`${request.method} ${request.url}`);
    handler(request, response);
  });
  server.on('upgrade', (request, socket) => {
    let body = '';
    requests.push(`${request.method} ${request.url}`);
    request.on('data', (chunk: Buffer) => (body += chunk.toString()));
    socket.write('HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\nfirst ');
    socket.on('data', (chunk: Buffer) => socket.end(`heard ${chunk.toString()}${body}`));
  });
  await new Promise<void>((resolve) => server.listen(join(folder, 'docker.sock'), resolve));
  const http = new DockerHttp(join(folder, 'docker.sock'));
  try {
    await use(http, requests);
  } finally {
    http.close();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    rmSync(folder, { recursive: true });
  }
}

const inspect = { op: 'inspect', method: 'GET', path: '/containers/a/json' } as const;

describe('HTTP to Docker', () => {
  it('asks for the version once and uses it', async () => {
    const handler: Handler = (_request, response) => response.end('{"Id":"a"}');
    await withDocker(handler, async (http, requests) => {
      assert.deepEqual(await http.json(inspect), { Id: 'a' });
      await http.json({ ...inspect, query: { size: true, none: undefined } });
      assert.deepEqual(requests, ['GET /v1.43/containers/a/json', 'GET /v1.43/containers/a/json?size=true']);
    });
  });

  for (const [status, kind] of [
    [400, 'Invalid'],
    [404, 'NotFound'],
    [409, 'Conflict'],
    [500, 'Internal'],
    [503, 'Unavailable'],
  ] as const)
    it(`maps ${status} to ${kind} and keeps Docker's message`, async () => {
      const handler: Handler = (_request, response) => response.writeHead(status).end('{"message":"no such thing"}');
      await withDocker(handler, (http) => assert.rejects(http.json(inspect), { kind, message: 'no such thing' }));
    });

  it('treats 304 as success: the work was already done', async () => {
    const handler: Handler = (_request, response) => response.writeHead(304).end();
    await withDocker(handler, async (http) => {
      await createDockerClient(http).stopContainer('a', 1);
    });
  });

  it('refuses an endless answer', async () => {
    const chunk = Buffer.alloc(1024 * 1024, 'x');
    const handler: Handler = (_request, response) => {
      const write = (): void => {
        while (response.write(chunk));
        response.once('drain', write);
      };
      write();
    };
    await withDocker(handler, (http) =>
      assert.rejects(http.json(inspect), { kind: 'Internal', message: /longer than/ }),
    );
  });

  it('refuses an endless line', async () => {
    const handler: Handler = (_request, response) => {
      response.write('x'.repeat(3 * 1024 * 1024));
    };
    await withDocker(handler, async (http) => {
      const read = async (): Promise<void> => {
        for await (const line of http.lines(inspect)) assert.fail(String(line));
      };
      await assert.rejects(read(), { kind: 'Internal', message: /line without an end/ });
    });
  });

  it('reports that Docker is unavailable, also when the connection breaks in the middle', async () => {
    await assert.rejects(new DockerHttp('/nowhere/docker.sock').json(inspect), {
      kind: 'Unavailable',
      message: /ENOENT/,
    });
    const handler: Handler = (_request, response) => {
      response.writeHead(200, { 'content-length': '100' }).write('{');
      setImmediate(() => response.destroy());
    };
    await withDocker(handler, (http) => assert.rejects(http.json(inspect), { kind: 'Unavailable' }));
  });

  it('stops when its caller aborts', async () => {
    const caller = new AbortController();
    const handler: Handler = () => caller.abort();
    await withDocker(handler, (http) =>
      assert.rejects(http.json({ ...inspect, signal: caller.signal }), { kind: 'Aborted' }),
    );
  });

  it('switches to a raw connection, with a body in the request', async () => {
    await withDocker(
      () => assert.fail(),
      async (http, requests) => {
        const socket = await http.hijack({ op: 'exec', method: 'POST', path: '/exec/e/start', body: { Tty: true } });
        socket.write('input');
        const chunks: Buffer[] = [];
        for await (const chunk of socket) chunks.push(chunk as Buffer);
        assert.match(Buffer.concat(chunks).toString(), /^first heard input/);
        assert.deepEqual(requests, ['POST /v1.43/exec/e/start']);
      },
    );
  });

  it("reports Docker's message when a raw connection is refused", async () => {
    const folder = mkdtempSync(join(tmpdir(), 'kts-docker-http-'));
    const server = createServer((request, response) => {
      if (request.url === '/version') return void response.end('{"ApiVersion":"1.43"}');
      response.writeHead(409).end('{"message":"container is paused"}');
    });
    await new Promise<void>((resolve) => server.listen(join(folder, 'docker.sock'), resolve));
    const http = new DockerHttp(join(folder, 'docker.sock'));
    try {
      const call = { op: 'exec', method: 'POST', path: '/exec/e/start' } as const;
      await assert.rejects(http.hijack(call), { kind: 'Conflict', message: 'container is paused' });
    } finally {
      http.close();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      rmSync(folder, { recursive: true });
    }
  });

  it('encodes names so that they cannot change the path', async () => {
    const handler: Handler = (_request, response) => response.end('{}');
    await withDocker(handler, async (http, requests) => {
      const client = createDockerClient(http);
      await client.inspectContainer('a?b#c d');
      await client.inspectImage('host:5000/a/b:1');
      assert.deepEqual(requests, [
        'GET /v1.43/containers/a%3Fb%23c%20d/json',
        'GET /v1.43/images/host%3A5000/a/b%3A1/json',
      ]);
    });
  });
});

describe('the version of the API', () => {
  for (const [newest, oldest, want] of [
    ['1.41', '1.12', '1.41'],
    ['1.47', '1.24', '1.47'],
    ['1.60', '1.44', '1.51'],
    ['', '', '1.41'],
  ] as const)
    it(`is ${want} with an engine of ${oldest} to ${newest}`, () => assert.equal(chooseVersion(newest, oldest), want));

  it('must be one that both support', () => {
    for (const [newest, oldest] of [
      ['1.40', '1.12'],
      ['1.60', '1.55'],
    ] as const)
      assert.throws(() => chooseVersion(newest, oldest), {
        kind: 'Unimplemented',
        message: /use Docker 20.10 or newer/,
      });
  });
});

describe('a malformed answer', () => {
  it('is not read as a list; Docker writes empty lists, so an empty answer is a failure', async () => {
    let text = '';
    await withDocker(
      (_request, response) => response.end(text),
      async (http) => {
        const client = createDockerClient(http);
        await assert.rejects(client.listContainers({}), { kind: 'Internal', message: /not a list/ });
        await assert.rejects(client.listImages({}), { kind: 'Internal', message: /not a list/ });
        text = 'null';
        assert.deepEqual(await client.listContainers({}), []);
      },
    );
  });

  for (const nonsense of ['', 'null', '5', '"x"', '[5]', '[null]'])
    it(`is an error that names the operation: ${nonsense || 'nothing'}`, () =>
      withDocker(
        (_request, response) => response.end(nonsense),
        async (http) => {
          const client = createDockerClient(http);
          const kind = { kind: 'Internal', message: /Docker's answer is not an object/ };
          await assert.rejects(client.inspectContainer('a'), kind);
          await assert.rejects(client.info(), kind);
          await assert.rejects(client.inspectImage('a'), kind);
          await assert.rejects(client.inspectExec('a'), kind);
          await assert.rejects(client.stats('a'), kind);
          if (nonsense === 'null') assert.deepEqual(await client.listContainers({}), []);
          else await assert.rejects(client.listContainers({}), { message: /is not a list of objects/ });
        },
      ));
});
