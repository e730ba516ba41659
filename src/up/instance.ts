/**
 * One `up` on one data folder: every name and path it may create is derived here, so that several can live side by side
 * and `down` knows what is its own.
 */
import { createHash } from 'node:crypto';
import { join } from 'node:path/posix';
import { KubeletError } from '../base/errors.ts';

export const DEFAULT_DATA_DIR = '/var/lib/kubelet-ts';

export interface Instance {
  /** Eight hex digits from the data folder's path. */
  readonly id: string;
  readonly dataDir: string;
  /** Pid files, the lock and the record of what was there before. */
  readonly runDir: string;
  readonly manifestsDir: string;
  readonly kubeletRoot: string;
  readonly kubeletConfig: string;
  readonly kubeletLog: string;
  readonly kubeletSocket: string;
  readonly podLogsDir: string;
  readonly containerdRoot: string;
  readonly containerdState: string;
  readonly containerdConfig: string;
  readonly containerdLog: string;
  readonly containerdSocket: string;
  /** Holds `hosts.toml` folders, one per registry. */
  readonly registryCertsDir: string;
  readonly cniConfDir: string;
  readonly ipamDir: string;
  /** Name of the CNI network: it is in the comment of every iptables rule a plugin writes for us. */
  readonly networkName: string;
  /** At most 15 characters, as the kernel wants it. */
  readonly bridge: string;
  /** The chain of our own iptables rules, in nat and in filter. */
  readonly iptablesChain: string;
  /** The cluster's certificates, its store, and `admin.conf`. */
  readonly controlPlaneDir: string;
  readonly controlPlaneLog: string;
  readonly adminConfig: string;
  /** A data folder for each node of `up --nodes`. */
  readonly nodesDir: string;
  /** What was chosen for the cluster at its first start, and stays. */
  readonly clusterRecord: string;
  /** The node's credentials: they outlive a `down`. */
  readonly nodeDir: string;
  readonly nodeNetworkConfig: string;
  readonly nodeNetworkLog: string;
  readonly nodeStorageConfig: string;
  readonly nodeStorageLog: string;
  /** The data of dynamically provisioned volumes: it outlives a `down`. */
  readonly storageDir: string;
  /** Manifests of a node in a cluster: static pods beside what the cluster sends. */
  readonly staticPodsDir: string;
  readonly registryDir: string;
  readonly registryLog: string;
  /** Of a detached `up`, which goes on looking after its programs. */
  readonly upLog: string;
  /** An address of the loopback network of its own, so that ports of several never meet. */
  readonly loopback: string;
  /** Absolute within each cgroup hierarchy; all containers live beneath. */
  readonly cgroupRoot: string;
  /** What stands before commands that run on the node; empty where it is the machine itself. */
  readonly enter: readonly string[];
  /** The same with the cgroup driver systemd: the slice that `cgroupRoot` becomes. */
  readonly cgroupSlice: string;
}

/** `dataDir` must be absolute and free of symbolic links (mounts are found by their real path). */
export function deriveInstance(dataDir: string): Instance {
  if (!dataDir.startsWith('/') || dataDir === '/')
    throw new KubeletError('Invalid', `data folder must be an absolute path below /, not "${dataDir}"`);
  const id = createHash('sha256').update(dataDir).digest('hex').slice(0, 8);
  const at = (...parts: string[]): string => join(dataDir, ...parts);
  return {
    id,
    dataDir,
    runDir: at('run'),
    manifestsDir: at('manifests'),
    kubeletRoot: at('kubelet'),
    kubeletConfig: at('kubelet.yaml'),
    kubeletLog: at('kubelet.log'),
    kubeletSocket: at('kubelet', 'kubelet.sock'),
    podLogsDir: at('logs', 'pods'),
    containerdRoot: at('containerd', 'root'),
    containerdState: at('containerd', 'state'),
    containerdConfig: at('containerd', 'config.toml'),
    containerdLog: at('containerd', 'containerd.log'),
    containerdSocket: at('containerd', 'containerd.sock'),
    registryCertsDir: at('containerd', 'certs.d'),
    cniConfDir: at('cni', 'net.d'),
    ipamDir: at('cni', 'ipam'),
    networkName: `kubelet-ts-${id}`,
    bridge: `kts${id}`,
    iptablesChain: `KTS-${id}`,
    controlPlaneDir: at('control-plane'),
    controlPlaneLog: at('control-plane.log'),
    adminConfig: at('control-plane', 'admin.conf'),
    nodesDir: at('nodes'),
    clusterRecord: at('cluster.json'),
    nodeDir: at('node'),
    nodeNetworkConfig: at('node', 'node-network.conf'),
    nodeNetworkLog: at('node-network.log'),
    nodeStorageConfig: at('node', 'node-storage.conf'),
    nodeStorageLog: at('node-storage.log'),
    storageDir: at('storage'),
    staticPodsDir: at('static-pods'),
    registryDir: at('registry'),
    registryLog: at('registry.log'),
    upLog: at('up.log'),
    loopback: dataDir === DEFAULT_DATA_DIR ? '127.0.0.1' : loopbackOf(id),
    enter: [],
    cgroupRoot: `/kubelet-ts-${id}`,
    cgroupSlice: `kubelet_ts_${id}.slice`,
  };
}

/** Names the runtime that was given from outside; empty with our own. */
export const endpointFile = (instance: Instance): string => join(instance.runDir, 'endpoint');

/** 127.x.y.z from the first digits of the id; never the first or the last address of the network. */
function loopbackOf(id: string): string {
  const [x, y, z] = [0, 2, 4].map((at) => Number.parseInt(id.slice(at, at + 2), 16)) as [number, number, number];
  return `127.${x}.${y}.${Math.min(Math.max(z, 2), 253)}`;
}

/** The address of a unix socket is at most 107 bytes; the longest we make is checked before anything is started. */
export function checkSocketPaths(instance: Instance): void {
  for (const path of [instance.kubeletSocket, instance.containerdSocket, `${instance.containerdSocket}.ttrpc`]) {
    if (Buffer.byteLength(path) > 107)
      throw new KubeletError('Invalid', `data folder path is too long for a unix socket below it: ${path}`);
  }
}
