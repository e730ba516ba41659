import { isAbsolute } from 'node:path';
import { parseArgs } from 'node:util';
import { errorMessage } from '../../base/errors.ts';
import type { ParsedArguments } from '../../base/run-main.ts';

export interface NodeStorageOptions {
  readonly kubeconfig: string;
  readonly nodeName: string;
  readonly root: string;
}

export const USAGE = `usage: kubelet-node-storage --kubeconfig FILE --node-name NAME --root DIR

Dynamic provisioning of volumes on the disk of one node, for StorageClasses with the provisioner node-disk.kubelet-ts.

  --kubeconfig FILE        kubeconfig of the API server
  --node-name NAME         this node
  --root DIR               absolute path of the directory that holds the volumes, one directory each
`;

export function parseNodeStorage(args: readonly string[]): ParsedArguments<NodeStorageOptions> {
  try {
    const text = { type: 'string' } as const;
    const { values } = parseArgs({
      args: [...args],
      options: { kubeconfig: text, 'node-name': text, root: text, help: { type: 'boolean' } },
    });
    if (values.help === true) return { kind: 'help' };
    const { kubeconfig, 'node-name': nodeName, root } = values;
    if (kubeconfig === undefined || nodeName === undefined || root === undefined)
      return { kind: 'error', errors: ['--kubeconfig, --node-name and --root are required'] };
    // The path is used in commands and in PersistentVolumes.
    if (!isAbsolute(root) || root === '/' || /[\s"'\\]|\/\/|\/\.\.?(?:\/|$)/.test(root))
      return {
        kind: 'error',
        errors: [`--root: ${JSON.stringify(root)} is not an absolute path without spaces and dots`],
      };
    return { kind: 'run', options: { kubeconfig, nodeName, root: root.endsWith('/') ? root.slice(0, -1) : root } };
  } catch (error) {
    return { kind: 'error', errors: [errorMessage(error)] };
  }
}
