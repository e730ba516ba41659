/**
 * The data for an API server of the same cluster on another machine: the keys of its authorities and the flags of the
 * control plane. It is stored in a Secret, encrypted with a key that only the printed command contains, as kubeadm does
 * with `kubeadm-certs`. Pure.
 */
import { createCipheriv, createDecipheriv } from 'node:crypto';
import { isAbsolute } from 'node:path';
import { roleBindings, roles, secrets } from '../../api/client/resource-types.ts';
import type { ApiObject } from '../../api/client/resource-type.ts';
import type { OwnerReference } from '../../api/core/meta.ts';
import { KubeletError } from '../../base/errors.ts';
import { isLoopbackHost } from '../../base/loopback-host.ts';
import type { WantedObject } from './cluster-objects.ts';

/** Paths in the folder `pki` of a control plane; the files for etcd are in its folder `etcd`. */
export const sharedFiles = [
  'ca.crt',
  'ca.key',
  'front-proxy-ca.crt',
  'front-proxy-ca.key',
  'sa.key',
  'sa.pub',
] as const;
const etcdFlags = ['etcd-cafile', 'etcd-certfile', 'etcd-keyfile'] as const;
type EtcdFlag = (typeof etcdFlags)[number];
const etcdFileOf = (flag: EtcdFlag): string => `etcd/${flag}.pem`;

export interface ControlPlaneShare {
  readonly serviceRange: string;
  readonly podRange: string;
  readonly apiPort: number;
  /** Flags of the control plane, without those that name etcd's certificates. */
  readonly args: readonly string[];
  /** Contents by name: all of `sharedFiles`, and the files for etcd. */
  readonly files: Readonly<Record<string, string>>;
}

export interface SharedArguments {
  readonly args: readonly string[];
  /** The files for the control plane's connection to etcd, by the flag that names each. */
  readonly etcdFiles: ReadonlyMap<EtcdFlag, string>;
  /** Other files that flags name. They must exist on each machine. */
  readonly needed: readonly string[];
}

/** These flags concern the machine and not the cluster. */
const ownFlags: ReadonlySet<string> = new Set(['data-dir', 'bind-address', 'advertise-address', 'secure-port']);

/** Throws `Invalid` when the store cannot be shared: it is a file, or an etcd that only this machine can reach. */
export function shareArguments(given: readonly string[]): SharedArguments {
  const flags = given.map((text) => {
    const { name = '', value = '' } = /^--(?<name>[^=]+)(?:=(?<value>.*))?$/s.exec(text)?.groups ?? {};
    return { text, name, value };
  });
  const last = (flag: string): string | undefined => flags.findLast(({ name }) => name === flag)?.value;
  if (last('storage-backend') !== 'etcd3')
    throw new KubeletError(
      'Invalid',
      'the store of this cluster is a file of this machine. A second API server needs an etcd: npm run up -- --listen ADDRESS --control-plane-arg=--storage-backend=etcd3 --control-plane-arg=--etcd-servers=URL,URL,URL (a new cluster: the objects in the file stay there)',
    );
  const local = (last('etcd-servers') ?? '')
    .split(',')
    .filter((url) => isLoopbackHost((URL.parse(url)?.hostname ?? '').replace(/^\[|\]$/g, '')));
  if (last('etcd-servers') === undefined || local.length > 0)
    throw new KubeletError(
      'Invalid',
      `--etcd-servers must name addresses that the other machine reaches, not ${local.join(', ') || 'the default'}`,
    );
  const isEtcdFlag = (name: string): name is EtcdFlag => (etcdFlags as readonly string[]).includes(name);
  const kept = flags.filter(({ name }) => !ownFlags.has(name) && !isEtcdFlag(name));
  return {
    args: kept.map(({ text }) => text),
    etcdFiles: new Map(flags.flatMap(({ name, value }) => (isEtcdFlag(name) ? [[name, value] as const] : []))),
    needed: kept.map(({ value }) => value).filter((value) => isAbsolute(value)),
  };
}

/** Names in `ControlPlaneShare.files` for the files of `SharedArguments.etcdFiles`. */
export const etcdFileNames = (files: SharedArguments['etcdFiles']): [name: string, file: string][] =>
  [...files].map(([flag, file]) => [etcdFileOf(flag), file]);

