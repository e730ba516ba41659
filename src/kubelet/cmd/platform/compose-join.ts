import path from 'node:path';
import { stringify } from 'yaml';
import { ApiStatusError } from '../../../api/status/api-status-error.ts';
import type { Clock } from '../../../base/clock.ts';
import { errorMessage, KubeletError } from '../../../base/errors.ts';
import type { Logger } from '../../../base/log.ts';
import type { Random } from '../../../base/random.ts';
import { withClientCertificate } from '../../../client/cluster-access.ts';
import type { AccessSource, ClusterAccess } from '../../../client/cluster-access.ts';
import { HttpApiClient } from '../../../client/http-api-client.ts';
import { HttpTransport } from '../../../client/http-transport.ts';
import { readFiles, readKubeconfigEntry } from '../../../client/kubeconfig.ts';
import type { KubeconfigEntry } from '../../../client/kubeconfig.ts';
import { KubeconfigSource } from '../../../client/kubeconfig-source.ts';
import { readKeyPair } from '../../../pki/key-pair.ts';
import type { KeyPair } from '../../../pki/key-pair.ts';
import { readIfThere, writeSecretFile } from '../../../pki/pki-files.ts';
import { pendingKeyFile, PemStore } from '../../adapters/tls/pem-store.ts';
import { kubeconfigAfterBootstrap, kubeconfigFault } from '../../features/certificates/bootstrap-kubeconfig.ts';
import { CertificateManager } from '../../features/certificates/certificate-manager.ts';
import { clientNames, issueClientCertificate } from '../../features/certificates/client-certificate.ts';
import type { BootstrapClient } from '../../features/certificates/client-certificate.ts';
import { certificateProblem } from '../../features/certificates/certificate-problem.ts';
import type { CertificateProblem } from '../../features/certificates/certificate-problem.ts';
import type { ClusterApi } from '../../ports/cluster-api.ts';
import type { AgentFlags } from '../flags/flags-values-agent.ts';
import type { CertificateFigures } from '../../features/metrics/certificate-figures.ts';

export interface JoinOptions {
  readonly flags: Pick<AgentFlags, 'kubeconfig' | 'bootstrapKubeconfig' | 'certDir'>;
  /** The field rotateCertificates. */
  readonly rotates: boolean;
  readonly nodeName: string;
  readonly figures: CertificateFigures;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
}

/** Joins the node to its cluster, and keeps its credentials valid. */
export interface Join {
  /**
   * The access to the API server. It rejects until the node has joined. Nothing else waits for that, and pods of
   * manifests run meanwhile.
   */
  readonly access: AccessSource;
  /** Resolves when the node has credentials. On a node that has joined before, that is immediately. */
  whenJoined(): Promise<void>;
  /** Starts to request missing certificates, and to rotate those that expire. */
  start(cluster: ClusterApi): void;
  stop(): Promise<void>;
  problems(): readonly CertificateProblem[];
}

/**
 * Creates the access to the cluster; undefined without `--kubeconfig`, which means a standalone node. A valid
 * kubeconfig is used unchanged. Otherwise one is created with the bootstrap kubeconfig (upstream: cmd/kubelet/app
 * buildKubeletClientConfig, certificate/bootstrap). Rejects with `Invalid` if there is neither. Unlike upstream, the
 * agent starts with an existing kubeconfig that has become invalid: pods keep running, the error is logged, and a
 * corrected file takes effect immediately.
 */
export async function composeJoin(options: JoinOptions): Promise<Join | undefined> {
  const { flags, rotates, log } = options;
  if (flags.kubeconfig === '') return undefined;
  const source = new LateKubeconfig(flags.kubeconfig, options.clock, log);
  const fault = await faultOf(options);
  const needsBootstrap = flags.bootstrapKubeconfig !== '' && fault !== undefined;
  await refuseIfNothing(options, needsBootstrap);
  if (!rotates && !needsBootstrap) {
    log.debug(
      2,
      flags.bootstrapKubeconfig === ''
        ? 'No bootstrapping requested, will use kubeconfig'
        : 'Kubeconfig exists and is valid, skipping bootstrap',
      { path: flags.kubeconfig },
    );
    return {
      access: source,
      whenJoined: () => Promise.resolve(),
      start: () => undefined,
      stop: () => Promise.resolve(),
      problems: () => [],
    };
  }
  if (needsBootstrap)
    log.info('Using bootstrap kubeconfig to generate TLS client cert, key and kubeconfig file', { why: fault });
  return composeManaged(options, source, needsBootstrap);
}

