/**
 * `up --join HOST:PORT --join-control-plane`: this machine also runs an API server of the cluster, with the same etcd.
 * Its node uses this server.
 */
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { dirname, isAbsolute, join } from 'node:path';
import { secrets } from '../../api/client/resource-types.ts';
import { isApiError } from '../../api/status/api-status-error.ts';
import { systemClock } from '../../base/clock.ts';
import { errorMessage, KubeletError } from '../../base/errors.ts';
import { writeFileAtomic } from '../../base/write-file-atomic.ts';
import { freePort } from '../agent.ts';
import type { Instance } from '../instance.ts';
import { familyOf, hostPort } from '../ip-families.ts';
import { openClusterClient } from './cluster-client.ts';
import type { ServedRanges } from './cluster-record.ts';
import { controlPlaneProgram } from './cluster-programs.ts';
import { stepLine } from './cluster-view.ts';
import type { ControlPlaneShare } from './control-plane-share.ts';
import { argumentsOf, openShare, sealedOf, shareKey } from './control-plane-share.ts';
import { bootstrapConfig, writeBootstrapConfig } from './credentials.ts';
import { discoverAuthority } from './discover-cluster.ts';
import type { JoinByToken, JoinMachineOptions } from './join-machine.ts';
import { addressTowards, orderAddresses } from './join-machine.ts';
import { checkOwnAddress } from './machine-network.ts';
import { keepRunning } from './program.ts';

export interface JoinControlPlaneOptions extends JoinMachineOptions {
  /** 64 hexadecimal digits. Not needed on a machine that has joined before. */
  readonly certificateKey: string | undefined;
  /** Flags for the control plane, added after those of the first server. */
  readonly controlPlaneArgs: readonly string[];
}

/**
 * What a joined machine stores beside the files of the share, so that it can restart while the other machines are away.
 */
interface JoinedControlPlane {
  /** One for each IP family of the cluster; the first one is where the server listens. */
  readonly addresses: readonly string[];
  readonly record: ServedRanges;
  readonly args: readonly string[];
}

const recordFile = (instance: Instance): string => join(instance.controlPlaneDir, 'joined.json');

/** Resolves when the server of this machine serves, with the options by which the node joins there. */
export async function joinControlPlane(
  instance: Instance,
  options: JoinControlPlaneOptions,
  signal: AbortSignal,
): Promise<JoinMachineOptions> {
  const { say, by } = options;
  const startMs = systemClock.monotonicMs();
  const { addresses, record, args } =
    readJoined(instance, options.addresses) ?? (await becomeMember(instance, options));
  for (const each of addresses) checkOwnAddress(each);
  const [address = ''] = addresses;
  await checkPort(record.apiPort, address);
  const program = controlPlaneProgram({ instance, addresses, record }, [...args, ...options.controlPlaneArgs]);
  await keepRunning(program, { clock: systemClock, signal, say }).ready;
  const host = hostPort(address, record.apiPort);
  say(stepLine(systemClock.monotonicMs() - startMs, `this machine's API server serves on https://${host}`));
  return { ...options, addresses, by: { ...by, host } };
}

async function checkPort(port: number, address: string): Promise<void> {
  if ((await freePort(port, address)) === port) return;
  throw new KubeletError(
    'Conflict',
    `port ${port} of ${address} is in use, and all API servers of a cluster serve on one port`,
  );
}

const pkiFolder = (instance: Instance): string => join(instance.controlPlaneDir, 'pki');

async function becomeMember(instance: Instance, options: JoinControlPlaneOptions): Promise<JoinedControlPlane> {
  const share = await fetchShare(instance, options);
  const files = share.args.map((arg) => arg.slice(arg.indexOf('=') + 1)).filter((value) => isAbsolute(value));
  const missing = files.filter((file) => !existsSync(file));
  if (missing.length > 0)
    throw new KubeletError(
      'Invalid',
      `flags of the control plane name files that this machine does not have: ${missing.join(', ')}. Copy them from the first machine to the same places`,
    );
  const given = options.addresses ?? [await addressTowards(options.by.host)];
  const addresses = orderAddresses(given, share.serviceRange.split(',').map(familyOf));
  for (const [name, content] of Object.entries(share.files)) {
    const file = join(pkiFolder(instance), name);
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    await writeFileAtomic(file, content, 0o600);
  }
  const { serviceRange, podRange, apiPort } = share;
  const joined = {
    addresses,
    record: { serviceRange, podRange, apiPort },
    args: argumentsOf(share, pkiFolder(instance)),
  };
  // Written last: if it exists, the other files are complete.
  await writeFileAtomic(recordFile(instance), JSON.stringify(joined), 0o600);
  return joined;
}

async function fetchShare(
  instance: Instance,
  { by, certificateKey }: JoinControlPlaneOptions,
): Promise<ControlPlaneShare> {
  if (certificateKey === undefined)
    throw new KubeletError('Invalid', `--join-control-plane needs --certificate-key the first time. ${PRINT}`);
  const ca = await discoverAuthority(by.host, by.caHash);
  const [id = '', secret = ''] = by.token.split('.');
  mkdirSync(instance.nodeDir, { recursive: true, mode: 0o700 });
  writeBootstrapConfig(instance, { server: `https://${by.host}`, ca, token: { id, secret } });
  const client = openClusterClient(bootstrapConfig(instance));
  try {
    const { data } = await client.api.get(secrets, shareKey(id));
    return openShare(sealedOf(data) ?? '', Buffer.from(certificateKey, 'hex'));
  } catch (error) {
    throw explainRefusal(error, by);
  } finally {
    client.close();
  }
}

const PRINT = 'Print the command on the first machine: npm run up -- --print-join-command --join-control-plane';

function explainRefusal(error: unknown, { host }: JoinByToken): KubeletError {
  if (error instanceof KubeletError && error.kind === 'Invalid') return error;
  if (isApiError(error, 'Unauthorized'))
    return new KubeletError('Invalid', `${host} does not accept the token: it has expired or was deleted. ${PRINT}`, {
      cause: error,
    });
  if (isApiError(error, 'Forbidden', 'NotFound'))
    return new KubeletError('Invalid', `this token does not let a machine run an API server. ${PRINT}`, {
      cause: error,
    });
  return new KubeletError('Unavailable', `${host} does not answer: ${errorMessage(error)}`, { cause: error });
}

/** Undefined before the machine has joined. */
function readJoined(instance: Instance, wanted: readonly string[] | undefined): JoinedControlPlane | undefined {
  if (!existsSync(recordFile(instance))) return undefined;
  const joined = JSON.parse(readFileSync(recordFile(instance), 'utf8')) as JoinedControlPlane;
  return { ...joined, addresses: wanted ?? joined.addresses };
}