/** The flags for the machine that received the share; its files are in `folder`. */
export const argumentsOf = ({ args, files }: ControlPlaneShare, folder: string): string[] => [
  ...args,
  ...etcdFlags.flatMap((flag) =>
    files[etcdFileOf(flag)] === undefined ? [] : [`--${flag}=${folder}/${etcdFileOf(flag)}`],
  ),
];

const CIPHER = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
export const SHARE_KEY_BYTES = 32;

/** `key`: 32 bytes; `nonce`: 12 bytes that must not be used twice with the same key. */
export function sealShare(share: ControlPlaneShare, key: Uint8Array, nonce: Uint8Array): string {
  const cipher = createCipheriv(CIPHER, key, nonce);
  const sealed = Buffer.concat([cipher.update(JSON.stringify(share), 'utf8'), cipher.final()]);
  return Buffer.concat([nonce, cipher.getAuthTag(), sealed]).toString('base64');
}

/** Throws `Invalid` for a wrong key or a changed text. */
export function openShare(text: string, key: Uint8Array): ControlPlaneShare {
  const bytes = Buffer.from(text, 'base64');
  const share = parseShare(decrypt(bytes, key));
  if (share !== undefined) return share;
  throw new KubeletError(
    'Invalid',
    'the cluster shares its control plane in another form: use the same version on both machines',
  );
}

function decrypt(bytes: Buffer, key: Uint8Array): string {
  try {
    const [nonce, tag] = [bytes.subarray(0, NONCE_BYTES), bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES)];
    const decipher = createDecipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES });
    decipher.setAuthTag(tag);
    return Buffer.concat([decipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES)), decipher.final()]).toString();
  } catch (cause) {
    throw new KubeletError(
      'Invalid',
      '--certificate-key does not open what the cluster shares. Print the command again: npm run up -- --print-join-command --join-control-plane',
      { cause },
    );
  }
}

/** Undefined for anything but the output of `sealShare`. File names are checked, because they become paths. */
function parseShare(text: string): ControlPlaneShare | undefined {
  const { serviceRange, podRange, apiPort, args, files } = JSON.parse(text) as Partial<ControlPlaneShare>;
  const known = new Set<string>([...sharedFiles, ...etcdFlags.map(etcdFileOf)]);
  if (
    typeof serviceRange !== 'string' ||
    typeof podRange !== 'string' ||
    typeof apiPort !== 'number' ||
    !Array.isArray(args) ||
    typeof files !== 'object' ||
    sharedFiles.some((name) => typeof files[name] !== 'string') ||
    Object.keys(files).some((name) => !known.has(name))
  )
    return undefined;
  return { serviceRange, podRange, apiPort, args: args.map(String), files };
}

const NAMESPACE = 'kube-system';
const DATA = 'control-plane';

export const shareKey = (tokenId: string): { namespace: string; name: string } => ({
  namespace: NAMESPACE,
  name: `kubelet-ts-control-plane-${tokenId}`,
});

/** The Secret, which only the bearer of the token may read. The token owns it, so it is deleted with the token. */
export function shareObjects(tokenId: string, owner: OwnerReference, sealed: string): WantedObject[] {
  const key = shareKey(tokenId);
  const metadata = { ...key, uid: '', ownerReferences: [owner] };
  const group = 'rbac.authorization.k8s.io';
  const rules = [{ apiGroups: [''], resources: ['secrets'], resourceNames: [key.name], verbs: ['get'] }];
  const subjects = [{ apiGroup: group, kind: 'User', name: `system:bootstrap:${tokenId}` }];
  const data = { [DATA]: Buffer.from(sealed).toString('base64') };
  return [
    { type: secrets, object: { metadata, type: 'kubelet-ts/control-plane', data } as ApiObject },
    { type: roles, object: { metadata, rules } as ApiObject },
    {
      type: roleBindings,
      object: { metadata, roleRef: { apiGroup: group, kind: 'Role', name: key.name }, subjects } as ApiObject,
    },
  ];
}

/** Undefined for a Secret that is not from `shareObjects`. */
export function sealedOf(data: Readonly<Record<string, string>> | undefined): string | undefined {
  const text = data?.[DATA];
  return text === undefined ? undefined : Buffer.from(text, 'base64').toString();
}
