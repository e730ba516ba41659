// Debian's etcd on ports and in a folder of its own, with or without TLS, for tests of the store on it.
import { spawn } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { GrpcTls } from '../../../src/grpc/grpc-channel.ts';
import { freePort } from '../../../src/up/agent.ts';
import { machineEnvironment, runCommand } from '../../../src/up/commands.ts';
import { describeProcess, signalProcess, stopProcess } from '../../../src/up/processes.ts';
import { waitUntil } from './patience.ts';
import { endWithThisProcess } from './test-child.ts';

export interface TestEtcd {
  /** `http://127.0.0.1:PORT`, or https. */
  readonly endpoint: string;
  /** With TLS: the credentials that a client needs. */
  readonly tls: GrpcTls | undefined;
  /** The folder with the files of the authority and of a client. */
  readonly folder: string;
  /** Kills it at once, like a power cut. */
  kill(): Promise<void>;
  /** Starts it again on the same port and folder after `kill`. */
  start(): Promise<void>;
  /** Sends SIGSTOP: calls hang until `thaw`. */
  freeze(): void;
  thaw(): void;
  stop(): Promise<void>;
}

export interface TestEtcdOptions {
  /** Uses certificates of its own authority, and requires them from clients. */
  readonly tls?: boolean;
  /** The address to listen at; default 127.0.0.1. */
  readonly address?: string;
  /** The prefix of its command, to run it on a machine made of namespaces. */
  readonly enter?: readonly string[];
}

export async function startEtcd(options: TestEtcdOptions = {}): Promise<TestEtcd> {
  const folder = mkdtempSync(path.join(tmpdir(), 'kts-etcd-'));
  const scheme = options.tls === true ? 'https' : 'http';
  const { address = '127.0.0.1', enter = [] } = options;
  const endpoint = `${scheme}://${address}:${await freePort(0)}`;
  const peer = `http://127.0.0.1:${await freePort(0)}`;
  const tls = options.tls === true ? await makeCertificates(folder, address) : undefined;
  const at = (name: string): string => path.join(folder, name);
  const flags = [
    ['--name', 'test', '--data-dir', at('data'), '--logger', 'zap', '--log-level', 'info'],
    ['--listen-client-urls', endpoint, '--advertise-client-urls', endpoint],
    ['--listen-peer-urls', peer, '--initial-advertise-peer-urls', peer, '--initial-cluster', `test=${peer}`],
    tls === undefined
      ? []
      : [
          '--cert-file',
          at('server.pem'),
          '--key-file',
          at('server.key'),
          '--trusted-ca-file',
          at('ca.pem'),
          '--client-cert-auth',
        ],
  ].flat();
  let record: ReturnType<typeof describeProcess> | undefined;
  const start = async (): Promise<void> => {
    const log = openSync(at('etcd.log'), 'a');
    const before = readFileSync(at('etcd.log'), 'utf8').length;
    const [program = '', ...args] = [...enter, 'etcd', ...flags];
    const child = spawn(program, args, { stdio: ['ignore', log, log], env: machineEnvironment() });
    closeSync(log);
    endWithThisProcess(child);
    let failure: string | undefined;
    child.on('error', (error) => (failure = error.message));
    child.on('exit', (code) => (failure = `exit ${code}`));
    record = child.pid === undefined ? undefined : describeProcess(child.pid);
    const isUp = (): boolean => readFileSync(at('etcd.log'), 'utf8').slice(before).includes('serving client traffic');
    const up = await waitUntil(() => isUp() || failure !== undefined, 15_000);
    if (!up || failure !== undefined)
      throw new Error(`etcd did not start (${failure ?? 'no answer'}): ${readFileSync(at('etcd.log'), 'utf8')}`);
  };
  const etcd: TestEtcd = {
    endpoint,
    tls,
    folder,
    start,
    kill: () => stopProcess(record, 0).then(() => undefined),
    freeze: () => void (record !== undefined && signalProcess(record, 'SIGSTOP')),
    thaw: () => void (record !== undefined && signalProcess(record, 'SIGCONT')),
    stop: async () => {
      if (record !== undefined) signalProcess(record, 'SIGCONT');
      await stopProcess(record, 2000);
      rmSync(folder, { recursive: true, force: true });
    },
  };
  try {
    await start();
  } catch (error) {
    await etcd.stop();
    throw error;
  }
  return etcd;
}

/** Creates an authority, a server certificate for the address and a client certificate. */
async function makeCertificates(folder: string, address: string): Promise<GrpcTls> {
  const at = (name: string): string => path.join(folder, name);
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  await runCommand([
    'openssl',
    'req',
    '-x509',
    ...key,
    '-keyout',
    at('ca.key'),
    '-out',
    at('ca.pem'),
    '-days',
    '2',
    '-subj',
    '/CN=kubelet-ts test authority',
  ]);
  for (const [name, extension] of [
    ['server', `subjectAltName=IP:${address}`],
    ['client', 'extendedKeyUsage=clientAuth'],
  ] as const) {
    await runCommand([
      'openssl',
      'req',
      ...key,
      '-keyout',
      at(`${name}.key`),
      '-out',
      at(`${name}.csr`),
      '-subj',
      `/CN=${name}`,
    ]);
    writeFileSync(at(`${name}.cnf`), `${extension}\n`);
    const signing = [
      '-CA',
      at('ca.pem'),
      '-CAkey',
      at('ca.key'),
      '-CAcreateserial',
      '-out',
      at(`${name}.pem`),
      '-days',
      '2',
      '-extfile',
      at(`${name}.cnf`),
    ];
    await runCommand(['openssl', 'x509', '-req', '-in', at(`${name}.csr`), ...signing]);
  }
  return { ca: readFileSync(at('ca.pem')), cert: readFileSync(at('client.pem')), key: readFileSync(at('client.key')) };
}