/** Returns why the kubeconfig cannot be used, or undefined if it can. */
async function faultOf({ flags, clock }: JoinOptions): Promise<string | undefined> {
  if ((await readIfThere(flags.kubeconfig)) === undefined) return 'there is no kubeconfig';
  try {
    return kubeconfigFault(
      readFiles(readKubeconfigEntry(flags.kubeconfig), flags.kubeconfig).certificate,
      clock.nowMs(),
    );
  } catch (error) {
    return errorMessage(error);
  }
}

async function refuseIfNothing({ flags, log }: JoinOptions, needsBootstrap: boolean): Promise<void> {
  const has = (await readIfThere(flags.kubeconfig)) !== undefined;
  const wanted = needsBootstrap ? flags.bootstrapKubeconfig : flags.kubeconfig;
  try {
    readKubeconfigEntry(wanted);
  } catch (error) {
    const problem = `unable to load ${needsBootstrap ? 'bootstrap kubeconfig' : 'kubeconfig'}: ${errorMessage(error)}`;
    if (!has) throw new KubeletError('Invalid', problem);
    log.error('the API server cannot be reached until this is fixed; pods continue to run', { error: problem });
  }
}

async function composeManaged(options: JoinOptions, source: LateKubeconfig, needsBootstrap: boolean): Promise<Join> {
  const { flags, rotates, nodeName, figures, clock, random, log } = options;
  const given = needsBootstrap ? undefined : givenIn(flags.kubeconfig, log);
  const pem = new PemStore({
    folder: flags.certDir,
    prefix: 'kubelet-client',
    nowMs: () => clock.nowMs(),
    log,
    ...(given?.files !== undefined && { fallback: given.files }),
  });
  const pendingKey = pendingKeyFile(flags.certDir);
  let cluster: ClusterApi | undefined;
  let isBootstrapping = false;
  const bootstrap = (): Promise<BootstrapClient> => {
    isBootstrapping = true;
    return openBootstrap(flags.bootstrapKubeconfig, nodeName);
  };
  const store = {
    // A certificate without a kubeconfig may be for another cluster.
    current: async () => (needsBootstrap && !(await isPointedAt(flags.kubeconfig, pem)) ? undefined : pem.current()),
    update: async (pair: Pick<KeyPair, 'certificate' | 'key'>) => {
      const stored = await pem.update(pair);
      if (isBootstrapping) await writeKubeconfig(flags, pem.currentPath);
      isBootstrapping = false;
      await pendingKey.remove();
      return stored;
    },
  };
  const manager: CertificateManager = new CertificateManager({
    name: 'client',
    store,
    wanted: () => (rotates || manager.current() === undefined ? clientNames(nodeName) : undefined),
    issue: (names, current, signal) => {
      if (cluster === undefined) throw new Error('a certificate was requested before the API client was created');
      return issueClientCertificate({
        client: cluster.objects,
        bootstrap: flags.bootstrapKubeconfig === '' ? undefined : bootstrap,
        pendingKey,
        clock,
        random,
        log,
      })(names, current, signal);
    },
    renewFailed: () => figures.clientRenewFailed(),
    rotated: () => undefined,
    clock,
    random,
    log,
  });
  await manager.load(given?.pair);
  const joined =
    !needsBootstrap || manager.current() !== undefined
      ? Promise.resolve()
      : new Promise<void>((resolve) => manager.onChange(resolve));
  figures.watchClient(() => manager.current()?.facts.notAfterMs);
  return {
    access: withClientCertificate(source, {
      current: () => manager.current(),
      onChange: (listener) => manager.onChange(listener),
    }),
    whenJoined: () => joined,
    start: (api) => {
      cluster = api;
      manager.start();
    },
    stop: () => manager.stop(),
    problems: () =>
      certificateProblem({
        what: 'client certificate of the node',
        last: manager.last()?.facts,
        failure: manager.problem(),
        nowMs: clock.nowMs(),
      }),
  };
}

