// Applies CDI devices to containers in front of a containerd that does not support them (before 1.7): a device stands
// for the changes to the container that its vendor's file lists.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '../../../src/base/clock.ts';
import { CreateContainerRequest } from '../../../src/cri/generated/cri-v1.ts';
import { CriProxy } from '../../../src/cri/testing/cri-proxy.ts';
import type { TestContainerd } from './containerd.ts';

/** A vendor's file, with the parts that are used here (CDI specification 0.6). */
export interface CdiFile {
  readonly cdiVersion: string;
  /** `vendor/class`. */
  readonly kind: string;
  readonly devices: readonly {
    readonly name: string;
    readonly containerEdits: {
      readonly env?: readonly string[];
      readonly deviceNodes?: readonly { readonly path: string; readonly hostPath: string }[];
    };
  }[];
}

/** The changes for `vendor/class=name`, from the file `vendor-class.json` in the folder. */
function editsOf(folder: string, id: string): CdiFile['devices'][number]['containerEdits'] {
  const [kind = '', name] = id.split('=');
  const file = JSON.parse(readFileSync(join(folder, `${kind.replace('/', '-')}.json`), 'utf8')) as CdiFile;
  const device = file.kind === kind ? file.devices.find((each) => each.name === name) : undefined;
  if (device === undefined) throw new Error(`unresolvable CDI device ${id}`);
  return device.containerEdits;
}

function withCdiDevices(folder: string, bytes: Uint8Array): Uint8Array {
  const request = CreateContainerRequest.decode(bytes);
  const { config } = request;
  if (config === undefined || config.CDIDevices.length === 0) return bytes;
  for (const { name } of config.CDIDevices) {
    const { env = [], deviceNodes = [] } = editsOf(folder, name);
    for (const each of env) {
      const at = each.indexOf('=');
      config.envs.push({ key: each.slice(0, at), value: Buffer.from(each.slice(at + 1)) });
    }
    for (const { path, hostPath } of deviceNodes)
      config.devices.push({ containerPath: path, hostPath, permissions: 'rwm' });
  }
  return CreateContainerRequest.encode(request).finish();
}

/** `folder` contains the vendors' files. */
export async function startCdiRuntime(
  { instance }: TestContainerd,
  folder: string,
): Promise<{ endpoint: string; close(): void }> {
  const listen = join(instance.dataDir, 'cdi.sock');
  const proxy = new CriProxy({
    listen,
    upstream: instance.containerdSocket,
    clock: systemClock,
    rewrite: (op, request) => (op === 'CreateContainer' ? withCdiDevices(folder, request) : request),
  });
  await proxy.start();
  return { endpoint: `unix://${listen}`, close: () => proxy.close() };
}
