// Three members of Debian's etcd, each on ports and in a folder of its own.
import { spawn } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { freePort } from '../../../src/up/agent.ts';
import { machineEnvironment } from '../../../src/up/commands.ts';
import { describeProcess, signalProcess, stopProcess } from '../../../src/up/processes.ts';
import { waitUntil } from './patience.ts';

export interface EtcdMember {
  readonly endpoint: string;
  kill(): Promise<void>;
  start(): void;
  /** Sends SIGSTOP: calls hang until `thaw`. */
  freeze(): void;
  thaw(): void;
}

export interface EtcdCluster {
  readonly members: readonly EtcdMember[];
  /** The value for `--etcd-servers`. */
  readonly endpoint: string;
  readonly tls: undefined;
  stop(): Promise<void>;
}

export async function startEtcdCluster(count = 3): Promise<EtcdCluster> {
  const folder = mkdtempSync(path.join(tmpdir(), 'kts-etcd-'));
  const places: { readonly name: string; readonly client: string; readonly peer: string }[] = [];
  for (let at = 0; at < count; at += 1)
    places.push({
      name: `m${at}`,
      client: `http://127.0.0.1:${await freePort(0)}`,
      peer: `http://127.0.0.1:${await freePort(0)}`,
    });
  const all = places.map(({ name, peer }) => `${name}=${peer}`).join();
  const members = places.map(({ name, client, peer }) => {
    let record: ReturnType<typeof describeProcess> | undefined;
    const flags = [
      ...['--name', name, '--data-dir', path.join(folder, name), '--logger', 'zap', '--log-level', 'warn'],
      ...['--listen-client-urls', client, '--advertise-client-urls', client],
      ...['--listen-peer-urls', peer, '--initial-advertise-peer-urls', peer, '--initial-cluster', all],
      // As in etcd 3.5 and later: a member that returns does not disturb the leader.
      '--pre-vote',
    ];
    const signal = (which: 'SIGSTOP' | 'SIGCONT'): void => void (record !== undefined && signalProcess(record, which));
    return {
      endpoint: client,
      start: () => {
        const log = openSync(path.join(folder, `${name}.log`), 'a');
        const child = spawn('etcd', flags, { stdio: ['ignore', log, log], env: machineEnvironment() });
        closeSync(log);
        record = child.pid === undefined ? undefined : describeProcess(child.pid);
      },
      kill: () => stopProcess(record, 0).then(() => undefined),
      freeze: () => signal('SIGSTOP'),
      thaw: () => signal('SIGCONT'),
    };
  });
  const endpoint = places.map(({ client }) => client).join();
  const stop = async (): Promise<void> => {
    for (const member of members) {
      member.thaw();
      await member.kill();
    }
    rmSync(folder, { recursive: true, force: true });
  };
  for (const member of members) member.start();
  const isHealthy = (url: string): Promise<boolean> =>
    fetch(`${url}/health`).then(
      ({ ok }) => ok,
      () => false,
    );
  const areHealthy = async (): Promise<boolean> =>
    (await Promise.all(places.map(({ client }) => isHealthy(client)))).every((each) => each);
  if (!(await waitUntil(areHealthy, 20_000, 100))) {
    const logs = places.map(({ name }) => readFileSync(path.join(folder, `${name}.log`), 'utf8').slice(-1000));
    await stop();
    throw new Error(`etcd did not start: ${logs.join('\n')}`);
  }
  return { members, endpoint, tls: undefined, stop };
}
