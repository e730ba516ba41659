// A CSI driver in its own process: directories that are bound and tmpfs for file systems, loop devices for raw volumes.
// It registers itself as node-driver-registrar does, records its calls, and fails, hangs or ends if a file of its
// script folder says so.
import { execFile } from 'node:child_process';
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  rmdirSync,
  rmSync,
  statfsSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import type { NodeApi, RegistrationApi } from '../../../src/csi/csi-client.ts';
import { serveCsi, serveRegistration } from '../../../src/csi/testing/csi-server.ts';
import { NodeServiceCapability_RPC_Type, VolumeUsage_Unit } from '../../../src/csi/generated/csi-v1.ts';
import type { CsiDriverSetting } from './csi-driver.ts';
import { obeyScript } from './driver-process.ts';

const setting = JSON.parse(process.argv[2] ?? '') as CsiDriverSetting;
const { name, folder, csiSocket, registrationSocket, capabilities } = setting;
const run = promisify(execFile);
const DEVICE_BYTES = 16 * 2 ** 20;

async function isMounted(path: string): Promise<boolean> {
  return run('mountpoint', ['-q', path]).then(
    () => true,
    () => false,
  );
}

async function mountOnce(args: readonly string[], target: string): Promise<void> {
  if (!(await isMounted(target))) await run('mount', [...args, target]);
}

async function unmount(target: string): Promise<void> {
  while (await isMounted(target)) await run('umount', [target]);
}

function dataFolder(volumeId: string): string {
  const path = join(folder, 'volumes', volumeId);
  mkdirSync(path, { recursive: true });
  return path;
}

/** The loop device of a volume; it is created if it is missing. */
async function deviceOf(volumeId: string): Promise<string> {
  const image = join(folder, `${volumeId}.img`);
  if (!existsSync(image)) {
    writeFileSync(image, '');
    truncateSync(image, DEVICE_BYTES);
  }
  const { stdout: existing } = await run('losetup', ['-j', image, '-O', 'NAME', '-n']);
  return existing.trim().split('\n')[0] || (await run('losetup', ['-f', '--show', image])).stdout.trim();
}

const scripted = (op: string): Promise<void> => obeyScript(folder, op);

/** Records the call, applies the script, and runs. */
function noted<Request, Answer>(
  op: string,
  work: (request: Request) => Promise<Answer>,
): (request: Request) => Promise<Answer> {
  return async (request) => {
    appendFileSync(
      join(folder, 'calls.jsonl'),
      `${JSON.stringify({ op, ...request }, (_, value: unknown) => (typeof value === 'bigint' ? Number(value) : value))}\n`,
    );
    await scripted(op);
    return work(request);
  };
}

type Requests = { [K in keyof NodeApi]: Parameters<NodeApi[K]>[0] };

async function stage({ volumeId = '', stagingTargetPath = '', volumeCapability }: Requests['nodeStageVolume']) {
  if (volumeCapability?.block !== undefined) await deviceOf(volumeId);
  else await mountOnce(['--bind', dataFolder(volumeId)], stagingTargetPath);
  return {};
}

async function unstage({ volumeId = '', stagingTargetPath = '' }: Requests['nodeUnstageVolume']) {
  await unmount(stagingTargetPath);
  if (existsSync(join(folder, `${volumeId}.img`))) await run('losetup', ['-d', await deviceOf(volumeId)]);
  return {};
}

async function publish({
  volumeId = '',
  targetPath = '',
  stagingTargetPath = '',
  volumeCapability,
  readonly,
  volumeContext,
}: Requests['nodePublishVolume']) {
  if (volumeCapability?.block !== undefined) {
    if (!existsSync(targetPath)) writeFileSync(targetPath, '');
    await mountOnce(['--bind', await deviceOf(volumeId)], targetPath);
    return {};
  }
  mkdirSync(targetPath, { recursive: true });
  if (stagingTargetPath !== '') await mountOnce(['--bind', stagingTargetPath], targetPath);
  else await mountOnce(['-t', 'tmpfs', 'tmpfs'], targetPath);
  if (stagingTargetPath === '') writeFileSync(join(targetPath, 'context'), JSON.stringify(volumeContext ?? {}));
  if (readonly === true) await run('mount', ['-o', 'remount,ro,bind', targetPath]);
  return {};
}

async function unpublish({ targetPath = '' }: Requests['nodeUnpublishVolume']) {
  if (!existsSync(targetPath)) return {};
  await unmount(targetPath);
  try {
    rmdirSync(targetPath);
  } catch {
    rmSync(targetPath, { force: true });
  }
  return {};
}

async function expand({ volumeId = '', capacityRange }: Requests['nodeExpandVolume']) {
  const capacityBytes = BigInt(capacityRange?.requiredBytes ?? 0);
  const image = join(folder, `${volumeId}.img`);
  if (existsSync(image)) {
    truncateSync(image, Number(capacityBytes));
    await run('losetup', ['-c', await deviceOf(volumeId)]);
  } else {
    writeFileSync(join(dataFolder(volumeId), 'size'), String(capacityBytes));
  }
  return { capacityBytes };
}

async function stats({ volumePath = '' }: Requests['nodeGetVolumeStats']) {
  const { bsize, blocks, bavail } = statfsSync(volumePath, { bigint: true });
  return {
    usage: [
      {
        unit: VolumeUsage_Unit.BYTES,
        total: blocks * bsize,
        available: bavail * bsize,
        used: (blocks - bavail) * bsize,
      },
    ],
    volumeCondition: undefined,
  };
}

const node: Partial<NodeApi> = {
  nodeStageVolume: noted('NodeStageVolume', stage),
  nodeUnstageVolume: noted('NodeUnstageVolume', unstage),
  nodePublishVolume: noted('NodePublishVolume', publish),
  nodeUnpublishVolume: noted('NodeUnpublishVolume', unpublish),
  nodeExpandVolume: noted('NodeExpandVolume', expand),
  nodeGetVolumeStats: noted('NodeGetVolumeStats', stats),
  nodeGetCapabilities: () =>
    Promise.resolve({
      capabilities: capabilities.map((one) => ({ rpc: { type: NodeServiceCapability_RPC_Type[one] } })),
    }),
  nodeGetInfo: noted('NodeGetInfo', () =>
    Promise.resolve({ nodeId: 'this-node', maxVolumesPerNode: 0n, accessibleTopology: undefined }),
  ),
};

const registration: Partial<RegistrationApi> = {
  getInfo: () => Promise.resolve({ type: 'CSIPlugin', name, endpoint: csiSocket, supportedVersions: ['1.0.0'] }),
  notifyRegistrationStatus: noted('NotifyRegistrationStatus', () => Promise.resolve({})),
};

mkdirSync(join(folder, 'script'), { recursive: true });
mkdirSync(dirname(registrationSocket), { recursive: true });
for (const socket of [csiSocket, registrationSocket]) rmSync(socket, { force: true });
await serveCsi({ socketPath: csiSocket, identity: {}, node });
await serveRegistration({ socketPath: registrationSocket, registration });
process.on('SIGTERM', () => {
  for (const socket of [registrationSocket, csiSocket]) rmSync(socket, { force: true });
  process.exit(0);
});
