import { mutatingWebhookConfigurations, validatingWebhookConfigurations } from '../../../api/client/resource-types.ts';
import type { ObjectReader } from '../../model/object-reader.ts';
import type { Webhook } from './match-webhook.ts';

export interface ListedWebhook {
  readonly webhook: Webhook;
  readonly configuration: string;
  /** A unique id, even if a configuration contains the same name twice. */
  readonly id: string;
}

/**
 * Returns all webhooks in the order of calls: by the names of their configurations, then by position. The list is
 * rebuilt only after a change.
 */
export function listWebhooks(reader: ObjectReader, kind: 'mutating' | 'validating'): () => readonly ListedWebhook[] {
  const type = kind === 'mutating' ? mutatingWebhookConfigurations : validatingWebhookConfigurations;
  let list: readonly ListedWebhook[] | undefined;
  reader.onChange(type, () => (list = undefined));
  return () => (list ??= read());
  function read(): readonly ListedWebhook[] {
    const configurations = [...reader.list(type, '')].sort((left, right) =>
      left.metadata.name < right.metadata.name ? -1 : 1,
    );
    return configurations.flatMap(({ metadata, webhooks = [] }) =>
      webhooks.map((webhook, index) => ({
        webhook: webhook as Webhook,
        configuration: metadata.name,
        id: `${metadata.name}/${webhook.name}/${index}`,
      })),
    );
  }
}