/**
 * Returns the certificate that is embedded in the kubeconfig. It is only used to request the node's own (upstream:
 * kubeadm embedded one with many rights). A certificate in files is the node's own.
 */
function givenIn(
  kubeconfig: string,
  log: Logger,
):
  | { readonly pair?: KeyPair; readonly files?: { readonly certificateFile: string; readonly keyFile: string } }
  | undefined {
  try {
    const { access, files } = readKubeconfigEntry(kubeconfig);
    if (files.certificate !== undefined && files.key !== undefined)
      return { files: { certificateFile: files.certificate, keyFile: files.key } };
    return access.certificate === undefined || access.key === undefined
      ? undefined
      : { pair: readKeyPair(access.certificate, access.key) };
  } catch (error) {
    log.error('the certificate of the kubeconfig cannot be used', { kubeconfig, error: errorMessage(error) });
    return undefined;
  }
}

async function isPointedAt(kubeconfig: string, pem: PemStore): Promise<boolean> {
  if ((await readIfThere(kubeconfig)) === undefined) return false;
  try {
    return readKubeconfigEntry(kubeconfig).files.certificate === pem.currentPath;
  } catch {
    return false;
  }
}

/** Opens the bootstrap client. The file is read each time, because it may contain a new token. */
function openBootstrap(file: string, nodeName: string): Promise<BootstrapClient> {
  const transport = new HttpTransport(new KubeconfigSource(file), { userAgent: `kubelet-ts/bootstrap (${nodeName})` });
  return Promise.resolve({ client: new HttpApiClient(transport), close: () => transport.close() });
}

async function writeKubeconfig(
  { kubeconfig, bootstrapKubeconfig }: JoinOptions['flags'],
  pemPath: string,
): Promise<void> {
  const { access, files }: KubeconfigEntry = readKubeconfigEntry(bootstrapKubeconfig);
  const authority =
    files.ca !== undefined ? { file: files.ca } : access.ca !== undefined ? { pem: access.ca } : undefined;
  await writeSecretFile(
    path.resolve(kubeconfig),
    stringify(kubeconfigAfterBootstrap({ ...access, authority }, pemPath), { lineWidth: 0 }),
  );
}

/**
 * A kubeconfig that may not exist yet or be invalid. If it becomes invalid later, this is logged once and its last
 * valid content stays in use.
 */
class LateKubeconfig implements AccessSource {
  readonly #file: string;
  readonly #clock: Clock;
  readonly #log: Logger;
  #source: KubeconfigSource | undefined;
  #problem: string | undefined;

  constructor(file: string, clock: Clock, log: Logger) {
    this.#file = file;
    this.#clock = clock;
    this.#log = log;
  }

  // Not async by need, but so that whatever is thrown is a rejection.
  async current(): Promise<ClusterAccess> {
    return this.#open().current();
  }

  async renew(access: ClusterAccess): Promise<ClusterAccess> {
    return this.#open().renew(access);
  }

  onChange(): () => void {
    return () => undefined;
  }

  #open(): KubeconfigSource {
    try {
      return (this.#source ??= new KubeconfigSource(this.#file, {
        clock: this.#clock,
        onUnusable: (error) => this.#unusable(error),
      }));
    } catch (error) {
      throw new ApiStatusError(
        'ServiceUnavailable',
        `the node has not joined a cluster yet: ${errorMessage(error)}`,
        undefined,
        { cause: error },
      );
    }
  }

  #unusable(error: unknown): void {
    const problem = errorMessage(error);
    if (problem !== this.#problem)
      this.#log.error('the kubeconfig can no longer be used; its previous content stays in effect', {
        kubeconfig: this.#file,
        error: problem,
      });
    this.#problem = problem;
  }
}
