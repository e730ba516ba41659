/**
 * The facts about the cluster that a joining machine reads, from a Secret that only joining machines and nodes may
 * read. Pure.
 */
import { roleBindings, roles, secrets } from '../../api/client/resource-types.ts';
import type { ApiObject } from '../../api/client/resource-type.ts';
import type { Secret } from '../../api/core/secret.ts';
import { KubeletError } from '../../base/errors.ts';
import type { WantedObject } from './cluster-objects.ts';
import { NODE_GROUP } from './cluster-objects.ts';

export interface JoinFacts {
  /** One for each IP family, with commas between them. */
  readonly podRange: string;
  readonly serviceRange: string;
  /** Empty: no name service. */
  readonly clusterDns: readonly string[];
  readonly overlayNumber: number;
  /** `ADDRESS:PORT`. */
  readonly registry: string;
  readonly serviceRouting: boolean;
  readonly networkPolicy: boolean;
  readonly storage: boolean;
}

/** Contents of files, by their names. */
export type JoinFiles = Readonly<Record<(typeof fileNames)[number], string>>;

const fileNames = [
  'node-network.conf',
  'node-storage.conf',
  'registry-ca.crt',
  'registry-client.cert',
  'registry-client.key',
] as const;
const FACTS = 'facts.json';
const NAME = 'kubelet-ts-join';
export const joinSecretKey = { namespace: 'kube-system', name: NAME };

/** The Secret, and the right to read it for bootstrap tokens and for nodes, which read it at each start. */
export function joinObjects(facts: JoinFacts, files: JoinFiles): WantedObject[] {
  const metadata = { ...joinSecretKey, uid: '' };
  const group = 'rbac.authorization.k8s.io';
  const texts = { ...files, [FACTS]: JSON.stringify(facts) };
  const data = Object.fromEntries(
    Object.entries(texts).map(([name, text]) => [name, Buffer.from(text).toString('base64')]),
  );
  const rules = [{ apiGroups: [''], resources: ['secrets'], resourceNames: [NAME], verbs: ['get'] }];
  const subjects = [NODE_GROUP, 'system:nodes'].map((name) => ({ apiGroup: group, kind: 'Group', name }));
  return [
    { type: secrets, object: { metadata, type: 'kubelet-ts/join', data } as ApiObject },
    { type: roles, object: { metadata, rules } as ApiObject },
    {
      type: roleBindings,
      object: { metadata, roleRef: { apiGroup: group, kind: 'Role', name: NAME }, subjects } as ApiObject,
    },
  ];
}

/** Throws `Invalid` for a Secret that is not from `joinObjects`. */
export function readJoinSecret({ data }: Pick<Secret, 'data'>): {
  readonly facts: JoinFacts;
  readonly files: JoinFiles;
} {
  const text = (name: string): string => {
    const value = data?.[name];
    if (value === undefined)
      throw new KubeletError('Invalid', `the Secret kube-system/${NAME} has no ${name}: start up --listen again there`);
    return Buffer.from(value, 'base64').toString();
  };
  const files = Object.fromEntries(fileNames.map((name) => [name, text(name)])) as JoinFiles;
  return { facts: parseFacts(text(FACTS)), files };
}

function parseFacts(text: string): JoinFacts {
  const facts = JSON.parse(text) as Partial<JoinFacts> | null;
  const { podRange, serviceRange, clusterDns, overlayNumber, registry } = facts ?? {};
  if (
    typeof podRange !== 'string' ||
    typeof serviceRange !== 'string' ||
    !Array.isArray(clusterDns) ||
    typeof overlayNumber !== 'number' ||
    typeof registry !== 'string' ||
    !/^[0-9A-Fa-f.:[\]]+:\d{1,5}$/.test(registry)
  )
    throw new KubeletError(
      'Invalid',
      `the Secret kube-system/${NAME} is of another version: use the same on both sides`,
    );
  const { serviceRouting = true, networkPolicy = true, storage = true } = facts ?? {};
  return {
    ...{ podRange, serviceRange, overlayNumber, registry, serviceRouting, networkPolicy, storage },
    clusterDns: clusterDns.map(String),
  };
}
