import { chmodSync, lstatSync, renameSync } from 'node:fs';
import { lstat, mkdir, mkdtemp, rm } from 'node:fs/promises';
import http from 'node:http';
import net from 'node:net';
import path from 'node:path';
import { errorMessage, KubeletError } from '../../../base/errors.ts';
import { bindServer, closeServer } from './bind-server.ts';
import { readKubeletRequest, refuseRequest, refuseTunnel, serveApp } from './serve-app.ts';
import type { FetchApp } from './serve-app.ts';

export interface Listening {
  /** The address for the log. */
  readonly address: string;
  close(): Promise<void>;
}

const HEADERS_LIMIT_MS = 30_000;
/** The time limit for receiving a request. Its response may take as long as the client reads it. */
const REQUEST_LIMIT_MS = 60_000;
/**
 * The maximum number of connections, because each costs a descriptor and memory. Further ones are closed immediately.
 * Probes, scrapes and a user's commands need a few.
 */
const MOST_CONNECTIONS = 256;

function serve(app: FetchApp): http.Server {
  const server = http.createServer({ insecureHTTPParser: false }, (request, response) => {
    const reading = readKubeletRequest(request);
    if (reading.outcome === 'refused') refuseRequest(response, reading);
    else void serveApp(app, reading.asked, request, response).catch(() => response.destroy());
  });
  server.on('connect', refuseTunnel);
  server.headersTimeout = HEADERS_LIMIT_MS;
  server.requestTimeout = REQUEST_LIMIT_MS;
  server.maxConnections = MOST_CONNECTIONS;
  return server;
}

async function listen(
  server: http.Server,
  where: { host: string; port: number } | { path: string },
  address: string,
): Promise<Listening> {
  await bindServer(server, where, address);
  return { address, close: () => closeServer(server) };
}

/** Listens on a TCP port. Rejects with `AlreadyExists` if the port is in use. */
export function listenTcp(app: FetchApp, host: string, port: number): Promise<Listening> {
  return listen(serve(app), { host, port }, `${host}:${port}`);
}

/**
 * Listens on a socket that only root can open. There is no moment when others can, because it is created in a folder of
 * root and then moved. A file or a link that a killed agent left is replaced, but not a socket on which another agent
 * answers. Closing removes the socket only if it is still this one.
 */
export async function listenUnix(app: FetchApp, socketPath: string): Promise<Listening> {
  const [served, folder] = await Promise.all([isServed(socketPath), makeFolderBeside(socketPath)]);
  try {
    if (served)
      throw new KubeletError('AlreadyExists', `cannot listen on ${socketPath}: another agent already listens on it`, {
        op: 'listen',
      });
    const made = `${folder}/s`;
    const listening = await listen(serve(app), { path: made }, socketPath);
    try {
      // This is synchronous: while the agent starts, each turn of the event loop is long, and clients wait for this
      // socket.
      chmodSync(made, 0o600);
      const own = lstatSync(made, { bigint: true });
      renameSync(made, socketPath);
      return {
        address: socketPath,
        close: async () => {
          await listening.close();
          const there = await lstat(socketPath, { bigint: true }).catch(() => undefined);
          if (there?.ino === own.ino && there.dev === own.dev) await rm(socketPath, { force: true });
        },
      };
    } catch (error) {
      await listening.close();
      throw new KubeletError('Unavailable', `cannot listen on ${socketPath}: ${errorMessage(error)}`, {
        op: 'listen',
        cause: error,
      });
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Creates a folder with the shortest possible name, because the kernel limits the path of a socket to 107 bytes. */
async function makeFolderBeside(socketPath: string): Promise<string> {
  const parent = path.dirname(socketPath);
  await mkdir(parent, { recursive: true, mode: 0o750 });
  return mkdtemp(`${parent}/.`);
}

function isServed(socketPath: string): Promise<boolean> {
  return new Promise((resolve) => {
    const attempt = net.connect(socketPath);
    attempt.once('connect', () => (attempt.destroy(), resolve(true)));
    attempt.once('error', () => resolve(false));
  });
}
