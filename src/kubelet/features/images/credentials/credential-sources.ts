import type { ImageName } from '../../../../api/image-name.ts';
import type { Pod } from '../../../../api/core/pod.ts';
import { imageEvents } from '../../../../api/reasons.ts';
import { errorMessage } from '../../../../base/errors.ts';
import type { Logger } from '../../../../base/log.ts';
import type { HostFiles } from '../../../ports/host-files.ts';
import type { EventRecorder } from '../../../ports/recorder.ts';
import type { SecretLookup } from '../interfaces.ts';
import type { AccountAccess } from './account-tokens.ts';
import { requestAccount } from './account-tokens.ts';
import type { ExecCredentialProvider } from './exec-provider.ts';
import type { TrackedAuth } from './keyring.ts';
import { Keyring } from './keyring.ts';
import type { NodeCredentialPlaces } from './node-credentials.ts';
import { readNodeCredentials } from './node-credentials.ts';
import { findPullSecrets } from './pull-secrets.ts';

export interface CredentialSourcesOptions {
  readonly secrets: SecretLookup;
  readonly files: HostFiles;
  readonly places: NodeCredentialPlaces;
  readonly providers: readonly ExecCredentialProvider[];
  readonly accounts: AccountAccess;
  readonly events: EventRecorder;
  readonly log: Logger;
}

/**
 * Supplies all credentials with which a pod may pull an image, in the order of tries: its pull secrets, the node's
 * files, the plugins.
 */
export class CredentialSources {
  readonly #options: CredentialSourcesOptions;
  /** The reported missing secrets by pod, so that each is reported once and not for every container and try. */
  readonly #announced = new Map<string, string>();

  constructor(options: CredentialSourcesOptions) {
    this.#options = options;
  }

  async lookup(pod: Pod, name: ImageName): Promise<TrackedAuth[]> {
    const { files, places, log } = this.#options;
    const own = await this.#ofPod(pod);
    const [node, ...plugins] = await Promise.all([
      readNodeCredentials(places, files, log),
      ...this.#options.providers.map((provider) => this.#ofPlugin(provider, pod, name.repository)),
    ]);
    return [own, node, ...plugins].flatMap((keyring) => keyring.lookup(name.repository));
  }

  /**
   * Returns only the pod's own credentials: its secrets, and what plugins return for its service account. They decide
   * whether the pod may use an image that other pods pulled.
   */
  async lookupOwn(pod: Pod, name: ImageName): Promise<TrackedAuth[]> {
    const plugins = this.#options.providers.filter(({ tokens }) => tokens !== undefined);
    const keyrings = await Promise.all([
      this.#ofPod(pod),
      ...plugins.map((provider) => this.#ofPlugin(provider, pod, name.repository)),
    ]);
    return keyrings.flatMap((keyring) => keyring.lookup(name.repository));
  }

  /** Logs missing pull secrets, even if nothing is pulled. It costs nothing for pods without pull secrets. */
  announceMissing(pod: Pod): void {
    if ((pod.spec.imagePullSecrets ?? []).length === 0) return;
    this.#ofPod(pod).catch((error: unknown) =>
      this.#options.log.warn('image pull secrets could not be read', {
        pod: pod.metadata.name,
        error: errorMessage(error),
      }),
    );
  }

  forgetPod(uid: string): void {
    this.#announced.delete(uid);
  }

  async #ofPod(pod: Pod): Promise<Keyring> {
    const { secrets, log, events } = this.#options;
    const { keyring, missing } = await findPullSecrets(pod, secrets, log);
    const said = missing.join(', ');
    const { uid } = pod.metadata;
    if (said !== (this.#announced.get(uid) ?? '') && said !== '') {
      events.event(
        pod,
        'Warning',
        imageEvents.failedToRetrieveImagePullSecret,
        `Unable to retrieve some image pull secrets (${said}); attempting to pull the image may not succeed.`,
      );
    }
    if (said === '') this.#announced.delete(uid);
    else this.#announced.set(uid, said);
    return keyring;
  }

  /** Returns the credentials of a plugin; none if it fails, because other plugins may still return some. */
  async #ofPlugin(provider: ExecCredentialProvider, pod: Pod, repository: string): Promise<Keyring> {
    const keyring = new Keyring();
    if (!provider.matches(repository)) return keyring;
    try {
      const decision =
        provider.tokens === undefined
          ? ({ kind: 'without' } as const)
          : await requestAccount(provider.tokens, pod, this.#options.accounts);
      if (decision.kind === 'skip') return keyring;
      const account = decision.kind === 'account' ? decision.request : undefined;
      keyring.add(await provider.provide(repository, account), undefined, account?.source);
    } catch (error) {
      this.#options.log.error('Failed to provide credentials for image', {
        provider: provider.name,
        image: repository,
        pod: `${pod.metadata.namespace}/${pod.metadata.name}`,
        error: errorMessage(error),
      });
    }
    return keyring;
  }
}
