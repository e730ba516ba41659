import { parseArgs } from 'node:util';
import { errorMessage } from '../../base/errors.ts';
import type { ParsedArguments } from '../../base/run-main.ts';
import { parseEndpoint } from '../../cri/endpoint.ts';

export interface DockershimOptions {
  /** Where the CRI is served. */
  readonly listen: string;
  readonly dockerEndpoint: string;
  readonly rootFolder: string;
  readonly pauseImage: string;
  readonly cniConfigFolder: string;
  readonly cniPluginFolders: readonly string[];
  readonly pullProgressTimeoutMs: number;
  readonly streamingIdleMs: number;
}

export const defaultDockershimOptions: DockershimOptions = {
  listen: 'unix:///var/run/dockershim.sock',
  dockerEndpoint: 'unix:///var/run/docker.sock',
  rootFolder: '/var/lib/dockershim',
  pauseImage: 'registry.k8s.io/pause:3.10.1',
  cniConfigFolder: '/etc/cni/net.d',
  cniPluginFolders: ['/opt/cni/bin', '/usr/lib/cni', '/usr/libexec/cni'],
  pullProgressTimeoutMs: 60_000,
  streamingIdleMs: 4 * 60 * 60_000,
};

export const USAGE = `usage: dockershim [flags]

The Container Runtime Interface (CRI v1) over Docker Engine 20.10 or newer.

  --container-runtime-endpoint URL       where the CRI is served (default ${defaultDockershimOptions.listen})
  --docker-endpoint URL                  Docker's socket (default ${defaultDockershimOptions.dockerEndpoint})
  --root-dir DIR                         folder for the state of sandboxes (default ${defaultDockershimOptions.rootFolder})
  --pod-infra-container-image IMAGE      the image of sandboxes (default ${defaultDockershimOptions.pauseImage})
  --cni-conf-dir DIR                     network configurations; the first valid one is used (default ${defaultDockershimOptions.cniConfigFolder})
  --cni-bin-dir DIR[,DIR...]             network plugins (default ${defaultDockershimOptions.cniPluginFolders.join(',')})
  --image-pull-progress-deadline SECONDS a pull without progress for this time fails (default 60)
  --streaming-connection-idle-timeout SECONDS
                                         exec, attach and port-forward end after this time without traffic (default 14400)
`;

export function parseDockershim(args: readonly string[]): ParsedArguments<DockershimOptions> {
  try {
    const text = { type: 'string' } as const;
    const { values } = parseArgs({
      args: [...args],
      options: {
        'container-runtime-endpoint': text,
        'docker-endpoint': text,
        'root-dir': text,
        'pod-infra-container-image': text,
        'cni-conf-dir': text,
        'cni-bin-dir': text,
        'image-pull-progress-deadline': text,
        'streaming-connection-idle-timeout': text,
        help: { type: 'boolean' },
      },
    });
    if (values.help === true) return { kind: 'help' };
    const defaults = defaultDockershimOptions;
    const options: DockershimOptions = {
      listen: values['container-runtime-endpoint'] ?? defaults.listen,
      dockerEndpoint: values['docker-endpoint'] ?? defaults.dockerEndpoint,
      rootFolder: absolute('root-dir', values['root-dir'] ?? defaults.rootFolder),
      pauseImage: values['pod-infra-container-image'] ?? defaults.pauseImage,
      cniConfigFolder: absolute('cni-conf-dir', values['cni-conf-dir'] ?? defaults.cniConfigFolder),
      cniPluginFolders:
        values['cni-bin-dir']?.split(',').map((each) => absolute('cni-bin-dir', each)) ?? defaults.cniPluginFolders,
      pullProgressTimeoutMs: milliseconds('image-pull-progress-deadline', values) ?? defaults.pullProgressTimeoutMs,
      streamingIdleMs: milliseconds('streaming-connection-idle-timeout', values) ?? defaults.streamingIdleMs,
    };
    // Throws for anything but a unix socket.
    for (const endpoint of [options.listen, options.dockerEndpoint]) parseEndpoint(endpoint);
    return { kind: 'run', options };
  } catch (error) {
    return { kind: 'error', errors: [errorMessage(error)] };
  }
}

function absolute(flag: string, folder: string): string {
  if (folder.startsWith('/')) return folder;
  throw new Error(`--${flag}: ${JSON.stringify(folder)} is not an absolute path`);
}

function milliseconds(flag: string, values: Readonly<Record<string, unknown>>): number | undefined {
  const value = values[flag];
  if (value === undefined) return undefined;
  const seconds = Number(value);
  if (!Number.isInteger(seconds) || seconds < 1 || seconds > 2_000_000)
    throw new Error(`--${flag}: ${JSON.stringify(value)} is not a number of seconds from 1 to 2000000`);
  return seconds * 1000;
}
