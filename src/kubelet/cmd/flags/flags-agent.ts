/**
 * The flags that set no configuration field, as data. Names, types and defaults are upstream's
 * (cmd/kubelet/app/options/{options,globalflags_linux}.go).
 */
import { dockerFlagRows } from './docker-flags.ts';
import type { FlagGroup, FlagSpec, FlagType } from './flags-types.ts';

type Extra = Omit<FlagSpec, 'name' | 'type' | 'help' | 'group'>;
type Row = readonly [name: string, type: FlagType, help: string, extra?: Extra];

const inGroup = (group: FlagGroup, rows: readonly Row[]): FlagSpec[] =>
  rows.map(([name, type, help, extra]) => ({ name, type, help, group, ...extra }));

/** The default socket by which `kubelet pods` and the other commands reach the running agent. Only root may open it. */
export const DEFAULT_CLI_SOCKET = '/var/lib/kubelet/kubelet.sock';

const REPLACED = 'Use --eviction-hard or --eviction-soft instead. Will be removed in a future version.';
const CADVISOR = 'This is a cadvisor flag that was mistakenly registered with the Kubelet. It has no effect here.';
const REMOVED = 'It has no effect here.';

export const agentFlags: readonly FlagSpec[] = [
  ...inGroup('Configuration', [
    [
      'config',
      'string',
      'KubeletConfiguration file to start from, YAML or JSON. Flags override it.',
      { completes: 'file' },
    ],
    [
      'config-dir',
      'string',
      'Folder of drop-in files (*.conf, subfolders too) merged over --config in lexical order of their paths.',
      { completes: 'folder' },
    ],
    [
      'root-dir',
      'string',
      'Folder for the files of the agent and the volumes of its pods.',
      { default: '/var/lib/kubelet', completes: 'folder' },
    ],
  ]),
  ...inGroup('API server', [
    [
      'kubeconfig',
      'string',
      'How to reach the API server. Without it the agent runs standalone.',
      { completes: 'file' },
    ],
    [
      'bootstrap-kubeconfig',
      'string',
      'Credentials for requesting the first client certificate while the file of --kubeconfig does not exist.',
      { completes: 'file' },
    ],
    ['cert-dir', 'string', 'Folder of the TLS certificates.', { default: '/var/lib/kubelet/pki', completes: 'folder' }],
  ]),
  ...inGroup('Node', [
    ['hostname-override', 'string', 'Name of the node, instead of the host name.'],
    [
      'node-ip',
      'string',
      'Address of the node, or one IPv4 and one IPv6 address with a comma between them. :: prefers the default IPv6 address.',
    ],
    [
      'node-labels',
      'labels',
      'Labels to register the node with, as key=value with commas between them. Of the kubernetes.io and k8s.io names only those a kubelet may set are accepted.',
    ],
    [
      'cloud-provider',
      'string',
      'external if a cloud controller sets the addresses of the node, otherwise empty.',
      { values: ['', 'external'] },
    ],
  ]),
  ...inGroup('Runtime and images', [
    ['runtime-cgroups', 'string', 'Absolute name of the cgroup the container runtime runs in.'],
    [
      'image-credential-provider-config',
      'string',
      'Configuration of the credential provider plugins: a file, or a folder whose files are merged in lexical order.',
      { completes: 'file' },
    ],
    [
      'image-credential-provider-bin-dir',
      'string',
      'Folder of the credential provider plugins.',
      { completes: 'folder' },
    ],
    [
      'seccomp-default',
      'bool',
      'Use the seccomp profile of the runtime for containers that name none. Overrides seccompDefault.',
      { default: 'false' },
    ],
  ]),
  ...inGroup('Housekeeping', [
    ['housekeeping-interval', 'duration', 'Time between two measurements of the containers.', { default: '10s' }],
    [
      'max-housekeeping-interval',
      'duration',
      'Longest time between two measurements of quiet containers.',
      { default: '15s' },
    ],
    ['lock-file', 'string', 'Alpha: file used as a lock between several agents.', { completes: 'file' }],
    ['exit-on-lock-contention', 'bool', 'Exit when another process wants the lock file.', { default: 'false' }],
  ]),
  ...inGroup('Beyond upstream', [
    [
      'cli-socket',
      'string',
      'Unix socket for the commands pods, explain, logs and exec; only root may open it. Empty turns it off. By default kubelet.sock in --root-dir.',
      { completes: 'file' },
    ],
    [
      'manifest-server-address',
      'string',
      'HOST:PORT of an HTTP server that accepts pod manifests. Empty keeps it off. Needs --manifest-server-token-file.',
    ],
    [
      'manifest-server-token-file',
      'string',
      'File with the bearer token that requests to the manifest server must carry.',
      { completes: 'file' },
    ],
    [
      'cadvisor-port',
      'int32',
      'Port of the page of the node, over TLS on the address of the server; 4194 was that of cAdvisor. 0 turns it off. See docs/page.md.',
      { default: '0' },
    ],
    [
      'cadvisor-token-file',
      'string',
      'File with a token that the login of the page accepts, beside what the server accepts.',
      { completes: 'file' },
    ],
    [
      'admission-hooks-dir',
      'string',
      'Folder of admission programs. They run for each new pod, in the order of their names, and admit, reject or hold it. See docs/admission.md.',
      { completes: 'folder' },
    ],
    ['admission-hook-timeout', 'duration', 'Timeout of one admission program.', { default: '10s' }],
    [
      'admission-hook-failure-policy',
      'string',
      'What to do if an admission program fails: hold keeps the pod pending and runs the program again, ignore skips the program.',
      { default: 'hold', values: ['hold', 'ignore'] },
    ],
    [
      'pinned-images',
      'string',
      'Images that are never removed to free disk space, as beginnings of their names with commas between them, such as localhost/. For images that cannot be pulled again.',
    ],
    [
      'node-problem-conditions',
      'bool',
      'Report problems that the kernel logs as conditions and events of the node: KernelDeadlock, ReadonlyFilesystem, XfsShutdown and others, under the names of node-problem-detector. For nodes where that does not run.',
      { default: 'false' },
    ],
    [
      'shutdown-on-sigterm',
      'bool',
      'Treat SIGTERM as a shutdown of the machine: stop all pods in order, within shutdownGracePeriod, before the agent ends. For machines without systemd-logind.',
      { default: 'false' },
    ],
  ]),
  ...inGroup('Runtime and images', dockerFlagRows),
  ...inGroup('Other', [
    [
      'version',
      'version',
      'Print the version and exit. --version=raw prints all parts, --version=vX.Y.Z sets the version that is reported.',
      { default: 'false', values: ['true', 'false', 'raw'] },
    ],
    ['help', 'bool', 'Print this text and exit.', { shorthand: 'h', default: 'false' }],
  ]),
  ...inGroup('Deprecated', [
    [
      'minimum-container-ttl-duration',
      'duration',
      'Shortest time a dead container is kept.',
      { default: '0s', deprecated: REPLACED },
    ],
    [
      'maximum-dead-containers-per-container',
      'int32',
      'Dead instances kept of each container.',
      { default: '1', deprecated: REPLACED },
    ],
    [
      'maximum-dead-containers',
      'int32',
      'Dead containers kept in all; negative means no limit.',
      { default: '-1', deprecated: REPLACED },
    ],
    ['experimental-mounter-path', 'string', 'Program used for mounting.', { deprecated: REMOVED, ignored: true }],
    [
      'experimental-allocatable-ignore-eviction',
      'bool',
      'Leave hard eviction thresholds out of the allocatable of the node.',
      { default: 'false', deprecated: 'will be removed in 1.25 or later.' },
    ],
    ...(
      [
        ['application-metrics-count-limit', 'int64', '100'],
        ['boot-id-file', 'string', '/proc/sys/kernel/random/boot_id'],
        ['container-hints', 'string', '/etc/cadvisor/container_hints.json'],
        ['containerd', 'string', '/run/containerd/containerd.sock'],
        ['containerd-namespace', 'string', 'k8s.io'],
        ['enable-load-reader', 'bool', 'false'],
        ['event-storage-age-limit', 'string', 'default=0'],
        ['event-storage-event-limit', 'string', 'default=0'],
        ['global-housekeeping-interval', 'duration', '1m0s'],
        ['log-cadvisor-usage', 'bool', 'false'],
        ['machine-id-file', 'string', '/etc/machine-id,/var/lib/dbus/machine-id'],
        ['storage-driver-user', 'string', 'root'],
        ['storage-driver-password', 'string', 'root'],
        ['storage-driver-host', 'string', 'localhost:8086'],
        ['storage-driver-db', 'string', 'cadvisor'],
        ['storage-driver-table', 'string', 'stats'],
        ['storage-driver-secure', 'bool', 'false'],
        ['storage-driver-buffer-duration', 'duration', '1m0s'],
      ] as const
    ).map(
      ([name, type, value]): Row => [
        name,
        type,
        'A setting of cAdvisor; read and ignored.',
        { default: value, deprecated: CADVISOR, ignored: true },
      ],
    ),
  ]),
];
