/**
 * One `up` on one data folder. All names and paths that it may create are derived here, so that several instances can
 * run side by side and `down` knows what belongs to its own.
 */
import { createHash } from 'node:crypto';
import { join } from 'node:path/posix';
import { KubeletError } from '../base/errors.ts';

export const DEFAULT_DATA_DIR = '/var/lib/kubelet-ts';

export interface Instance {
  /** Eight hex digits from the data folder's path. */
  readonly id: string;
  readonly dataDir: string;
  /** Pid files, the lock and the record of the state before the first start. */
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
  /** One data folder for each node of `up --nodes`. */
  readonly nodesDir: string;
  /** The settings that were chosen at the cluster's first start, and do not change. */
  readonly clusterRecord: string;
  /** The node's credentials. `down` keeps them. */
  readonly nodeDir: string;
  readonly nodeNetworkConfig: string;
  readonly nodeNetworkLog: string;
  readonly nodeStorageConfig: string;
  readonly nodeStorageLog: string;
  /** The data of dynamically provisioned volumes. `down` keeps it. */
  readonly storageDir: string;
  /** Manifests of a node in a cluster: static pods, in addition to the pods from the API server. */
  readonly staticPodsDir: string;
  readonly registryDir: string;
  readonly registryLog: string;
  /** The log of a detached `up`, which supervises its programs. */
  readonly upLog: string;
  /** The instance's own address in the loopback network, so that ports of several instances do not collide. */
  readonly loopback: string;
  /** The path in each cgroup hierarchy; all containers are below it. */
  readonly cgroupRoot: string;
  /** The prefix of commands that run on the node; empty when the node is the machine itself. */
  readonly enter: readonly string[];
  /** The same with the cgroup driver systemd: the slice for `cgroupRoot`. */
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

/** Names the runtime that was given by a flag; empty with our own. */
export const endpointFile = (instance: Instance): string => join(instance.runDir, 'endpoint');

/** 127.x.y.z from the first digits of the id; never the first or last address of the network. */
function loopbackOf(id: string): string {
  const [x, y, z] = [0, 2, 4].map((at) => Number.parseInt(id.slice(at, at + 2), 16)) as [number, number, number];
  return `127.${x}.${y}.${Math.min(Math.max(z, 2), 253)}`;
}

/**
 * The path of a unix socket has at most 107 bytes. The longest path of an instance is checked before anything starts.
 */
export function checkSocketPaths(instance: Instance): void {
  for (const path of [instance.kubeletSocket, instance.containerdSocket, `${instance.containerdSocket}.ttrpc`]) {
    if (Buffer.byteLength(path) > 107)
      throw new KubeletError('Invalid', `data folder path is too long for a unix socket below it: ${path}`);
  }
}
