/** Determines the folder of manifests if no configuration file sets it. It depends only on the given files. */
import type { ParsedFlags } from '../flags/flags-parse.ts';
import type { ConfigFiles } from './config-file.ts';

/** kubeadm creates this folder on every node, and names it in the configuration that it writes. */
const KUBEADM_MANIFESTS = '/etc/kubernetes/manifests';

/**
 * Converts two ways to start that older documentation describes:
 * - `--config=FOLDER`: until 1.8 this flag named the folder of manifests, which is --pod-manifest-path since then.
 * - no flag and no configuration: the manifests are in kubeadm's folder, if it exists.
 * A configuration file without staticPodPath means no static pods, as upstream.
 */
export function withManifestFolder(parsed: ParsedFlags, files: ConfigFiles): ParsedFlags {
  const { values } = parsed;
  const config = values.get('config');
  if (typeof config === 'string' && config !== '' && isFolder(config, files)) {
    const rest = [...values].filter(([name]) => name !== 'config');
    return {
      ...parsed,
      values: new Map([['pod-manifest-path', config], ...rest]),
      warnings: [
        ...parsed.warnings,
        `--config=${config} is a folder, so its files are run as manifests. Write --pod-manifest-path=${config}: ` +
          '--config names a KubeletConfiguration file since Kubernetes 1.8',
      ],
    };
  }
  if (['config', 'config-dir', 'pod-manifest-path'].some((name) => values.has(name))) return parsed;
  if (!isFolder(KUBEADM_MANIFESTS, files)) return parsed;
  return {
    ...parsed,
    values: new Map([...values, ['pod-manifest-path', KUBEADM_MANIFESTS]]),
    warnings: [
      ...parsed.warnings,
      `no configuration file is given, so the manifests in ${KUBEADM_MANIFESTS} are run; --pod-manifest-path= turns this off`,
    ],
  };
}

function isFolder(path: string, files: ConfigFiles): boolean {
  try {
    files.listDir(path);
    return true;
  } catch {
    return false;
  }
}
